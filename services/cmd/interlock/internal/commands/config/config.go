// Package config checks the files that servers take with --config.
package config

import (
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/up"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/commandline"
	"github.com/interlock-run/interlock/services/internal/configfile"
)

// Command is the family of commands on such files.
type Command struct {
	Check  checkCommand  `cmd:"" help:"Check a file of --config without starting anything."`
	Schema schemaCommand `cmd:"" help:"Print the JSON Schema of such files, for editors."`
}

type server struct {
	For string `help:"Whose file: up, engine, policy-enforcer, state-store, approval or gateway." enum:"up,engine,policy-enforcer,state-store,approval,gateway" default:"up"`
}

// parser returns that of the server's command line.
func (s server) parser(options ...kong.Option) (*kong.Kong, error) {
	options = append(options, kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
	if s.For == "up" {
		return kong.New(new(up.Command), append(options, kong.Name("interlock up"), configfile.Durations())...)
	}
	program := commandline.Programs()[s.For]
	return program.Parser(program.Flags(), options...)
}

type checkCommand struct {
	server
	File string `arg:"" help:"YAML file." type:"path"`
}

// Run describes the problem with a file, with the place.
func (c *checkCommand) Run(streams console.Streams) error {
	file, err := configfile.Read(c.File)
	if err != nil {
		return console.Misused(err)
	}
	parser, err := c.parser(file.Options()...)
	if err != nil {
		return console.Misused(err)
	}
	if _, err := parser.Parse(nil); err != nil {
		return console.Misused(err)
	}
	fmt.Fprintf(streams.Out, "%s can be used for %s\n", c.File, c.For)
	return nil
}

type schemaCommand struct{ server }

// Run prints a schema.
func (c *schemaCommand) Run(streams console.Streams) error {
	parser, err := c.parser()
	if err != nil {
		return err
	}
	text, err := configfile.Schema(parser.Model, "Configuration of "+parser.Model.Name)
	if err != nil {
		return err
	}
	_, err = streams.Out.Write(text)
	return err
}
