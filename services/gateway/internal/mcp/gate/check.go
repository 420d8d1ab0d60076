package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/approvals"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/realpath"
)

// Allowed is a call that may be made: the second stage.
type Allowed struct {
	Identified
	// at is the position of the caller when the call was checked.
	at caller.Position
	// reportAs is the name that the call is reported by.
	reportAs string
	// decision let the call through; nil when it passes unchecked.
	decision *policyv1.CheckToolCallResponse
}

// checked is a call after one check: it is allowed, or denied is not nil. A denied call may have a position,
// where checkAndAwait reads how long the call may wait for people.
type checked struct {
	Allowed
	denied *reply.Refusal
}

// checkAndAwait checks a call. Where policies ask people first, and the workflow says that calls
// wait for them (meta.approval.wait_seconds), it waits, and checks the same call again when they
// have decided (S7.6). answer is nil for an allowed call; otherwise it is the answer to the client.
func (g *Gate) checkAndAwait(ctx context.Context, call Identified) (_ Allowed, answer *sdk.CallToolResult) {
	first := g.checkOnce(ctx, call)
	denied := first.denied
	if denied == nil {
		return first.Allowed, nil
	}
	limit := first.at.Run.GetWorkflowMeta().GetApprovalWait().AsDuration()
	if denied.ApprovalID == "" || denied.Decision != asksPeople || limit <= 0 || !g.cfg.Approvals.Waits() {
		return Allowed{}, denied.ResultFor(call.target.Tool)
	}
	if invitation := g.cfg.Approvals.Invite(call.caller, denied.ApprovalID); invitation != nil {
		return Allowed{}, invitation
	}
	approval, err := g.cfg.Approvals.Await(call.caller.Outgoing(ctx), call.caller, denied.ApprovalID, limit)
	switch {
	case ctx.Err() != nil:
		return Allowed{}, g.refuseUndecided(ctx.Err()).ResultFor(call.target.Tool)
	case err != nil:
		return Allowed{}, denied.ResultFor(call.target.Tool) // it waits, for all that is known
	}
	switch approval.GetStatus() {
	case approvalv1.ApprovalStatus_APPROVAL_STATUS_UNSPECIFIED, approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING:
	case approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED, approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED:
		// The second check applies the answer of people.
		again := g.checkOnce(ctx, call)
		if denied = again.denied; denied == nil {
			return again.Allowed, nil
		}
	default:
		denied.Message, denied.Next = approvals.Outcome(approval), "The tool was not called. To ask again, make the call again."
	}
	return Allowed{}, denied.ResultFor(call.target.Tool)
}

// asksPeople is the decision on a call that people must approve first.
const asksPeople = "ASK"

// checkOnce asks the policy service for a decision, and confirms that it is on the run of the caller. Every doubt is a denial.
func (g *Gate) checkOnce(ctx context.Context, call Identified) checked {
	ctx, cancel := context.WithTimeout(call.caller.Outgoing(ctx), g.cfg.CheckTimeout)
	defer cancel()
	if !call.caller.Bound() {
		return g.checkUnbound(ctx, call)
	}
	if at, ok := g.lastSeen(call); ok {
		only := &policyv1.RunVersion{RunId: at.Run.GetRunId(), Version: at.Run.GetVersion()}
		if c, decided := g.checkAt(ctx, call, at, only); decided {
			return g.refreshDenial(ctx, call, c)
		}
	}
	at, err := g.locate(ctx, call.caller)
	switch {
	case err != nil && reply.IsNotFound(err) && call.caller.RunID == "":
		return g.checkUnbound(ctx, call)
	case err != nil:
		return checked{denied: g.refuseUndecided(err)}
	}
	c, decided := g.checkAt(ctx, call, at, nil)
	if !decided { // its session has left the run just now, and no other rules hold for it: the call passes unchecked, or is denied
		return checked{Allowed{Identified: call, at: at}, g.refuseWithoutRules(call)}
	}
	return c
}

