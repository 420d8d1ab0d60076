package storetest

import (
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-run/interlock/pkg/store"
)

// TestModel tests that the model distinguishes right histories from wrong ones: a check
// that cannot fail would prove no property.
func TestModel(t *testing.T) {
	t.Parallel()
	put := func(expect int64, value string) op { return op{kind: opPut, key: "k", expect: expect, value: value} }
	remove := func(expect int64) op { return op{kind: opDelete, key: "k", expect: expect} }
	add := func(limit int64) op { return op{kind: opAdd, key: "k", limit: limit} }
	get := op{kind: opGet, key: "k"}
	counters := op{kind: opCounters, key: "k"}
	history := op{kind: opHistory, key: "k"}
	several := op{kind: opPut, key: "k", expect: store.AnyVersion, value: "a", earlier: 2}
	forget := op{kind: opDelete, key: "k", expect: store.AnyVersion, forget: 2}
	at := func(call, end int64, in op, out answered) porcupine.Operation {
		return porcupine.Operation{Input: in, Call: call, Output: out, Return: end}
	}
	maybe := answered{outcome: unknown}
	tests := []struct {
		name    string
		history History
		want    bool
	}{
		{"in turn", History{
			at(1, 2, get, answered{outcome: missing}),
			at(3, 4, put(store.Absent, "a"), answered{version: 1}),
			at(5, 6, put(1, "b"), answered{version: 2}),
			at(7, 8, get, answered{version: 2, value: "b"}),
			at(9, 10, remove(2), answered{}),
			at(11, 12, put(2, "c"), answered{outcome: conflicted}),
			at(13, 14, put(store.Absent, "c"), answered{version: 3}),
		}, true},
		{"a version is used again", History{
			at(1, 2, put(store.Absent, "a"), answered{version: 1}),
			at(3, 4, remove(1), answered{}),
			at(5, 6, put(store.Absent, "b"), answered{version: 1}),
		}, false},
		{"two winners", History{
			at(1, 10, put(store.Absent, "a"), answered{version: 1}),
			at(1, 10, put(store.Absent, "b"), answered{version: 1}),
		}, false},
		{"one winner", History{
			at(1, 10, put(store.Absent, "a"), answered{version: 1}),
			at(1, 10, put(store.Absent, "b"), answered{outcome: conflicted, version: 1}),
		}, true},
		{"a stale read", History{
			at(1, 2, put(store.AnyVersion, "a"), answered{version: 1}),
			at(3, 4, put(store.AnyVersion, "b"), answered{version: 2}),
			at(5, 6, get, answered{version: 1, value: "a"}),
		}, false},
		{"a read amid a write", History{
			at(1, 2, put(store.AnyVersion, "a"), answered{version: 1}),
			at(3, 9, put(store.AnyVersion, "b"), answered{version: 2}),
			at(5, 6, get, answered{version: 1, value: "a"}),
		}, true},
		{"an acknowledged put is lost", History{
			at(1, 2, put(store.Absent, "a"), answered{version: 1}),
			at(3, 4, get, answered{outcome: missing}),
		}, false},
		{"an increment is lost", History{
			at(1, 5, add(9), answered{counter: 1}),
			at(1, 5, add(9), answered{counter: 1}),
		}, false},
		{"a limit is exceeded", History{
			at(1, 2, add(1), answered{counter: 1}),
			at(3, 4, add(1), answered{counter: 2}),
		}, false},
		{"a limit is kept", History{
			at(1, 2, add(1), answered{counter: 1}),
			at(3, 4, add(1), answered{outcome: limited, counter: 1}),
			at(5, 6, counters, answered{counter: 1}),
		}, true},
		{"unknown and applied", History{
			at(1, never, put(store.Absent, "a"), maybe),
			at(3, 4, get, answered{version: 1, value: "a"}),
		}, true},
		{"unknown and not applied", History{
			at(1, never, put(store.Absent, "a"), maybe),
			at(3, 4, get, answered{outcome: missing}),
			at(5, 6, put(store.Absent, "b"), answered{version: 1}),
		}, true},
		{"unknown and applied late", History{
			at(1, never, add(9), maybe),
			at(3, 4, counters, answered{}),
			at(5, 6, counters, answered{counter: 1}),
		}, true},
		{"unknown and applied twice", History{
			at(1, never, add(9), maybe),
			at(3, 4, counters, answered{counter: 2}),
		}, false},
		{"unknown, seen and gone again", History{
			at(1, never, add(9), maybe),
			at(3, 4, counters, answered{counter: 1}),
			at(5, 6, counters, answered{}),
		}, false},
		{"several versions", History{
			at(1, 2, several, answered{version: 3}),
			at(3, 4, history, answered{oldest: 1, version: 3}),
			at(5, 6, several, answered{version: 6}),
			at(7, 8, get, answered{version: 6, value: "a"}),
		}, true},
		{"several versions as one", History{
			at(1, 2, several, answered{version: 1}),
		}, false},
		{"an entry of several is lost", History{
			at(1, 2, several, answered{version: 3}),
			at(3, 4, history, answered{oldest: 2, version: 3}),
		}, false},
		{"history is forgotten", History{
			at(1, 2, history, answered{outcome: missing}),
			at(3, 4, several, answered{version: 3}),
			at(5, 6, forget, answered{}),
			at(7, 8, history, answered{oldest: 3, version: 3}),
			at(9, 10, put(store.Absent, "b"), answered{version: 4}),
			at(11, 12, history, answered{oldest: 3, version: 4}),
		}, true},
		{"history comes back", History{
			at(1, 2, several, answered{version: 3}),
			at(3, 4, forget, answered{}),
			at(5, 6, history, answered{oldest: 1, version: 3}),
		}, false},
		{"all is forgotten, and no more", History{
			at(1, 2, put(store.Absent, "a"), answered{version: 1}),
			at(3, 4, forget, answered{}),
			at(5, 6, history, answered{outcome: missing}),
			at(7, 8, put(store.Absent, "b"), answered{version: 2}),
			at(9, 10, history, answered{oldest: 2, version: 2}),
		}, true},
		{"what is refused forgets nothing", History{
			at(1, 2, put(store.Absent, "a"), answered{version: 1}),
			at(3, 4, op{kind: opPut, key: "k", expect: 7, forget: 1}, answered{outcome: conflicted, version: 1}),
			at(5, 6, history, answered{outcome: missing}),
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := porcupine.CheckOperations(model, tt.history); got != tt.want {
				t.Errorf("linearizable: %v, not %v", got, tt.want)
			}
		})
	}
}
