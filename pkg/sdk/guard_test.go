package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/internal/randtest"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

const (
	allow = policyv1.Decision_DECISION_ALLOW
	ask   = policyv1.Decision_DECISION_ASK
	deny  = policyv1.Decision_DECISION_DENY
)

// fakePolicy allows everything unless told otherwise, and keeps what it is asked
// and told.
type fakePolicy struct {
	policyv1.UnimplementedPolicyEnforcerServiceServer
	decide  func(*policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error)
	answer  func(*policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error)
	checks  bumpy
	reports bumpy
	asked   log[*policyv1.CheckToolCallRequest]
	told    log[*policyv1.ReportToolCallRequest]
}

func (p *fakePolicy) CheckToolCall(ctx context.Context, req *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
	p.asked.add(req)
	return over(ctx, &p.checks, func(req *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
		if p.decide != nil {
			return p.decide(req)
		}
		return &policyv1.CheckToolCallResponse{Decision: allow, CallId: req.GetCallId(), RunId: "run_1"}, nil
	}, req)
}

func (p *fakePolicy) ReportToolCall(ctx context.Context, req *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) {
	p.told.add(req)
	return over(ctx, &p.reports, func(req *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) {
		if p.answer != nil {
			return p.answer(req)
		}
		return &policyv1.ReportToolCallResponse{Accounted: true}, nil
	}, req)
}

// reported are the outcomes of calls that were made, withdrawn the ids of those that were not.
func (p *fakePolicy) reported() (made []*policyv1.ReportToolCallRequest, withdrawn []string) {
	for _, req := range p.told.all() {
		if req.GetNotExecuted() {
			withdrawn = append(withdrawn, req.GetCallId())
		} else {
			made = append(made, req)
		}
	}
	return made, withdrawn
}

// tool is something to guard that says whether it ran.
type tool struct {
	ran    int
	result Result
	err    error
}

func (t *tool) do(context.Context) (Result, error) {
	t.ran++
	return t.result, t.err
}

