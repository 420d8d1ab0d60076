package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// gated is one call of an upstream tool on its way through the gate.
type gated struct {
	caller caller
	name   string // as it was called
	target *upstream.Tool
	input  json.RawMessage // a JSON object
	callID string
	// inProcess is the name by which processes name the tool; empty for none. judged is the name
	// that was judged; empty for the one that was called.
	inProcess, judged string
	// protected says why S13 is against the call; empty when it is not. linked: only
	// because of where links lead.
	protected string
	linked    bool
	// jail is the level of the jail that the call is made in, and folder where it starts; 0 and empty
	// for calls of servers.
	jail   int
	folder string
	// at is where the caller stood when the call was judged.
	at position
	// admitted is the decision that let it through; nil when it passes unchecked.
	admitted *policyv1.CheckToolCallResponse
	// done is whether the tool reports success.
	done bool
	// answered is whether the server has answered at all.
	answered bool
	// cost is the cost of the call as the tool reports it, in US dollars; empty if there
	// is none.
	cost string
}

// callUpstream puts a call before the gate and, when it is allowed, before the upstream
// server, and reports the outcome.
//
// An error that the server answers is passed on as it is.
func (s *Server) callUpstream(
	ctx context.Context, c caller, req *sdk.CallToolRequest, name string, target *upstream.Tool,
) (sdk.Result, error) {
	s.life.inflight.Add(1)
	defer s.life.inflight.Done()
	g := &gated{caller: c, name: name, target: target, callID: newCallID(), inProcess: s.nameInProcess(target)}
	var err error
	if g.input, err = upstreamInput(req.Params.Arguments); err != nil {
		return complete(req, refusal{Decision: "DENY", Code: codeInvalidInput, Message: err.Error(), lead: "Denied"}.resultFor(target.Tool)), nil
	}
	s.protect(g)
	if refused := s.changed(ctx, c, target); refused != nil {
		return complete(req, refused.resultFor(target.Tool)), nil
	}
	if answer := s.admitCall(ctx, g); answer != nil {
		return complete(req, answer), nil
	}
	if ctx.Err() != nil {
		// No caller waits any more: the tool is not run.
		s.settle(ctx, g, refusal{Code: codeUpstreamFailed, Message: "the caller cancelled the request before the tool was called"}.written())
		return complete(req, s.refuseUndecided(ctx.Err()).resultFor(target.Tool)), nil
	}
	result, err := s.forward(ctx, g, req)
	if err != nil {
		s.settle(ctx, g, refusal{Code: codeUpstreamFailed, Message: err.Error()}.written())
		return nil, err
	}
	s.settle(ctx, g, result).addTo(result)
	return written{&sdk.CallToolResult{}, result, req.ProtocolVersion() >= protocolStateless}, nil
}

// upstreamInput returns the arguments as a JSON object that reads the same to everyone:
// repeated keys could mean one thing to the gate and another to the tool.
func upstreamInput(raw json.RawMessage) (json.RawMessage, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	value, problem := document.Parse(raw, document.Limits{})
	if problem != nil {
		return nil, fmt.Errorf("the arguments are not valid JSON: %s: %s", problem.Code, at(problem))
	}
	if value.Kind() != document.Object {
		return nil, fmt.Errorf("the arguments must be an object, not %s", article(value.Kind()))
	}
	return raw, nil
}

// forward calls the upstream tool. Its failures are results, but for the server's own
// errors.
func (s *Server) forward(ctx context.Context, g *gated, req *sdk.CallToolRequest) (*relay.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	defer context.AfterFunc(s.life.calls, cancel)()
	env, err := g.environment()
	if err != nil {
		r := refusal{Decision: "DENY", Code: codeUpstreamFailed, Message: g.name + " was not called: " + err.Error(), CallID: g.callID, lead: "Denied"}
		return asText(r.resultFor(g.target.Tool)), nil
	}
	call := upstream.Call{
		As: g.name, Arguments: g.input, Meta: upstream.ForwardedMeta(req.Params.Meta), Environment: env, Via: g.caller.peer,
		Inputs: req.Params.InputResponses, State: req.Params.RequestState, Stateless: req.ProtocolVersion() >= protocolStateless,
	}
	if token := upstream.ProgressToken(req.Params.Meta); token != nil {
		box, flush := newOutbox(ctx, req.Session)
		defer flush()
		call.Progress = func(params *relay.Result) {
			params.Set("progressToken", token)
			box.put(params)
		}
	}
	result, err := g.target.Call(ctx, call)
	var protocol *jsonrpc.Error
	if errors.As(err, &protocol) {
		return nil, protocol
	}
	if err != nil {
		return asText(g.failed(err).resultFor(g.target.Tool)), nil
	}
	g.answered = true
	g.done, g.cost = !result.IsError(), s.costOf(result.Meta(), g.name)
	return s.bounded(g, result), nil
}

