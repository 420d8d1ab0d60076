package client

import (
	"cmp"
	"fmt"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/contexts"
)

// Choose fills in the settings of the server elsewhere that a person has named, or of the context in use.
func (c *Connection) Choose(io console.Streams) error { return c.choose(io, auth.Operator) }

// choose fills in the settings of a context: the one that --server names, or else the one
// in use. Flags and variables count more, and a data folder that is given counts more than
// the context in use.
//
// The token of a context may be of any role. So only a person at a terminal has contexts,
// and no command of agents has (S13.5): for these it is as if none were in use.
func (c *Connection) choose(io console.Streams, role auth.Role) error {
	switch {
	case c.fromVariable():
		c.source = "the variable " + TokenVariable
	case c.Token != "" && c.source == "":
		c.source = "--token"
	}
	person := io.Attended() && role != auth.Agent
	switch {
	case c.Server == "" && (c.Data != "" || c.As != "" || !person):
		return nil
	case c.Server != "" && !contexts.IsName(c.Server):
		return nil // an address
	}
	all, err := contexts.Load()
	if err != nil {
		return err
	}
	name := cmp.Or(c.Server, all.Use)
	chosen, ok := all.Contexts[name]
	if !ok {
		return nil
	}
	c.context = name
	if c.Token == "" {
		if !person {
			return fmt.Errorf("the token of the context %q is for a person at a terminal: give --token or INTERLOCK_TOKEN", c.Server)
		}
		if c.Token, err = chosen.Secret(); err != nil {
			return err
		}
		if c.bare = c.Token == ""; !c.bare {
			c.source = "the context " + cmp.Or(c.Server, all.Use)
		}
	}
	c.Server, c.Insecure = chosen.Server, c.Insecure || chosen.Insecure
	c.Namespace, c.CA = cmp.Or(c.Namespace, chosen.Namespace), cmp.Or(c.CA, chosen.CA)
	return nil
}