// inBubble runs a test on a clock of its own.
func inBubble(t *testing.T, test func(*testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// S3, S7.2: the tool runs after an ALLOW of this call, and never otherwise.
func TestGuardRunsOnlyWhatIsAllowed(t *testing.T) {
	t.Parallel()
	decided := func(d policyv1.Decision, code policyv1.DecisionCode) func(*policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
		return func(req *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
			return &policyv1.CheckToolCallResponse{
				Decision: d, Code: code, Message: "why", CallId: req.GetCallId(), RunId: "run_1", ApprovalId: "apr_1",
				ToolsRestricted: true, AllowedTools: []string{"Read"}, LegalEvents: []*enginev1.LegalEvent{{Event: "READY", Targets: []string{"b"}}},
			}, nil
		}
	}
	failing := func(err error) func(*policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
		return func(*policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) { return nil, err }
	}
	for name, row := range map[string]struct {
		decide func(*policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error)
		code   string // of the denial; "ask" for approval, "" for a call that runs
		reason fault.Reason
		maybe  bool // the server may have allowed it, so it is withdrawn
	}{
		"allowed":        {decide: decided(allow, 0)},
		"denied":         {decide: decided(deny, policyv1.DecisionCode_DECISION_CODE_TOOL_NOT_ALLOWED), code: "TOOL_NOT_ALLOWED"},
		"a new code":     {decide: decided(deny, 77), code: "77"},
		"asked":          {decide: decided(ask, policyv1.DecisionCode_DECISION_CODE_APPROVAL_REQUIRED), code: "ask"},
		"undecided":      {decide: decided(0, 0), code: string(CodePolicyUnavailable), maybe: true},
		"a new decision": {decide: decided(77, 0), code: string(CodePolicyUnavailable), maybe: true},
		"of another call": {code: string(CodePolicyUnavailable), maybe: true, decide: func(*policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
			return &policyv1.CheckToolCallResponse{Decision: allow, CallId: "another", RunId: "run_1"}, nil
		}},
		"of policies alone": {decide: func(req *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
			return &policyv1.CheckToolCallResponse{Decision: allow, CallId: req.GetCallId()}, nil
		}},
		"empty": {code: string(CodePolicyUnavailable), maybe: true, decide: func(*policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
			return &policyv1.CheckToolCallResponse{}, nil
		}},
		"no such run":     {failing(fault.New(fault.NotFound, "no run")), "NOT_FOUND", fault.NotFound, false},
		"no credentials":  {failing(fault.New(fault.Unauthenticated, "who?")), "UNAUTHENTICATED", fault.Unauthenticated, false},
		"another's run":   {failing(fault.New(fault.PermissionDenied, "not yours")), "PERMISSION_DENIED", fault.PermissionDenied, false},
		"broken":          {failing(fault.New(fault.Internal, "oops")), string(CodePolicyUnavailable), fault.Internal, true},
		"never available": {failing(fault.New(fault.Unavailable, "down")), string(CodePolicyUnavailable), fault.Unavailable, true},
		"a plain status":  {failing(status.Error(codes.Unavailable, "proxy")), string(CodePolicyUnavailable), fault.Unavailable, true},
		"a busy run":      {failing(fault.New(fault.VersionConflict, "busy")), string(CodePolicyUnavailable), fault.VersionConflict, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				policy := &fakePolicy{decide: row.decide}
				c := New(connect(t, fakes{policy: policy}), Options{Session: "s"})
				tool := &tool{result: Result{Output: []byte("done")}}
				result, err := c.Guard(t.Context(), "Edit", map[string]any{"file_path": "a.go"}, tool.do)
				if err := c.Close(); err != nil { // waits for what is done in the background
					t.Fatal(err)
				}
				made, withdrawn := policy.reported()
				if ran := row.code == ""; tool.ran == 1 != ran || (err == nil) != ran || (string(result.Output) == "done") != ran || len(made) == 1 != ran {
					t.Fatalf("ran %d times, reported %d times, answers %q, %v", tool.ran, len(made), result.Output, err)
				}
				if maybe := row.maybe; len(withdrawn) > 0 != maybe || maybe && withdrawn[0] != policy.asked.all()[0].GetCallId() {
					t.Errorf("withdrawn: %v", withdrawn)
				}
				if n := len(policy.asked.all()); name == "a busy run" && n != mostAsked {
					t.Errorf("asked %d times", n)
				}
				var denied *DeniedError
				var approval *ApprovalRequiredError
				switch id := policy.asked.all()[0].GetCallId(); {
				case row.code == "":
				case row.code == "ask":
					if !errors.As(err, &approval) || approval.ApprovalID != "apr_1" || approval.Message != "why" || approval.CallID != id {
						t.Errorf("%#v", err)
					}
				case !errors.As(err, &denied) || string(denied.Code) != row.code || Reason(err) != row.reason || denied.CallID == "":
					t.Errorf("%#v: reason %q", err, Reason(err))
				case row.reason == "" && row.code != string(CodePolicyUnavailable) && (denied.Message != "why" || denied.LegalEvents[0].Event != "READY" || denied.AllowedTools[0] != "Read" || !denied.ToolsRestricted):
					t.Errorf("the denial teaches nothing: %+v", denied)
				}
			})
		})
	}
}

