package app

import (
	"reflect"
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// What is written by hand is every field of the record, as it was.
func TestCallRecordIsComplete(t *testing.T) {
	t.Parallel()
	verdicts := []toolcall.Verdict{
		{Decision: toolcall.Allow},
		{
			Decision: toolcall.Deny, Code: toolcall.CodeMaxIterations, Tool: `mcp__"x"`, Detail: "<d>", Counted: true,
			MaxIterations: 1 << 60, Iterations: 7,
		},
	}
	full := reflect.ValueOf(verdicts[1])
	for i := range full.NumField() {
		if full.Field(i).IsZero() {
			t.Errorf("the verdict's %s is not tested", full.Type().Field(i).Name)
		}
	}
	for _, v := range verdicts {
		d := &Decision{Verdict: v, Message: "no & \"never\"\n", Run: &workflow.Run{Version: 5}}
		got, err := decodeCall(encodeCall(d))
		if err != nil {
			t.Fatalf("%s: %v", encodeCall(d), err)
		}
		if want := (call{Verdict: v, RunVersion: 5, Message: d.Message}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
