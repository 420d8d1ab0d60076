// Package data shows where the data of a workspace is, and moves it out of the workspace.
package data

import (
	"fmt"
	"os"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/workspace"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// Command is the family of commands on data folders.
type Command struct {
	Path pathCommand `cmd:"" help:"Print the data folder of this workspace."`
	Move moveCommand `cmd:"" help:"Move the data folder out of the workspace, or after the workspace when that has moved."`
	Seal sealCommand `cmd:"" help:"Seal the secrets and the records of the data folder with a passphrase, change the passphrase, or seal another file. The server must be stopped."`

	Unseal unsealCommand `cmd:"" help:"Take the seal from the data folder. The server must be stopped."`
}

type pathCommand struct {
	Data string `name:"data-dir" help:"Data folder of the server on this machine; by default that of the nearest workspace, here or upwards." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
}

// Run prints the folder.
func (c *pathCommand) Run(io console.Streams) error {
	folder, err := client.DataFolder(c.Data)
	if err == nil {
		_, err = fmt.Fprintln(io.Out, folder)
	}
	return err
}

type moveCommand struct {
	Dir string `arg:"" optional:"" help:"The workspace." default:"." type:"path"`
}

// Run moves the folder. Its server has to be stopped.
func (c *moveCommand) Run(io console.Streams) error {
	if _, err := os.Stat(c.Dir); err != nil {
		return fmt.Errorf("find the workspace: %w", err)
	}
	from, to, err := datadir.Move(c.Dir)
	switch {
	case err != nil:
		return err
	case from == to:
		fmt.Fprintf(io.Out, "no move is needed: the data folder is %s\n", to)
	default:
		fmt.Fprintf(io.Out, "moved %s to %s\n", from, to)
	}
	for _, use := range workspace.Uses(c.Dir) {
		if !use.Leads(to) {
			fmt.Fprintf(io.Out, "%s names another data folder, %s: run `%s`\n", use.File, use.Data, use.Again(c.Dir))
		}
	}
	return nil
}
