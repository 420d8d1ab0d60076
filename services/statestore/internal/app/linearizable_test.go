package app_test

import (
	"fmt"
	"math"
	rand "math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// request is what a client asks of the one state.
type request struct {
	kind     string // read, replace, append
	value    string
	expected int64 // of a replace
}

// seen is what it is told: the version and the document afterwards, or at a conflict
// the version that there is.
type seen struct {
	version  int64
	data     string
	conflict bool
	unknown  bool // it may or may not have been made, at any time since
}

// modelState is the document as it would be without concurrency.
type modelState struct {
	version int64
	data    string
}

// documents is what one state does.
var documents = porcupine.Model{
	Init: func() any { return modelState{1, `[]`} },
	Step: func(state, input, output any) (bool, any) {
		st, in, out := state.(modelState), input.(request), output.(seen)
		next := st
		switch in.kind {
		case "replace":
			if st.version != in.expected {
				return out.conflict && out.version == st.version, st
			}
			next = modelState{st.version + 1, `["` + in.value + `"]`}
		case "append":
			next = modelState{st.version + 1, strings.Replace(strings.TrimSuffix(st.data, "]")+`,"`+in.value+`"]`, "[,", "[", 1)}
		}
		return !out.conflict && out.version == next.version && out.data == next.data, next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

// client makes random calls through one of the replicas, and records them.
type client struct {
	*rig
	number  int
	replica *app.App
	id      string
	random  *rand.Rand
	epoch   time.Time
	version int64 // that it believes the state to be at
}

func (c *client) record(n int) (porcupine.Operation, bool) {
	in := request{value: fmt.Sprintf("%d.%d", c.number, n)}
	var u writes.Update
	switch c.random.IntN(4) {
	case 0:
		in.kind = "read"
	case 1:
		in.kind, in.expected = "replace", c.version
		u = writes.Update{StateID: c.id, Data: []byte(`["` + in.value + `"]`), Expected: c.version}
	default:
		in.kind = "append"
		u = writes.Update{StateID: c.id, Patch: []byte(`[{"op":"add","path":"/-","value":"` + in.value + `"}]`)}
		if c.random.IntN(2) == 0 {
			u.Key = in.value
		}
	}
	op := porcupine.Operation{ClientId: c.number, Input: in, Call: time.Since(c.epoch).Nanoseconds()}
	st, err := c.do(in, u)
	op.Return = time.Since(c.epoch).Nanoseconds()
	switch f := fault.From(err); {
	case err == nil:
		c.version = st.Version
		op.Output = seen{version: st.Version, data: st.Data.String()}
	case f.Reason == fault.VersionConflict:
		c.version, _ = strconv.ParseInt(f.Metadata["current_version"], 10, 64)
		op.Output = seen{version: c.version, conflict: true}
	case f.Reason == fault.CommitUncertain:
		op.Output, op.Return = seen{unknown: true}, math.MaxInt64
	case f.Reason == fault.Unavailable:
		return op, false // surely not made, and it told nothing
	default:
		c.Errorf("%+v: %v", in, err)
		return op, false
	}
	return op, true
}

// do makes the call; with a key it is one call however often it must be made.
func (c *client) do(in request, u writes.Update) (*states.State, error) {
	if in.kind == "read" {
		st, _, err := c.replica.States.Get(c.Context(), operator, c.id, 0, nil)
		return st, err
	}
	for {
		st, err := c.replica.Editor.Update(c.Context(), operator, u)
		if reason := fault.ReasonOf(err); u.Key == "" || reason != fault.CommitUncertain && reason != fault.Unavailable {
			return st, err
		}
	}
}

// S10.3, S10.4: whatever the replicas, their caches and commits whose outcome is not
// known, clients see one document that changes one step at a time.
func TestStateIsLinearizable(t *testing.T) {
	t.Parallel()
	const clients, calls = 9, 40
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `[]`).Key.ID
		var mu sync.Mutex
		random := randtest.New(r, 100)
		var replicas []*app.App
		for range 3 {
			replicas = append(replicas, r.replica(&storetest.Faulty{Store: r.open(), Decide: func(int, *store.Batch) storetest.Fault {
				mu.Lock()
				defer mu.Unlock()
				if random.IntN(8) > 0 {
					return storetest.Healthy
				}
				return storetest.Fault(1 + random.IntN(3))
			}}))
		}
		epoch := time.Now()
		var history []porcupine.Operation
		var group sync.WaitGroup
		for i := range clients {
			c := &client{rig: r, number: i, replica: replicas[i%3], id: id, random: randtest.New(r, uint64(i)), epoch: epoch, version: 1}
			group.Go(func() {
				for n := range calls {
					if op, ok := c.record(n); ok {
						mu.Lock()
						history = append(history, op)
						mu.Unlock()
					}
				}
			})
		}
		group.Wait()
		history = r.resolve(id, history)
		switch result, _ := porcupine.CheckOperationsVerbose(documents, history, 2*patience); result {
		case porcupine.Ok:
		case porcupine.Unknown:
			r.Errorf("the check of %d operations took too long", len(history))
		default:
			for _, op := range history {
				r.Logf("%d-%d client %d %s", op.Call, op.Return, op.ClientId, documents.DescribeOperation(op.Input, op.Output))
			}
			r.Errorf("a history of %d operations is not linearizable", len(history))
		}
	})
}

