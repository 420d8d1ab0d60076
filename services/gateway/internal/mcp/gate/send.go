package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/wire"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Sent is a call that was made, or that was allowed and could not be made: the third stage.
type Sent struct {
	Allowed
	// text is the result for the client.
	text *relay.Result
	// unmade is whether the tool certainly was not called, and answered whether its server has answered. With neither, the
	// effect of the call is not known.
	unmade, answered bool
	// done is whether the tool reports success.
	done bool
	// cost is the cost of the call as the tool reports it, in US dollars; empty if there
	// is none.
	cost string
}

// notMade returns an allowed call whose tool was not called.
func notMade(allowed Allowed, why string) Sent {
	sent := withoutResult(allowed, why)
	sent.unmade = true
	return sent
}

// withoutResult returns a call that was made and has no result: nobody can tell its effect.
func withoutResult(allowed Allowed, why string) Sent {
	return Sent{Allowed: allowed, text: reply.Refusal{Code: reply.CodeUpstreamFailed, Message: why}.Text()}
}

// notCalled reports that an error of a server means that it was not called.
func notCalled(err error) bool {
	var failure *upstream.Failure
	return errors.As(err, &failure) && failure.NotCalled
}

// sendTool calls the tool of a server. Its failures are results, but for the server's own
// errors.
func (g *Gate) sendTool(ctx context.Context, allowed Allowed, req *sdk.CallToolRequest) (Sent, error) {
	ctx, cancel := context.WithTimeout(ctx, g.cfg.CallTimeout)
	defer cancel()
	defer context.AfterFunc(g.cfg.Calls, cancel)()
	env, err := allowed.environment()
	if err != nil {
		r := reply.Refusal{Decision: "DENY", Code: reply.CodeUpstreamFailed, Message: allowed.name + " was not called: " + err.Error(), CallID: allowed.id, Lead: "Denied"}
		return Sent{Allowed: allowed, unmade: true, text: reply.Text(r.ResultFor(allowed.target.Tool))}, nil
	}
	call := upstream.Request{
		As: allowed.name, Arguments: allowed.input, Meta: upstream.ForwardedMeta(req.Params.Meta), Environment: env, Via: allowed.caller.Peer,
		Inputs: req.Params.InputResponses, State: req.Params.RequestState, Stateless: req.ProtocolVersion() >= wire.ProtocolStateless,
	}
	if token := upstream.ProgressToken(req.Params.Meta); token != nil {
		box, flush := clients.NewOutbox(ctx, req.Session)
		defer flush()
		call.Progress = func(params *relay.Result) {
			params.Set("progressToken", token)
			box.Put(params)
		}
	}
	result, err := allowed.target.Call(ctx, call)
	var protocol *jsonrpc.Error
	if errors.As(err, &protocol) {
		return withoutResult(allowed, protocol.Error()), protocol
	}
	if err != nil {
		return Sent{Allowed: allowed, unmade: notCalled(err), text: reply.Text(allowed.refuseFailed(err).ResultFor(allowed.target.Tool))}, nil
	}
	return Sent{
		Allowed: allowed, answered: true, done: !result.IsError(), cost: g.costOf(result.Meta(), allowed.name), text: g.limitSize(allowed.Identified, result),
	}, nil
}

// environment returns the environment in which the call's server must be started; nil
// where the state does not decide that. The upstreams of a gateway's /mcp serve many
// sessions at once, in different states, and a process has one environment. There it is
// the operator's alone: variables that a state blocks are not removed. Keep such
// variables out of the gateway's environment, or give each agent an `interlock mcp` of
// its own.
func (a Allowed) environment() (*upstream.Environment, error) {
	if !a.ownServer() {
		return nil, nil
	}
	return environmentOf(a.at.Run)
}

// environmentOf returns the demands of a run's state on an environment (S3.4); run may be
// nil. It refuses variables that decide which code a program runs: a workflow may come
// from an agent, and an upstream server has secrets and rights that its agent has not.
func environmentOf(run *enginev1.Run) (*upstream.Environment, error) {
	env := &upstream.Environment{}
	if run == nil || brief.ToolStatusOf(run) != brief.Judged {
		return env, nil
	}
	for _, v := range run.GetRules().GetEnvOverrides() {
		if upstream.LoadsCode(v.GetName()) {
			return nil, fmt.Errorf("the state %s sets %s, which selects the code that a server runs, and Interlock does not accept that from a workflow; "+
				"leave it out of env_overrides, or set it in the configuration of the server", run.GetState(), v.GetName())
		}
		env.Set = append(env.Set, upstream.Variable{Name: v.GetName(), Value: v.GetValue()})
	}
	env.Blocked = run.GetRules().GetBlockedEnv()
	return env, nil
}

