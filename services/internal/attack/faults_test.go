package attack

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/attack"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// conn changes calls on their way.
type conn struct {
	grpc.ClientConnInterface
	as     func(who string) grpc.ClientConnInterface
	change func(ctx context.Context, c *conn, method string, args, reply any) error
}

// Invoke implements grpc.ClientConnInterface.
func (c *conn) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	return c.change(ctx, c, method, args, reply)
}

func (c *conn) pass(ctx context.Context, method string, args, reply any) error {
	return c.ClientConnInterface.Invoke(ctx, method, args, reply)
}

// changing is a fault in the calls of some.
func changing(change func(ctx context.Context, c *conn, method string, args, reply any) error, who ...string) Faults {
	return Faults{Conn: func(name string, to grpc.ClientConnInterface, as func(string) grpc.ClientConnInterface) grpc.ClientConnInterface {
		if !slices.Contains(who, name) {
			return to
		}
		return &conn{to, as, change}
	}}
}

// changed is a store whose commits are changed; done is false where the store is not asked.
type changed struct {
	store.Store
	change func(batch *store.Batch) (result store.Result, done bool)
}

// Commit implements store.Store.
func (c *changed) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	if result, done := c.change(&batch); done {
		return result, nil
	}
	return c.Store.Commit(ctx, batch)
}

func storing(change func(batch *store.Batch) (store.Result, bool)) Faults {
	return Faults{Store: func(st store.Store) store.Store { return &changed{st, change} }}
}

func puts(batch *store.Batch, kind string) int {
	return slices.IndexFunc(batch.Puts, func(p store.Put) bool { return p.Key.Kind == kind })
}

func decides(batch *store.Batch) bool {
	return slices.ContainsFunc(batch.Appends, func(a store.Append) bool { return a.Key.Kind == ledger.KindDecisions })
}

// tested ships code that was tested since the last edit.
const tested = `
id: tested
initial: coding
states:
  coding:
    allowed_tools: [Read, Edit, Bash]
    allowed_commands: [go test]
    on: {SAVE: coding, SHIP: {target: shipped, guard: green}}
  shipped: {type: final}
guards: {green: {evidence: tests_green}}
evidence: {tests_green: {tool: Bash, command: go test ./..., after: edit}}
properties:
  only tested code ships: {before: {state: shipped}, always: {evidence: tests_green}}
`

// asking asks people.
const asking = `
id: asking
initial: a
meta: {approval_mode: ui}
states:
  a: {allowed_tools: [Read], max_iterations: 3, on: {GO: {target: b, requires_approval: true}}}
  b: {on: {BACK: a, END: z}}
  z: {type: final}
properties:
  asked: {before: {state: b}, always: {approval: true}}
`

// plant is a fault that the attacker must find.
type plant struct {
	name   string
	files  []string
	faults func() Faults
	kind   Kind
	class  string
	// steps is the most that may be left when it is shrunk.
	steps int
	// told: the scenario of the report is looked at too.
	told bool
}

