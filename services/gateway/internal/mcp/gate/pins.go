package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// pins asks the policy enforcer whether tools of upstream servers are as they were first seen, or as an operator
// has accepted them since. If that is not so, or not known, the tool is neither listed nor called.
type pins struct {
	service peerv1.UpstreamPeerServiceClient // nil: no pins
	// identify is set when service is called as the gateway: it reports whose namespace it
	// is.
	identify func(ctx context.Context, token string) (auth.Principal, error)

	mu       sync.Mutex
	accepted map[pinned]bool // an accepted tool stays so
}

// pinned identifies a version of a tool that a caller may use. The namespace is the one that the caller names; empty
// for that of its token.
type pinned struct{ token, namespace, name, digest string }

func pinOf(c caller.Caller, t *upstream.Tool) pinned {
	return pinned{caller.TokenDigest(c.Token), c.Namespace, t.Qualified, t.Digest}
}

// hold returns the tools that may be used now. The error is the reason why the answer about others is not known.
func (p *pins) hold(ctx context.Context, c caller.Caller, tools []*upstream.Tool) (held map[*upstream.Tool]bool, err error) {
	held = make(map[*upstream.Tool]bool, len(tools))
	unknown := map[string][]*upstream.Tool{}
	for _, t := range tools {
		if held[t] = p.service == nil || p.knows(pinOf(c, t)); !held[t] {
			unknown[t.Server()] = append(unknown[t.Server()], t)
		}
	}
	for server, tools := range unknown {
		hidden, failed := p.ask(ctx, c, server, tools)
		if failed != nil {
			err = failed
			continue
		}
		for _, t := range tools {
			switch {
			case slices.Contains(hidden.GetNoRoom(), t.Name):
				err = errNoRoom(server)
			case !slices.Contains(hidden.GetChanged(), t.Name):
				held[t] = true
				p.learn(pinOf(c, t))
			}
		}
	}
	return held, err
}

// ask reports tools of a server to the policy enforcer, which pins new ones and returns those that must not be used.
func (p *pins) ask(ctx context.Context, c caller.Caller, server string, tools []*upstream.Tool) (hidden *peerv1.PinUpstreamToolsResponse, err error) {
	req := &peerv1.PinUpstreamToolsRequest{Server: server}
	for _, t := range tools {
		draft, others := t.Draft()
		req.Tools = append(req.Tools, &peerv1.OfferedTool{
			Tool: t.Name, Digest: t.Digest, Description: clip(t.Description, maxDescription), Draft: draft, Others: others,
		})
	}
	if ctx, err = p.on(ctx, c); err != nil {
		return nil, err
	}
	return p.service.PinUpstreamTools(ctx, req)
}

// leftOut reports the tools of servers that cannot be relayed, each once, so that people see them. No decision
// depends on it.
func (p *pins) leftOut(ctx context.Context, c caller.Caller, all map[string]map[string]string) error {
	if p.service == nil {
		return nil
	}
	for server, tools := range all {
		req := &peerv1.PinUpstreamToolsRequest{Server: server}
		var reported []pinned
		for tool, why := range tools {
			one := pinned{caller.TokenDigest(c.Token), c.Namespace, server + " " + tool, "left out: " + why}
			if tool == "" || p.knows(one) {
				continue
			}
			reported = append(reported, one)
			req.LeftOut = append(req.LeftOut, &peerv1.LeftOutTool{Tool: clip(tool, maxName), Why: clip(why, maxWhy)})
		}
		if len(reported) == 0 {
			continue
		}
		asking, err := p.on(ctx, c)
		if err == nil {
			_, err = p.service.PinUpstreamTools(asking, req)
		}
		if err != nil {
			return err
		}
		for _, one := range reported {
			p.learn(one)
		}
	}
	return nil
}

// errNoRoom returns why a tool that was never seen cannot be used.
func errNoRoom(server string) error {
	return fault.New(fault.QuotaExceeded, "there is no room to remember more tools of the server %s, and a tool must be remembered before it is used; "+
		"an operator makes room: `interlock upstream list` shows the tools, and `interlock upstream forget SERVER [TOOL]` forgets them", server)
}

// on returns ctx for a report that a caller has caused. A gateway makes it as itself,
// because it is its word on servers that the operator has configured, and not the caller's;
// and only in a namespace that is the caller's.
func (p *pins) on(ctx context.Context, c caller.Caller) (context.Context, error) {
	if p.identify == nil {
		return c.Outgoing(ctx), nil
	}
	var who auth.Principal
	if c.Token != "" {
		var err error
		if who, err = p.identify(ctx, c.Token); err != nil {
			return nil, rpc.Unauthenticated(err)
		}
	}
	namespace := cmp.Or(c.Namespace, who.HomeNamespace(), rpc.DefaultNamespace)
	if !who.MayCallIn(namespace) {
		return nil, fault.New(fault.PermissionDenied, "this token is bound to the namespaces %s; name one of them", strings.Join(who.NamespaceList(), ", "))
	}
	return rpc.InNamespace(ctx, namespace), nil
}

// maxDescription bounds a description that is kept, maxWhy the reason why a tool is left out, and maxName its name.
const (
	maxDescription = 1024
	maxWhy         = 512
	maxName        = 128
)

func clip(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

func (p *pins) knows(pin pinned) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted[pin]
}

// maxPins bounds the cache. A dropped entry only costs a question.
const maxPins = 65_536

func (p *pins) learn(pin pinned) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.accepted == nil || len(p.accepted) >= maxPins {
		p.accepted = map[pinned]bool{}
	}
	p.accepted[pin] = true
}

// PinnedTools returns the tools of servers that a caller may be shown.
func (g *Gate) PinnedTools(ctx context.Context, c caller.Caller, catalogue *upstream.Catalogue) []*sdk.Tool {
	ctx, cancel := context.WithTimeout(ctx, g.cfg.CheckTimeout)
	defer cancel()
	var all []*upstream.Tool
	for name, t := range catalogue.Tools {
		if name == t.Qualified {
			all = append(all, t)
		}
	}
	if err := g.pins.leftOut(ctx, c, catalogue.LeftOut); err != nil {
		g.log.InfoContext(ctx, "mcp: tools that are left out could not be reported", "error", err)
	}
	held, err := g.pins.hold(ctx, c, all)
	if err != nil {
		g.log.WarnContext(ctx, "mcp: tools of upstream servers are hidden, because it is not known whether they have changed", "error", err)
	}
	return slices.DeleteFunc(slices.Clone(catalogue.List), func(t *sdk.Tool) bool { return !held[catalogue.Tools[t.Name]] })
}

// refuseChanged refuses a call of a tool that is not as it was accepted.
func (g *Gate) refuseChanged(ctx context.Context, c caller.Caller, target *upstream.Tool) *reply.Refusal {
	ctx, cancel := context.WithTimeout(ctx, g.cfg.CheckTimeout)
	defer cancel()
	held, err := g.pins.hold(ctx, c, []*upstream.Tool{target})
	switch {
	case held[target]:
		return nil
	case err != nil:
		return g.refuseUndecided(err)
	}
	return &reply.Refusal{Decision: "DENY", Code: reply.CodeToolChanged, Lead: "Denied", Message: fmt.Sprintf(
		"the server %s has changed the schema or the description of its tool %s since it was accepted. "+
			"Do not use it: an operator must review the change and accept it first", target.Server(), target.Name)}
}
