package scenario

import (
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// view is a run as it stands in one of its branches, or outside of them.
type view struct {
	*tracked
	*workflow.Lane
	status workflow.Status
	// branch that it is, as a path, or empty.
	branch string
}

// views returns all that the caller may speak of: from where it works outwards.
func (w *simulation) views() []view {
	var all []view
	if w.binding.tracked == nil {
		return nil
	}
	for s := w.here(); ; {
		all = append(all, s.views()...)
		parent, waits := w.parent(s.tracked)
		if !waits {
			return all
		}
		s = parent
	}
}

// views returns the lanes of one run from the binding outwards, and the run itself.
func (s binding) views() []view {
	at := s.at()
	whole := view{tracked: s.tracked, Lane: &s.run.Lane, status: s.run.Status}
	if at.Branch == "" {
		return []view{whole}
	}
	var around []view
	path, fork := "", s.run.Fork
	for name := range strings.SplitSeq(at.Branch, "/") {
		if fork == nil {
			break // the branch has joined
		}
		i := slices.IndexFunc(fork.Branches, func(b workflow.BranchProgress) bool { return b.Name == name })
		if i < 0 {
			break
		}
		b := &fork.Branches[i]
		path = strings.TrimPrefix(path+"/"+name, "/")
		around = append(around, view{s.tracked, &b.Lane, workflow.Waiting, path})
		fork = b.Fork
	}
	if len(around) > 0 {
		around[len(around)-1].status = at.Status
	}
	slices.Reverse(around)
	return append(around, whole)
}

// value returns the value that an expectation of a run is compared with.
func (v *view) value(key string) document.Value {
	switch key {
	case "state":
		return document.StringValue(v.State)
	case "status":
		return document.StringValue(string(v.status))
	case "interrupt":
		return textOrNull(v.handles())
	case "context":
		return v.Context
	case "iterations":
		return integer(v.count(v.Entry).iterations)
	case "transition_count":
		return integer(v.run.TransitionCount)
	case "allowed_tools":
		state := v.rules()
		if !state.ToolsRestricted {
			return document.NullValue()
		}
		return textList(state.AllowedTools)
	case "legal_events":
		var names []string
		for _, e := range v.rules().LegalEvents() {
			names = append(names, e.Event)
		}
		return textList(names)
	default:
		return document.NullValue()
	}
}

// handles returns the interrupt whose handler is at work, or empty.
func (v *view) handles() string {
	if v.Interrupt == nil {
		return ""
	}
	return v.Interrupt.Name
}

// rules returns the state that the view is in.
func (v *view) rules() *workflow.StateView { return v.of.machine.State(v.State) }

func integer(n int64) document.Value { return document.NumberValue(strconv.FormatInt(n, 10)) }