var planted = []plant{
	{
		name: "a denied call is answered with yes", files: []string{"deploy-pipeline.json"}, kind: Lost, class: "decisions", steps: 1,
		faults: func() Faults {
			return changing(func(ctx context.Context, c *conn, method string, args, reply any) error {
				err := c.pass(ctx, method, args, reply)
				if d, ok := reply.(*policyv1.CheckToolCallResponse); ok && d.GetCode() == policyv1.DecisionCode_DECISION_CODE_COMMAND_NOT_ALLOWED {
					d.Decision, d.Code = policyv1.Decision_DECISION_ALLOW, 0
				}
				return err
			}, attack.Agent)
		},
	},
	{
		name: "a change is acknowledged and dropped", files: []string{"bugfix.json"}, kind: Lost, class: "changes", steps: 2,
		faults: func() Faults {
			return storing(func(batch *store.Batch) (result store.Result, done bool) {
				i := puts(batch, "run")
				if i < 0 || batch.Puts[i].Expect != 1 {
					return store.Result{}, false
				}
				for _, p := range batch.Puts {
					result.Versions = append(result.Versions, p.Expect+1)
				}
				result.Counters = make([]int64, len(batch.Counters))
				return result, true
			})
		},
	},
	{
		name: "an event is taken twice", files: []string{"migration-review.json"}, kind: Doubled, class: "changes", steps: 3,
		faults: func() Faults {
			return changing(func(ctx context.Context, c *conn, method string, args, reply any) error {
				if _, ok := args.(*enginev1.TransitionRunRequest); ok {
					_ = c.pass(ctx, method, args, &enginev1.TransitionRunResponse{})
				}
				return c.pass(ctx, method, args, reply)
			}, attack.Agent)
		},
	},
	{
		name: "the word of an agent counts as seen", files: []string{tested}, kind: Escape, class: "conformance", steps: 5,
		faults: func() Faults {
			return changing(func(ctx context.Context, c *conn, method string, args, reply any) error {
				if _, ok := args.(*policyv1.ReportToolCallRequest); ok {
					return c.as(attack.Runtime).Invoke(ctx, method, args, reply)
				}
				return c.pass(ctx, method, args, reply)
			}, attack.Agent, attack.Loose)
		},
	},
	{
		name: "a failed call counts as one that succeeded", files: []string{tested}, kind: Escape, class: "conformance", steps: 4,
		faults: func() Faults {
			return changing(func(ctx context.Context, c *conn, method string, args, reply any) error {
				if r, ok := args.(*policyv1.ReportToolCallRequest); ok {
					args = proto.CloneOf(r)
					args.(*policyv1.ReportToolCallRequest).Ok = true
				}
				return c.pass(ctx, method, args, reply)
			}, attack.Runtime)
		},
	},
	{
		name: "the asker may approve", files: []string{asking}, kind: Escape, class: "a vote without effect", steps: 2,
		faults: func() Faults {
			return changing(func(ctx context.Context, c *conn, method string, args, reply any) error {
				if _, ok := args.(*approvalv1.DecideApprovalRequest); ok {
					return c.as(attack.Approver).Invoke(ctx, method, args, reply)
				}
				return c.pass(ctx, method, args, reply)
			}, attack.Agent, attack.Asker)
		},
	},
	{
		name: "an edit of the shared state is made as an operator", files: []string{tested}, kind: Escape, class: "shared state", steps: 1,
		faults: func() Faults {
			return changing(func(ctx context.Context, c *conn, method string, args, reply any) error {
				if _, ok := args.(*statev1.UpdateStateRequest); ok {
					return c.as(attack.Operator).Invoke(ctx, method, args, reply)
				}
				return c.pass(ctx, method, args, reply)
			}, attack.Agent, attack.Child)
		},
	},
	{
		name: "an edit of the shared state is made twice", files: []string{tested}, kind: Doubled, class: "shared state", steps: 1,
		faults: func() Faults {
			return changing(func(ctx context.Context, c *conn, method string, args, reply any) error {
				if r, ok := args.(*statev1.UpdateStateRequest); ok && r.GetIdempotencyKey() == "" {
					_ = c.pass(ctx, method, args, &statev1.UpdateStateResponse{})
				}
				return c.pass(ctx, method, args, reply)
			}, attack.Agent)
		},
	},
	{
		name: "an edit does not void evidence", files: []string{tested}, kind: Escape, class: "conformance", steps: 4, told: true,
		faults: func() Faults {
			return storing(func(batch *store.Batch) (store.Result, bool) {
				if i := puts(batch, ledger.KindEvidence); i >= 0 && decides(batch) {
					batch.Puts = slices.Delete(slices.Clone(batch.Puts), i, i+1)
				}
				return store.Result{}, false
			})
		},
	},
	{
		name: "a call is decided on a run that has moved on", files: []string{tested}, kind: Escape, class: "conformance", steps: 6,
		faults: func() Faults {
			return storing(func(batch *store.Batch) (store.Result, bool) {
				if decides(batch) {
					batch.Checks = nil
				}
				return store.Result{}, false
			})
		},
	},
	{
		name: "calls are not counted", files: []string{asking}, kind: Escape, class: "conformance", steps: 4,
		faults: func() Faults {
			return storing(func(batch *store.Batch) (store.Result, bool) {
				if decides(batch) {
					for i := range batch.Counters {
						batch.Counters = slices.Clone(batch.Counters)
						batch.Counters[i].Limit = store.NoLimit
					}
				}
				return store.Result{}, false
			})
		},
	},
}

// mostSeeds is how many schedules a fault may stay hidden in.
const mostSeeds = 120

// A fault that is put between the attacker and the services is found, and shrunk.
func TestPlantedFaults(t *testing.T) {
	t.Parallel()
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			a := attacker(t, p.faults(), p.files...)
			a.cfg.Seeds = 1
			for seed := range uint64(mostSeeds) {
				a.cfg.Seed = seed + 1
				r, err := a.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(r.Found, func(f Found) bool { return f.Kind == p.kind && f.Class == p.class })
				if i < 0 {
					continue
				}
				f := &r.Found[i]
				t.Logf("seed %d: %s, %d steps: %v", f.Seed, f.What, len(f.Steps), f.Lines)
				if len(f.Steps) > p.steps {
					t.Errorf("it is shrunk to %d steps, of at most %d: %v", len(f.Steps), p.steps, f.Lines)
				}
				if p.told {
					told(t, a, f)
				}
				return
			}
			t.Errorf("it was not found in %d schedules; found was %v", mostSeeds, a.result.Found)
		})
	}
}

// scratch is a folder for stores, in memory where there is one.
func scratch(t testing.TB) string {
	t.Helper()
	dir, err := Scratch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Clean(dir)
}
