package attack

import "slices"

// Shrink takes steps away as long as the rest still fails, by delta debugging: first large
// parts, and in the end each step alone. Then it takes away what is nested in the steps that
// are left. fails plays steps from the beginning; most bounds how often it is asked.
func Shrink(steps []Step, most int, fails func([]Step) bool) []Step {
	asked := 0
	try := func(candidate []Step) bool {
		asked++
		return asked <= most && fails(candidate)
	}
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
	for i := range steps {
		if steps[i].Race == nil {
			continue
		}
		candidate := slices.Clone(steps)
		candidate[i].Race, candidate[i].Commit = nil, 0
		if try(candidate) {
			steps = candidate
		}
	}
	return steps
}
