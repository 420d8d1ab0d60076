// Package hook answers one hook event of a coding agent.
package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookclient"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookglass"
)

// Command is the hook for command lines and systems that package early leaves to the whole program. Its fields are those of
// hookclient.Client, in their order.
type Command struct {
	Agent    string `help:"Which agent's hooks." enum:"claude-code,codex,copilot,cursor,gemini" default:"claude-code"`
	Workflow string `help:"Workflow for sessions that drive no run yet." env:"INTERLOCK_WORKFLOW" placeholder:"NAME"`
	Session  string `help:"Session to work on instead of the one that the agent names; interlock mcp --session has to name the same." placeholder:"NAME"`
	Server   string `help:"The http:// address of the edge; found in the data folder by default." env:"INTERLOCK_HTTP_SERVER,INTERLOCK_SERVER" placeholder:"URL"`
	Token    string `help:"Token to call with; by default that of the agent in the data folder." env:"INTERLOCK_TOKEN" placeholder:"TOKEN"`
	CA       string `name:"ca" help:"CA of the server's certificate (PEM); the system's by default." env:"INTERLOCK_CA" placeholder:"FILE"`
	Data     string `name:"data-dir" help:"Absolute path of the data folder of the server on this machine." env:"INTERLOCK_DATA" placeholder:"DIR"`
	Project  string `hidden:"" env:"CLAUDE_PROJECT_DIR"`

	Namespace string `help:"Namespace." env:"INTERLOCK_NAMESPACE" placeholder:"NAME"`

	Patience string `help:"How long to wait for an answer in all, where people may be asked first (meta.approval.wait_seconds)." env:"INTERLOCK_HOOK_PATIENCE" placeholder:"SECONDS"`
	Strict   bool   `help:"Block the user's prompts and the start of sessions, too, when Interlock cannot be reached."`
	Observe  bool   `help:"Record calls of sessions that drive no run, also where no policy applies to them. Rules that apply are enforced as without it."`

	Prices string `help:"File with prices of models, instead of the table that is shipped." env:"INTERLOCK_PRICES" placeholder:"FILE"`

	BreakGlass      string `name:"breakglass" help:"Absolute path of a break-glass grant: its calls pass while no connection to the server can be made." env:"INTERLOCK_BREAKGLASS" placeholder:"FILE"`
	BreakGlassKey   string `name:"breakglass-key" help:"Public key of the grant; FILE.pub by default." env:"INTERLOCK_BREAKGLASS_KEY" placeholder:"FILE"`
	BreakGlassSpool string `name:"breakglass-spool" help:"Where such calls are written down; FILE.spool by default." env:"INTERLOCK_BREAKGLASS_SPOOL" placeholder:"FILE"`
	Principal       string `help:"Name of the principal of the token, which the grant must be for." env:"INTERLOCK_PRINCIPAL" placeholder:"NAME"`

	Trace   string `hidden:"" env:"TRACEPARENT"`
	Program string `name:"client" hidden:"" env:"AI_AGENT"`

	Jail  hookclient.Prober `kong:"-"`
	Glass hookclient.Opener `kong:"-"`
}

// ErrBlocked ends the hook with the exit code that blocks.
var ErrBlocked = errors.New("blocked")

// Run asks the server, and returns ErrBlocked unless the agent may continue.
func (c *Command) Run(io console.Streams) error {
	hooked := hookclient.Client(*c)
	hooked.Glass = hookglass.Opener{}
	env := hookclient.FromEnv(os.Getenv)
	hooked.KeepTo(c.Data != env.Data, c.Server != env.Server, c.Namespace != env.Namespace)
	if c.Data != env.Data {
		hooked.KeepGlass(c.BreakGlass != env.BreakGlass, c.BreakGlassKey != env.BreakGlassKey, c.BreakGlassSpool != env.BreakGlassSpool, c.Principal != env.Principal)
	}
	if hooked.Run(io.In, io.Out, io.Err, OverHTTP) != hookclient.ExitDone {
		return ErrBlocked // the message is printed already
	}
	return nil
}

// OverHTTP returns the transport for any target.
func OverHTTP(deadline time.Time, target hookclient.Target, req hookclient.Request, limit int64) (int, []byte, error) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	asking, err := client.HTTP(target.CA)
	if err != nil {
		return 0, nil, err
	}
	base := target.URL
	if target.Socket != "" {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", target.Socket)
		}
		asking, base = &http.Client{Transport: &http.Transport{DialContext: dial}}, "http://interlock"
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, base+req.Path, bytes.NewReader(req.Body))
	if err != nil {
		return 0, nil, fmt.Errorf("ask the server: %w", err)
	}
	for _, h := range req.Headers {
		post.Header.Set(h[0], h[1])
	}
	resp, err := asking.Do(post)
	if err != nil {
		if wrong := client.Misdirected(post.URL, err); wrong != nil {
			return 0, nil, wrong
		}
		if unreachable(err, post.URL.String()) {
			err = hookclient.Unreachable(err)
		}
		return 0, nil, fmt.Errorf("ask the server: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("read the server's answer: %w", err)
	case int64(len(body)) > limit:
		return 0, nil, fmt.Errorf("the server's answer has more than %d bytes", limit)
	}
	return resp.StatusCode, body, nil
}

// unreachable reports that no connection to a server could be made, for the first request to it.
func unreachable(err error, to string) bool {
	var (
		asked *url.Error
		dial  *net.OpError
		name  *net.DNSError
	)
	if !errors.As(err, &asked) || asked.URL != to || !errors.As(err, &dial) || dial.Op != "dial" {
		return false
	}
	for _, why := range []error{syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ETIMEDOUT} {
		if errors.Is(err, why) {
			return true
		}
	}
	return errors.As(err, &name) || dial.Timeout()
}