// checkAt checks a call whose caller was seen at a position: only in one version of a run, or, without one, in any. decided is
// false where there is no decision, and nothing on record: the session has left the run, or that is at another version.
func (g *Gate) checkAt(ctx context.Context, call Identified, at caller.Position, only *policyv1.RunVersion) (_ checked, decided bool) {
	name := call.nameToCheck(at.Run)
	res, err := g.checkAs(ctx, call, name, call.id, only)
	switch {
	case err != nil && reply.IsNotFound(err) && call.caller.RunID == "", only != nil && fault.ReasonOf(err) == fault.VersionConflict:
		return checked{}, false
	case err != nil:
		return checked{denied: g.refuseUndecided(err)}, true
	}
	if denied := g.refusalUnlessAllowed(call, at.Run, res); denied != nil {
		g.noteDenial(call.caller, res)
		return checked{Allowed{at: at, decision: res}, denied}, true
	}
	allowed := Allowed{Identified: call, at: at, reportAs: name, decision: res}
	if sameVersion(at, res) && (only == nil || at.Run.GetState() == res.GetState()) { // an older store has other states at its versions
		return checked{Allowed: allowed}, true
	}
	return g.confirm(ctx, allowed, name), true
}

// refreshDenial reads the position of a denied call that was checked by one from memory: the texts of a denial, and how long
// the call may wait for people, depend on it.
func (g *Gate) refreshDenial(ctx context.Context, call Identified, c checked) checked {
	if c.denied == nil || c.decision == nil {
		return c
	}
	now, err := g.locate(ctx, call.caller)
	if err != nil {
		return c
	}
	return checked{Allowed{at: now}, g.refusalUnlessAllowed(call, now.Run, c.decision)}
}

// nameToCheck returns the name to check a call by in a run: the one that was called, unless the
// state disallows the tool's other name. A process names tools as their servers do (S7.8).
func (c Identified) nameToCheck(run *enginev1.Run) string {
	rules := run.GetRules()
	other := c.target.Other(c.name)
	switch {
	case other != "" && Matches(rules.GetDisallowedTools(), other):
		return other
	case run.GetWorkflowMeta().GetProcess() && c.inProcess != "" && rules.GetToolsRestricted() &&
		!Matches(rules.GetAllowedTools(), c.name) && Matches(rules.GetAllowedTools(), c.inProcess):
		return c.inProcess
	}
	return c.name
}

// Matches reports whether a list of tools has a name: exactly, or by an entry that ends in
// "*" as a prefix (S3.1).
func Matches(entries []string, name string) bool {
	return slices.ContainsFunc(entries, func(entry string) bool {
		prefix, wild := strings.CutSuffix(entry, "*")
		return entry == name || wild && strings.HasPrefix(name, prefix)
	})
}

// inputToCheck returns the input to check a call by: where only links show that S13
// forbids it, with the names of files as they are without links, so that the service that
// records the denial sees why.
func (c Identified) inputToCheck() json.RawMessage {
	var input any
	if !c.onlyByLink || json.Unmarshal(c.input, &input) != nil {
		return c.input
	}
	if followed, err := json.Marshal(follow(c.caller.Workspace, input)); err == nil {
		return followed
	}
	return c.input
}

// follow returns a value in which texts that name files are their real names.
func follow(workspace string, value any) any {
	switch v := value.(type) {
	case string:
		if real, ok := toolcall.RealName(workspace, v, realpath.Of); ok {
			return real
		}
	case []any:
		for i := range v {
			v[i] = follow(workspace, v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = follow(workspace, v[key])
		}
	}
	return value
}

// nameless stands for the session of callers that name none and have no token.
const nameless = "mcp-without-session"

// checkUnbound checks a call of a caller that drives no run. Such a call goes through only
// where the gateway's settings let it, and policies that hold for its role or session hold for
// it there (S7). There is no state that could allow one of the tool's names alone, so it is
// checked by the one with its server: policies mean that. ctx must be outgoing.
func (g *Gate) checkUnbound(ctx context.Context, call Identified) checked {
	if !g.cfg.AllowUnbound {
		return checked{denied: g.refuseWithoutRules(call)}
	}
	res, err := g.cfg.Policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{
		SessionId: call.unboundSession(), Tool: call.target.Qualified, Input: call.inputToCheck(), CallId: call.id,
		RealNames: g.realNames(call),
	})
	switch {
	case err != nil && reply.IsNotFound(err):
		return checked{Allowed{Identified: call}, g.refuseWithoutRules(call)}
	case err != nil:
		return checked{denied: g.refuseUndecided(err)}
	}
	if denied := g.refusalUnlessAllowed(call, nil, res); denied != nil || res.GetRunId() == "" {
		return checked{Allowed{Identified: call, reportAs: call.target.Qualified, decision: res}, denied}
	}
	// A run has begun in the meantime.
	begun := Allowed{Identified: call, at: caller.Position{Target: res.GetRunId()}, reportAs: call.name, decision: res}
	return g.confirm(ctx, begun, call.target.Qualified)
}

