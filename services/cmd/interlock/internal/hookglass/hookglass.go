// Package hookglass opens break-glass grants for hooks. It is apart from package hookclient, because hooks that have contact start
// before what it imports.
package hookglass

import (
	"cmp"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/sdk/breakglass"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookclient"
)

// Opener opens the grants of hooks.
type Opener struct{}

// Open implements hookclient.Opener.
func (Opener) Open(c *hookclient.Client) (hookclient.Glass, error) {
	g, err := breakglass.Open(breakglass.Settings{
		Grant: c.BreakGlass, Key: c.BreakGlassKey, Spool: c.BreakGlassSpool, Namespace: cmp.Or(c.Namespace, "default"), Principal: c.Principal, Client: "interlock-hook",
	}, time.Now)
	if err != nil {
		return nil, fmt.Errorf("break glass: %w", err)
	}
	return glass{g}, nil
}

type glass struct{ of *breakglass.Glass }

func callOf(c hookclient.GlassCall) breakglass.Call {
	return breakglass.Call{Tool: c.Tool, Input: c.Input, Session: c.Session}
}

// Use implements hookclient.Glass.
func (g glass) Use(c hookclient.GlassCall) error { return g.of.Use(callOf(c)) }

// Deny implements hookclient.Glass.
func (g glass) Deny(c hookclient.GlassCall) error { return g.of.Deny(callOf(c)) }

// Lets implements hookclient.Glass.
func (g glass) Lets(c hookclient.GlassCall) error {
	if _, lets := g.of.Lets(c.Tool, c.Input); !lets {
		return breakglass.ErrNotGranted
	}
	return nil
}

// ID implements hookclient.Glass.
func (g glass) ID() string { return g.of.ID }
