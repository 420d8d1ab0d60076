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
	"slices"
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
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/packset"
	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/allinone"
	"github.com/interlock-run/interlock/services/internal/background"
	"github.com/interlock-run/interlock/services/internal/beginning"
	"github.com/interlock-run/interlock/services/internal/bootstrap"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/jailer"
	"github.com/interlock-run/interlock/services/internal/shield"
	"github.com/interlock-run/interlock/services/policyenforcer"
	"github.com/interlock-run/interlock/services/statestore"
)

// Command runs a server until it is stopped.
type Command struct {
	Open            bool   `help:"Open the console in the browser."`
	Detach          bool   `short:"d" help:"Serve in the background: return as soon as the server is ready. interlock stop ends it."`
	Background      bool   `hidden:"" help:"Be the server that --detach starts."`
	Data            string `name:"data-dir" help:"Folder for everything that is kept; by default one for this workspace, outside of it." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	HTTP            string `name:"http" help:"Address of REST, events, MCP and hooks." default:"127.0.0.1:7420" env:"INTERLOCK_HTTP" placeholder:"HOST:PORT"`
	GRPC            string `name:"grpc" help:"Address of the gRPC services." default:"127.0.0.1:7421" env:"INTERLOCK_GRPC" placeholder:"HOST:PORT"`
	NATS            string `name:"nats" help:"Address of the embedded NATS." default:"127.0.0.1:7422" env:"INTERLOCK_NATS" placeholder:"HOST:PORT"`
	NATSURL         string `name:"nats-url" help:"External NATS instead of the embedded one." env:"INTERLOCK_NATS_URL" placeholder:"URL"`
	Store           string `help:"sqlite, or redis://HOST:PORT/DB." default:"sqlite" env:"INTERLOCK_STORE" placeholder:"STORE"`
	AllowLossyStore bool   `help:"Use a Redis that may lose acknowledged writes." env:"INTERLOCK_ALLOW_LOSSY_STORE"`

	Pack     []string `help:"Begin with this pack in force; may be repeated. A definition of its name that is there already stays." sep:"none" placeholder:"NAME"`
	Presence string   `help:"required: a person who decides shows to be there, and no file has a token of one. none: tokens of operators and approvers are in the data folder, where programs of your user read them." enum:"required,none" default:"required" env:"INTERLOCK_PRESENCE"`
	Seal     string   `help:"passphrase: secrets of the data folder are sealed, and records that another program writes are refused; the passphrase is asked at the start. auto: as the folder is. none: refuse a sealed folder." enum:"auto,passphrase,none" default:"auto" env:"INTERLOCK_SEAL"`
	Tokens   string   `help:"Tokens file in addition to that of the data folder." env:"INTERLOCK_TOKENS" type:"path" placeholder:"FILE"`

	client.SealFlags
	gateway.Flags
	daemon.ServeFlags
	daemon.AuthFlags
	daemon.SafetyFlags
	daemon.StoreLogin
	daemon.NATSLogin
	daemon.EventFlags
	Quotas      gateway.Quotas           `embed:""`
	Receipts    gateway.ReceiptFlags     `embed:""`
	Authz       gateway.AuthzFlags       `embed:""`
	Console     gateway.ConsoleFlags     `embed:""`
	Engine      allinone.Quotas          `embed:""`
	Retention   allinone.Retention       `embed:""`
	State       statestore.Flags         `embed:""`
	Policy      policyenforcer.Flags     `embed:""`
	Approval    approval.Flags           `embed:""`
	Definitions allinone.DefinitionFlags `embed:""`
	Enforcement workflow.Enforcement     `help:"Enforcement of workflows that name none: until_success, or while_running, where an agent's pause and every final state lift it and approvals are advisory. Each registration writes it into its definition." enum:"until_success,while_running" default:"until_success" env:"INTERLOCK_ENFORCEMENT"`

	// sealed says that the data folder is.
	sealed bool
}

// Run serves until ctx ends or a part fails.
func (c *Command) Run(ctx context.Context, streams console.Streams, version console.Version, again daemon.Again) (err error) {
	err = cmp.Or(c.Check("http", c.HTTP, false), c.Check("grpc", c.GRPC, false), daemon.CheckAddress("nats", c.NATS))
	if err != nil {
		return console.Misused(err)
	}
	if c.Detach && !c.Background {
		return c.detach(streams)
	}
	if err := client.Close(streams); err != nil {
		return err
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
	if jailed(upstreams, gateway.Jails(c.Policy.Jail)) && shield.Unshield() {
		fmt.Fprintln(streams.Err, "interlock: MCP servers run in jails, which a process of a user that is not root can start only while other programs of the user can read its memory")
	}
	data, err := client.ServerFolder(c.Data)
	if err != nil {
		return err
	}
	begin, err := c.begin()
	if err != nil {
		return err
	}
	box, err := c.unseal(data)
	if err != nil {
		return err
	}
	if has := jailer.Probe(); has.Level < jail.Full {
		c.Console.Notice = jail.Sentence(has.Level, has.Missing)
	}
	first := new(bootstrap.Code)
	running, err := allinone.Start(ctx, allinone.Config{
		Data: data, HTTP: c.HTTP, GRPC: c.GRPC, NATS: c.NATS, TLS: c.TLS(), Insecure: c.InsecurePlaintext,
		Auth: c.AuthFlags, Tokens: c.Tokens, WithoutPresence: c.Presence == withoutPresence, Seal: box, Bootstrap: first,
		Store: c.Store, AllowLossyStore: c.AllowLossyStore, Safety: c.SafetyFlags, StoreLogin: c.StoreLogin,
		Events: c.EventFlags, NATSURL: c.NATSURL, NATSLogin: c.NATSLogin,
		State: c.State, Policy: c.Policy, Approval: c.Approval, Definitions: c.Definitions, Enforcement: c.Enforcement,
		Begin: begin, Upstreams: upstreams, ToolPrefix: c.ToolPrefix, StatePrefix: c.StatePrefix, AllowUnbound: c.AllowUnbound, Quotas: c.Quotas, Authz: c.Authz, Receipts: c.Receipts, Console: c.Console, Engine: c.Engine, Retention: c.Retention,
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
	c.sealed = box != nil
	c.greet(streams, running, data)
	if c.Presence != withoutPresence {
		invite(ctx, streams, running, c.reached(running.Endpoints.HTTP), first)
	}
	if c.Background {
		if err := background.Leave(data); err != nil {
			return errors.Join(err, running.Close())
		}
	}
	select {
	case <-ctx.Done():
	case <-running.Failed():
	}
	fmt.Fprintln(streams.Out, "draining")
	return running.Close()
}

// begin returns the definitions of the packs, with the settings that the workspace suggests.
func (c *Command) begin() (all []beginning.Definition, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the workspace: %w", err)
	}
	chosen, err := packset.Load(c.Pack, dir)
	if err != nil {
		return nil, console.Misused(err)
	}
	for _, p := range chosen {
		all = append(all, p.Begin...)
	}
	return all, nil
}

// jailed reports that an MCP server runs in a jail.
func jailed(upstreams []gateway.Upstream, mode gateway.Jails) bool {
	return slices.ContainsFunc(upstreams, func(u gateway.Upstream) bool { return len(u.Command) > 0 && u.Unjailed(mode) == "" })
}

// hear takes in the witnesses of jails from the time when no server ran.
func (c *Command) hear(streams console.Streams, data datadir.Dir) {
	spool := hookclient.Client{Data: string(data)}
	for {
		before, err := spool.Unheard()
		if err != nil || before == 0 {
			return
		}
		to, err := spool.Connect(time.Now().Add(hookclient.Timeout), hook.OverHTTP)
		if err == nil {
			if refused := spool.HandIn(to); refused != "" {
				fmt.Fprintln(streams.Err, refused)
			}
		}
		if after, _ := spool.Unheard(); after >= before {
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
func (c *Command) greet(streams console.Streams, running *allinone.Server, data datadir.Dir) {
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
	fmt.Fprintf(out, "\n%s\n", c.protection())
	for _, text := range running.Notes {
		fmt.Fprintf(streams.Err, "interlock: %s\n", text)
	}
	if c.Console.Notice != "" {
		fmt.Fprintf(out, "\n%s `interlock doctor` says more.\n", c.Console.Notice)
	}
	ends := "Ctrl-C ends it"
	if c.Background {
		ends = "It runs in the background: `interlock stop` ends it, `interlock status` shows it, and its log is " + background.LogFile(data)
	}
	fmt.Fprintf(out, tryIt, at.HTTP, ends)
}

// withoutPresence is the value of --presence for tokens of people in files.
const withoutPresence = "none"

// protection describes what the server stands against, as its presence is.
func (c *Command) protection() string {
	if c.Presence == withoutPresence {
		return "Level of protection: same user, no presence. It stops mistakes. A program that an agent starts can read the tokens of\n" +
			"operators and approvers in the data folder, and so approve itself: start without --presence none against that."
	}
	if c.sealed {
		return "Level of protection: same user with presence, sealed. People log in before they decide; no file has a token that decides, the\n" +
			"keys of the data folder are sealed, and records that another program writes are refused."
	}
	return "Level of protection: same user with presence. People log in before they decide; no file has a token that decides."
}

// invite prints how to log in, and how the first person registers as long as there is none; at a
// terminal only. The code goes to the terminal and to no log.
func invite(ctx context.Context, streams console.Streams, running *allinone.Server, server string, first *bootstrap.Code) {
	if !streams.Attended() {
		return
	}
	has, err := running.HasPeople(ctx)
	if err != nil {
		fmt.Fprintf(streams.Err, "interlock: whether people are registered: %v\n", err)
		return
	}
	if has {
		fmt.Fprint(streams.Err, "\nLog in to decide:\n  interlock login\n")
		return
	}
	code := first.Generate(time.Now())
	fmt.Fprintf(streams.Err, "\nRegister yourself as the first person, within %d minutes and once:\n  %s%s#register=%s\n  interlock login --code %s\n",
		int(bootstrap.Life.Minutes()), server, gateway.ConsolePath, code, code)
}

// reached returns where people open the console of a server.
func (c *Command) reached(server string) string {
	if c.Approval.PublicURL != "" {
		return strings.TrimSuffix(c.Approval.PublicURL, "/")
	}
	return gateway.ForBrowsers(server)
}

// console returns the link to the console. It logs in, so only a person gets it.
func (c *Command) console(streams console.Streams, server string, data datadir.Dir) string {
	if c.Presence != withoutPresence {
		c.open(streams, c.reached(server)+gateway.ConsolePath)
		return c.reached(server) + gateway.ConsolePath
	}
	if !streams.Attended() {
		return server + gateway.ConsolePath + "  (`interlock console` prints a link that logs in)"
	}
	link, err := pages.Link(data, server, c.TokenKey)
	if err != nil {
		fmt.Fprintf(streams.Err, "interlock: the console: %v\n", err)
	}
	link = cmp.Or(link, server+gateway.ConsolePath)
	c.open(streams, link)
	return link
}

// open opens a link to the console for a person who wants that.
func (c *Command) open(streams console.Streams, link string) {
	if !c.Open || !streams.Attended() {
		return
	}
	if err := pages.Open(link); err != nil {
		fmt.Fprintf(streams.Err, "interlock: the console: %v\n", err)
	}
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
%s; no data is lost.
`