// unboundSession names the session of a call that no run is behind.
func (c Identified) unboundSession() string { return cmp.Or(c.caller.NamedSession(), nameless) }

// refuseWithoutRules returns the denial of a call for which no rules hold; nil where the gateway's settings let
// such calls through.
func (g *Gate) refuseWithoutRules(call Identified) *reply.Refusal {
	if g.cfg.AllowUnbound && call.selfProtection != "" {
		return refuseSelfProtected(call)
	}
	if g.cfg.AllowUnbound {
		return nil
	}
	r := reply.NotBound()
	if call.caller.Bound() {
		r = reply.NoWorkflow(call.caller.SessionID, g.cfg.ToolPrefix)
	}
	r.Decision, r.Lead = "DENY", "Denied"
	return r
}

// refuseSelfProtected returns the refusal of a call for which only S13 holds.
func refuseSelfProtected(call Identified) *reply.Refusal {
	return &reply.Refusal{
		Decision: "DENY", Code: string(toolcall.CodeSelfProtected), Lead: "Denied", Message: toolcall.SelfProtectedMessage(call.name, call.selfProtection),
	}
}

// checkAs asks the policy service for a decision on a call by one of its names, only in one version of a run if there is one.
// Without a call ID the decision lets no call through.
func (g *Gate) checkAs(ctx context.Context, call Identified, name, callID string, only *policyv1.RunVersion) (*policyv1.CheckToolCallResponse, error) {
	return g.cfg.Policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{
		RunId: call.caller.RunID, SessionId: call.caller.NamedSession(), Tool: name, QualifiedTool: call.target.Qualified, Input: call.inputToCheck(), CallId: callID, IfRun: only,
		JailLevel: int32(call.jail), Folder: call.folder, RealNames: g.realNames(call), //nolint:gosec // 0 to 3
	})
}

// realNames returns where links lead from the files of a call, whose files are this machine's; nil where they are not.
func (g *Gate) realNames(call Identified) []*policyv1.RealName {
	if g.cfg.Workspace == "" || call.caller.Workspace != g.cfg.Workspace {
		return nil
	}
	return realpath.Names(call.name, call.inputToCheck(), call.caller.Workspace, call.folder)
}

// refusalUnlessAllowed returns nil for an ALLOW of exactly this call, and a refusal otherwise. run is the one that it was checked
// in; nil for none.
func (g *Gate) refusalUnlessAllowed(call Identified, run *enginev1.Run, res *policyv1.CheckToolCallResponse) *reply.Refusal {
	allowed := res.GetDecision() == policyv1.Decision_DECISION_ALLOW
	switch {
	case allowed && call.onlyByLink: // only this machine knows where links lead
		return refuseSelfProtected(call)
	case allowed && (res.GetCallId() == "" || res.GetCallId() == call.id):
		return nil
	case allowed:
		return &reply.Refusal{
			Decision: "DENY", Code: reply.CodePolicyUnavailable, Lead: "Denied",
			Message: "the policy service returned a decision for another call, so this one was denied",
		}
	}
	r := g.refusalOf(res)
	if run.GetSupersededBy() != "" {
		r.Next = goOn(run)
	}
	return r
}

// refusalOf returns the refusal of a call that is denied, or that people must approve first.
func (g *Gate) refusalOf(res *policyv1.CheckToolCallResponse) *reply.Refusal {
	r := reply.Decision(res)
	if r.Decision == asksPeople && r.ApprovalID != "" {
		r.Next = brief.Asked(r.Message, r.ApprovalID, g.cfg.Approvals.Link(r.ApprovalID), g.cfg.ToolPrefix)
	}
	return r
}

// goOn describes how the agent of a connection continues whose run its session has left
// for another.
func goOn(run *enginev1.Run) string {
	way := "/mcp?run=" + run.GetSupersededBy()
	if session := run.GetSessionId(); session != "" {
		way = fmt.Sprintf("/mcp?session=%s, or to %s", session, way)
	}
	return fmt.Sprintf("This connection names run %s, whose session now drives run %s: only Interlock's own tools are allowed here. Connect to %s.",
		run.GetRunId(), run.GetSupersededBy(), way)
}

// noteDenial notifies older clients when a denial shows that the run has moved.
func (g *Gate) noteDenial(c caller.Caller, res *policyv1.CheckToolCallResponse) {
	if res.GetRunId() == "" || res.GetState() == "" {
		return
	}
	now := clients.Listing{RunID: res.GetRunId(), Branch: res.GetBranch(), State: res.GetState(), Status: brief.Judged}
	if res.GetCode() == policyv1.DecisionCode_DECISION_CODE_RUN_NOT_ACTIVE {
		now.Status = brief.Closed
	}
	g.cfg.Clients.NotifyRun(c, now)
}