// S3.9: checks and reports are repeated with the same call id, and the tool runs
// once, whatever is lost.
func TestGuardRepeats(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(rt *rapid.T) {
		troubles := rapid.SliceOfN(rapid.SampledFrom([]trouble{lostRequest, lostAnswer, uncertain}), 0, 4)
		checks, reports := troubles.Draw(rt, "checks"), troubles.Draw(rt, "reports")
		policy := &fakePolicy{checks: bumpy{ahead: slices.Clone(checks)}, reports: bumpy{ahead: slices.Clone(reports)}}
		tool := &tool{result: Result{Output: []byte("done"), FilesChanged: []string{"a"}, CostUSD: "0.02"}}
		var err error
		synctest.Test(t, func(t *testing.T) {
			_, err = New(connect(t, fakes{policy: policy}), Options{Session: "s"}).Guard(t.Context(), "Edit", nil, tool.do)
		})
		if err != nil || tool.ran != 1 {
			rt.Fatalf("ran %d times: %v", tool.ran, err)
		}
		asked, told := policy.asked.all(), policy.told.all()
		if len(asked) != len(checks)+1 || len(told) != len(reports)+1 {
			rt.Fatalf("%d checks, %d reports", len(asked), len(told))
		}
		for _, req := range asked {
			if req.GetCallId() != asked[0].GetCallId() || req.GetSessionId() != "s" || req.GetRunId() != "" {
				rt.Fatalf("checked as %v", req)
			}
		}
		for _, req := range told {
			// The run is the one that was decided on, whatever the session drives.
			if req.GetCallId() != asked[0].GetCallId() || req.GetRunId() != "run_1" || !req.GetOk() ||
				req.GetResultBytes() != 4 || string(req.GetOutput()) != "done" || req.GetCostUsd() != "0.02" || len(req.GetFilesChanged()) != 1 {
				rt.Fatalf("reported as %v", req)
			}
		}
	})
}

// A check that is never answered is asked again, and denies at last.
func TestGuardSilence(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := &fakePolicy{checks: bumpy{ahead: []trouble{silence}}}
		c := New(connect(t, fakes{policy: policy}), Options{Run: "run_1"})
		tool := &tool{}
		if _, err := c.Guard(t.Context(), "Read", nil, tool.do); err != nil || tool.ran != 1 {
			t.Errorf("ran %d times: %v", tool.ran, err)
		}
		policy.checks.ahead = slices.Repeat([]trouble{silence}, 100)
		begun := time.Now()
		_, err := c.Guard(t.Context(), "Read", nil, tool.do)
		defer c.Close()
		if denied := (*DeniedError)(nil); !errors.As(err, &denied) || tool.ran != 1 {
			t.Errorf("ran %d times: %v", tool.ran, err)
		}
		if waited := time.Since(begun); waited > patience+attemptTime {
			t.Errorf("gave up after %s", waited)
		}
	})
}

// A call id that was decided on before the run moved on is of no use: the question is
// new, and so is its id.
func TestGuardAsksAnew(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		first := ""
		policy := &fakePolicy{}
		policy.decide = func(req *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
			if first == "" || first == req.GetCallId() {
				first = req.GetCallId()
				return nil, fault.New(fault.IdempotencyMismatch, "things have changed since")
			}
			return &policyv1.CheckToolCallResponse{Decision: allow, CallId: req.GetCallId(), RunId: "run_1"}, nil
		}
		c := New(connect(t, fakes{policy: policy}), Options{Session: "s"})
		tool := &tool{}
		if _, err := c.Guard(t.Context(), "Read", nil, tool.do); err != nil || tool.ran != 1 {
			t.Fatalf("ran %d times: %v", tool.ran, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		made, withdrawn := policy.reported()
		if made[0].GetCallId() == first {
			t.Error("reported the call that was not allowed")
		}
		if !slices.Equal(withdrawn, []string{first}) { // its answer was lost: it may have been allowed
			t.Errorf("withdrawn: %v", withdrawn)
		}
	})
}

func TestGuardFailure(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := &fakePolicy{}
		c := New(connect(t, fakes{policy: policy}), Options{Session: "s"})
		tool := &tool{result: Result{Output: []byte("half"), Bytes: 9}, err: errors.New("no space")}
		result, err := c.Guard(t.Context(), "Write", json.RawMessage(`{"n": 9007199254740993}`), tool.do)
		if err != tool.err || string(result.Output) != "half" { //nolint:errorlint // the very error of the tool
			t.Errorf("answers %q, %v", result.Output, err)
		}
		if told := policy.told.all(); len(told) != 1 || told[0].GetOk() || told[0].GetResultBytes() != 9 {
			t.Errorf("reported as %v", told)
		}
		if got := string(policy.asked.all()[0].GetInput()); got != `{"n": 9007199254740993}` {
			t.Errorf("the input went as %s", got)
		}
	})
}

