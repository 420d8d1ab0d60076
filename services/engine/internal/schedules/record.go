// Package schedules stores schedules, and starts their runs (S25.20). Package schedule decides on their steps.
package schedules

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/schedule"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// kind is that of the records of schedules. The ids are their names.
const kind = "schedule"

// fireTimer is the name of the timer of a schedule.
const fireTimer = "fire"

// Spec is the definition of a schedule: its workflow and its times.
type Spec struct {
	Name            string           `json:"name"`
	Workflow        string           `json:"workflow"`
	WorkflowVersion int64            `json:"workflow_version,omitempty"`
	Cron            string           `json:"cron"`
	Zone            string           `json:"zone"`
	Missed          schedule.Missed  `json:"missed"`
	Overlap         schedule.Overlap `json:"overlap"`
	SessionID       string           `json:"session_id,omitempty"`
	SessionPrefix   string           `json:"session_prefix,omitempty"`
	Context         string           `json:"context,omitempty"`
	Workspace       string           `json:"workspace,omitempty"`
	Only            string           `json:"only,omitempty"`
	Until           time.Time        `json:"until,omitzero"`
}

// Result is the outcome of a time, in one word.
type Result string

// The results.
const (
	Started Result = "started"
	Missed  Result = "missed"
	Skipped Result = "skipped"
	Queued  Result = "queued"
	Refused Result = "refused"
)

// Results returns all results.
func Results() []Result { return []Result{Started, Missed, Skipped, Queued, Refused} }

// Outcome is the outcome of a time, or of several missed ones.
type Outcome struct {
	Result  Result       `json:"result"`
	Nominal time.Time    `json:"nominal"`
	First   time.Time    `json:"first,omitzero"`
	At      time.Time    `json:"at"`
	Count   int64        `json:"count"`
	RunID   string       `json:"run_id,omitempty"`
	Session string       `json:"session_id,omitempty"`
	Code    fault.Reason `json:"code,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	// TriggeredBy is the operator who has started it; empty where it was its time.
	TriggeredBy string `json:"triggered_by,omitempty"`
}

// Schedule is a schedule as it is stored. The record of one that was deleted stays, without an id, so that its versions go on.
type Schedule struct {
	Spec

	// ID is unique: the ids of runs follow from it.
	ID string `json:"id,omitempty"`
	// Number counts the changes by people.
	Number    int64     `json:"number"`
	Paused    bool      `json:"paused,omitempty"`
	By        creator   `json:"by"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	Handled time.Time `json:"handled"`
	Waiting time.Time `json:"waiting,omitzero"`
	Last    *Outcome  `json:"last,omitempty"`
	LastRun string    `json:"last_run,omitempty"`
	Counts  Counts    `json:"counts"`

	// version is that of the record.
	version int64
	rules   *schedule.Rules
}

// Counts are the times of a schedule by their outcome.
type Counts struct {
	Started int64 `json:"started,omitempty"`
	Missed  int64 `json:"missed,omitempty"`
	Skipped int64 `json:"skipped,omitempty"`
	Refused int64 `json:"refused,omitempty"`
}

// creator is the principal who has put a schedule, as far as its rights at a start depend on that.
type creator struct {
	Name   string        `json:"name"`
	Kind   auth.Kind     `json:"kind,omitempty"`
	Person string        `json:"person,omitempty"`
	Root   bool          `json:"root,omitempty"`
	Human  *ledger.Human `json:"human,omitempty"`
}

func creatorOf(p auth.Principal) creator {
	return creator{Name: p.Name, Kind: p.Kind, Person: p.Person, Root: p.Root, Human: ledger.HumanOf(p.Human)}
}

// caller returns the principal that the schedule acts as.
func (s *Schedule) caller(namespace string) ports.Caller {
	return ports.Caller{Namespace: namespace, Vouched: true, Principal: auth.Principal{
		Name: s.By.Name, Role: auth.Operator, Kind: s.By.Kind, Person: s.By.Person, Root: s.By.Root, Human: s.By.Human.Read(),
	}}
}

func keyOf(namespace, name string) store.Key {
	return store.Key{Namespace: namespace, Kind: kind, ID: name}
}

func timerOf(key store.Key) store.TimerID { return store.TimerID{Key: key, Name: fireTimer} }

// decode returns nil for a schedule that was deleted.
func decode(data []byte, version int64) (*Schedule, error) {
	s := &Schedule{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fault.From(fmt.Errorf("decode schedule: %w", err))
	}
	if s.ID == "" {
		return nil, nil
	}
	s.version = version
	times, err := schedule.ParseTimes(s.Cron, s.Zone, s.Until)
	if err != nil {
		return nil, fault.From(fmt.Errorf("decode schedule %s: %w", s.Name, err))
	}
	s.rules = &schedule.Rules{Times: times, Missed: s.Missed, Overlap: s.Overlap}
	return s, nil
}

