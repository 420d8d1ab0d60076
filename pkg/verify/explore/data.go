package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// withContext returns a run whose lane has another context.
func withContext(run *workflow.Run, branch string, context document.Value) *workflow.Run {
	next := *run
	lane := &next.Lane
	if branch != "" {
		for name := range strings.SplitSeq(branch, "/") {
			fork := *lane.Fork
			fork.Branches = slices.Clone(fork.Branches)
			lane.Fork = &fork
			i := slices.IndexFunc(fork.Branches, func(b workflow.BranchProgress) bool { return b.Name == name })
			lane = &fork.Branches[i].Lane
		}
	}
	lane.Context = context
	return &next
}

// edited returns the data that an approver can put in the place of those that wait. A key of
// which a guard asks where its value comes from is the approver's, or left alone, or stays as
// the agent has it.
func (x *Explorer) edited(words *model.Vocabulary, waits document.Value) (all []document.Value) {
	var traced []string
	for _, key := range words.Keys {
		if words.Traced[key] {
			traced = append(traced, key)
		}
	}
	for _, away := range x.subsets(traced) {
		var agents []string // that stay as they are
		for _, key := range traced {
			if _, has := waits.Get(key); has && !slices.Contains(away, key) {
				agents = append(agents, key)
			}
		}
		for _, stay := range x.subsets(agents) {
			var members []document.Member
			for _, key := range words.Keys {
				waiting, _ := waits.Get(key)
				switch {
				case slices.Contains(away, key):
				case slices.Contains(stay, key):
					members = append(members, document.Member{Name: key, Value: waiting})
				default:
					members = append(members, document.Member{Name: key, Value: model.FreeByHuman})
				}
			}
			all = append(all, document.ObjectValue(members))
		}
	}
	return all
}

// grantedBy returns the values by which a grant is distinguished, where each counts.
func (x *Explorer) grantedBy(chosen []model.Assignment) []model.Assignment {
	if x.EveryGrant {
		return chosen
	}
	return nil
}

// choices returns the values of guards that are tried for an event.
func (x *Explorer) choices(n *model.Node, lane *workflow.View, event string, guards []string) ([][]model.Assignment, bool) {
	if x.Choose != nil && n.Unit == x.Main {
		return x.Choose(n, lane, event)
	}
	return n.Unit.Words.Assignments(lane.Context, guards)
}

// released returns a tree in which a run's lanes have any value again where they have the
// one that was chosen for an event.
func released(root *model.Node, path []int, before document.Value, chosen []model.Assignment) *model.Node {
	n := root
	for _, i := range path {
		if i >= len(n.Children) {
			return root // it has ended
		}
		n = n.Children[i]
	}
	if len(chosen) == 0 {
		return root
	}
	next := *n
	run := *n.Run
	releaseLane(&run.Lane, before, chosen)
	next.Run = &run
	return model.Replace(root, path, &next)
}

func releaseLane(l *workflow.Lane, before document.Value, chosen []model.Assignment) {
	var members []document.Member
	for _, a := range chosen {
		held, ok := l.Context.Get(a.Key)
		if a.Value.IsZero() && !ok || !a.Value.IsZero() && ok && document.Equal(held, a.Value) {
			free, _ := before.Get(a.Key)
			members = append(members, document.Member{Name: a.Key, Value: free})
		}
	}
	if len(members) > 0 {
		l.Context = document.MergeTop(l.Context, document.ObjectValue(members))
	}
	if l.Fork == nil {
		return
	}
	fork := *l.Fork
	fork.Branches = slices.Clone(fork.Branches)
	for i := range fork.Branches {
		releaseLane(&fork.Branches[i].Lane, before, chosen)
	}
	l.Fork = &fork
}

func anyMissing(chosen []model.Assignment) bool {
	return slices.ContainsFunc(chosen, func(a model.Assignment) bool { return a.Value.IsZero() })
}

// keeps returns the choices of keys that data can leave alone. It makes a difference only
// where a guard asks where a value comes from, and it is not the agent's already.
func (x *Explorer) keeps(words *model.Vocabulary, context document.Value) [][]string {
	var keys []string
	for _, key := range words.Keys {
		v, ok := context.Get(key)
		if words.Traced[key] && ok && v.Str() != model.FreeByAgent.Str() {
			keys = append(keys, key)
		}
	}
	return x.subsets(keys)
}

// mostTraced bounds the keys of which guards ask where their values come from, and of which
// each may have been set or not.
const mostTraced = 6

// subsets returns all choices among some keys, none first.
func (x *Explorer) subsets(keys []string) [][]string {
	if len(keys) > mostTraced {
		x.AddCause(fmt.Sprintf("guards ask of more than %d keys where their values come from", mostTraced))
	}
	return SubsetsOf(keys)
}

// SubsetsOf returns all choices among the first keys, none first.
func SubsetsOf(keys []string) [][]string {
	all := [][]string{nil}
	for _, key := range keys[:min(len(keys), mostTraced)] {
		for _, some := range all[:len(all):len(all)] {
			all = append(all, append(slices.Clip(some), key))
		}
	}
	return all
}