// sameRun reports whether a decision was made on the run that was seen, in its branch.
func sameRun(at caller.Position, res *policyv1.CheckToolCallResponse) bool {
	return at.Run.GetRunId() == res.GetRunId() && at.Run.GetBranch() == res.GetBranch()
}

// sameVersion reports whether a decision was made on the run that was seen, at its version.
func sameVersion(at caller.Position, res *policyv1.CheckToolCallResponse) bool {
	return sameRun(at, res) && at.Run.GetVersion() == res.GetRunVersion()
}

// confirm looks up the run again when the decision is not on the run, or the version of it, that was looked up
// before. The call passes if it would be checked by the same name in that run, and its server needs no other
// environment. Otherwise it is reported as not made, and denied. checkedAs is the name that the call was checked by.
func (g *Gate) confirm(ctx context.Context, allowed Allowed, checkedAs string) checked {
	now, err := g.locate(ctx, allowed.caller)
	if err == nil && sameRun(now, allowed.decision) {
		allowed = Allowed{allowed.Identified, now, allowed.reportAs, allowed.decision}
		if allowed.nameToCheck(now.Run) == checkedAs && (sameVersion(now, allowed.decision) || !allowed.ownServer()) {
			return checked{Allowed: allowed}
		}
	}
	g.report(ctx, notMade(allowed, "refused: the state changed in between"))
	if err != nil && !reply.IsNotFound(err) {
		return checked{denied: g.refuseUndecided(err)}
	}
	if name := allowed.nameToCheck(now.Run); name != allowed.name {
		// The other name is disallowed now: have that recorded and explained.
		if res, err := g.checkAs(ctx, allowed.Identified, name, "", nil); err == nil && res.GetDecision() != policyv1.Decision_DECISION_ALLOW {
			return checked{Allowed{at: now}, g.refusalOf(res)}
		}
	}
	return checked{denied: refuseMoved()}
}

// refuseMoved returns the denial of a call whose run has moved on while it was checked.
func refuseMoved() *reply.Refusal {
	return &reply.Refusal{
		Decision: "DENY", Code: reply.CodePolicyUnavailable, Lead: "Denied",
		Message: "the state changed while the call was judged; make it again",
	}
}

// ownServer reports whether the call is for a process that serves its caller alone.
func (c Identified) ownServer() bool { return c.caller.Alone && c.target.IsProcess() }

// refuseUndecided returns the denial of a call that could not be decided.
func (g *Gate) refuseUndecided(err error) *reply.Refusal {
	if g.cfg.Undecided != nil {
		g.cfg.Undecided(err)
	}
	r := reply.Fault(err, "Denied")
	r.Decision = "DENY"
	switch fault.Reason(r.Code) {
	case fault.InvalidRequest, fault.InvalidJSON, fault.TooLarge:
		r.Code = reply.CodeInvalidInput
	case fault.Unauthenticated, fault.PermissionDenied:
	default:
		r.Message = "no decision could be made, so the call was denied: " + r.Message
		r.Code, r.Next = reply.CodePolicyUnavailable, "The tool was not called. Try again."
	}
	return r
}

// denialNow returns the denial that a call would get now; nil when it would be allowed. Every
// doubt is a denial, and the call is neither counted nor logged.
func (g *Gate) denialNow(ctx context.Context, call Identified) *reply.Refusal {
	if !call.caller.Bound() && !g.cfg.AllowUnbound {
		return g.refuseWithoutRules(call)
	}
	ctx, cancel := context.WithTimeout(call.caller.Outgoing(ctx), g.cfg.CheckTimeout)
	defer cancel()
	session := call.caller.NamedSession()
	if !call.caller.Bound() {
		session = nameless
	}
	res, err := g.cfg.Policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{
		RunId: call.caller.RunID, SessionId: session, Tool: call.name, QualifiedTool: call.target.Qualified, Input: call.inputToCheck(), DryRun: true,
		RealNames: g.realNames(call),
	})
	switch {
	case err != nil && reply.IsNotFound(err) && call.caller.RunID == "", err == nil && res.GetRunId() == "" && !g.cfg.AllowUnbound:
		return g.refuseWithoutRules(call)
	case err != nil:
		return g.refuseUndecided(err)
	}
	res.ApprovalId = "" // people were not asked
	return g.refusalUnlessAllowed(call, nil, res)
}