// failed makes a refusal of a call that has no result.
func (g *gated) failed(err error) refusal {
	r := refusal{Code: codeUpstreamFailed, Message: err.Error(), CallID: g.callID, lead: "Failed"}
	var failure *upstream.Failure
	switch {
	case !errors.As(err, &failure):
	case failure.NotCalled:
		r.Message = fmt.Sprintf("the server %s is not available%s, so %s was not called: %v", g.target.Server(), g.inEnvironment(), g.name, failure)
	case failure.Late:
		r.Code = codeUpstreamTimeout
	}
	return r
}

// bounded passes an upstream's result on, unless it is too large to.
func (s *Server) bounded(g *gated, result *relay.Result) *relay.Result {
	if size := result.Size(); size > int64(s.cfg.MaxResultBytes) {
		return asText(refusal{Code: codeResultTooLarge, CallID: g.callID, lead: "Withheld", Message: fmt.Sprintf(
			"%s was called and returned %d bytes; the limit is %d. Ask for a part of it.", g.name, size, s.cfg.MaxResultBytes)}.resultFor(g.target.Tool))
	}
	disown(result)
	if !result.NeedsInput() {
		result.Remove("inputRequests")
		result.Remove("requestState")
	}
	return result
}

// disown removes an upstream's claims about its identity, and about Interlock, from its
// result: they are not ours to repeat.
func disown(result *relay.Result) {
	result.RemoveMeta(func(key string) bool { return key == sdk.MetaKeyServerInfo || strings.HasPrefix(key, ownMeta) })
}

// ownServer reports whether the call is for a process that serves this caller alone.
func (g *gated) ownServer() bool { return g.caller.alone && g.target.IsProcess() }

// environment returns the environment in which the call's server must be started; nil
// where the state does not decide that. The upstreams of a gateway's /mcp serve many
// sessions at once, in different states, and a process has one environment. There it is
// the operator's alone: variables that a state blocks are not removed. Keep such
// variables out of the gateway's environment, or give each agent an `interlock mcp` of
// its own.
func (g *gated) environment() (*upstream.Environment, error) {
	if !g.ownServer() {
		return nil, nil
	}
	return environmentOf(g.at.run)
}

// environmentOf returns the demands of a run's state on an environment (S3.4); run may be
// nil. It refuses variables that decide which code a program runs: a workflow may come
// from an agent, and an upstream server has secrets and rights that its agent has not.
func environmentOf(run *enginev1.Run) (*upstream.Environment, error) {
	env := &upstream.Environment{}
	for _, v := range run.GetRules().GetEnvOverrides() {
		if upstream.LoadsCode(v.GetName()) {
			return nil, fmt.Errorf("the state %s sets %s, which selects the code that a server runs, and Interlock does not accept that from a workflow; "+
				"leave it out of env_overrides, or set it in the configuration of the server", run.GetState(), v.GetName())
		}
		env.Set = append(env.Set, upstream.Variable{Name: v.GetName(), Value: v.GetValue()})
	}
	env.Blocked = run.GetRules().GetBlockedEnv()
	if run == nil || brief.ToolStatusOf(run) != brief.Judged {
		return &upstream.Environment{}, nil
	}
	return env, nil
}

// inEnvironment names the environment that a server could not be started with.
func (g *gated) inEnvironment() string {
	if !g.ownServer() || len(g.at.run.GetRules().GetBlockedEnv()) == 0 && len(g.at.run.GetRules().GetEnvOverrides()) == 0 {
		return ""
	}
	return " with the environment of state " + g.at.run.GetState()
}
