package check_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/redact"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
)

// A candidate is replayed against recorded calls: its changes are reported,
// with the record.
func TestSimulate(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		begin := r.Clock.Now()
		log := func(run, call string, edit func(*ledger.Decision)) {
			r.Helper()
			record := r.Record(run, call)
			edit(record)
			if err := r.Append(run, record); err != nil {
				r.Fatal(err)
			}
			r.Clock.Advance(time.Minute)
		}
		tool := func(name string) func(*ledger.Decision) {
			return func(d *ledger.Decision) { d.Tool, d.Capability = name, rules.CapabilityOf(name) }
		}
		log("run_1", "shell", func(*ledger.Decision) {})
		log("run_1", "read", tool("Read"))
		log("run_1", "console", tool("console")) // a shell in its state
		log("run_2", "edit", func(d *ledger.Decision) {
			tool("Edit")(d)
			d.SessionID = "child" // whose tree is that of the others
		})
		log("run_2", "denied by the state", func(d *ledger.Decision) { d.Decision, d.Code = toolcall.Deny, toolcall.CodeToolNotAllowed })
		log("run_2", "denied by p", func(d *ledger.Decision) {
			d.Decision, d.Code, d.Policy = toolcall.Deny, toolcall.CodePolicyDenied, "p"
		})
		log("run_2", "approved", func(d *ledger.Decision) { d.ApprovalID, d.Policy = "apr_1", "p" })
		log("run_2", "mail", func(d *ledger.Decision) {
			tool("mcp__resend__send")(d)
			d.Input = json.RawMessage(`{"from":"a@x.test","to":["b@y.test"]}`)
		})
		log("run_2", "mail without its input", func(d *ledger.Decision) {
			tool("mcp__resend__send")(d)
			d.Input = redact.Masks{}.Input([]byte(strings.Repeat(" ", redact.MaxInput+1)))
		})
		changes := func(definition string, since time.Time, run string) string {
			r.Helper()
			s, err := r.Checks.Simulate(r.Context(), enforcertest.Operator, check.Simulation{Definition: []byte(definition), Since: since, RunID: run})
			if err != nil || s.Truncated {
				r.Fatalf("%+v, %v", s, err)
			}
			var out []string
			for _, c := range s.Changes {
				if c.Decision != toolcall.Allow && c.Message == "" {
					r.Errorf("%s is %s without a word", c.Recorded.CallID, c.Decision)
				}
				out = append(out, fmt.Sprintf("%s %s %s", c.Recorded.CallID, c.Decision, c.Code))
			}
			slices.Sort(out)
			return fmt.Sprintf("%d: %s", s.Replayed, strings.Join(out, ", "))
		}
		for name, c := range map[string]struct{ definition, want string }{
			"denies shells": {`{"role":"agent","name":"p","deny":[{"capability":"bash"}]}`, "9: approved DENY POLICY_DENIED, console DENY POLICY_DENIED, shell DENY POLICY_DENIED"},
			"asks":          {`{"role":"agent","name":"p","ask":[{"capability":"bash"}]}`, "9: console ASK APPROVAL_REQUIRED, denied by p ASK APPROVAL_REQUIRED, shell ASK APPROVAL_REQUIRED"},
			"allows":        {`{"role":"agent","name":"p"}`, "9: denied by p ALLOW "},
			"another":       {`{"role":"agent","name":"q"}`, "9: "},
			"limits":        {`{"role":"agent","name":"q","allow":[{"capability":"*","rate_limit":{"max_calls":2,"window_seconds":86400,"scope":"session"}}]}`, "9: approved DENY RATE_LIMITED, console DENY RATE_LIMITED, edit DENY RATE_LIMITED, mail DENY RATE_LIMITED, mail without its input DENY RATE_LIMITED"},
			"mail": {
				`{"role":"agent","name":"q","email_config":{"allowed_to":["*@x.test"]}}`,
				"9: mail DENY EMAIL_DENIED, mail without its input DENY EMAIL_DENIED",
			},
			"good mail": {`{"role":"agent","name":"q","email_config":{"allowed_to":["*@y.test"]}}`, "9: mail without its input DENY EMAIL_DENIED"},
		} {
			if got := changes(c.definition, time.Time{}, ""); got != c.want {
				r.Errorf("%s: %s\nwant %s", name, got, c.want)
			}
		}
		none := `{"role":"agent","name":"p","default":"deny"}`
		if got := changes(none, begin.Add(6*time.Minute), ""); got != "3: approved DENY POLICY_DENIED, mail DENY POLICY_DENIED, mail without its input DENY POLICY_DENIED" {
			r.Errorf("since: %s", got)
		}
		if got := changes(none, time.Time{}, "run_1"); got != "3: console DENY POLICY_DENIED, read DENY POLICY_DENIED, shell DENY POLICY_DENIED" {
			r.Errorf("of a run: %s", got)
		}
		_, err := r.Checks.Simulate(r.Context(), enforcertest.Operator, check.Simulation{Definition: []byte(`{}`)})
		r.Refused(err, fault.InvalidDefinition)
	})
}

func TestSimulateIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(enforcertest.New(t, enforcertest.NewSQLite(t)))
	r.AppendMany("run_1", 1001)
	s, err := r.Checks.Simulate(t.Context(), enforcertest.Operator, check.Simulation{Definition: []byte(`{"role":"agent","default":"deny"}`)})
	if err != nil || s.Replayed != 1001 || len(s.Changes) != 1000 || !s.Truncated {
		t.Errorf("%d replayed, %d changes, truncated %t, %v", s.Replayed, len(s.Changes), s.Truncated, err)
	}
}
