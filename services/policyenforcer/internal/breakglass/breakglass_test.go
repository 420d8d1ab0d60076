package breakglass_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	grants "github.com/interlock-run/interlock/pkg/sdk/breakglass"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/breakglass"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
)

func as(name string, role auth.Role) enforcer.Caller {
	return enforcer.Caller{Namespace: "default", Principal: auth.Principal{Name: name, Role: role}}
}

var (
	olga  = as("olga", auth.Operator)
	oscar = as("oscar", auth.Operator)
	bot   = as("deployer", auth.Agent)
)

type signer struct{ ed25519.PrivateKey }

func (s signer) Public() ed25519.PublicKey { return s.PrivateKey.Public().(ed25519.PublicKey) }

func (s signer) Sign(message []byte) ([]byte, error) { return ed25519.Sign(s.PrivateKey, message), nil }

// lab is a keeper, and a client that cannot reach it.
type lab struct {
	*testing.T
	*breakglass.Keeper
	stage *stage.Stage
}

func onBoth(t *testing.T, fourEyes bool, test func(l *lab)) {
	t.Helper()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		s := stage.Of(stage.NewEngineOn(t, st, stage.Open))
		test(&lab{t, breakglass.New(breakglass.Config{Store: s.Store, Announce: stage.Announcer{}, Clock: s.Clock, FourEyes: fourEyes}), s})
	})
}

func (l *lab) grant() *breakglass.Grant {
	l.Helper()
	g, err := l.Create(l.Context(), olga, breakglass.Grant{Grant: grants.Grant{
		Principal: "deployer", Tools: []string{"Bash"}, Expires: l.stage.Clock().Add(8 * time.Hour).Unix(), Reason: "on call",
	}})
	if err != nil {
		l.Fatal(err)
	}
	return g
}

// spool makes calls by a grant, without contact, and returns the lines.
func (l *lab) spool(g *breakglass.Grant, commands ...string) []string {
	l.Helper()
	key := signer{ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}
	token, err := g.Token(key)
	if err != nil {
		l.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		l.Fatal(err)
	}
	file := filepath.Join(l.TempDir(), "g.jws")
	for name, text := range map[string]string{file: token, file + ".pub": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			l.Fatal(err)
		}
	}
	glass, err := grants.Open(grants.Settings{Grant: file, Namespace: "default", Principal: "deployer", Client: "go"}, l.stage.Clock)
	if err != nil {
		l.Fatal(err)
	}
	for _, command := range commands {
		if err := glass.Use(grants.Call{Tool: "Bash", Input: []byte(`{"command":"` + command + `","password":"hunter2"}`), Session: "s"}); err != nil {
			l.Fatal(err)
		}
	}
	lines, err := grants.Lines(file + ".spool")
	if err != nil {
		l.Fatal(err)
	}
	return lines
}

