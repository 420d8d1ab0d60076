package attack

import (
	"reflect"
	"slices"
)

// Shrink takes steps away as long as the rest still fails, by delta debugging: first large
// parts, and in the end each step alone. It also makes the steps that are left simpler: about
// one run, without what is nested in them, without data. fails plays steps from the beginning;
// most bounds how often it is asked.
func Shrink(steps []Step, most int, fails func([]Step) bool) []Step {
	asked := 0
	try := func(candidate []Step) bool {
		asked++
		return asked <= most && fails(candidate)
	}
	steps = fewer(steps, try)
	first := slices.DeleteFunc(each(steps, func(s *Step) { s.Run, s.Approval = min(s.Run, 1), min(s.Approval, 1) }), func(s Step) bool { return s.Do == Start })
	if !equal(first, steps) && try(first) {
		steps = fewer(first, try)
	}
	for _, simplify := range []func(*Step){
		func(s *Step) { s.Race, s.Commit = nil, s.Commit*truth(s.Do == Kill) },
		func(s *Step) { s.Data, s.Key, s.Stale, s.Current = "", "", false, false },
		func(s *Step) { s.Files, s.Output, s.Bytes, s.Session = nil, "", 0, "" },
	} {
		for i := range steps {
			candidate := slices.Clone(steps)
			if simplify(&candidate[i]); !equal(candidate, steps) && try(candidate) {
				steps = candidate
			}
		}
	}
	return steps
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func each(steps []Step, change func(*Step)) []Step {
	all := slices.Clone(steps)
	for i := range all {
		change(&all[i])
	}
	return all
}

func equal(a, b []Step) bool {
	return slices.EqualFunc(a, b, func(x, y Step) bool { return reflect.DeepEqual(x, y) })
}

// fewer takes steps away.
func fewer(steps []Step, try func([]Step) bool) []Step {
	for size := (len(steps) + 1) / 2; size > 0 && len(steps) > 0; {
		smaller := false
		for at := 0; at < len(steps); {
			candidate := slices.Concat(steps[:at], steps[min(at+size, len(steps)):])
			if try(candidate) {
				steps, smaller = candidate, true
				continue
			}
			at += size
		}
		if size == 1 && !smaller {
			break
		}
		if !smaller || size > len(steps) {
			size = max(1, size/2)
		}
	}
	return steps
}
