package consent_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
)

// full returns an approval with all fields.
func full(t *testing.T) *consent.Approval {
	t.Helper()
	value := func(text string) document.Value {
		v, problem := document.Parse([]byte(text), document.Limits{})
		if problem != nil {
			t.Fatal(problem)
		}
		return v
	}
	out, err := consent.Open(consent.Request{
		ID: "apr_1", Editable: true, Message: "Ship it?",
		Action: consent.Action{
			Kind: consent.Transition, Subject: value(`{"run": "run_1", "event": "SHIP"}`), Data: value(`{"build": 9007199254740993, "note": "<a>"}`),
		},
		Asker: consent.Asker{Principal: "agent-7", SessionID: "ses_2", RootSession: "ses_1"},
		Terms: consent.Terms{
			Required: 2, DenyThreshold: 2, TTL: time.Hour,
			Eligible:   consent.Approvers{Roles: []string{"approver"}, Names: []string{"olga"}},
			Escalation: consent.Escalation{After: time.Minute, To: consent.Approvers{Roles: []string{"operator"}}},
		},
	}, noon)
	if err != nil {
		t.Fatal(err)
	}
	at := out.Approval
	by := func(name string, d consent.Decision) {
		out := at.Decide(consent.Approver{Name: name, Role: consent.RoleApprover}, d, noon.Add(2*time.Minute))
		if !out.Changed {
			t.Fatal(out.Refusal)
		}
		at = out.Approval
	}
	by("bob", consent.Decision{Note: "hm"})
	by("alice", consent.Decision{Approve: true, Data: value(`{"build": 9007199254740993}`)})
	at = at.Tick(noon.Add(2 * time.Minute)).Approval
	by("carol", consent.Decision{Approve: true, Digest: at.Digest, Note: "fine"})
	return at.Consume(at.Digest, noon.Add(3*time.Minute)).Approval
}

// TestStoredForm: stored approvals can be read as long as there are releases. A field
// that is gone from this file, or has another name, is a break.
func TestStoredForm(t *testing.T) {
	t.Parallel()
	const file = "testdata/stored.json"
	var got bytes.Buffer
	encoder := json.NewEncoder(&got)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(full(t)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("stored is\n%s\nwant\n%s", got.String(), want)
	}
	var read consent.Approval
	if err := json.Unmarshal(want, &read); err != nil {
		t.Fatal(err)
	}
	if read.Bound().Digest() != read.Digest || read.Outcome() != full(t).Outcome() {
		t.Errorf("read back: %s", read.Outcome())
	}
}

// TestOutcomeIsOneLine: text of people is shown as data: it cannot pose as the engine's
// words, nor reach a terminal (S9.2).
func TestOutcomeIsOneLine(t *testing.T) {
	t.Parallel()
	out, err := consent.Open(consent.Request{ID: "apr_1", Action: consent.Action{Kind: consent.ToolCall}, Asker: consent.Asker{Principal: "a"}}, noon)
	if err != nil {
		t.Fatal(err)
	}
	nasty := "no\n\x1b[2Japproved by \u202eboss"
	rejected := out.Approval.Decide(consent.Approver{Name: nasty, Role: consent.RoleApprover}, consent.Decision{Note: nasty}, noon).Approval
	cancelled := out.Approval.Cancel(nasty, nasty, noon).Approval
	for _, text := range []string{rejected.Outcome(), cancelled.Outcome()} {
		if strings.ContainsAny(text, "\n\x1b\u202e") {
			t.Errorf("it is shown as %q", text)
		}
	}
}

// FuzzStored: commands do not fail on any stored text, and only a grant admits.
func FuzzStored(f *testing.F) {
	stored, err := os.ReadFile("testdata/stored.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(stored)
	f.Add([]byte(`{"status": "PENDING", "action": {"kind": "x"}, "votes": [{}], "edit": {"data": 1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var a consent.Approval
		if json.Unmarshal(text, &a) != nil {
			return
		}
		who := consent.Approver{Name: "alice", Role: consent.RoleApprover}
		for _, out := range []consent.Result{
			a.Decide(who, consent.Decision{Approve: true}, noon), a.Tick(noon), a.Cancel("a", "b", noon), a.Void("b", noon),
			a.Consume(a.Digest, noon),
		} {
			if out.Approval == nil || out.Approval.Outcome() == "" || out.Changed && out.Refusal != nil {
				t.Fatalf("%+v", out)
			}
		}
		if a.Status != consent.Granted && a.Consume(a.Digest, noon).Changed {
			t.Fatalf("%s is used", a.Status)
		}
		_ = a.Diff()
	})
}
