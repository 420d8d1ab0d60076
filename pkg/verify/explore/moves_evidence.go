package explore

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/verify/model"
)

// evidenceMoves visits possible observations, and acts that void them.
func (x *Explorer) evidenceMoves(w *model.GlobalState, visit func(*Step) bool) {
	if !x.Observing {
		return
	}
	going := true
	w.Root.Each(nil, func(path []int, n *model.Node) {
		for _, spec := range n.Unit.Machine.Evidence() {
			if going {
				going = x.evidenceMove(w, path, n, &spec, visit)
			}
		}
	})
}

func (x *Explorer) evidenceMove(w *model.GlobalState, path []int, n *model.Node, spec *evidence.Spec, visit func(*Step) bool) bool {
	doubtful, spends := false, false
	have := func(entry int64) bool { return slices.Contains(n.Held, model.Held{Name: spec.Name, Entry: entry}) }
	change := func(kind MoveKind, branch, why string, next *model.Node) bool {
		s := &Step{Move: Move{
			Kind: kind, Path: path, Branch: branch, Event: spec.Name, Why: why, doubtful: kind == Gains && doubtful,
			spends: kind == Gains && spends,
		}, From: w}
		s.To = &model.GlobalState{Root: model.Replace(w.Root, path, next), Met: w.Met, Count: w.Count}
		return visit(s)
	}
	without := func() *model.Node {
		next := *n
		next.Held = slices.DeleteFunc(slices.Clone(n.Held), func(h model.Held) bool { return h.Name == spec.Name })
		return &next
	}
	gained := func(entry int64) *model.Node {
		next := *n
		next.Held = append(slices.Clone(n.Held), model.Held{Name: spec.Name, Entry: entry})
		slices.SortFunc(next.Held, func(a, b model.Held) int {
			if a.Name != b.Name {
				return strings.Compare(a.Name, b.Name)
			}
			return int(a.Entry - b.Entry)
		})
		return &next
	}
	anyHeld := slices.ContainsFunc(n.Held, func(h model.Held) bool { return h.Name == spec.Name })
	switch {
	case spec.Approval != "":
		if spec.MaxAge == 0 {
			return true
		}
		next := *n
		run := *n.Run
		run.Approved = slices.DeleteFunc(slices.Clone(run.Approved), func(a evidence.Approved) bool {
			return a.State == spec.Approval || a.Event == spec.Approval
		})
		next.Run = &run
		return len(run.Approved) == len(n.Run.Approved) || change(Loses, "", "age", &next)
	case spec.State != nil:
		if anyHeld {
			return change(Loses, "", "state", without())
		}
		return model.WrittenFor(spec).Unknown != "" || change(Gains, "", "state", gained(0))
	}
	possible, edits := false, false
	var entries []int64
	var branch string
	w.Root.Each(nil, func(at []int, other *model.Node) { edits = edits || x.Edits(w, at, other) })
	for _, lane := range n.Run.Lanes() {
		a := x.Observable(w, path, n, &lane, spec)
		if !a.Possible {
			continue
		}
		doubtful = doubtful || !a.Certain || spec.When != nil                                  // conditions are not explored here
		if most := n.Unit.Machine.State(lane.State).MaxIterations; most > 0 && !w.MayPause() { // a pause makes a new entry
			spends = true
			doubtful = doubtful || int64(spec.Count) > most
		}
		if !possible {
			branch = lane.Branch
		}
		possible = true
		entries = append(entries, lane.Entry)
	}
	if anyHeld {
		switch {
		case spec.AfterEdit && edits:
			return change(Loses, "", "edit", without())
		case (spec.AfterEdit || spec.WithinEntry) && w.MayPause(): // a pause has no observations
			return change(Loses, "", "pause", without())
		case spec.MaxAge > 0:
			return change(Loses, "", "age", without())
		case possible:
			return change(Loses, branch, "outcome", without())
		default: // a call that was allowed before is reported only now
			return change(Loses, "", "late", without())
		}
	}
	if !possible {
		if slices.Contains(n.Late, spec.Name) && !have(0) { // that is not certain
			doubtful = true
			return change(Gains, "", "late", gained(0))
		}
		return true
	}
	if !spec.WithinEntry {
		return have(0) || change(Gains, branch, "", gained(0))
	}
	for _, entry := range entries {
		if !have(entry) && !change(Gains, branch, "", gained(entry)) {
			return false
		}
	}
	return true
}
