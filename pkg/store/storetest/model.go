package storetest

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-run/interlock/pkg/store"
)

// modelState is all that a store knows of one key.
type modelState struct {
	// last is the version of the last put, also after a delete.
	last    int64
	exists  bool
	value   string
	counter int64
	// forgotten is the version through which history was forgotten last.
	forgotten int64
}

// version returns the record's version as callers see it.
func (s modelState) version() int64 {
	if !s.exists {
		return store.Absent
	}
	return s.last
}

// model is a store without concurrency, key by key.
var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		index := map[string]int{}
		var partitions [][]porcupine.Operation
		for _, operation := range history {
			key := operation.Input.(op).key
			i, ok := index[key]
			if !ok {
				i = len(partitions)
				index[key] = i
				partitions = append(partitions, nil)
			}
			partitions[i] = append(partitions[i], operation)
		}
		return partitions
	},
	Init: func() any { return modelState{} },
	Step: func(state, input, output any) (bool, any) {
		return step(state.(modelState), input.(op), output.(answered))
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// step returns whether a store in this state may answer so, and its next state.
//
// An operation with an unknown outcome takes effect wherever the checker places
// it; it may always be placed after all others, where its effect is not seen.
// That stands for "not applied", so one deterministic step covers both.
func step(state modelState, in op, out answered) (bool, any) {
	next, want := expected(state, in)
	return out.outcome == unknown || out == want, next
}

// expected returns the result of an operation on a store in this state.
func expected(state modelState, in op) (next modelState, out answered) {
	switch in.kind {
	case opGet:
		if !state.exists {
			return state, answered{outcome: missing}
		}
		return state, answered{version: state.last, value: state.value}
	case opCounters:
		return state, answered{counter: state.counter}
	case opHistory:
		if state.last == state.forgotten {
			return state, answered{outcome: missing}
		}
		return state, answered{oldest: state.forgotten + 1, version: state.last}
	}
	demands := in.puts() || in.kind == opDelete
	if demands && in.expect != store.AnyVersion && in.expect != state.version() {
		return state, answered{outcome: conflicted, version: state.version()}
	}
	if in.adds() && state.counter+1 > in.limit {
		return state, answered{outcome: limited, counter: state.counter}
	}
	next = state
	if in.puts() {
		next.last, next.exists, next.value = state.last+1+in.earlier, true, in.value
		out.version = next.last
	}
	if in.adds() {
		next.counter++
		out.counter = next.counter
	}
	if in.kind == opDelete {
		next.exists, next.value = false, ""
	}
	if in.forget > 0 {
		next.forgotten = min(max(state.forgotten, in.forget), next.last)
	}
	return next, out
}
