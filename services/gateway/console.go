package gateway

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/oidc"
	"github.com/interlock-run/interlock/services/gateway/internal/console"
)

// ConsolePath is where people find the console.
const ConsolePath = console.Path + "/"

// ConsoleKey seals the sessions of the console, and links to it.
type ConsoleKey = console.Key

// Console is how the console is served.
type Console struct {
	// Key is shared by replicas; by default one that ends with the process, and with it
	// every session.
	Key ConsoleKey
	// ReadOnly refuses every change by the console.
	ReadOnly bool
	// Notice is shown on every page to people who are logged in; empty for none.
	Notice string
	// Issuer lets people sign in at an identity provider; nil for none.
	Issuer *oidc.SignIn
}

// ConsoleFlags are those of every server of the console.
type ConsoleFlags struct {
	ReadOnly bool     `name:"console-read-only" help:"Make the console read-only." env:"INTERLOCK_CONSOLE_READ_ONLY"`
	SignIn   bool     `name:"console-oidc" help:"Let people sign in to the console at --oidc-issuer. It needs --public-url, and the issuer must know PUBLIC-URL/ui/oidc/callback." env:"INTERLOCK_CONSOLE_OIDC"`
	ClientID string   `name:"console-oidc-client" help:"Client id of the console; --oidc-audience by default." env:"INTERLOCK_CONSOLE_OIDC_CLIENT" placeholder:"ID"`
	Secret   string   `name:"console-oidc-secret-file" help:"File with the client's secret; a public client has none." env:"INTERLOCK_CONSOLE_OIDC_SECRET_FILE" type:"path" placeholder:"FILE"`
	Scopes   []string `name:"console-oidc-scope" help:"Scopes to request from the issuer in addition to openid." default:"profile,email" env:"INTERLOCK_CONSOLE_OIDC_SCOPE" placeholder:"SCOPE"`
	// Notice is shown on every page to people who are logged in; empty for none.
	Notice string `kong:"-"`
}

// Console takes the key from the file with that of session tokens. Without one, sessions end with the
// process. issuer is nil when there is none; publicURL is this server's address for browsers.
func (f ConsoleFlags) Console(tokenKey string, issuer *oidc.Authenticator, publicURL string) (Console, error) {
	c := Console{ReadOnly: f.ReadOnly, Notice: f.Notice}
	if f.SignIn {
		var err error
		if c.Issuer, err = f.signIn(issuer, publicURL); err != nil {
			return c, fmt.Errorf("--console-oidc: %w", err)
		}
	}
	if tokenKey == "" {
		return c, nil
	}
	key, err := console.ReadKey(tokenKey)
	c.Key = key
	return c, err
}

func (f ConsoleFlags) signIn(issuer *oidc.Authenticator, publicURL string) (*oidc.SignIn, error) {
	if issuer == nil || publicURL == "" {
		return nil, errors.New("give --oidc-issuer, where people sign in, and --public-url, where they come back to")
	}
	client := oidc.Client{ID: f.ClientID, RedirectURL: strings.TrimSuffix(publicURL, "/") + console.CallbackPath, Scopes: f.Scopes}
	if f.Secret != "" {
		secret, err := os.ReadFile(f.Secret)
		if err != nil {
			return nil, fmt.Errorf("read the client's secret: %w", err)
		}
		client.Secret = strings.TrimSpace(string(secret))
	}
	return issuer.SignIn(client)
}

// ConsoleLink returns the URL of the console of a server on this machine that logs in once,
// with the tokens of these roles. tokenKey is the server's file with the key of session
// tokens.
func ConsoleLink(server, tokenKey string, tokens map[auth.Role]string) (string, error) {
	key, err := console.ReadKey(tokenKey)
	if err != nil {
		return "", err
	}
	code, err := key.Link(tokens, time.Now())
	return server + ConsolePath + "#code=" + code, err
}