// resolve says of each call whose outcome is unknown what came of it, by the history
// of the state, which has each value once if at all. What was never made is left out:
// it told nobody anything. What was made may have been at any time after its call.
func (r *rig) resolve(id string, calls []porcupine.Operation) []porcupine.Operation {
	r.Helper()
	made := map[string]int64{}
	for after := int64(0); ; {
		page, next, err := r.States.History(r.Context(), operator, id, after, 1000)
		if err != nil {
			r.Fatal(err)
		}
		for _, c := range page {
			for _, call := range calls {
				if value := call.Input.(request).value; strings.Contains(string(c.Patch), `"`+value+`"`) {
					if before, twice := made[value]; twice {
						r.Errorf("%s was made as version %d and as version %d", value, before, c.Version)
					}
					made[value] = c.Version
				}
			}
		}
		if after = next; next == 0 {
			break
		}
	}
	var history []porcupine.Operation
	unknown := 0
	for _, op := range calls {
		if op.Output.(seen).unknown {
			unknown++
			version := made[op.Input.(request).value]
			if version == 0 {
				continue
			}
			op.Output = seen{version: version, data: r.readAt(id, version).Data.String()}
		}
		history = append(history, op)
	}
	r.Logf("%d of %d outcomes were unknown", unknown, len(calls))
	return history
}

// The model itself refuses what a state must never do.
func TestModelRefusesLostAndStaleAnswers(t *testing.T) {
	t.Parallel()
	op := func(call, back int64, in request, out seen) porcupine.Operation {
		return porcupine.Operation{ClientId: int(call), Input: in, Call: call, Output: out, Return: back}
	}
	first := op(1, 2, request{kind: "append", value: "a"}, seen{version: 2, data: `["a"]`})
	for name, history := range map[string][]porcupine.Operation{
		"a lost update":   {first, op(3, 4, request{kind: "append", value: "b"}, seen{version: 2, data: `["b"]`})},
		"a doubled one":   {first, op(3, 4, request{kind: "read"}, seen{version: 3, data: `["a","a"]`})},
		"a stale read":    {first, op(3, 4, request{kind: "read"}, seen{version: 1, data: `[]`})},
		"a wrong refusal": {first, op(3, 4, request{kind: "replace", value: "b", expected: 2}, seen{version: 2, conflict: true})},
		"a wrong success": {first, op(3, 4, request{kind: "replace", value: "b", expected: 1}, seen{version: 3, data: `["b"]`})},
	} {
		if porcupine.CheckOperations(documents, history) {
			t.Errorf("%s is accepted", name)
		}
	}
	if !porcupine.CheckOperations(documents, []porcupine.Operation{first, op(1, 5, request{kind: "read"}, seen{version: 1, data: `[]`})}) {
		t.Error("a read at the same time is refused")
	}
}