// S6.4: 64 KiB of an output are kept, so no more is sent than shows that.
func TestGuardCutsOutput(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := &fakePolicy{}
		c := New(connect(t, fakes{policy: policy}), Options{Session: "s"})
		output := []byte(strings.Repeat("x", 1<<20))
		result, err := c.Guard(t.Context(), "Read", nil, (&tool{result: Result{Output: output}}).do)
		if err != nil || len(result.Output) != len(output) {
			t.Errorf("answers %d bytes, %v", len(result.Output), err)
		}
		if told := policy.told.all()[0]; len(told.GetOutput()) != 64<<10+1 || told.GetResultBytes() != 1<<20 {
			t.Errorf("sent %d bytes of %d", len(told.GetOutput()), told.GetResultBytes())
		}
	})
}

// A result is never lost for lack of a report.
func TestGuardUnreported(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		refuse := fault.New(fault.IdempotencyMismatch, "reported otherwise")
		policy := &fakePolicy{answer: func(*policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) { return nil, refuse }}
		c := New(connect(t, fakes{policy: policy}), Options{Session: "s"})
		own := errors.New("its own")
		for _, failed := range []error{nil, own} {
			tool := &tool{result: Result{Output: []byte("done")}, err: failed}
			result, err := c.Guard(t.Context(), "Read", nil, tool.do)
			var lost *ReportError
			if !errors.As(err, &lost) || lost.CallID == "" || Reason(err) != fault.IdempotencyMismatch || string(result.Output) != "done" {
				t.Errorf("answers %q, %v", result.Output, err)
			}
			if errors.Is(err, own) != (failed != nil) {
				t.Errorf("the tool's error %v became %v", failed, err)
			}
			if denied := (*DeniedError)(nil); errors.As(err, &denied) {
				t.Errorf("a tool that ran looks denied: %v", err)
			}
		}
	})
}

func TestGuardPanic(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := &fakePolicy{reports: bumpy{ahead: []trouble{lostAnswer}}}
		c := New(connect(t, fakes{policy: policy}), Options{Session: "s"})
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("the panic became %v", p)
			}
			if told := policy.told.all(); len(told) != 2 || told[1].GetOk() {
				t.Errorf("reported as %v", told)
			}
		}()
		_, _ = c.Guard(t.Context(), "Read", nil, func(context.Context) (Result, error) { panic("boom") })
		t.Error("the panic was swallowed")
	})
}

// What a cancelled caller has done is reported all the same.
func TestGuardCancelledInTheTool(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := &fakePolicy{}
		c := New(connect(t, fakes{policy: policy}), Options{Session: "s"})
		ctx, cancel := context.WithCancel(t.Context())
		_, err := c.Guard(ctx, "Bash", nil, func(ctx context.Context) (Result, error) {
			cancel()
			return Result{FilesChanged: []string{"a.sql"}}, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if told := policy.told.all(); len(told) != 1 || told[0].GetOk() || !told[0].GetOutcomeUnknown() || told[0].GetFilesChanged()[0] != "a.sql" {
			t.Errorf("reported as %v", told)
		}
	})
}

// afterCall is a connection that does something when a call has been answered.
type afterCall struct {
	grpc.ClientConnInterface
	then func(method string)
}

func (a afterCall) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	err := a.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
	a.then(method)
	return err
}

// A tool that was allowed is not run for a caller that has gone away.
func TestGuardCancelledBeforeTheTool(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := &fakePolicy{}
		ctx, cancel := context.WithCancel(t.Context())
		c := New(afterCall{connect(t, fakes{policy: policy}), func(method string) {
			if strings.HasSuffix(method, "/CheckToolCall") {
				cancel()
			}
		}}, Options{Session: "s"})
		tool := &tool{}
		_, err := c.Guard(ctx, "Bash", nil, tool.do)
		denied := (*DeniedError)(nil)
		if !errors.As(err, &denied) || !errors.Is(err, context.Canceled) || tool.ran != 0 {
			t.Errorf("ran %d times: %v", tool.ran, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if made, withdrawn := policy.reported(); len(made) != 0 || len(withdrawn) != 1 {
			t.Errorf("reported as %v, withdrawn: %v", made, withdrawn)
		}
	})
}

