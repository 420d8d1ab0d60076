package token

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// fileFlags say which tokens file is meant.
type fileFlags struct {
	Tokens string `help:"Tokens file of the services. That in the data folder by default." env:"INTERLOCK_TOKENS" type:"path" placeholder:"FILE"`
	Data   string `name:"data-dir" help:"Data folder of the server on this machine; by default that of the nearest workspace, here or upwards." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
}

// file returns it. The one in the data folder is changed only for a person at a terminal.
func (f fileFlags) file(streams console.Streams, what string) (string, error) {
	if f.Tokens != "" {
		return f.Tokens, nil
	}
	if what != "" {
		if err := client.NeedsPerson(streams, what, "give --tokens with the file"); err != nil {
			return "", err
		}
	}
	folder, err := client.DataFolder(f.Data)
	return folder.Tokens(), err
}

type addCommand struct {
	fileFlags
	Role      string   `arg:"" help:"agent, operator, approver, observer, runtime for programs that run agents and report their calls, root for operators of the whole deployment, relay for programs that pass on decisions of people, or service for Interlock's own services." enum:"agent,operator,approver,observer,runtime,root,relay,service"`
	Name      string   `required:"" help:"Name of whom the token is for, as history and approvals show it. A name has one role." placeholder:"NAME"`
	Namespace []string `help:"Namespace that the token counts in; * is all. May be repeated. default by default." placeholder:"NAME"`
	Expires   string   `help:"When it ends: a duration such as 720h, or a date such as 2026-12-31. Never by default." placeholder:"WHEN"`
	Person    string   `help:"Registered person whose token it is." placeholder:"NAME"`
	SpeaksFor bool     `help:"It may say on whose behalf it calls, such as a gateway that knows its users. Rules about people demand more than its word."`
}

// Run adds the hash of a token without asking any server, and prints the token.
func (c *addCommand) Run(streams console.Streams) error {
	entry := auth.Entry{
		Name: c.Name, Role: auth.Role(c.Role), Namespaces: c.Namespace, Person: c.Person, SpeaksFor: c.SpeaksFor, Created: time.Now().UTC().Truncate(time.Second),
	}
	if entry.Role == auth.Root {
		if len(c.Namespace) > 0 {
			return console.Misusedf("--namespace: a token of the role root counts in every namespace; leave it out, or add an operator")
		}
		entry.Namespaces = []string{string(auth.AllNamespaces)}
	}
	for _, name := range c.Namespace {
		if name != string(auth.AllNamespaces) && !rpc.ValidNamespace(name) {
			return console.Misusedf("--namespace %q: give 1 to 63 lower-case letters, digits and hyphens, or * for all", name)
		}
	}
	var err error
	if entry.Expires, err = end(c.Expires, entry.Created); err != nil {
		return err
	}
	file, err := c.file(streams, "adding a token")
	if err != nil {
		return err
	}
	if c.Tokens == "" {
		if err := c.counts(entry.Role); err != nil {
			return err
		}
	}
	token := auth.Mint()
	err = auth.ChangeFile(file, func(f *auth.File) error {
		f.AddHash(entry, token)
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(streams.Err, "interlock: added its hash to %s: servers know it within a second. The token is shown this once\n", file)
	_, err = fmt.Fprintln(streams.Out, token)
	return err
}

// counts refuses a token that the server of the data folder would not accept (S23.2).
func (c *addCommand) counts(role auth.Role) error {
	folder, err := client.DataFolder(c.Data)
	if err != nil || role.Local() {
		return err
	}
	if _, err := auth.FileToken(folder.Local(), auth.Operator); err != nil {
		return fmt.Errorf("a token of the role %s in the data folder does not count, because any program of your user could add one: "+
			"use `interlock login`; or make a file for people that belongs to root, add it there with --tokens FILE, and start `interlock up --tokens FILE`", role)
	}
	return nil
}

// end reads when a token ends.
func end(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if lasts, isDuration := time.ParseDuration(text); isDuration == nil {
		at, err = now.Add(lasts), nil
	}
	if err != nil || !at.After(now) {
		return time.Time{}, console.Misusedf("--expires %q: give a duration such as 720h, or a date to come such as 2026-12-31", text)
	}
	return at, nil
}

type listCommand struct {
	fileFlags
	show.Printer
}

// listed is a token for programs.
type listed struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Role       auth.Role  `json:"role"`
	Namespaces []string   `json:"namespaces"`
	Person     string     `json:"person,omitzero"`
	SpeaksFor  bool       `json:"speaks_for,omitzero"`
	CreatedAt  *time.Time `json:"created_at,omitzero"`
	ExpiresAt  *time.Time `json:"expires_at,omitzero"`
	State      string     `json:"state"`
}

// Run lists the tokens of a file. It shows no token and no hash.
func (c *listCommand) Run(streams console.Streams) error {
	file, err := c.file(streams, "")
	if err != nil {
		return err
	}
	f, err := auth.ReadFile(file)
	if err != nil {
		return err
	}
	all := []listed{}
	for _, e := range f.Listed() {
		l := listed{ID: e.ID, Name: e.Name, Role: e.Role, Namespaces: e.Namespaces, Person: e.Person, SpeaksFor: e.SpeaksFor, State: valid}
		if !e.Created.IsZero() {
			l.CreatedAt = &e.Created
		}
		if !e.Expires.IsZero() {
			l.ExpiresAt = &e.Expires
			if !e.Expires.After(time.Now()) {
				l.State = expired
			}
		}
		all = append(all, l)
	}
	return show.Table(c.Printer, streams.Out, "TOKEN\tNAME\tROLE\tNAMESPACES\tPERSON\tSTATE\tEXPIRES\tCREATED", all, func(l *listed) []any {
		return []any{show.ID(l.ID), l.Name, string(l.Role), strings.Join(l.Namespaces, " "), l.Person, l.State, l.ExpiresAt, l.CreatedAt}
	})
}

type revokeCommand struct {
	fileFlags
	Which string `arg:"" name:"token" help:"Id of a token, or a name, all of whose tokens are revoked."`
}

// Run removes tokens from a file.
func (c *revokeCommand) Run(streams console.Streams) error {
	file, err := c.file(streams, "revoking a token")
	if err != nil {
		return err
	}
	var removed []auth.Entry
	err = auth.ChangeFile(file, func(f *auth.File) error {
		if removed = f.Revoke(c.Which); len(removed) == 0 {
			return fmt.Errorf("%s has no token with the id or name %q: `interlock token list` shows them", file, c.Which)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range removed {
		fmt.Fprintf(streams.Out, "revoked %s of %s: servers refuse it within a second\n", e.ID, show.Text(e.Name))
	}
	return nil
}

type hashCommand struct {
	File    string `arg:"" help:"Tokens file of services." type:"path"`
	Service string `name:"service-token-file" help:"Write the token of the role service into this file first, for the flag of that name of services." type:"path" placeholder:"FILE"`
}

// Run replaces the tokens in plain text of a file by hashes.
func (c *hashCommand) Run(streams console.Streams) error {
	f, err := auth.ReadFile(c.File)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(f.Tokens, func(e auth.Entry) bool { return e.Role == auth.Service && e.Token != "" }); i >= 0 {
		if c.Service == "" {
			return errors.New("the file has the token that services call each other with, which a hash does not give them: " +
				"give --service-token-file, and start each service with that flag")
		}
		created, err := auth.WriteSecret(c.Service, []byte(f.Tokens[i].Token+"\n"))
		if err == nil && !created {
			err = fmt.Errorf("%s: %w: remove it first", c.Service, fs.ErrExist)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(streams.Out, "created %s\n", c.Service)
	}
	changed := false
	if err := auth.ChangeFile(c.File, func(f *auth.File) error { changed = f.HashAll(); return nil }); err != nil {
		return err
	}
	if !changed {
		fmt.Fprintf(streams.Out, "%s has hashes only\n", c.File)
		return nil
	}
	fmt.Fprintf(streams.Out, "%s has hashes now: the tokens themselves are in no file of Interlock's any more, and go on to count\n", c.File)
	return nil
}
