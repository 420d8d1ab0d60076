package workspace

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
)

// ClaudeCode is the set-up of Claude Code in a workspace, as `interlock init claude-code` writes it.
type ClaudeCode struct {
	Dir string
	// Workflow is the text of the workflow that sessions are put on; nil for none.
	Workflow []byte
	Observe  bool
}

func (c *ClaudeCode) command(ctx context.Context, streams console.Streams) (*claudeCodeCommand, error) {
	command := &claudeCodeCommand{setup: setup{Dir: c.Dir, Observe: c.Observe, Yes: true}}
	if err := command.prepare(ctx, streams); err != nil {
		return nil, err
	}
	if c.Workflow != nil {
		def, problems := workflow.Parse(c.Workflow)
		if problems.HasErrors() {
			return nil, fmt.Errorf("the workflow: %w", problems.Err())
		}
		command.def = def
	}
	return command, nil
}

// Changes returns the files that Install changes, relative to the workspace, with the kind of its settings there.
func (c *ClaudeCode) Changes(ctx context.Context, streams console.Streams) (names []string, err error) {
	command, err := c.command(ctx, streams)
	if err != nil {
		return nil, err
	}
	command.quiet, command.preview = true, true
	files, err := command.edit(ctx, console.Streams{In: streams.In, Out: io.Discard, Err: streams.Err})
	for _, file := range files {
		name := file.Path
		if short, err := filepath.Rel(command.Dir, name); err == nil {
			name = short
		}
		if strings.HasSuffix(name, "mcp.json") {
			names = append(names, name+" (MCP server)")
		} else {
			names = append(names, name+" (hooks)")
		}
	}
	return names, err
}

// Show prints the differences that Install makes.
func (c *ClaudeCode) Show(ctx context.Context, streams console.Streams) error {
	command, err := c.command(ctx, streams)
	if err != nil {
		return err
	}
	command.preview = true
	_, err = command.edit(ctx, streams)
	return err
}

// Install writes the hooks and the MCP server.
func (c *ClaudeCode) Install(ctx context.Context, streams console.Streams) error {
	command, err := c.command(ctx, streams)
	if err != nil {
		return err
	}
	command.quiet = true
	return command.install(ctx, console.Streams{In: streams.In, Out: io.Discard, Err: streams.Err})
}

// Prove makes the call of `interlock doctor --probe` in a workspace.
func Prove(ctx context.Context, streams console.Streams, dir, line string) (*Probed, error) {
	doctor := Doctor{Dir: dir}
	hooks, _, err := doctor.hooks()
	if err != nil {
		return nil, err
	}
	folder, err := folderOf(dir, hooks.data)
	if err != nil {
		return nil, err
	}
	return probe(ctx, streams, dir, folder, hooks.before, line)
}