// S3.9: a call whose caller goes away while the server decides is withdrawn by the id that the
// client has chosen, and its caller does not wait for that.
func TestGuardCancelledDuringTheCheck(t *testing.T) {
	for name, id := range map[string]string{"an id of the client": "", "an id of the caller": "call_mine"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				policy := &fakePolicy{checks: bumpy{ahead: []trouble{silence}}, reports: bumpy{ahead: []trouble{lostRequest, lostAnswer}}}
				c := New(connect(t, fakes{policy: policy}), Options{Session: "s"})
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				begun := time.Now()
				tool := &tool{}
				_, err := c.Guard(ctx, "Bash", nil, tool.do, CallID(id))
				if !errors.Is(err, context.Canceled) || tool.ran != 0 || time.Since(begun) != time.Second {
					t.Errorf("ran %d times, %v after %s", tool.ran, err, time.Since(begun))
				}
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				asked := policy.asked.all()[0]
				_, withdrawn := policy.reported()
				if len(withdrawn) != 3 || withdrawn[2] != asked.GetCallId() || policy.told.all()[0].GetSessionId() != "s" {
					t.Errorf("withdrawn %v of %s", withdrawn, asked.GetCallId())
				}
			})
		})
	}
}

// A check by the caller's own id can be repeated, so it is not withdrawn.
func TestCheckCancelledWithAnIDOfTheCaller(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := &fakePolicy{checks: bumpy{ahead: []trouble{silence}}}
		c := New(connect(t, fakes{policy: policy}), Options{Session: "s"})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := c.Check(ctx, "Bash", nil, CallID("call_mine")); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if d, err := c.Check(t.Context(), "Bash", nil, CallID("call_mine")); err != nil || !d.Allowed() {
			t.Errorf("%+v, %v", d, err)
		}
		if told := policy.told.all(); len(told) != 0 {
			t.Errorf("reported as %v", told)
		}
	})
}

// S4.3, S3.7: what the agent must read comes with the result.
func TestGuardNotice(t *testing.T) {
	t.Parallel()
	fired := &policyv1.Interrupted{Notice: "[INTERLOCK INTERRUPT] look"}
	for want, resp := range map[string]*policyv1.ReportToolCallResponse{
		"":                                   {},
		"[INTERLOCK INTERRUPT] look":         {Interrupt: fired},
		"nearly":                             {Warning: "nearly"},
		"[INTERLOCK INTERRUPT] look\nnearly": {Interrupt: fired, Warning: "nearly"},
	} {
		policy := &fakePolicy{answer: func(*policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) { return resp, nil }}
		c := New(connect(t, fakes{policy: policy}), Options{Session: "s"})
		// What the tool sets there does not pass for Interlock's word.
		result, err := c.Guard(t.Context(), "Read", nil, (&tool{result: Result{Notice: "trust me"}}).do)
		if err != nil || result.Notice != want {
			t.Errorf("notice %q, want %q: %v", result.Notice, want, err)
		}
	}
}

func TestGuardInputThatIsNoJSON(t *testing.T) {
	t.Parallel()
	policy := &fakePolicy{}
	c := New(connect(t, fakes{policy: policy}), Options{Session: "s"})
	tool := &tool{}
	_, err := c.Guard(t.Context(), "Read", func() {}, tool.do)
	if denied := (*DeniedError)(nil); !errors.As(err, &denied) || denied.Code != "INVALID_INPUT" || tool.ran != 0 || policy.checks.calls() != 0 {
		t.Errorf("ran %d times: %v", tool.ran, err)
	}
}
