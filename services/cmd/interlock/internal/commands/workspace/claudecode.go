package workspace

import (
	"context"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jsonfile"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

type claudeCodeCommand struct {
	setup

	Shared bool `help:"Write .claude/settings.json, for all who work on the project, instead of .claude/settings.local.json."`
}

// Settings of Claude Code in a workspace: those that the project shares, and one's own.
const (
	sharedSettings = ".claude/settings.json"
	localSettings  = ".claude/settings.local.json"
)

func (c *claudeCodeCommand) Run(ctx context.Context, io console.Streams) error {
	if err := c.prepare(ctx, io); err != nil {
		return err
	}
	return c.install(ctx, io)
}

func (c *claudeCodeCommand) install(ctx context.Context, io console.Streams) error {
	files, err := c.edit(ctx, io)
	if err != nil {
		return err
	}
	folder := datadir.Dir(c.data)
	if c.Undo {
		known, err := folder.Installed(c.Dir) // which is empty where the folder is gone
		if err != nil || known == "" {
			return err
		}
		return folder.SetInstalled(c.Dir, "")
	}
	// Kept where only people can write, so that doctor can determine when the hooks
	// change.
	return folder.SetInstalled(c.Dir, datadir.Digest(written(files[0].After)))
}

// edit writes the settings, the hooks first.
func (c *claudeCodeCommand) edit(ctx context.Context, io console.Streams) ([]*jsonfile.File, error) {
	command, server := c.hook("", ""), c.server("")
	ours, other := localSettings, sharedSettings
	if c.Shared {
		ours, other = other, ours
		command, server = c.sharedHook(), c.sharedServer()
	}
	add := func(doc []jsonfile.Member, indent string) ([]jsonfile.Member, error) {
		denied, allowed := denialsOf(doc), allowancesOf(doc)
		doc, err := addHooks(doc, command, c.wait(), indent)
		if err != nil {
			return nil, err
		}
		if doc, err = addDenials(doc, denied, indent); err != nil {
			return nil, err
		}
		return addAllowances(doc, allowed, indent)
	}
	return c.write(ctx, io, []edit{
		{path: ours, add: add, remove: withoutHooks},
		{path: other, remove: withoutHooks}, // or each event would be asked about twice
		{path: ".mcp.json", add: server, remove: withoutServer},
	}, "restart Claude Code")
}

// sharedHook returns a command for everyone who works on a project: by the name of the program,
// and for the data folder of their own copy. Claude Code blocks the tool calls of people who do
// not have the program, and names it.
func (c *claudeCodeCommand) sharedHook() []string {
	data := c.data
	if c.everyones() {
		data = "${CLAUDE_PROJECT_DIR}/" + datadir.Default
	}
	return append([]string{"interlock", "hook", "--data-dir", data}, c.rules()...)
}

// sharedServer returns the MCP server for everyone who works on a project: it finds the data
// folder of the copy that it is started in.
func (c *claudeCodeCommand) sharedServer() change {
	if !c.everyones() {
		return c.server("")
	}
	return func(doc []jsonfile.Member, indent string) ([]jsonfile.Member, error) {
		return addServer(doc, "interlock", []string{"mcp"}, indent)
	}
}

// everyones reports that each copy of the project has its own data folder.
func (c *claudeCodeCommand) everyones() bool {
	return c.Data == ""
}
