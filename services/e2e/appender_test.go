package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// appender appends to the list of a shared state, each element by a request of its own, and
// reads the list at the same time.
type appender struct {
	states  statev1.StateServiceClient
	id      string
	workers int
	epoch   time.Time
	// dirty reports that reads may see unanswered writes that a failover takes
	// back: then only patches have to be linearizable.
	dirty bool
	count atomic.Int64 // acknowledged patches
	reads atomic.Int64

	mu      sync.Mutex
	told    map[string]int64 // the version of each acknowledged element
	history []porcupine.Operation
}

// seen is the answer to a patch or a read of the list: its version, its length, and
// its last element.
type seen struct {
	version int64
	length  int
	last    string
	unknown bool // it was never answered
}

// list is the model of the shared state. A patch appends its element, a read has none.
var list = porcupine.Model{
	Init: func() any { return seen{version: 1} },
	Step: func(state, input, output any) (bool, any) {
		st, element, told := state.(seen), input.(string), output.(seen)
		if element != "" {
			st = seen{version: st.version + 1, length: st.length + 1, last: element}
		}
		if told.unknown {
			return true, st
		}
		return told == st, st
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%q: %+v", input, output) },
}

func newAppender(t testing.TB, w *world, workers int) *appender {
	t.Helper()
	conn := w.dial(t, strings.Join(w.states, ","), w.tokens[auth.Operator])
	a := &appender{states: statev1.NewStateServiceClient(conn), workers: workers, told: map[string]int64{}, epoch: time.Now(), dirty: w.failsOver}
	must[*statev1.RegisterSchemaResponse](t)(statev1.NewSchemaServiceClient(conn).RegisterSchema(within(t), &statev1.RegisterSchemaRequest{
		Name: "list", JsonSchema: []byte(`{"type":"object","properties":{"list":{"type":"array","items":{"type":"string"}}}}`),
	}))
	a.id = must[*statev1.CreateStateResponse](t)(a.states.CreateState(within(t), &statev1.CreateStateRequest{
		SchemaName: "list", Data: []byte(`{"list":[]}`), Session: "appender",
	})).GetState().GetStateId()
	return a
}

func (a *appender) load(ctx context.Context, group *sync.WaitGroup) {
	for worker := range a.workers {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				a.append(ctx, worker, fmt.Sprintf("%d.%d", worker, n))
				pace(ctx)
			}
		})
	}
	for reader := range 2 {
		group.Go(func() {
			for ctx.Err() == nil {
				a.read(ctx, a.workers+reader)
				pace(ctx)
			}
		})
	}
}

func (a *appender) now() int64 { return time.Since(a.epoch).Nanoseconds() }

// append asks for one element until it is answered.
func (a *appender) append(ctx context.Context, worker int, element string) {
	op := porcupine.Operation{ClientId: worker, Input: element, Call: a.now(), Output: seen{unknown: true}, Return: math.MaxInt64}
	for ctx.Err() == nil {
		resp, err := a.states.UpdateState(ctx, &statev1.UpdateStateRequest{
			StateId: a.id, IdempotencyKey: element,
			Change: &statev1.UpdateStateRequest_Patch{Patch: fmt.Appendf(nil, `[{"op":"add","path":"/list/-","value":%q}]`, element)},
		})
		if err != nil {
			pace(ctx)
			continue
		}
		op.Return = a.now()
		// The answer to a repeat has the version of the first one, and not always its document.
		version := resp.GetState().GetVersion()
		op.Output = seen{version: version, length: int(version) - 1, last: element}
		a.count.Add(1)
		a.mu.Lock()
		a.told[element] = version
		a.mu.Unlock()
		break
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.history = append(a.history, op)
}

// read reads the list once. A read that fails has no answer.
func (a *appender) read(ctx context.Context, client int) {
	op := porcupine.Operation{ClientId: client, Input: "", Call: a.now()}
	resp, err := a.states.GetState(ctx, &statev1.GetStateRequest{StateId: a.id})
	var doc struct{ List []string }
	if err != nil || json.Unmarshal(resp.GetState().GetData(), &doc) != nil {
		return
	}
	op.Return = a.now()
	told := seen{version: resp.GetState().GetVersion(), length: len(doc.List)}
	if told.length > 0 {
		told.last = doc.List[told.length-1]
	}
	op.Output = told
	a.reads.Add(1)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.history = append(a.history, op)
}

// verify demands that every element that was acknowledged is there once, that none is there
// twice, that those of one worker are in order, and that all answers are those of one list
// alone.
func (a *appender) verify(t *testing.T) {
	t.Helper()
	st := must[*statev1.GetStateResponse](t)(a.states.GetState(within(t), &statev1.GetStateRequest{StateId: a.id})).GetState()
	var doc struct{ List []string }
	if err := json.Unmarshal(st.GetData(), &doc); err != nil {
		t.Fatal(err)
	}
	found, last := map[string]bool{}, map[string]int{}
	for _, element := range doc.List {
		worker, text, _ := strings.Cut(element, ".")
		n, err := strconv.Atoi(text)
		if err != nil || found[element] || n < last[worker] {
			t.Fatalf("element %q is twice in the list, or out of order", element)
		}
		found[element], last[worker] = true, n
	}
	for element, version := range a.told {
		if !found[element] {
			t.Errorf("element %q was acknowledged at version %d and is not there", element, version)
		}
	}
	if len(a.told) == 0 || a.reads.Load() == 0 {
		t.Error("no patch was acknowledged, or nothing was read: this test tests nothing")
	}
	a.linearizable(t, found)
}

func (a *appender) linearizable(t *testing.T, found map[string]bool) {
	t.Helper()
	// A patch without an answer whose element is absent was not done.
	history := slices.DeleteFunc(slices.Clone(a.history), func(op porcupine.Operation) bool {
		return op.Output.(seen).unknown && !found[op.Input.(string)] || a.dirty && op.Input == ""
	})
	if result := porcupine.CheckOperationsTimeout(list, history, time.Minute); result != porcupine.Ok {
		t.Errorf("%d patches and reads: linearizable is %s", len(history), result)
	}
}
