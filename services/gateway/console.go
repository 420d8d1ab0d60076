package gateway

import (
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
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
}

// ConsoleFlags are those of every server of the console.
type ConsoleFlags struct {
	ReadOnly bool `name:"console-read-only" help:"Let nobody change anything with the console." env:"INTERLOCK_CONSOLE_READ_ONLY"`
}

// Console takes the key from the file with that of session tokens. Without one, sessions end
// with the process.
func (f ConsoleFlags) Console(tokenKey string) (Console, error) {
	c := Console{ReadOnly: f.ReadOnly}
	if tokenKey == "" {
		return c, nil
	}
	key, err := console.ReadKey(tokenKey)
	c.Key = key
	return c, err
}

// ConsoleLink is the URL of the console of a server on this machine that logs in once, with
// the tokens of these roles. tokenKey is the server's file with the key of session tokens.
func ConsoleLink(server, tokenKey string, tokens map[auth.Role]string) (string, error) {
	key, err := console.ReadKey(tokenKey)
	if err != nil {
		return "", err
	}
	code, err := key.Link(tokens, time.Now())
	return server + ConsolePath + "#code=" + code, err
}
