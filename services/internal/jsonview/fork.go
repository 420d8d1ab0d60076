package jsonview

import (
	"strings"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// Interruption is the handler of an interrupt at work (S4.2).
type Interruption struct {
	Name     string `json:"name"`
	ReturnTo string `json:"return_to" doc:"The state that $return leads to."`
}

// Invocation is a run that is waited for (S5.5).
type Invocation struct {
	RunID    string `json:"run_id"`
	Workflow string `json:"workflow"`
	Event    string `json:"event" doc:"The event that invoked it."`
}

// Fork is a run in branches (S5.1).
type Fork struct {
	Event      string       `json:"event" doc:"The event that forked."`
	State      string       `json:"state" doc:"The state that it was fired in."`
	Join       string       `json:"join" enum:"all,any"`
	OnComplete string       `json:"on_complete,omitzero"`
	OnFail     string       `json:"on_fail,omitzero"`
	Current    string       `json:"current" doc:"The branch of callers that are bound to none; empty when there is none left for them."`
	Branches   []ForkBranch `json:"branches" doc:"In definition order."`
}

// ForkBranch is one branch of a fork.
type ForkBranch struct {
	Name      string `json:"name"`
	Status    string `json:"status" enum:"ACTIVE,SUCCEEDED,FAILED,CANCELLED"`
	State     string `json:"state"`
	Terminal  string `json:"terminal" doc:"The state that completes it."`
	SessionID string `json:"session_id,omitzero" doc:"The session that it was given to."`
	Fork      *Fork  `json:"fork,omitzero" doc:"Set while the branch is in branches itself."`
}

func interruptionOf(i *enginev1.Interruption) *Interruption {
	if i == nil {
		return nil
	}
	return &Interruption{Name: i.GetName(), ReturnTo: i.GetReturnTo()}
}

func invocationOf(i *enginev1.Invocation) *Invocation {
	if i == nil {
		return nil
	}
	return &Invocation{RunID: i.GetRunId(), Workflow: i.GetWorkflow(), Event: i.GetEvent()}
}

func forkOf(f *enginev1.Fork) *Fork {
	if f == nil {
		return nil
	}
	return &Fork{
		Event: f.GetEvent(), State: f.GetState(), Join: protomap.LowerWord(f.GetJoin(), "JOIN_MODE_"), OnComplete: f.GetOnComplete(), OnFail: f.GetOnFail(),
		Current: f.GetCurrent(), Branches: Each(f.GetBranches(), forkBranchOf),
	}
}

func forkBranchOf(b *enginev1.ForkBranch) ForkBranch {
	return ForkBranch{
		Name: b.GetName(), Status: branchStatus(b.GetStatus()), State: b.GetState(), Terminal: b.GetTerminal(),
		SessionID: b.GetSessionId(), Fork: forkOf(b.GetFork()),
	}
}

func branchStatus(s enginev1.BranchStatus) string {
	return strings.TrimPrefix(s.String(), "BRANCH_STATUS_")
}
