package ledger_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// A call has all data of its decision, except those that only the sentence needs.
func TestCallIsOfItsDecision(t *testing.T) {
	t.Parallel()
	want := ledger.DecidedCall{
		Verdict: toolcall.Verdict{
			Decision: toolcall.Deny, Code: toolcall.CodeMaxIterations, Tool: `mcp__"x"`, Counted: true,
			MaxIterations: 1 << 60, Iterations: 7, Paths: []string{"a\"b", "c"}, EditLines: 3, MaxFiles: 4, Files: 5,
			ContextBudget: 6, ContextSpent: 8,
		},
		RunID: "run_1", Branch: "ci/lint", Entry: 9, RunVersion: 5, WorkflowVersion: 3, Message: "no & \"never\"\n",
		Spends:      []ledger.Spend{{Measure: "calls", Policy: "p", Scope: "policy", WindowSeconds: 3600, Need: 1, Max: 50}},
		InputDigest: "00ff", ApprovalID: "apr_1", Gives: []string{"tests"}, Edits: 3, Voids: true,
		Jail: &ledger.Jail{Level: 3, Digest: "sha256:00", Profile: []byte(`{"version":1}`), Line: "ff", Allowed: time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC), Reads: true},
	}
	for _, of := range []reflect.Value{reflect.ValueOf(want), reflect.ValueOf(want.Verdict)} {
		for i := range of.NumField() {
			if name := of.Type().Field(i).Name; of.Field(i).IsZero() && name != "Detail" && of.Type().Field(i).Type != reflect.TypeFor[*jail.Profile]() { // its bytes are in Call.Jail
				t.Errorf("%s.%s is not tested", of.Type(), name)
			}
		}
	}
	v := &want.Verdict
	d := ledger.Decision{
		RunID: want.RunID, RunVersion: want.RunVersion, WorkflowVersion: want.WorkflowVersion, Branch: want.Branch, Tool: v.Tool, Decision: v.Decision, Code: v.Code,
		Message: want.Message, InputDigest: want.InputDigest, ApprovalID: want.ApprovalID, Kept: ledger.KeptOf(v, want.Entry, want.Spends),
	}
	d.Kept.Gives, d.Kept.Edits, d.Kept.Voids = want.Gives, want.Edits, want.Voids
	d.JailLevel, d.JailDigest = want.Jail.Level, want.Jail.Digest
	d.Kept.Profile, d.Kept.Line, d.Kept.Allowed, d.Kept.Reads = want.Jail.Profile, want.Jail.Line, want.Jail.Allowed, want.Jail.Reads
	got, err := ledger.DecodeCall("run_0", d.Encode())
	if err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v, want %+v, %v", got, want, err)
	}
	if got, err = ledger.DecodeCall("session_1", (&ledger.Decision{Decision: toolcall.Allow}).Encode()); err != nil || got.RunID != "session_1" || got.GivenUp() {
		t.Errorf("a call without a run is %+v, %v", got, err)
	}
	if got, err = ledger.DecodeCall("run_1", ledger.NotDecided()); err != nil || !got.GivenUp() {
		t.Errorf("a call that was given up is %+v, %v", got, err)
	}
	if got, err = ledger.DecodeCall("run_1", nil); err == nil {
		t.Errorf("an entry that is no longer kept is %+v", got)
	}
}

// Files of an entry that was left are forgotten, those of other branches stay.
func TestFilesBelongToAnEntry(t *testing.T) {
	t.Parallel()
	kept := (&ledger.Files{}).With("", ledger.FilesOfEntry{Entry: 3, Files: toolcall.Files{"a"}, Unknown: true}).With("lint", ledger.FilesOfEntry{Entry: 4, Files: toolcall.Files{"b"}})
	data, err := kept.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if kept, err = ledger.DecodeFiles(data); err != nil {
		t.Fatal(err)
	}
	if got := kept.Of("", 3); len(got.Files) != 1 || got.Files[0] != "a" || !got.Unknown {
		t.Errorf("entry 3 has %v", got)
	}
	if got := kept.Of("", 5); len(got.Files) != 0 || got.Unknown {
		t.Errorf("a new entry begins with %v", got)
	}
	if got := kept.With("", ledger.FilesOfEntry{Entry: 5, Files: toolcall.Files{"c"}}).Of("lint", 4); len(got.Files) != 1 || got.Unknown {
		t.Errorf("the other branch has %v", got)
	}
	if empty, err := ledger.DecodeFiles(nil); err != nil || len(empty.Of("", 1).Files) != 0 {
		t.Errorf("no record: %v, %v", empty, err)
	}
}
