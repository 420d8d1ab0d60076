package workspace

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jsonfile"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/shellwords"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

type claudeCodeCommand struct {
	Workflow string `help:"Definition that sessions are put on." type:"path" placeholder:"FILE"`
	Dir      string `arg:"" optional:"" help:"The workspace." default:"." type:"path"`
	Data     string `name:"data-dir" help:"Data folder of the server on this machine; by default .interlock in the workspace." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	Binary   string `help:"The interlock command to call; this one by default." placeholder:"PATH"`
	Yes      bool   `short:"y" help:"Write without asking."`
}

func (c *claudeCodeCommand) Run(_ context.Context, io console.Streams) error {
	data, err := filepath.Abs(cmp.Or(c.Data, filepath.Join(c.Dir, datadir.Default)))
	if err != nil {
		return fmt.Errorf("find the data folder: %w", err)
	}
	command := []string{c.binary(), "hook", "--data-dir", data}
	wait := 0
	if c.Workflow != "" {
		def, err := c.workflow(io)
		if err != nil {
			return err
		}
		command = append(command, "--workflow", def.ID)
		wait = int(def.Meta.ApprovalWait / time.Second)
	}
	file := filepath.Join(c.Dir, ".claude", "settings.json")
	settings, err := jsonfile.Edit(file, func(doc []jsonfile.Member, indent string) ([]jsonfile.Member, error) {
		doc, err := addHooks(doc, shellwords.Join(command), wait, indent)
		if err != nil {
			return nil, err
		}
		return addDenials(doc, indent)
	})
	if err != nil {
		return err
	}
	file = filepath.Join(c.Dir, ".mcp.json")
	servers, err := jsonfile.Edit(file, func(doc []jsonfile.Member, indent string) ([]jsonfile.Member, error) {
		return addServer(doc, c.binary(), data, indent)
	})
	if err != nil {
		return err
	}
	c.Dir, c.Data = workspaceName(c.Dir), data
	var changed []*jsonfile.File
	for _, file := range []*jsonfile.File{settings, servers} {
		if !file.Changed() {
			fmt.Fprintf(io.Out, "%s: nothing to change\n", file.Path)
			continue
		}
		changed = append(changed, file)
		fmt.Fprintf(io.Out, "%s:\n%s\n", file.Path, file.After)
	}
	if len(changed) == 0 {
		return c.remember(settings.After)
	}
	if !c.Yes && !io.Confirm("Write these files?") {
		fmt.Fprintln(io.Out, "nothing written; say yes, or give --yes")
		return console.ErrNo
	}
	for _, file := range changed {
		if err := file.Save(); err != nil {
			return err
		}
	}
	if err := c.remember(settings.After); err != nil {
		return err
	}
	fmt.Fprintf(io.Out, "written; %sstart `interlock up` in this workspace, and restart Claude Code\n", c.register())
	return nil
}

// remember keeps what the hooks are, so that doctor can tell when they change. It does so
// where nobody but people can write: in the data folder.
func (c *claudeCodeCommand) remember(settings []byte) error {
	folder := datadir.Dir(c.Data)
	if err := folder.Make(); err != nil {
		return err
	}
	return folder.SetInstalled(c.Dir, datadir.Digest(written(settings)))
}

// workspaceName is the absolute path of a workspace.
func workspaceName(dir string) string {
	if full, err := filepath.Abs(dir); err == nil {
		return full
	}
	return dir
}

func (c *claudeCodeCommand) register() string {
	if c.Workflow == "" {
		return ""
	}
	return "register the workflow with `interlock workflow register " + shellwords.Join([]string{c.Workflow}) + "`, "
}

func (c *claudeCodeCommand) binary() string {
	if c.Binary != "" {
		return c.Binary
	}
	if path, err := os.Executable(); err == nil {
		return path
	}
	return "interlock"
}

// workflow reads and validates the definition, so that a typo is found now.
func (c *claudeCodeCommand) workflow(io console.Streams) (*workflow.Definition, error) {
	src, err := input.Definition(c.Workflow, io)
	if err != nil {
		return nil, err
	}
	def, problems := workflow.Parse(src.JSON)
	if problems.HasErrors() {
		return nil, src.Refuse(problems, io)
	}
	return def, nil
}
