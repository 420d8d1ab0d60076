// Package definition registers definitions on a server, and makes them shadows. It is
// shared by the families of commands that have definitions.
package definition

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// Flags are those of commands that register definitions.
type Flags struct {
	client.Connection
	show.Printer
	Precondition
	Staged bool     `help:"Store the version without making it live; promote makes it so."`
	DryRun bool     `help:"Store nothing, and answer as if it were stored."`
	Files  []string `arg:"" name:"file" help:"Definitions, JSON or YAML by their names." placeholder:"FILE"`
}

// Service registers one definition.
type Service func(conn grpc.ClientConnInterface, source []byte) (*Registered, error)

// Registered is a service's record of a definition. Value is for programs; it was not
// created when the same definition was registered before.
type Registered struct {
	Value   any
	Name    string
	Version int64
	Outcome interface {
		GetCreated() bool
		GetWarnings() []*enginev1.Problem
	}
}

// Register registers one file after another, and prints the problems of those that are not valid.
// The others are registered all the same. kind is the kind of the service's definitions.
func (c *Flags) Register(ctx context.Context, io console.Streams, kind string, service Service) error {
	if c.ExpectedVersion != 0 && len(c.Files) > 1 {
		return console.Misusedf("--expected-version is about one definition: name one file")
	}
	sources := make([]input.Source, len(c.Files))
	for i, file := range c.Files {
		var err error
		if sources[i], err = input.Definition(file, io); err != nil {
			return err
		}
		sources[i].Wanted = kind
		if kind != "workflow" {
			continue
		}
		if sources[i], err = input.WithProperties(sources[i], io); err != nil {
			return err
		}
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		var registered []*Registered
		var refused error
		for i := range c.Files {
			view, err := service(conn, sources[i].JSON)
			if err = client.InvalidFile(sources[i], "", err, io); errors.Is(err, console.ErrNo) {
				refused = err
				continue
			}
			if err != nil {
				return err
			}
			input.Warn(sources[i], view.Outcome.GetWarnings(), io.Err)
			registered = append(registered, view)
		}
		if err := c.printRegistered(io, registered); err != nil {
			return err
		}
		if c.Demoted() && len(registered) > 0 {
			fmt.Fprintf(io.Err, "interlock: registered as the agent, because no person has logged in: an agent may register newer versions of it; "+
				"run `interlock login`, and register it again\n")
		}
		return refused
	})
}

// printRegistered prints one object for one file, and a list for several.
func (c *Flags) printRegistered(io console.Streams, registered []*Registered) error {
	all := make([]any, len(registered))
	for i, view := range registered {
		all[i] = view.Value
	}
	var value any = all
	if len(c.Files) == 1 {
		if len(registered) == 0 {
			return nil
		}
		value = all[0]
	}
	return c.Print(io.Out, value, func(w *show.Sheet) {
		for _, view := range registered {
			verb := "registered"
			switch {
			case !view.Outcome.GetCreated():
				verb = "unchanged"
			case c.DryRun:
				verb = "would register"
			case c.Staged:
				verb = "staged"
			}
			fmt.Fprintf(w, "%s\t%s\tversion %d\n", verb, show.Text(view.Name), view.Version)
		}
	})
}
