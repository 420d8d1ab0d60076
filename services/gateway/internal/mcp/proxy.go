package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

// gated is one call of an upstream tool on its way through the gate.
type gated struct {
	caller caller
	name   string // as it was called
	target *upstreamTool
	input  json.RawMessage // a JSON object
	callID string
	// at is where the caller stood when the call was judged.
	at standing
	// admitted is the decision that let it through; nil when it passes unchecked.
	admitted *policyv1.CheckToolCallResponse
	// done is whether the tool says that it has done what it was asked.
	done bool
	// cost is what the tool says that the call has cost, in US dollars; empty for
	// nothing.
	cost string
}

// callUpstream puts a call before the gate and, when it is allowed, before the
// upstream server, and reports what came of it.
func (s *Server) callUpstream(ctx context.Context, c caller, req *sdk.CallToolRequest, name string, target *upstreamTool) *sdk.CallToolResult {
	s.inflight.Add(1)
	defer s.inflight.Done()
	g := &gated{caller: c, name: name, target: target}
	var err error
	if g.input, err = upstreamInput(req.Params.Arguments); err != nil {
		return refusal{Decision: "DENY", Code: codeInvalidInput, Message: err.Error(), lead: "Denied"}.resultFor(target.tool)
	}
	if g.callID, err = mint(); err != nil {
		return refuseUndecided(err).resultFor(target.tool)
	}
	if answer := s.admitCall(ctx, g); answer != nil {
		return answer
	}
	if ctx.Err() != nil {
		// Nobody waits any more: the tool is not run.
		s.settle(ctx, g, refusal{Code: codeUpstreamFailed, Message: "the caller went away before the tool was called"}.result())
		return refuseUndecided(ctx.Err()).resultFor(target.tool)
	}
	result := s.forward(ctx, g, req)
	s.settle(ctx, g, result).addTo(result)
	return result
}

// upstreamInput is the arguments as a JSON object that reads the same to everyone:
// repeated keys could mean one thing to the gate and another to the tool.
func upstreamInput(raw json.RawMessage) (json.RawMessage, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	value, problem := document.Parse(raw, document.Limits{})
	if problem != nil {
		return nil, fmt.Errorf("the arguments are not acceptable JSON: %s: %s", problem.Code, at(problem))
	}
	if value.Kind() != document.Object {
		return nil, fmt.Errorf("the arguments must be an object, not %s", article(value.Kind()))
	}
	return raw, nil
}

// decide asks the gate. nil means allowed; every doubt is a refusal.
func (s *Server) decide(ctx context.Context, g *gated) *refusal {
	ctx, cancel := context.WithTimeout(g.caller.outgoing(ctx), s.cfg.CheckTimeout)
	defer cancel()
	if !g.caller.Bound() {
		return s.withoutRun(ctx, g)
	}
	var err error
	g.at, err = s.stand(ctx, g.caller)
	switch {
	case err != nil && isNotFound(err) && g.caller.RunID == "":
		return s.withoutRun(ctx, g)
	case err != nil:
		r := refuseUndecided(err)
		return &r
	}
	judged := g.judgedName()
	res, err := s.check(ctx, g, judged, g.callID)
	switch {
	case err != nil && isNotFound(err) && g.caller.RunID == "":
		return s.unjudged(g) // the session has left its run just now, and nothing else holds for it
	case err != nil:
		r := refuseUndecided(err)
		return &r
	}
	if r := s.verdict(g, res); r != nil {
		s.noteDenial(g.caller, res)
		return r
	}
	g.admitted = res
	if !g.at.shows(res) {
		return s.confirm(ctx, g, judged)
	}
	return nil
}

// shows is whether a decision was made on exactly what was seen.
func (at standing) shows(res *policyv1.CheckToolCallResponse) bool {
	return at.same(res) && at.run.GetVersion() == res.GetRunVersion()
}

// same is whether a decision was made on the run that was seen, in its branch.
func (at standing) same(res *policyv1.CheckToolCallResponse) bool {
	return at.run.GetRunId() == res.GetRunId() && at.run.GetBranch() == res.GetBranch()
}

// judgedName is the name to judge a call by: the one that was called, unless the
// state disallows the tool's other name.
func (g *gated) judgedName() string {
	other := g.target.other(g.name)
	if other != "" && names(g.at.run.GetDisallowedTools(), other) {
		return other
	}
	return g.name
}

// confirm looks again when the run was not, or is no more, what the call was
// prepared for: its name, and the environment of its server. A call that was
// admitted for something else is reported as not made.
func (s *Server) confirm(ctx context.Context, g *gated, judged string) *refusal {
	now, err := s.stand(ctx, g.caller)
	if err == nil && now.same(g.admitted) {
		g.at = now
		if g.judgedName() == judged && (now.shows(g.admitted) || !g.ownServer()) {
			return nil
		}
	}
	s.settle(ctx, g, refusal{Code: codeUpstreamFailed, Message: "refused: the state changed meanwhile"}.result())
	g.admitted = nil
	if err != nil && !isNotFound(err) {
		r := refuseUndecided(err)
		return &r
	}
	g.at = now
	name := g.judgedName()
	if name != g.name {
		// The other name is disallowed now: have that recorded and explained.
		if res, err := s.check(ctx, g, name, ""); err == nil && res.GetDecision() != policyv1.Decision_DECISION_ALLOW {
			r := s.refuseAsked(res)
			return &r
		}
	}
	return &refusal{
		Decision: "DENY", Code: codePolicyUnavailable, lead: "Denied",
		Message: "the state changed while the call was judged; make it again",
	}
}

// ownServer is whether the call is for a process that serves this caller alone.
func (g *gated) ownServer() bool { return g.caller.alone && len(g.target.upstream.cfg.Command) > 0 }

