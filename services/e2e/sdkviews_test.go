package e2e

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/prototest"
	"github.com/interlock-run/interlock/pkg/sdk"
)

// canned is a connection whose server canned each message of a kind as it is here.
type canned []proto.Message

func (a canned) fill(reply any) error {
	into := reply.(proto.Message)
	for _, m := range a {
		if m.ProtoReflect().Descriptor() == into.ProtoReflect().Descriptor() {
			proto.Merge(into, m)
		}
	}
	return nil
}

func (a canned) Invoke(_ context.Context, _ string, _, reply any, _ ...grpc.CallOption) error {
	return a.fill(reply)
}

func (a canned) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return &received{canned: a, ctx: ctx}, nil
}

// received is a stream of one message.
type received struct {
	canned
	ctx  context.Context
	over bool
}

func (s *received) RecvMsg(m any) error {
	if s.over {
		return io.EOF
	}
	s.over = true
	return s.fill(m)
}
func (s *received) Header() (metadata.MD, error) { return nil, nil }
func (s *received) Trailer() metadata.MD         { return nil }
func (s *received) CloseSend() error             { return nil }
func (s *received) Context() context.Context     { return s.ctx }
func (s *received) SendMsg(any) error            { return nil }

// Each field of a message is in the SDK's own type, or is excluded here, with the
// reason. Anyone who needs more asks the generated client.
func TestViewsOfTheSDKAreComplete(t *testing.T) {
	t.Parallel()
	client := func(messages ...proto.Message) *sdk.Client {
		return sdk.New(canned(messages), sdk.Options{Session: "s"})
	}
	prototest.Complete(t, func(r *enginev1.Run) any {
		return must[*sdk.Run](t)(client(&enginev1.GetRunResponse{Run: r}).GetRun(t.Context()))
	},
		"root_run_id", "entry", // for the services among each other
		"superseded_by", // calls are denied, with a message that says it
		"branch_over", "fork.event", "fork.state", "fork.join", "fork.on_complete", "fork.on_fail", "fork.current",
		"fork.branches.terminal",
		"child", "approval", // the status says that it waits; Transition says for which approval
		"workflow_meta.process", "workflow_meta.debug", "workflow_meta.capture_output", "workflow_meta.enforcement",
		"workflow_meta.policies", "workflow_meta.approval_wait",
		// A denial says which limit is reached.
		"rules.commands_restricted", "rules.allowed_commands", "rules.max_edit_lines", "rules.max_files_per_state",
		"rules.context_budget_bytes", "usage.context_bytes", "usage.files_changed",
	)
	prototest.Complete(t, func(v *statev1.StateVersion) any {
		c := client(&statev1.GetStateResponse{State: &statev1.State{StateId: "s"}}, &statev1.WatchStateResponse{
			StateId: "s", Change: v,
		})
		for change := range c.WatchState(t.Context(), "s", 0) {
			return change
		}
		return nil
	})
	prototest.Complete(t, func(g *enginev1.GuardResult) any {
		_, err := client(&enginev1.TransitionRunResponse{Rejection: &enginev1.Rejection{Guards: []*enginev1.GuardResult{g}}}).Transition(t.Context(), "GO", nil)
		var rejected *sdk.RejectedError
		if !errors.As(err, &rejected) {
			t.Fatal(err)
		}
		return rejected.Guards
	})
	prototest.Complete(t, func(o *policyv1.OpenCall) any {
		return must[[]sdk.OpenCall](t)(client(&policyv1.ListOpenCallsResponse{Calls: []*policyv1.OpenCall{o}}).ListOpenCalls(t.Context(), "run_1"))
	})
	prototest.Complete(t, func(i *policyv1.Interrupted) any {
		d := sdk.Decision{Decision: sdk.Allow, RunID: "run_1", CallID: "call_1"}
		return must[sdk.Report](t)(client(&policyv1.ReportToolCallResponse{Interrupt: i}).Report(t.Context(), d, sdk.Result{}, true)).Interrupt
	})
	prototest.Complete(t, func(a *approvalv1.Approval) any {
		return must[sdk.Approval](t)(client(&approvalv1.GetApprovalResponse{Approval: a}).GetApproval(t.Context(), "apr_1"))
	},
		"data",                    // an approver's edit stands for it
		"edit_patch", "edited_by", // for the console
		"asker.root_session_id",                                       // its tree has it
		"asker.person",                                                // for the rule that who asks does not decide
		"terms", "votes", "escalated", "escalates_at", "escalates_to", // how it is decided is for the console
		"by", "decided_at", "used_at", "used_by", "you", "why", "unlocks", "previous", "command", "facts",
		"nobody_can_answer",
	)
}

// The constants of the SDK are the words of the contracts.
func TestWordsOfTheSDKAreComplete(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../../pkg/sdk/words.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	words := map[string][]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		kind := spec.Type.(*ast.Ident).Name
		words[kind] = append(words[kind], value)
		return true
	})
	for kind, of := range map[string]struct {
		prefix string
		names  map[int32]string
	}{
		"Verdict": {"DECISION_", policyv1.Decision_name}, "Code": {"DECISION_CODE_", policyv1.DecisionCode_name},
		"RejectionCode": {"REJECTION_CODE_", enginev1.RejectionCode_name}, "RunStatus": {"RUN_STATUS_", enginev1.RunStatus_name},
		"BranchStatus": {"BRANCH_STATUS_", enginev1.BranchStatus_name}, "ApprovalStatus": {"APPROVAL_STATUS_", approvalv1.ApprovalStatus_name},
		"ApprovalKind": {"APPROVAL_KIND_", approvalv1.ApprovalKind_name}, "SessionStatus": {"SESSION_STATUS_", statev1.SessionStatus_name},
		"UpdateStatus": {"STATE_UPDATE_STATUS_", statev1.StateUpdateStatus_name}, "TaskKind": {"TASK_KIND_", statev1.TaskKind_name},
	} {
		var want []string
		for number, name := range of.names {
			if number != 0 {
				want = append(want, strings.TrimPrefix(name, of.prefix))
			}
		}
		slices.Sort(want)
		slices.Sort(words[kind])
		if !slices.Equal(words[kind], want) {
			t.Errorf("sdk.%s has %q, the contract %q", kind, words[kind], want)
		}
	}
}
