package ledger

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// KindBinding maps a session to the run that it drives, written by the engine. A write that
// the state of that run permits holds only while both records are at the versions that it
// was decided on (S18.3).
const KindBinding = "binding"

// BindingOf is the key of a session's binding.
func BindingOf(namespace, session string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindBinding, ID: session}
}

// Binding is the run that a session drives, and the branch of it that is the session's own;
// Ended of a session that has ended.
type Binding struct {
	RunID, Branch string
	Ended         bool
}

const (
	bindingSeparator = " "
	bindingEnded     = "ended" + bindingSeparator
)

// ReadBinding reads what Data wrote.
func ReadBinding(data []byte) Binding {
	text, ended := strings.CutPrefix(string(data), bindingEnded)
	runID, branch, _ := strings.Cut(text, bindingSeparator)
	return Binding{RunID: runID, Branch: branch, Ended: ended}
}

// Data is the record of a binding.
func (b Binding) Data() []byte {
	data := b.RunID
	if b.Branch != "" {
		data += bindingSeparator + b.Branch
	}
	if b.Ended {
		data = bindingEnded + data
	}
	return []byte(data)
}

// forkIn is what StateIn reads of a lane that is in branches.
type forkIn struct {
	Current  string `json:"current"`
	Branches []struct {
		Name   string                `json:"name"`
		Status workflow.BranchStatus `json:"status"`
		State  string                `json:"state"`
		Fork   *forkIn               `json:"fork"`
	} `json:"branches"`
}

// StateIn is the state in which the record of a run has a branch, as the engine sees it for
// a caller in that branch; empty where the run moves no more, or there is no such branch.
func StateIn(run []byte, branch string) (string, error) {
	var in struct {
		Status workflow.Status `json:"status"`
		State  string          `json:"state"`
		Fork   *forkIn         `json:"fork"`
	}
	if err := json.Unmarshal(run, &in); err != nil {
		return "", fmt.Errorf("decode run: %w", err)
	}
	switch in.Status {
	case workflow.Running, workflow.Waiting, workflow.AwaitingApproval:
	default:
		return "", nil
	}
	state, fork := in.State, in.Fork
	for branch != "" || fork != nil {
		name, rest, _ := strings.Cut(branch, "/")
		if fork == nil {
			return "", nil
		}
		if name == "" {
			name = fork.Current
		}
		found := false
		for i := range fork.Branches {
			if b := &fork.Branches[i]; b.Name == name && b.Status == workflow.BranchActive {
				state, fork, branch, found = b.State, b.Fork, rest, true
				break
			}
		}
		if !found {
			return "", nil
		}
	}
	return state, nil
}
