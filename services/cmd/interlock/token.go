package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

type tokenCommand struct {
	Mint    tokenMint    `cmd:"" help:"Print a new token for an agent that may act in one session only."`
	Inspect tokenInspect `cmd:"" help:"Show what a session's token says."`
}

// keyFlags say which key session tokens are signed with.
type keyFlags struct {
	Key  string `help:"Key of session tokens, as the server has it. That in the data folder by default." env:"INTERLOCK_TOKEN_KEY" type:"path" placeholder:"FILE"`
	Data string `name:"data-dir" help:"Data folder of the server on this machine; by default the nearest .interlock, here or upwards." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
}

// file is the key's file, and the folder that it is in by default.
func (f keyFlags) file() (string, datadir.Dir) {
	folder := dataFolder(f.Data)
	if f.Key != "" {
		return f.Key, folder
	}
	return folder.TokenKey(), folder
}

type tokenMint struct {
	keyFlags
	Session   string        `help:"Session that the agent may act in, by the name or id that its requests give." required:"" placeholder:"SESSION"`
	Branch    string        `help:"Only branch of the session's run that it may act in." placeholder:"BRANCH"`
	Namespace string        `help:"Namespace of the session." default:"default" env:"INTERLOCK_NAMESPACE" placeholder:"NAME"`
	Name      string        `help:"Name of the agent, for history and approvals." default:"agent" placeholder:"NAME"`
	TTL       time.Duration `name:"ttl" help:"How long the token counts: at most 720h. Only another key ends it earlier." default:"1h" placeholder:"DURATION"`
}

// Run signs a token without asking any server.
func (c *tokenMint) Run(streams console.Streams) error {
	if !rpc.ValidNamespace(c.Namespace) {
		return fmt.Errorf("--namespace %q: give 1 to 63 lower-case letters, digits and hyphens", c.Namespace)
	}
	if c.TTL < time.Second || c.TTL > sessiontoken.MaxTTL {
		return fmt.Errorf("--ttl %s: give between 1s and %dh", c.TTL, int(sessiontoken.MaxTTL.Hours()))
	}
	file, folder := c.file()
	key, err := sessiontoken.LoadKey(file)
	if errors.Is(err, fs.ErrNotExist) && c.Key == "" {
		return fmt.Errorf("there is no key in %s: `interlock up` makes one when it starts there; or give --key with that of the services", folder)
	}
	if err != nil {
		return err
	}
	if err := c.checkName(folder); err != nil {
		return err
	}
	now := time.Now().Truncate(time.Second)
	token, err := key.Mint(sessiontoken.Claims{
		Name: c.Name, Namespace: c.Namespace, Session: c.Session, Branch: c.Branch,
		IssuedAt: now, Expires: now.Add(c.TTL.Truncate(time.Second)),
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(streams.Out, token)
	return err
}

// checkName refuses a name that the server would refuse. The names of a server
// elsewhere are not known here.
func (c *tokenMint) checkName(folder datadir.Dir) error {
	var names *auth.Tokens
	if c.Key == "" {
		var err error
		if names, err = auth.LoadTokens(folder.Tokens()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := sessiontoken.CheckName(c.Name, names); err != nil {
		return fmt.Errorf("--name: %w", err)
	}
	return nil
}

type tokenInspect struct {
	keyFlags
	show.Printer
	Token string `arg:"" optional:"" help:"The token; read from standard input by default, where no list of processes shows it." placeholder:"TOKEN"`
}

// inspected is a token for programs.
type inspected struct {
	Status    string    `json:"status"`
	Name      string    `json:"name"`
	Role      auth.Role `json:"role"`
	Namespace string    `json:"namespace"`
	Session   string    `json:"session"`
	Branch    string    `json:"branch,omitzero"`
	IssuedAt  time.Time `json:"issued_at"`
	ExpiresAt time.Time `json:"expires_at"`
	ID        string    `json:"id"`
}

// Status of a token.
const (
	tokenValid     = "valid"
	tokenExpired   = "expired"
	tokenRefused   = "refused"
	tokenForeign   = "not signed by this key"
	tokenUnchecked = "not checked: no key here"
)

// Run shows the claims. It ends with 1 when a server with this key would refuse the
// token.
func (c *tokenInspect) Run(streams console.Streams) error {
	token := c.Token
	if token == "" {
		data, err := input.AtMost(streams.In, 1<<16)
		if err != nil {
			return err
		}
		token = string(data)
	}
	token = strings.TrimSpace(token)
	claims, err := sessiontoken.Read(token)
	if err != nil {
		return err
	}
	status, err := c.status(token, time.Now())
	if err != nil {
		return err
	}
	view := inspected{
		Status: status, Name: claims.Name, Role: auth.Agent, Namespace: claims.Namespace, Session: claims.Session,
		Branch: claims.Branch, IssuedAt: claims.IssuedAt, ExpiresAt: claims.Expires, ID: claims.ID,
	}
	if err := c.Print(streams.Out, view, func(w *tabwriter.Writer) { tokenRows(w, &view) }); err != nil {
		return err
	}
	if status != tokenValid && status != tokenUnchecked {
		return console.ErrNo
	}
	return nil
}

// status checks the token where the key is.
func (c *tokenInspect) status(token string, now time.Time) (string, error) {
	file, _ := c.file()
	key, err := sessiontoken.LoadKey(file)
	if errors.Is(err, fs.ErrNotExist) && c.Key == "" {
		return tokenUnchecked, nil
	}
	if err != nil {
		return "", err
	}
	claims, err := key.Check(token, now)
	var refusal *auth.Refusal
	switch {
	case err == nil:
		return tokenValid, nil
	case !errors.As(err, &refusal):
		return tokenForeign, nil
	case !claims.Expires.After(now):
		return tokenExpired, nil
	default:
		return tokenRefused + ": " + refusal.Why, nil
	}
}

func tokenRows(w *tabwriter.Writer, v *inspected) {
	t := show.Rows{W: w}
	t.Row("status", v.Status)
	t.Row("name", v.Name)
	t.Row("role", string(v.Role))
	t.Row("namespace", v.Namespace)
	t.Row("session", v.Session)
	t.Row("branch", v.Branch)
	t.Row("issued", show.Time(v.IssuedAt))
	t.Row("expires", show.Time(v.ExpiresAt))
	t.Row("id", v.ID)
}
