// Package pages leads people to the console, the pages of a server on this machine.
package pages

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// Command prints a link that logs in once.
type Command struct {
	Data string `name:"data-dir" help:"Data folder of the server on this machine; by default that of the nearest workspace, here or upwards." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	Key  string `name:"token-key" help:"Key of session tokens, as the server has it. That in the data folder by default." env:"INTERLOCK_TOKEN_KEY" type:"path" placeholder:"FILE"`
	Open bool   `help:"Open the link in the browser, too."`
}

// Run makes the link without asking the server.
func (c *Command) Run(streams console.Streams) error {
	if err := client.NeedsPerson(streams, "a link to the console", "open the server's URL with "+gateway.ConsolePath+" and log in with a token"); err != nil {
		return err
	}
	data, err := client.DataFolder(c.Data)
	if err != nil {
		return err
	}
	endpoints, err := data.ReadEndpoints()
	if err != nil {
		return err
	}
	if endpoints.HTTP == "" {
		return errors.New(client.NotServed(c.Data))
	}
	link, err := Link(data, endpoints.HTTP, c.Key)
	if err != nil {
		return err
	}
	if link == "" {
		link = endpoints.HTTP + gateway.ConsolePath
		fmt.Fprintln(streams.Err, "interlock: log in there: the server runs with --presence required, so no file has a token of yours that a link could carry")
	}
	fmt.Fprintln(streams.Out, link)
	if c.Open {
		return Open(link)
	}
	return nil
}

// Link returns the console of a server, with a log-in as operator and approver in it,
// once and for ten minutes. tokenKey is the server's, "" for that in the folder. Empty where the
// folder has no tokens of people.
func Link(data datadir.Dir, server, tokenKey string) (string, error) {
	tokens := map[auth.Role]string{}
	file, err := auth.ReadFile(data.Local())
	if err != nil {
		return "", err
	}
	for _, e := range file.Tokens {
		if e.Role == auth.Operator || e.Role == auth.Approver {
			tokens[e.Role] = e.Token
		}
	}
	if len(tokens) == 0 {
		return "", nil
	}
	return gateway.ConsoleLink(server, cmp.Or(tokenKey, data.TokenKey()), tokens)
}

// Open opens a link in the browser.
func Open(link string) error {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	if err := exec.Command(program, link).Start(); err != nil {
		return fmt.Errorf("no browser could be opened: %w; open the link by hand", err)
	}
	return nil
}