func (s *Server) check(ctx context.Context, g *gated, tool, callID string) (*policyv1.CheckToolCallResponse, error) {
	return s.cfg.Policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{
		RunId: g.caller.RunID, SessionId: sessionOf(g.caller), Tool: tool, QualifiedTool: g.target.qualified, Input: g.input, CallId: callID,
	})
}

// verdict is nil for an ALLOW of exactly this call.
func (s *Server) verdict(g *gated, res *policyv1.CheckToolCallResponse) *refusal {
	allowed := res.GetDecision() == policyv1.Decision_DECISION_ALLOW
	switch {
	case allowed && (res.GetCallId() == "" || res.GetCallId() == g.callID):
		return nil
	case allowed:
		return &refusal{
			Decision: "DENY", Code: codePolicyUnavailable, lead: "Denied",
			Message: "the policy service answered for another call, so this one was denied",
		}
	}
	r := s.refuseAsked(res)
	if g.at.run.GetSupersededBy() != "" {
		r.next = goOn(g.at.run)
	}
	return &r
}

// forward calls the upstream tool. Its failures are results.
func (s *Server) forward(ctx context.Context, g *gated, req *sdk.CallToolRequest) *sdk.CallToolResult {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	defer context.AfterFunc(s.calls, cancel)()
	started := time.Now()
	failed := func(code, message string) *sdk.CallToolResult {
		return refusal{Code: code, Message: message, CallID: g.callID, lead: "Failed"}.resultFor(g.target.tool)
	}
	server := g.target.upstream.cfg.Name
	env, err := g.environment()
	if err != nil {
		r := refusal{Decision: "DENY", Code: codeUpstreamFailed, Message: g.name + " was not called: " + err.Error(), CallID: g.callID, lead: "Denied"}
		return r.resultFor(g.target.tool)
	}
	session, end, err := g.target.upstream.begin(ctx, env)
	if err != nil {
		return failed(codeUpstreamFailed, fmt.Sprintf("the server %s is not available%s, so %s was not called: %v", server, g.inEnvironment(env), g.name, err))
	}
	defer end()
	params := &sdk.CallToolParams{Name: g.target.tool.Name, Arguments: g.input}
	if token := req.Params.GetProgressToken(); token != nil {
		ours, done := s.progress.forward(ctx, req.Session, token)
		defer done()
		params.SetProgressToken(ours)
	}
	result, err := session.CallTool(ctx, params)
	var protocol *jsonrpc.Error
	switch {
	case err == nil && result == nil:
		return failed(codeUpstreamFailed, fmt.Sprintf("the server %s answered nothing", server))
	case err == nil && result.NeedsInput():
		return failed(codeUpstreamFailed, fmt.Sprintf("the server %s asks the client for input, which Interlock does not relay", server))
	case err == nil:
		g.done, g.cost = !result.IsError, s.costOf(result.Meta, g.name)
		return s.bounded(g, result)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return failed(codeUpstreamTimeout, fmt.Sprintf("the server %s gave no answer to %s within %s; what it did is not known",
			server, g.name, time.Since(started).Round(time.Millisecond)))
	case endedBy(ctx, err):
		return failed(codeUpstreamFailed, fmt.Sprintf("the call of %s was cancelled; what it did is not known", g.name))
	case errors.As(err, &protocol):
		return failed(codeUpstreamFailed, fmt.Sprintf("the server %s refused the call: %s", server, clip(protocol.Message, 4096)))
	}
	return failed(codeUpstreamFailed, fmt.Sprintf(
		"the connection to the server %s broke during %s; what it did is not known. Interlock starts it again.", server, g.name))
}

// bounded passes an upstream's result on, unless it is too large to.
func (s *Server) bounded(g *gated, result *sdk.CallToolResult) *sdk.CallToolResult {
	if size := resultBytes(result); size > int64(s.cfg.MaxResultBytes) {
		return refusal{Code: codeResultTooLarge, CallID: g.callID, lead: "Withheld", Message: fmt.Sprintf(
			"%s was called and answered %d bytes; the limit is %d. Ask for a part of it.", g.name, size, s.cfg.MaxResultBytes)}.resultFor(g.target.tool)
	}
	// The upstream's word on who it is, and on what Interlock says, is not ours to
	// repeat.
	for key := range result.Meta {
		if key == sdk.MetaKeyServerInfo || strings.HasPrefix(key, ownMeta) {
			delete(result.Meta, key)
		}
	}
	result.InputRequests, result.RequestState = nil, ""
	return result
}

// environment is what the call's server must be started with; nil where that is not
// the state's to say.
func (g *gated) environment() (environment, error) {
	if !g.ownServer() {
		return nil, nil
	}
	if err := checkOverrides(g.at.run); err != nil {
		return nil, err
	}
	return g.target.upstream.cfg.environment(os.Environ(), g.at.run), nil
}

// inEnvironment names the environment that a server could not be started with.
func (g *gated) inEnvironment(env environment) string {
	if env == nil || len(g.at.run.GetBlockedEnv()) == 0 && len(g.at.run.GetEnvOverrides()) == 0 {
		return ""
	}
	return " with the environment of state " + g.at.run.GetState()
}

// noteDenial tells older clients when a denial shows that the run has moved.
func (s *Server) noteDenial(c caller, res *policyv1.CheckToolCallResponse) {
	if res.GetRunId() == "" || res.GetState() == "" {
		return
	}
	now := listing{res.GetRunId(), res.GetBranch(), res.GetState(), brief.Judged}
	if res.GetCode() == policyv1.DecisionCode_DECISION_CODE_RUN_NOT_ACTIVE {
		now.standing = brief.Closed
	}
	s.sessions.saw(c, now)
}
