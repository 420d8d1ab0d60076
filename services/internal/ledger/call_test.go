package ledger_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// What is written by hand is every field of the record, as it was.
func TestCallIsComplete(t *testing.T) {
	t.Parallel()
	full := ledger.Call{
		Verdict: toolcall.Verdict{
			Decision: toolcall.Deny, Code: toolcall.CodeMaxIterations, Tool: `mcp__"x"`, Detail: "<d>", Counted: true,
			MaxIterations: 1 << 60, Iterations: 7, Paths: []string{"a\"b", "c"}, EditLines: 3, MaxFiles: 4, Files: 5,
			ContextBudget: 6, ContextSpent: 8,
		},
		RunID: "run_1", Branch: "ci/lint", Entry: 9, RunVersion: 5, Message: "no & \"never\"\n",
		Spends: []ledger.Spend{{
			Measure: "money", Policy: "p", Scope: "principal", Subject: "a", Pattern: "mcp:*", Period: "daily",
			Start: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), Need: 20_000, Max: 5_000_000,
		}, {Measure: "calls", Policy: "p", Scope: "policy", WindowSeconds: 3600, Need: 1, Max: 50}},
		InputDigest: "00ff", ApprovalID: "apr_1",
	}
	for _, of := range []reflect.Value{reflect.ValueOf(full), reflect.ValueOf(full.Verdict)} {
		for i := range of.NumField() {
			if of.Field(i).IsZero() {
				t.Errorf("%s.%s is not tested", of.Type(), of.Type().Field(i).Name)
			}
		}
	}
	for _, call := range []ledger.Call{full, {Verdict: toolcall.Verdict{Decision: toolcall.Allow}}} {
		got, err := ledger.DecodeCall(call.Encode())
		if err != nil {
			t.Fatalf("%s: %v", call.Encode(), err)
		}
		if !reflect.DeepEqual(*got, call) {
			t.Errorf("got %+v, want %+v", *got, call)
		}
	}
}

// Files of an entry that was left are forgotten, those of other branches stay.
func TestFilesBelongToAnEntry(t *testing.T) {
	t.Parallel()
	kept := (&ledger.Files{}).With("", 3, toolcall.Files{"a"}).With("lint", 4, toolcall.Files{"b"})
	data, err := kept.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if kept, err = ledger.DecodeFiles(data); err != nil {
		t.Fatal(err)
	}
	if got := kept.Of("", 3); len(got) != 1 || got[0] != "a" {
		t.Errorf("entry 3 has %v", got)
	}
	if got := kept.Of("", 5); len(got) != 0 {
		t.Errorf("a new entry begins with %v", got)
	}
	if got := kept.With("", 5, toolcall.Files{"c"}).Of("lint", 4); len(got) != 1 {
		t.Errorf("the other branch has %v", got)
	}
	if empty, err := ledger.DecodeFiles(nil); err != nil || len(empty.Of("", 1)) != 0 {
		t.Errorf("no record: %v, %v", empty, err)
	}
}
