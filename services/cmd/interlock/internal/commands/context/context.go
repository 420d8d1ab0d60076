// Package context keeps the servers that a person works with, by name.
package context

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/contexts"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// Command is the family of commands on contexts.
type Command struct {
	Add    addCommand    `cmd:"" help:"Keep a server and a token for it under a name, or change them."`
	Use    useCommand    `cmd:"" help:"Use a context from now on, or none."`
	List   listCommand   `cmd:"" help:"List contexts, without their tokens."`
	Remove removeCommand `cmd:"" help:"Forget a context and its token."`
}

// change applies a change to the contexts. Programs use variables: a context that one of
// them made would decide on the server of people.
func change(io console.Streams, do func(*contexts.All) error) error {
	if err := client.NeedsPerson(io, "changing contexts", "give INTERLOCK_SERVER and INTERLOCK_TOKEN"); err != nil {
		return err
	}
	all, err := contexts.Load()
	if err != nil {
		return err
	}
	if err := do(&all); err != nil {
		return err
	}
	return all.Save()
}

// known refuses a name that no context has.
func known(all *contexts.All, name string) error {
	if _, ok := all.Contexts[name]; !ok {
		return fmt.Errorf("there is no context %q; see interlock context list", name)
	}
	return nil
}

type addCommand struct {
	Name      string `arg:"" help:"Name: letters, digits, - and _."`
	Server    string `required:"" help:"The server: a gRPC address, or the http:// address of its edge." placeholder:"ADDRESS"`
	Token     string `help:"Token to call with. Without one, log in: interlock login --server NAME." env:"INTERLOCK_TOKEN" placeholder:"TOKEN"`
	TokenFile string `help:"File with only the token, read at each use; counts more than --token." type:"path" placeholder:"FILE"`
	Namespace string `help:"Namespace." env:"INTERLOCK_NAMESPACE" placeholder:"NAME"`
	CA        string `name:"ca" help:"CA of the server's certificate (PEM); turns TLS on." env:"INTERLOCK_CA" type:"path" placeholder:"FILE"`
	Insecure  bool   `help:"Talk to another machine without TLS, where the network itself is trusted." env:"INTERLOCK_INSECURE"`
}

func (c *addCommand) Run(io console.Streams) error {
	if !contexts.IsName(c.Name) {
		return console.Misusedf("%q cannot be the name of a context: give up to 63 letters, digits, - and _", c.Name)
	}
	if contexts.IsName(c.Server) {
		return console.Misusedf("--server %s: give HOST:PORT, or an http:// or https:// address", c.Server)
	}
	return change(io, func(all *contexts.All) error {
		next := contexts.Context{
			Server: c.Server, Token: c.Token, Namespace: c.Namespace, CA: c.CA, Insecure: c.Insecure,
		}
		if c.TokenFile != "" {
			file, err := filepath.Abs(c.TokenFile)
			if err != nil {
				return fmt.Errorf("find %s: %w", c.TokenFile, err)
			}
			next.Token, next.TokenFile = "", file
			if _, err := next.Secret(); err != nil {
				return err
			}
		}
		all.Contexts[c.Name] = next
		return nil
	})
}

type useCommand struct {
	Name string `arg:"" optional:"" help:"The context; none of them without a name."`
}

func (c *useCommand) Run(io console.Streams) error {
	return change(io, func(all *contexts.All) error {
		all.Use = c.Name
		if c.Name == "" {
			return nil
		}
		return known(all, c.Name)
	})
}

type removeCommand struct {
	Name string `arg:"" help:"The context."`
}

func (c *removeCommand) Run(io console.Streams) error {
	return change(io, func(all *contexts.All) error {
		err := known(all, c.Name)
		delete(all.Contexts, c.Name)
		if all.Use == c.Name {
			all.Use = ""
		}
		return err
	})
}

type listCommand struct{ show.Printer }

// contextView is the JSON of a context.
type contextView struct {
	Name      string `json:"name"`
	Used      bool   `json:"used"`
	Server    string `json:"server"`
	Namespace string `json:"namespace,omitempty"`
	TokenFile string `json:"token_file,omitempty"`
}

func (c *listCommand) Run(io console.Streams) error {
	all, err := contexts.Load()
	if err != nil {
		return err
	}
	views := []contextView{}
	for _, name := range slices.Sorted(maps.Keys(all.Contexts)) {
		one := all.Contexts[name]
		views = append(views, contextView{name, name == all.Use, one.Server, one.Namespace, one.TokenFile})
	}
	return show.Table(c.Printer, io.Out, "NAME\tUSED\tSERVER\tNAMESPACE", views, func(v *contextView) []any {
		used := ""
		if v.Used {
			used = "yes"
		}
		return []any{v.Name, used, v.Server, v.Namespace}
	})
}
