package protomap

import (
	"slices"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

func TestEnums(t *testing.T) {
	t.Parallel()
	statuses := Enums[workflow.Status, enginev1.RunStatus](enginev1.RunStatus_value, "RUN_STATUS_")
	if got := statuses[workflow.AwaitingApproval]; got != enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL {
		t.Errorf("AWAITING_APPROVAL is %v", got)
	}
	codes := Enums[toolcall.Code, policyv1.DecisionCode](policyv1.DecisionCode_value, "DECISION_CODE_")
	if got := codes[""]; got != policyv1.DecisionCode_DECISION_CODE_UNSPECIFIED {
		t.Errorf("no code is %v", got)
	}
}

func TestLegalEvents(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a", "states": {
		"a": {"on": {"NEXT": {"target": "b", "guard": "g"}, "SKIP": "b"}}, "b": {"type": "final"}},
		"guards": {"g": {"field": "x", "op": "exists"}}}`))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	l := NewLegalEvents()
	m := workflow.Compile(def, 1)
	for range 2 { // the second time from the cache
		got := l.Of(m.State("a"))
		if len(got) != 2 || got[0].GetEvent() != "NEXT" || !slices.Equal(got[0].GetTargets(), []string{"b"}) || len(got[0].GetGuards()) != 1 {
			t.Errorf("legal events of a: %v", got)
		}
		if got := l.Of(m.State("b")); len(got) != 0 {
			t.Errorf("legal events of b: %v", got)
		}
	}
	if got := l.Of(workflow.Compile(def, 2).State("a")); len(got) != 2 {
		t.Errorf("legal events of another version: %v", got)
	}
}