func (l *lab) handIn(g *breakglass.Grant, lines []string, want breakglass.HandedIn) {
	l.Helper()
	got, err := l.HandIn(l.Context(), bot, g.ID, lines)
	if err != nil || *got != want {
		l.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

func (l *lab) records() []*ledger.Decision {
	l.Helper()
	all, _, err := l.stage.App().Log.List(l.Context(), "default", decisionlog.Query{Code: toolcall.CodeUngoverned, Limit: 100})
	if err != nil {
		l.Fatal(err)
	}
	return all
}

// S23.52: each call of a spool is recorded once, with who, when and by which grant.
func TestHandIn(t *testing.T) {
	t.Parallel()
	onBoth(t, false, func(l *lab) {
		g := l.grant()
		at := l.stage.Clock()
		lines := l.spool(g, "a", "b", "c")
		l.stage.Advance(time.Hour)
		l.handIn(g, lines[:2], breakglass.HandedIn{Recorded: 2})
		l.handIn(g, lines, breakglass.HandedIn{Recorded: 1, Known: 2})
		l.handIn(g, lines, breakglass.HandedIn{Known: 3})
		all := l.records()
		if len(all) != 3 {
			l.Fatalf("%d records", len(all))
		}
		d := all[0]
		if d.Principal != "deployer" || d.SessionID != "s" || d.Tool != "Bash" || d.Decision != toolcall.Allow || d.Grant != g.ID || !d.MadeAt.Equal(at) ||
			!strings.Contains(d.Message, g.ID) || !strings.Contains(d.Message, "on call") || strings.Contains(d.Message, "altered") || !strings.Contains(string(d.Input), `"command"`) {
			l.Errorf("%+v", d)
		}
		if listed, err := l.List(l.Context(), "default"); err != nil || len(listed) != 1 || listed[0].Calls != 3 || listed[0].Altered {
			l.Errorf("%+v, %v", listed, err)
		}
	})
}

// S23.52: a spool that was altered is recorded as far as it can be read, and flagged.
func TestAlteredHandIn(t *testing.T) {
	t.Parallel()
	onBoth(t, false, func(l *lab) {
		g := l.grant()
		lines := l.spool(g, "a", "b", "c")
		altered := slices.Clone(lines)
		altered[1] = strings.Replace(altered[1], "hunter2", "HUNTER2", 1)
		l.handIn(g, altered, breakglass.HandedIn{Recorded: 3, Altered: "line 2 was changed"})
		l.handIn(g, altered, breakglass.HandedIn{Known: 3, Altered: "line 2 was changed"})
		for _, d := range l.records() {
			if !strings.Contains(d.Message, "altered: line 2 was changed") {
				l.Error(d.Message)
			}
		}
		// One that lacks a line from before.
		h := l.grant()
		lines = l.spool(h, "a", "b", "c")
		l.handIn(h, lines, breakglass.HandedIn{Recorded: 3})
		l.handIn(h, lines[:2], breakglass.HandedIn{Known: 2, Altered: "it does not have the 3 lines that were handed in before"})
		if got, err := l.Get(l.Context(), "default", h.ID); err != nil || !got.Altered {
			l.Errorf("%+v, %v", got, err)
		}
		if _, err := l.HandIn(l.Context(), bot, g.ID, []string{"x"}); fault.ReasonOf(err) != fault.InvalidRequest {
			l.Error(err)
		}
	})
}

// S23.52: calls outside of the grant are recorded, and the record says so.
func TestFlags(t *testing.T) {
	t.Parallel()
	onBoth(t, false, func(l *lab) {
		g := l.grant()
		before := l.spool(g, "a")
		if _, err := l.Revoke(l.Context(), oscar, g.ID); err != nil {
			l.Fatal(err)
		}
		l.stage.Advance(time.Minute)
		l.handIn(g, before, breakglass.HandedIn{Recorded: 1})
		l.handIn(g, l.spool(g, "a"), breakglass.HandedIn{Recorded: 1})
		revoked := 0
		for _, d := range l.records() {
			if strings.Contains(d.Message, `revoked before, by "oscar"`) {
				revoked++
			}
		}
		if revoked != 1 {
			l.Errorf("%d records say that the grant was revoked", revoked)
		}
	})
}

// S23.48: who may make a grant, and hand it in.
func TestGrantsOfOperators(t *testing.T) {
	t.Parallel()
	onBoth(t, true, func(l *lab) {
		for name, change := range map[string]func(*breakglass.Grant){
			"of every tool":   func(g *breakglass.Grant) { g.Tools = []string{"*"} },
			"for two days":    func(g *breakglass.Grant) { g.Expires += 48 * 3600 },
			"that is over":    func(g *breakglass.Grant) { g.Expires = l.stage.Clock().Unix() },
			"of no principal": func(g *breakglass.Grant) { g.Principal = "" },
			"for no reason":   func(g *breakglass.Grant) { g.Reason = "" },
		} {
			g := breakglass.Grant{Grant: grants.Grant{Principal: "deployer", Tools: []string{"Bash"}, Expires: l.stage.Clock().Add(time.Hour).Unix(), Reason: "r"}}
			change(&g)
			if _, err := l.Create(l.Context(), olga, g); fault.ReasonOf(err) != fault.InvalidRequest {
				l.Errorf("a grant %s: %v", name, err)
			}
		}
		g := l.grant()
		if !g.Pending {
			l.Error("it counts without a second operator")
		}
		if _, err := l.Confirm(l.Context(), olga, g.ID); fault.ReasonOf(err) != fault.PermissionDenied {
			l.Errorf("its maker confirms it: %v", err)
		}
		got, err := l.Confirm(l.Context(), oscar, g.ID)
		if err != nil || got.Pending || got.ConfirmedBy != "oscar" {
			l.Errorf("%+v, %v", got, err)
		}
		if _, err := l.HandIn(l.Context(), as("other", auth.Agent), g.ID, l.spool(got, "a")); fault.ReasonOf(err) != fault.PermissionDenied {
			l.Errorf("another principal hands in: %v", err)
		}
		if _, err := l.Get(l.Context(), "elsewhere", g.ID); fault.ReasonOf(err) != fault.NotFound {
			l.Errorf("in another namespace: %v", err)
		}
	})
}