// refuseFailed returns the refusal of a call that has no result.
func (a Allowed) refuseFailed(err error) reply.Refusal {
	r := reply.Refusal{Code: reply.CodeUpstreamFailed, Message: err.Error(), CallID: a.id, Lead: "Failed"}
	var failure *upstream.Failure
	switch {
	case !errors.As(err, &failure):
	case failure.NotCalled:
		r.Message = fmt.Sprintf("the server %s is not available%s, so %s was not called: %v", a.target.Server(), a.inEnvironment(), a.name, failure)
	case failure.Late:
		r.Code = reply.CodeUpstreamTimeout
	}
	return r
}

// inEnvironment names the environment that a server could not be started with.
func (a Allowed) inEnvironment() string {
	if !a.ownServer() || len(a.at.Run.GetRules().GetBlockedEnv()) == 0 && len(a.at.Run.GetRules().GetEnvOverrides()) == 0 {
		return ""
	}
	return " with the environment of state " + a.at.Run.GetState()
}

// costKeys are the keys of the cost of a call in a result's _meta: the first of them that
// is there counts.
var costKeys = []string{"interlock/cost_usd", "cost_usd"}

// costOf returns the cost of a call by its result, in US dollars as reports have it
// (S7.5): empty where it has none, and rules.CostUnknown for an unreadable one.
func (g *Gate) costOf(meta []relay.Member, tool string) string {
	for _, key := range costKeys {
		i := slices.IndexFunc(meta, func(m relay.Member) bool { return m.Name == key })
		if i < 0 {
			continue
		}
		cost, ok := rules.ParseCost(amount(meta[i].Value))
		if !ok || cost > rules.MostCost || slices.ContainsFunc(meta[i+1:], func(m relay.Member) bool { return m.Name == key }) {
			g.log.Warn("mcp: a cost cannot be read, and spends the budgets of its call: it must be one decimal of US dollars from 0 to 1000000",
				"tool", tool, "key", key)
			return rules.CostUnknown
		}
		return cost.String()
	}
	return ""
}

// amount returns a text of JSON without its quotes, and anything else as it is written.
func amount(value json.RawMessage) string {
	var text string
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// limitSize passes the result of a server on, unless it is too large to.
func (g *Gate) limitSize(call Identified, result *relay.Result) *relay.Result {
	if size := result.Size(); size > int64(g.cfg.MaxResultBytes) {
		return reply.Text(reply.Refusal{Code: reply.CodeResultTooLarge, CallID: call.id, Lead: "Withheld", Message: fmt.Sprintf(
			"%s was called and returned %d bytes; the limit is %d. Ask for a part of it.", call.name, size, g.cfg.MaxResultBytes)}.ResultFor(call.target.Tool))
	}
	Disown(result)
	if !result.NeedsInput() {
		result.Remove("inputRequests")
		result.Remove("requestState")
	}
	return result
}

// Disown removes a server's claims about its identity, and about Interlock, from its
// result: they are not ours to repeat.
func Disown(result *relay.Result) {
	result.RemoveMeta(func(key string) bool { return key == sdk.MetaKeyServerInfo || strings.HasPrefix(key, reply.OwnMeta) })
}

// sendRequest makes a request about an offer that is no tool. res is the answer of its server.
func (g *Gate) sendRequest(
	ctx context.Context, allowed Allowed, request func(context.Context, *upstream.Environment) (*relay.Result, error),
) (res *relay.Result, _ Sent, err error) {
	ctx, cancel := context.WithTimeout(ctx, g.cfg.CallTimeout)
	defer cancel()
	defer context.AfterFunc(g.cfg.Calls, cancel)()
	env, err := allowed.environment()
	if err != nil {
		return nil, notMade(allowed, err.Error()), err
	}
	res, err = request(ctx, env)
	switch {
	case notCalled(err):
		return nil, notMade(allowed, err.Error()), err
	case err != nil:
		return nil, withoutResult(allowed, err.Error()), err
	}
	Disown(res)
	text := res.JSON()
	if size := len(text); size > g.cfg.MaxResultBytes {
		err = fmt.Errorf("%s has %d bytes; the limit is %d", allowed.name, size, g.cfg.MaxResultBytes)
		return nil, withoutResult(allowed, err.Error()), err
	}
	said := &relay.Result{}
	said.AddContent(reply.TextElement(string(text)))
	return res, Sent{Allowed: allowed, answered: true, done: true, text: said}, nil
}
