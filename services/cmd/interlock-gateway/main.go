// Command interlock-gateway is the edge: REST, events, MCP and agents' hooks, and
// one gRPC address for all services.
package main

import (
	"context"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/accessrefusal"
	"github.com/interlock-run/interlock/services/internal/build"
	"github.com/interlock-run/interlock/services/internal/commandline"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/jailer"
	"github.com/interlock-run/interlock/services/internal/shield"
)

type flags struct{ commandline.Gateway }

func main() {
	jailer.Stage()
	var f flags
	line := daemon.Parse(&f, commandline.OfGateway)
	daemon.Main(line, build.Version(), f.Flags, nil, f.build)
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
	for _, server := range upstreams {
		if len(server.Command) > 0 && server.Unjailed(f.Jail.Jail) == "" && shield.Unshield() {
			d.Log.Warn("MCP servers run in jails, which a user that is not root can start only while other programs of the user can read this process's memory")
			break
		}
	}
	var self, vouched grpc.ClientConnInterface
	token := d.OwnToken()
	if len(upstreams) > 0 || token != nil {
		asItself, err := d.DialAs("policy", f.Policy, f.ClientFlags)
		if err != nil {
			return err
		}
		d.AnnounceRefusals(accessrefusal.Through(policyv1.NewPolicyEnforcerServiceClient(asItself), d.Log))
		if len(upstreams) > 0 { // only their tools are the gateway's own to report
			self = asItself
		}
	}
	if len(upstreams) > 0 && token != nil {
		vouched = rpc.Vouching(policy, token)
	}
	events, err := f.Endpoint(f.NATSURL)
	if err != nil {
		return err
	}
	gateway.Forward(d.Server.GRPC(), engine, policy, state, approval)
	d.Checks = append(d.Checks, gateway.Reachable("engine", engine), gateway.Reachable("policy-enforcer", policy),
		gateway.Reachable("state-store", state), gateway.Reachable("approval", approval))
	issuer, err := f.Issuer(nil, d.Log)
	if err != nil {
		return err
	}
	pages, err := f.Console.Console(f.TokenKey, issuer, f.PublicURL)
	if err != nil {
		return err
	}
	signer, err := f.Receipts.Signer()
	if err != nil {
		return err
	}
	edge := gateway.Config{
		Refused: d.TellRefused,
		Engine:  engine, Policy: policy, State: state, Approval: approval, Self: self, Vouched: vouched, Gate: token, Checks: d.Checks, AdvertiseGRPC: d.Server.Addrs()[0].String(),
		Metrics: d.Metrics, NATS: &events, Tokens: d.Tokens,
		Upstreams: upstreams, Jails: f.Jail.Jail, ToolPrefix: f.Edge.ToolPrefix, StatePrefix: f.Edge.StatePrefix, AllowUnbound: f.Edge.AllowUnbound, Quotas: f.Quotas, Authz: f.Authz, Receipts: signer,
		AllowAnonymous: f.AllowAnonymous, PublicURL: f.PublicURL, Console: pages, Tracer: d.Tracer, Version: build.Version(), Logger: d.Log,
	}
	if err := gateway.ExtAuthz(d.Server.GRPC(), edge); err != nil {
		return err
	}
	g, err := gateway.New(edge)
	if err != nil {
		return err
	}
	d.OnClose(g.Close)
	d.Announce(events, build.Version())
	lis, err := d.ListenHTTP("http", f.HTTP)
	if err != nil {
		return err
	}
	d.Log.Info("serving", "service", d.Name, "http", lis.Addr().String())
	d.Go(func(ctx context.Context) error { return g.Serve(ctx, lis) })
	return nil
}
