// Package stage has a run under policies, the services that the enforcer calls, and enforcers that judge the calls of the run.
package stage

import (
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// Stage is a run under policies, and the enforcers that judge its calls.
type Stage struct {
	Engine    *Engine
	Store     store.Store
	Approvals *Approvals
	Sessions  Tree
	mu        sync.Mutex
	Now       time.Time
	Index     policystore.IndexText
	version   int64
}

// New returns a stage with a store in a file.
func New(t *testing.T, workflow string) *Stage {
	t.Helper()
	e, st := NewEngineOf(t, workflow)
	return Of(e, st)
}

// Of returns a stage with an engine and its store.
func Of(e *Engine, st store.Store) *Stage {
	s := &Stage{
		Engine: e, Store: st, Approvals: NewApprovals(), Sessions: Tree{}, Now: time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC),
		Index: policystore.IndexText{Policies: map[string]policystore.Indexed{}},
	}
	s.Approvals.clock = s.Clock
	return s
}

// Clock returns the present time of the stage.
func (s *Stage) Clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Now
}

// Advance moves the clock of the stage.
func (s *Stage) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Now = s.Now.Add(d)
}

// App returns a process by the clock of the stage.
func (s *Stage) App() *app.App { return s.AppAt(s.Clock) }

// AppAt returns a process with a clock of its own.
func (s *Stage) AppAt(clock func() time.Time) *app.App { return s.appOf(clock, app.Config{}) }

// AppOf returns a process with a configuration.
func (s *Stage) AppOf(cfg app.Config) *app.App { return s.appOf(s.Clock, cfg) }

func (s *Stage) appOf(clock func() time.Time, cfg app.Config) *app.App {
	cfg.Approvals, cfg.Sessions = s.Approvals, s.Sessions
	return app.New(s.Store, s.Engine, Announcer{}, clock, slog.New(slog.DiscardHandler), cfg)
}

// Put stores a version of a policy and its entry in the index.
func (s *Stage) Put(t *testing.T, name, text string, as policystore.Indexed) {
	t.Helper()
	data, err := json.Marshal(policystore.Version{Name: name, Definition: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Store.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: policystore.Key("default", name), Expect: store.AnyVersion, History: data}}})
	if err != nil {
		t.Fatal(err)
	}
	if as.Live == 0 && as.Shadow == 0 {
		as.Live = result.Versions[0]
	}
	s.Index.Policies[name] = as
	s.WriteIndex(t)
}

// WriteIndex stores the index of policies.
func (s *Stage) WriteIndex(t *testing.T) {
	t.Helper()
	data, err := json.Marshal(s.Index)
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Store.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: policystore.IndexKey("default"), Expect: s.version, Data: data}}})
	if err != nil {
		t.Fatal(err)
	}
	s.version = result.Versions[0]
}

// ToRole attaches a policy to a role.
func ToRole(role auth.Role) []policystore.Attachment {
	return []policystore.Attachment{{Kind: policystore.AttachedToRole, ID: string(role)}}
}

// Ask asks for a call of the run.
func Ask(t *testing.T, a *app.App, req check.Request) *check.Decision {
	t.Helper()
	req.Target = enforcer.Target{RunID: "run_1"}
	d, err := a.Checks.Check(t.Context(), Agent, req)
	if err != nil {
		t.Fatalf("%s: %v", req.Tool, err)
	}
	return d
}

// Expect demands a decision, and words of its message.
func Expect(t *testing.T, d *check.Decision, decision toolcall.Decision, code toolcall.Code, mentions ...string) {
	t.Helper()
	if d.Verdict.Decision != decision || d.Verdict.Code != code {
		t.Fatalf("%s is %s %s: %s; want %s %s", d.Tool, d.Verdict.Decision, d.Verdict.Code, d.Message, decision, code)
	}
	for _, word := range mentions {
		if !strings.Contains(d.Message, word) {
			t.Errorf("the message does not mention %q: %s", word, d.Message)
		}
	}
}

// Open is a workflow without restrictions.
const Open = `{"id": "w", "initial": "working", "states": {"working": {"on": {"GO": "working", "END": "over"}}, "over": {"type": "final"}}}`
