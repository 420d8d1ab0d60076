// Package sdktest is a stand-in for Interlock in tests of your own program:
//
//	fake := sdktest.New(t)
//	fake.Allow("Edit")
//	agent := newAgent(fake.Client())
//	agent.work()
//	if calls := fake.Calls(); len(calls) != 1 || calls[0].Tool != "Edit" {
//		t.Error(calls)
//	}
//
// The client above it is the real one: it refuses, repeats and reports as in production. The fake
// judges by the rules of the test alone, and denies every other call. It has one run for every
// session, which accepts every event.
package sdktest

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/sdk"
)

// Call is a call that was judged. A check that the client has repeated is one call.
type Call struct {
	Tool, CallID, Session string
	// Input is the JSON of the arguments.
	Input         string
	Decision      sdk.Verdict
	Code          sdk.Code
	Folder        string
	QualifiedTool string
	DryRun        bool
	// JailLevel is that of the jail that the client has for it.
	JailLevel int
}

// Report is the report of a call; repeats are left out.
type Report struct {
	Tool, CallID string
	OK           bool
	// Accounted is true if such a call was allowed.
	Accounted                   bool
	Output                      string
	FilesChanged                []string
	CostUSD                     string
	OutcomeUnknown              bool
	Background, BackgroundEnded string
	// NotExecuted is true if the client has said that it does not make the call.
	NotExecuted bool
}

// Fake is a server in the process of the test. It is safe for concurrent use.
type Fake struct {
	t    testing.TB
	conn *grpc.ClientConn

	mu        sync.Mutex
	down      bool
	jailless  bool
	rules     []rule
	answers   map[string]*policyv1.CheckToolCallResponse
	reported  map[string]*policyv1.ReportToolCallResponse
	approvals map[string]*approvalv1.Approval
	changed   chan struct{} // closed when an approval changes
	calls     []Call
	reports   []Report
	events    []string
}

// rule is a tool, or the beginning of its name with a * behind it, and the answer.
type rule struct {
	tool, message string
	decision      policyv1.Decision
	code          policyv1.DecisionCode
}

// New starts a fake, which ends with the test.
func New(t testing.TB) *Fake {
	t.Helper()
	f := &Fake{
		t: t, answers: map[string]*policyv1.CheckToolCallResponse{}, reported: map[string]*policyv1.ReportToolCallResponse{},
		approvals: map[string]*approvalv1.Approval{}, changed: make(chan struct{}),
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(f.unary), grpc.StreamInterceptor(f.stream))
	policyv1.RegisterPolicyEnforcerServiceServer(server, &enforcer{fake: f})
	approvalv1.RegisterApprovalServiceServer(server, &approvals{fake: f})
	enginev1.RegisterRunServiceServer(server, &runs{fake: f})
	lis := bufconn.Listen(64 << 10)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(lis)
	}()
	conn, err := grpc.NewClient("passthrough:///sdktest", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	f.conn = conn
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		<-served
	})
	return f
}

// Client returns a client of the fake for the session "test", on a machine that has no jail.
func (f *Fake) Client() *sdk.Client { return f.client(-1) }

// JailedClient is Client on a machine that has jails of a level. The commands that it returns are
// not executed in a test: no fake runs them.
func (f *Fake) JailedClient(level int) *sdk.Client { return f.client(level) }

func (f *Fake) client(level int) *sdk.Client {
	c := sdk.New(f.conn, sdk.Options{Session: "test", Jail: sdk.JailOptions{Level: level}})
	f.t.Cleanup(func() { _ = c.Close() })
	return c
}

// Allow allows tools; a name may end with * for all that begin so. Of several rules that match, the
// newest decides.
func (f *Fake) Allow(tools ...string) {
	for _, tool := range tools {
		f.rule(rule{tool: tool, decision: policyv1.Decision_DECISION_ALLOW})
	}
}

