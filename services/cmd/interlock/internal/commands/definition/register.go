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
	Files []string `arg:"" name:"file" help:"Definitions, JSON or YAML by their names." placeholder:"FILE"`
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
	sources := make([]input.Source, len(c.Files))
	for i, file := range c.Files {
		var err error
		if sources[i], err = input.Definition(file, io); err != nil {
			return err
		}
		sources[i].Wanted = kind
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
			if !view.Outcome.GetCreated() {
				verb = "unchanged"
			}
			fmt.Fprintf(w, "%s\t%s\tversion %d\n", verb, show.Text(view.Name), view.Version)
		}
	})
}
