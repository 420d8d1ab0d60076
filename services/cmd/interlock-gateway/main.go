// Command interlock-gateway is the edge: REST, events, MCP and agents' hooks, and
// one gRPC address for all services.
package main

import (
	"context"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/daemon"
)

var version = "dev"

type flags struct {
	daemon.Flags
	daemon.ClientFlags
	daemon.NATSLogin
	Edge      gateway.Flags  `embed:""`
	Quotas    gateway.Quotas `embed:""`
	HTTP      string         `name:"http" help:"Address of REST, events, MCP and hooks." default:"127.0.0.1:7420" env:"INTERLOCK_HTTP" placeholder:"HOST:PORT"`
	Engine    string         `help:"Address of the engine: dns:///engine:7431, or several HOST:PORT with commas between." required:"" env:"INTERLOCK_ENGINE" placeholder:"TARGET"`
	Policy    string         `help:"Address of the policy enforcer, like that of the engine." required:"" env:"INTERLOCK_POLICY" placeholder:"TARGET"`
	State     string         `help:"Address of the state-store, like that of the engine." required:"" env:"INTERLOCK_STATE" placeholder:"TARGET"`
	Approval  string         `help:"Address of the approval service, like that of the engine." required:"" env:"INTERLOCK_APPROVAL" placeholder:"TARGET"`
	PublicURL string         `name:"public-url" help:"Where people reach this server, for links to approvals and for their page." env:"INTERLOCK_PUBLIC_URL" placeholder:"URL"`
	NATSURL   string         `name:"nats-url" help:"NATS that live events come from." required:"" env:"INTERLOCK_NATS_URL" placeholder:"URL"`
}

func main() {
	var f flags
	daemon.Parse(&f, "interlock-gateway", "The edge: REST, events, MCP and hooks.", "127.0.0.1:7433")
	daemon.Main("interlock-gateway", version, f.Flags, nil, f.build)
}

func (f *flags) build(d *daemon.Daemon) error {
	engine, err := d.Dial("engine", f.Engine, f.ClientFlags)
	if err != nil {
		return err
	}
	policy, err := d.Dial("policy", f.Policy, f.ClientFlags)
	if err != nil {
		return err
	}
	state, err := d.Dial("state", f.State, f.ClientFlags)
	if err != nil {
		return err
	}
	approval, err := d.Dial("approval", f.Approval, f.ClientFlags)
	if err != nil {
		return err
	}
	upstreams, err := f.Edge.Upstreams()
	if err != nil {
		return err
	}
	var self grpc.ClientConnInterface
	if len(upstreams) > 0 { // only their tools are the gateway's own to report
		if self, err = d.DialAs("policy", f.Policy, f.ClientFlags); err != nil {
			return err
		}
	}
	events, err := f.Endpoint(f.NATSURL)
	if err != nil {
		return err
	}
	gateway.Forward(d.Server.GRPC(), engine, policy, state, approval)
	d.Checks = append(d.Checks, gateway.Reachable("engine", engine), gateway.Reachable("policy-enforcer", policy),
		gateway.Reachable("state-store", state), gateway.Reachable("approval", approval))
	g, err := gateway.New(gateway.Config{
		Engine: engine, Policy: policy, State: state, Approval: approval, Self: self, Checks: d.Checks, AdvertiseGRPC: d.Server.Addrs()[0].String(),
		Metrics: d.Registry, NATS: &events, Tokens: d.Tokens,
		Upstreams: upstreams, ToolPrefix: f.Edge.ToolPrefix, AllowUnbound: f.Edge.AllowUnbound, Quotas: f.Quotas,
		AllowAnonymous: f.AllowAnonymous, PublicURL: f.PublicURL, Tracer: d.Tracer, Version: version, Logger: d.Log,
	})
	if err != nil {
		return err
	}
	d.OnClose(g.Close)
	lis, err := d.ListenHTTP("http", f.HTTP)
	if err != nil {
		return err
	}
	d.Log.Info("serving", "service", d.Name, "http", lis.Addr().String())
	d.Go(func(ctx context.Context) error { return g.Serve(ctx, lis) })
	return nil
}
