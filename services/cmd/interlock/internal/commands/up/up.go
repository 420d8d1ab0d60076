// Package up runs everything in one process.
package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/telemetry"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/approval"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/hook"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/pages"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookclient"
	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/cluster"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/jailer"
	"github.com/interlock-run/interlock/services/policyenforcer"
	"github.com/interlock-run/interlock/services/statestore"
)

// Command runs a server until it is stopped.
type Command struct {
	Open            bool   `help:"Open the console in the browser."`
	Data            string `name:"data-dir" help:"Folder for everything that is kept; by default one for this workspace, outside of it." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	HTTP            string `name:"http" help:"Address of REST, events, MCP and hooks." default:"127.0.0.1:7420" env:"INTERLOCK_HTTP" placeholder:"HOST:PORT"`
	GRPC            string `name:"grpc" help:"Address of the gRPC services." default:"127.0.0.1:7421" env:"INTERLOCK_GRPC" placeholder:"HOST:PORT"`
	NATS            string `name:"nats" help:"Address of the embedded NATS." default:"127.0.0.1:7422" env:"INTERLOCK_NATS" placeholder:"HOST:PORT"`
	NATSURL         string `name:"nats-url" help:"External NATS instead of the embedded one." env:"INTERLOCK_NATS_URL" placeholder:"URL"`
	Store           string `help:"sqlite, or redis://HOST:PORT/DB." default:"sqlite" env:"INTERLOCK_STORE" placeholder:"STORE"`
	AllowLossyStore bool   `help:"Use a Redis that may lose acknowledged writes." env:"INTERLOCK_ALLOW_LOSSY_STORE"`

	gateway.Flags
	daemon.ServeFlags
	daemon.AuthFlags
	daemon.SafetyFlags
	daemon.StoreLogin
	daemon.NATSLogin
	daemon.EventFlags
	Quotas      gateway.Quotas          `embed:""`
	Receipts    gateway.ReceiptFlags    `embed:""`
	Authz       gateway.AuthzFlags      `embed:""`
	Console     gateway.ConsoleFlags    `embed:""`
	Engine      cluster.Quotas          `embed:""`
	Retention   cluster.Retention       `embed:""`
	State       statestore.Flags        `embed:""`
	Policy      policyenforcer.Flags    `embed:""`
	Approval    approval.Flags          `embed:""`
	Definitions cluster.DefinitionFlags `embed:""`
	Enforcement workflow.Enforcement    `help:"Enforcement of workflows that name none: until_success, or while_running, where an agent's pause and every final state lift it and approvals are advisory. Each registration writes it into its definition." enum:"until_success,while_running" default:"until_success" env:"INTERLOCK_ENFORCEMENT"`
}

// Run serves until ctx ends or a part fails.
func (c *Command) Run(ctx context.Context, streams console.Streams, version console.Version, again daemon.Again) (err error) {
	err = cmp.Or(c.Check("http", c.HTTP, false), c.Check("grpc", c.GRPC, false), daemon.CheckAddress("nats", c.NATS))
	if err != nil {
		return console.Misused(err)
	}
	telemetry.TuneMemory()
	log, err := c.Log()
	if err != nil {
		return err
	}
	shutdown, err := telemetry.Setup(ctx, "interlock", string(version))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shutdown(context.WithoutCancel(ctx))) }()
	upstreams, err := c.Upstreams()
	if err != nil {
		return err
	}
	data, err := client.ServerFolder(c.Data)
	if err != nil {
		return err
	}
	if has := jailer.Probe(); has.Level < jail.Full {
		c.Console.Notice = jail.Sentence(has.Level, has.Missing)
	}
	running, err := cluster.Start(ctx, cluster.Config{
		Data: data, HTTP: c.HTTP, GRPC: c.GRPC, NATS: c.NATS, TLS: c.TLS(), Insecure: c.InsecurePlaintext,
		Auth:  c.AuthFlags,
		Store: c.Store, AllowLossyStore: c.AllowLossyStore, Safety: c.SafetyFlags, StoreLogin: c.StoreLogin,
		Events: c.EventFlags, NATSURL: c.NATSURL, NATSLogin: c.NATSLogin,
		State: c.State, Policy: c.Policy, Approval: c.Approval, Definitions: c.Definitions, Enforcement: c.Enforcement,
		Upstreams: upstreams, ToolPrefix: c.ToolPrefix, StatePrefix: c.StatePrefix, AllowUnbound: c.AllowUnbound, Quotas: c.Quotas, Authz: c.Authz, Receipts: c.Receipts, Console: c.Console, Engine: c.Engine, Retention: c.Retention,
		Version: string(version), Tracer: telemetry.TracerProvider(), Logger: log,
	})
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; stop the program that has the port, "+
			"or choose others with --http, --grpc and --nats (127.0.0.1:0 is any free one)", err)
	}
	if err != nil {
		return err
	}
	if err := c.claim(streams, data); err != nil {
		return errors.Join(err, running.Close())
	}
	if c.Config != "" {
		go daemon.FollowFile(ctx, log, again)
	}
	c.hear(streams, data)
	c.greet(streams, running, data)
	select {
	case <-ctx.Done():
	case <-running.Failed():
	}
	fmt.Fprintln(streams.Out, "draining")
	return running.Close()
}

// hear takes in observations of jails while no server ran.
func (c *Command) hear(streams console.Streams, data datadir.Dir) {
	call := hookclient.Call{Data: string(data)}
	for {
		before, err := call.Unheard()
		if err != nil || before == 0 {
			return
		}
		to, err := call.Connect(time.Now().Add(hookclient.Timeout), hook.OverHTTP)
		if err == nil {
			if refused := call.HandIn(to); refused != "" {
				fmt.Fprintln(streams.Err, refused)
			}
		}
		if after, _ := call.Unheard(); after >= before {
			fmt.Fprintf(streams.Err, "interlock: witnesses of %d commands could not be read: %v\n", before, err)
			return
		}
	}
}

// claim makes the data folder known as that of the workspace, and warns of one in the workspace.
func (c *Command) claim(streams console.Streams, data datadir.Dir) error {
	workspace, err := os.Getwd()
	if err != nil {
		return nil //nolint:nilerr // then a folder was given
	}
	if data.Inside(workspace) {
		fmt.Fprintf(streams.Err, "interlock: the data folder %s is in the workspace, where searches of all files read its tokens: "+
			"stop this server, and run `interlock data move`\n", data)
	}
	return data.Claim(workspace)
}

// greet prints where the parts are, and how to try them.
func (c *Command) greet(streams console.Streams, running *cluster.Cluster, data datadir.Dir) {
	out, at := streams.Out, running.Endpoints
	fmt.Fprint(out, "Interlock is up.\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "  console\t%s\n", c.console(streams, at.HTTP, data))
	fmt.Fprintf(w, "  REST, MCP, hooks\t%s%s\n", at.HTTP, elsewhere(c.HTTP))
	fmt.Fprintf(w, "  gRPC\t%s%s\n", at.GRPC, elsewhere(c.GRPC))
	fmt.Fprintf(w, "  NATS\t%s\n", withoutPasswords(at.NATS))
	fmt.Fprintf(w, "  data\t%s\n", data)
	fmt.Fprintf(w, "  tokens\t%s\n", running.TokensFile)
	w.Flush()
	if c.Console.Notice != "" {
		fmt.Fprintf(out, "\n%s `interlock doctor` says more.\n", c.Console.Notice)
	}
	fmt.Fprintf(out, tryIt, at.HTTP)
}

// console returns the link to the console. It logs in, so only a person gets it.
func (c *Command) console(streams console.Streams, server string, data datadir.Dir) string {
	if !streams.Attended() {
		return server + gateway.ConsolePath + "  (`interlock console` prints a link that logs in)"
	}
	link, err := pages.Link(data, server, c.TokenKey)
	if err == nil && c.Open {
		err = pages.Open(link)
	}
	if err != nil {
		fmt.Fprintf(streams.Err, "interlock: the console: %v\n", err)
	}
	return cmp.Or(link, server+gateway.ConsolePath)
}

// elsewhere reports an address that stands for all of the machine's own.
func elsewhere(address string) string {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip.IsUnspecified()) {
		return ", and at this machine's other addresses"
	}
	return ""
}

// withoutPasswords returns a list of URLs as it may be shown.
func withoutPasswords(urls string) string {
	all := strings.Split(urls, ",")
	for i, one := range all {
		if u, err := url.Parse(one); err == nil {
			all[i] = u.Redacted()
		}
	}
	return strings.Join(all, ",")
}

const tryIt = `
Try it:
  interlock workflow register FILE.json
  interlock init claude-code --workflow FILE.json
  interlock run start WORKFLOW
  interlock check Edit --run @last
  interlock tail
MCP clients connect to %s/mcp?session=NAME with "Authorization: Bearer TOKEN"; "interlock env agent" prints the token.
Ctrl-C ends it; no data is lost.
`
