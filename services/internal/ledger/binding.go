package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// KindBinding maps a session to the run that it drives, written by the engine. A write that
// the state of that run permits holds only while both records are at the versions that it
// was decided on (S18.3).
const KindBinding = "binding"

// BindingOf returns the key of a session's binding.
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

// ReadBinding reads the output of Data.
func ReadBinding(data []byte) Binding {
	text, ended := strings.CutPrefix(string(data), bindingEnded)
	runID, branch, _ := strings.Cut(text, bindingSeparator)
	return Binding{RunID: runID, Branch: branch, Ended: ended}
}

// Data returns the record of a binding.
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

// forkIn has the fields that are read of a lane that is in branches.
type forkIn struct {
	Current  string     `json:"current"`
	Branches []branchIn `json:"branches"`
}

type branchIn struct {
	Name      string                `json:"name"`
	Status    workflow.BranchStatus `json:"status"`
	SessionID string                `json:"session_id"`
	State     string                `json:"state"`
	Fork      *forkIn               `json:"fork"`
}

// StateIn returns the workflow of the record of a run, and the state in which it has a session, as
// the engine sees it for a caller with a binding; empty where the run moves no more, or there is no
// such branch. only is the branch that the caller's token is bound to, empty for no limit: in
// another one, and in one that was given to another session, it works in no state.
func StateIn(run []byte, session string, b Binding, only string) (workflowName, stateName string, err error) {
	var in struct {
		Workflow  string          `json:"workflow"`
		Status    workflow.Status `json:"status"`
		SessionID string          `json:"session_id"`
		State     string          `json:"state"`
		Fork      *forkIn         `json:"fork"`
	}
	if err := json.Unmarshal(run, &in); err != nil {
		return "", "", fmt.Errorf("decode run: %w", err)
	}
	switch in.Status {
	case workflow.Running, workflow.Waiting, workflow.AwaitingApproval:
	default:
		return "", "", nil
	}
	way, found := in.Fork.find(b.Branch)
	if only != "" && found {
		var limit []*branchIn
		switch limit, found = in.Fork.find(only); {
		case !found:
		case b.Branch != "":
			found = slices.Equal(way, limit)
		default:
			way, found = limit, owner(limit, in.SessionID) == session
		}
	}
	if !found {
		return "", "", nil
	}
	state, fork := in.State, in.Fork
	for i := 0; i < len(way) || fork != nil; i++ {
		if i == len(way) { // who names no branch works in the current one
			at := fork.place(fork.Current)
			if at == nil {
				return "", "", nil
			}
			way = append(way, at)
		}
		if way[i].Status != workflow.BranchActive {
			return "", "", nil
		}
		state, fork = way[i].State, way[i].Fork
	}
	return in.Workflow, state, nil
}

// owner returns the session that works in a branch.
func owner(way []*branchIn, session string) string {
	for _, b := range way {
		if b.SessionID != "" {
			session = b.SessionID
		}
	}
	return session
}

func (f *forkIn) place(name string) *branchIn {
	for i := range f.Branches {
		if f.Branches[i].Name == name {
			return &f.Branches[i]
		}
	}
	return nil
}

// find returns the way to a branch by its path, or by its name where only one has it, as
// the engine finds it.
func (f *forkIn) find(name string) (way []*branchIn, found bool) {
	if name == "" {
		return nil, true
	}
	if f == nil {
		return nil, false
	}
	if outer, inner, nested := strings.Cut(name, "/"); nested {
		at := f.place(outer)
		if at == nil || inner == "" {
			return nil, false
		}
		rest, found := at.Fork.find(inner)
		return append([]*branchIn{at}, rest...), found
	}
	if named := f.named(name); len(named) == 1 {
		return named[0], true
	}
	return nil, false
}

// named returns the ways to the branches that a bare name may mean.
func (f *forkIn) named(name string) (ways [][]*branchIn) {
	if f == nil {
		return nil
	}
	if at := f.place(name); at != nil {
		return [][]*branchIn{{at}}
	}
	for i := range f.Branches {
		at := &f.Branches[i]
		for _, inner := range at.Fork.named(name) {
			ways = append(ways, append([]*branchIn{at}, inner...))
		}
	}
	return ways
}