func (s *Schedule) encode() ([]byte, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fault.From(fmt.Errorf("encode schedule: %w", err))
	}
	return data, nil
}

func (s *Schedule) progress() schedule.Progress {
	return schedule.Progress{Handled: s.Handled, Queued: s.Waiting}
}

// Next returns when the schedule starts a run next, as far as it is known; ok is false for never.
func (s *Schedule) Next() (at time.Time, ok bool) {
	if s.Paused {
		return at, false
	}
	return s.rules.Next(s.Handled)
}

var (
	nameForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,127}$`) })
	prefixForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]*$`) })
)

const maxContext = 64 << 10

// check fills in the defaults, and refuses an invalid spec.
func (sp *Spec) check(requireSessions bool) error {
	sp.Zone, sp.Missed, sp.Overlap = cmp.Or(sp.Zone, "UTC"), cmp.Or(sp.Missed, schedule.MissedSkip), cmp.Or(sp.Overlap, schedule.OverlapSkip)
	sp.Cron = strings.Join(strings.Fields(sp.Cron), " ")
	if sp.SessionID == "" {
		sp.SessionPrefix = cmp.Or(sp.SessionPrefix, sp.Name)
	}
	_, err := schedule.ParseTimes(sp.Cron, sp.Zone, sp.Until)
	problem := (*schedule.Problem)(nil)
	switch {
	case !nameForm().MatchString(sp.Name):
		return invalid("name", "%s is not the name of a schedule; write 1 to 128 of a-z, 0-9 and -, and begin with a letter or a digit", document.Quote(sp.Name))
	case errors.As(err, &problem):
		return invalid(problem.Field, "%s", problem.Message)
	case err != nil:
		return fault.From(err)
	case sp.Missed == schedule.MissedAll && sp.Overlap != schedule.OverlapAllow:
		return invalid("missed", "missed all needs overlap allow: otherwise the second run that is caught up finds the first one at work; set overlap to allow, or missed to once")
	case sp.SessionID != "" && sp.SessionPrefix != "":
		return invalid("session_prefix", "there is a session of every run and a prefix of new ones; leave one out")
	case sp.SessionID != "" && sp.Overlap == schedule.OverlapAllow:
		return invalid("overlap", "a session drives one run, so runs of session %s cannot overlap; give session_prefix instead, for a session of each run", document.Quote(sp.SessionID))
	case sp.SessionID != "" && !auth.ValidName(sp.SessionID):
		return invalid("session_id", "the session must have printable text, without spaces at its ends")
	case sp.SessionID != "" && sp.Only != "":
		return invalid("only", "only is for new sessions; narrow session %s itself, or give session_prefix", document.Quote(sp.SessionID))
	case sp.SessionID == "" && sp.Only == "" && requireSessions:
		return fault.New(fault.SessionRequired, "this deployment runs in sessions that were created (--require-sessions); create one, and give it as the session of the schedule, or give only: then each session is created").Violate("/session_id", "REQUIRED", "is required")
	case sp.SessionPrefix != "" && (!prefixForm().MatchString(sp.SessionPrefix) || len(sp.SessionPrefix) > 200):
		return invalid("session_prefix", "%s cannot begin the name of a session; write letters, digits and . _ : / -", document.Quote(sp.SessionPrefix))
	case len(sp.Context) > maxContext:
		return invalid("context", "the context has %d bytes, of at most %d", len(sp.Context), maxContext)
	}
	if err := sp.checkOnly(); err != nil {
		return err
	}
	return sp.checkContext()
}

func (sp *Spec) checkOnly() error {
	if sp.Only == "" {
		return nil
	}
	_, compact, problems := workflow.ReadNarrowing([]byte(sp.Only))
	for _, p := range problems {
		if p.Severity != document.SeverityWarning {
			return fault.New(fault.InvalidRequest, "only: %s", p.String()).Violate("/only"+p.Pointer, p.Code, p.Message)
		}
	}
	sp.Only = string(compact)
	return nil
}

func (sp *Spec) checkContext() error {
	if sp.Context == "" {
		return nil
	}
	value, problem := document.Parse([]byte(sp.Context), document.Limits{})
	if problem != nil {
		return invalid("context", "%s", problem.Message)
	}
	if value.Kind() != document.Object {
		return invalid("context", "the context must be a JSON object")
	}
	sp.Context = string(value.AppendJSON(nil))
	return nil
}

func invalid(field, format string, args ...any) error {
	e := fault.New(fault.InvalidRequest, format, args...)
	return e.Violate("/"+field, "INVALID", e.Message)
}
