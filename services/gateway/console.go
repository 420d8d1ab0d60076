package gateway

import (
	"cmp"
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
	ReadOnly bool   `name:"console-read-only" help:"Let nobody change anything with the console." env:"INTERLOCK_CONSOLE_READ_ONLY"`
	KeyFile  string `name:"console-key-file" help:"File with the key that seals sessions of the console, 32 bytes in base64, the same for every replica." env:"INTERLOCK_CONSOLE_KEY_FILE" placeholder:"FILE"`
}

// Console reads the key of the file, or that of otherwise, which is made when it is missing.
// Without either, sessions end with the process.
func (f ConsoleFlags) Console(otherwise string) (Console, error) {
	c := Console{ReadOnly: f.ReadOnly}
	if f.KeyFile == "" && otherwise != "" {
		if err := console.CreateKey(otherwise); err != nil {
			return c, err
		}
	}
	file := cmp.Or(f.KeyFile, otherwise)
	if file == "" {
		return c, nil
	}
	key, err := console.ReadKey(file)
	c.Key = key
	return c, err
}

// ConsoleLink is the URL of the console of a server on this machine that logs in once, with
// the tokens of these roles. keyFile is that of the server.
func ConsoleLink(server, keyFile string, tokens map[auth.Role]string) (string, error) {
	key, err := console.ReadKey(keyFile)
	if err != nil {
		return "", err
	}
	code, err := key.Link(tokens, time.Now())
	return server + ConsolePath + "#code=" + code, err
}