// Deny denies a tool. An empty code is CodeToolNotAllowed.
func (f *Fake) Deny(tool string, code sdk.Code, message string) {
	f.t.Helper()
	if code == "" {
		code = sdk.CodeToolNotAllowed
	}
	number, known := policyv1.DecisionCode_value["DECISION_CODE_"+string(code)]
	if !known {
		f.t.Fatalf("%q is no code of a decision: give one of sdk's, such as sdk.CodePolicyDenied", code)
	}
	if message == "" {
		message = "the fake denies " + tool
	}
	f.rule(rule{tool: tool, decision: policyv1.Decision_DECISION_DENY, code: policyv1.DecisionCode(number), message: message})
}

// Ask asks humans about a tool: see Approve and Reject.
func (f *Fake) Ask(tool string) { f.rule(rule{tool: tool, decision: policyv1.Decision_DECISION_ASK}) }

func (f *Fake) rule(r rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, r)
}

// Approve grants an approval: exactly the call that it is about is then allowed once.
func (f *Fake) Approve(id string) {
	f.t.Helper()
	f.decide(id, approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED, "granted")
}

// Reject rejects an approval. The note is for the agent.
func (f *Fake) Reject(id, note string) {
	f.t.Helper()
	f.decide(id, approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED, "rejected: "+note)
}

func (f *Fake) decide(id string, status approvalv1.ApprovalStatus, outcome string) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.approvals[id]
	if a == nil || a.GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING {
		f.t.Fatalf("no approval %q waits: it is the ApprovalID of the error of a call that Ask has asked about", id)
		return
	}
	f.change(id, a, status, outcome)
}

// change replaces an approval. The caller holds mu.
func (f *Fake) change(id string, a *approvalv1.Approval, status approvalv1.ApprovalStatus, outcome string) {
	f.approvals[id] = &approvalv1.Approval{ApprovalId: id, Kind: a.GetKind(), Status: status, Outcome: outcome, Digest: a.GetDigest()}
	close(f.changed)
	f.changed = make(chan struct{})
}

// NoJail makes the fake give no jails from now on, as a server with --jail off.
func (f *Fake) NoJail() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.jailless = true
}

// Down makes every call fail as when the server cannot be reached, until Up.
func (f *Fake) Down() { f.setDown(true) }

// Up ends Down.
func (f *Fake) Up() { f.setDown(false) }

func (f *Fake) setDown(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

// Calls returns the calls that were judged, in their order.
func (f *Fake) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Reports returns the reports, in their order. A call that was not made is reported in the
// background: close the client to have waited for that.
func (f *Fake) Reports() []Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.reports)
}

// Events returns the events of transitions, in their order.
func (f *Fake) Events() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events)
}

func (f *Fake) reachable() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return fault.New(fault.Unavailable, "the fake is down").GRPCStatus().Err()
	}
	return nil
}

func (f *Fake) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if err := f.reachable(); err != nil {
		return nil, err
	}
	resp, err := handle(ctx, req)
	if err != nil {
		return nil, fault.From(err).GRPCStatus().Err()
	}
	return resp, nil
}

func (f *Fake) stream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if err := f.reachable(); err != nil {
		return err
	}
	if err := handle(srv, stream); err != nil {
		return fault.From(err).GRPCStatus().Err()
	}
	return nil
}

// ruleOf returns the newest rule of a tool, or a denial where it has none.
func (f *Fake) ruleOf(tool string) rule {
	for _, r := range slices.Backward(f.rules) {
		beginning, several := strings.CutSuffix(r.tool, "*")
		if r.tool == tool || several && strings.HasPrefix(tool, beginning) {
			return r
		}
	}
	return rule{
		decision: policyv1.Decision_DECISION_DENY, code: policyv1.DecisionCode_DECISION_CODE_TOOL_NOT_ALLOWED,
		message: "no rule in the fake is about tool " + tool + ": call Allow, Deny or Ask for it",
	}
}
