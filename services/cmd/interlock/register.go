package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// registerFlags are of commands that register definitions.
type registerFlags struct {
	clientFlags
	show.Printer
	Files []string `arg:"" name:"file" help:"Definitions, JSON or YAML by their names." placeholder:"FILE"`
}

// registeredView is a registered definition: value for programs. Created is false
// when the same definition was registered before.
type registeredView struct {
	value   any
	name    string
	version int64
	created bool
}

// register registers one file after another, and tells what is wrong with those
// that are not valid. The others are registered all the same.
func (c *registerFlags) register(
	ctx context.Context, io console.Streams, one func(conn grpc.ClientConnInterface, source []byte) (*registeredView, []*enginev1.Problem, error),
) error {
	sources := make([][]byte, len(c.Files))
	for i, file := range c.Files {
		var err error
		if sources[i], err = input.Definition(file, io); err != nil {
			return err
		}
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		var registered []*registeredView
		var refused error
		for i, file := range c.Files {
			view, warnings, err := one(conn, sources[i])
			if err = invalidFile(file, "", err, io); errors.Is(err, console.ErrNo) {
				refused = err
				continue
			}
			if err != nil {
				return err
			}
			for _, w := range warnings {
				fmt.Fprintln(io.Err, show.Problem(file, document.Problem{
					Pointer: w.GetPointer(), Code: w.GetCode(), Severity: document.SeverityWarning, Message: w.GetMessage(),
				}))
			}
			registered = append(registered, view)
		}
		if err := c.printRegistered(io, registered); err != nil {
			return err
		}
		return refused
	})
}

// printRegistered prints one object for one file, and a list for several.
func (c *registerFlags) printRegistered(io console.Streams, registered []*registeredView) error {
	all := make([]any, len(registered))
	for i, view := range registered {
		all[i] = view.value
	}
	var value any = all
	if len(c.Files) == 1 {
		if len(registered) == 0 {
			return nil
		}
		value = all[0]
	}
	return c.Print(io.Out, value, func(w *tabwriter.Writer) {
		for _, view := range registered {
			verb := "registered"
			if !view.created {
				verb = "unchanged"
			}
			fmt.Fprintf(w, "%s\t%s\tversion %d\n", verb, show.Text(view.name), view.version)
		}
	})
}

// shadow makes the definitions of the files shadows of their workflows.
func (c *registerFlags) shadow(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		shadows := []shadowView{}
		var refused error
		for _, file := range c.Files {
			view, err := putShadow(ctx, conn, file, io)
			switch {
			case errors.Is(err, console.ErrNo):
				refused = err
			case err != nil:
				return err
			default:
				shadows = append(shadows, view)
			}
		}
		var value any = shadows
		if len(c.Files) == 1 {
			if refused != nil {
				return refused
			}
			value = shadows[0]
		}
		err := c.Print(io.Out, value, func(w *tabwriter.Writer) {
			for i := range shadows {
				shadows[i].row(w)
			}
		})
		return errors.Join(err, refused)
	})
}
