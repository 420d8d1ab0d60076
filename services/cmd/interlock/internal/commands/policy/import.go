package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/interlock-run/interlock/pkg/importer"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/offline"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

type importCommand struct {
	From      string `required:"" enum:"claude-code,intercept,cedar" help:"The product that the file is of: claude-code (settings.json), intercept or cedar." placeholder:"PRODUCT"`
	File      string `arg:"" help:"The policy of the other product; - is standard input." placeholder:"FILE"`
	Server    string `help:"The MCP server that tools without a server belong to." placeholder:"NAME"`
	Workspace string `help:"The folder of the project, for absolute paths of Claude Code." placeholder:"DIR"`
	Home      string `help:"The folder that ~ stands for in Claude Code." placeholder:"DIR"`
	User      bool   `help:"The settings of Claude Code are those of a person, and not of a project."`
	Everyone  bool   `help:"Read a Cedar policy for a type of principals as one for all callers."`
	Out       string `short:"f" help:"Write the policy there, and not to standard output." placeholder:"FILE"`
}

// Run prints the policy, and on standard error the parts that it lacks. It returns
// console.ErrNo when it lacks any.
func (c *importCommand) Run(io console.Streams) error {
	src, err := input.File(c.File, io.In)
	if err != nil {
		return err
	}
	options := importer.Options{Server: c.Server, User: c.User, Everyone: c.Everyone}
	if options.Workspace, err = absolute(c.Workspace); err != nil {
		return err
	}
	if options.Home, err = absolute(c.Home); err != nil {
		return err
	}
	result, err := importer.Translate(c.From, src, options)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if _, problems := rules.ParsePolicyValue(result.Policy); problems.HasErrors() {
		return fmt.Errorf("%s makes no valid policy: %w; import it in parts", c.File, problems.Err())
	}
	text, problems := offline.Format(result.Policy.AppendJSON(nil))
	if problems.HasErrors() {
		return problems.Err()
	}
	if err := c.write(text, io); err != nil {
		return err
	}
	c.list(io, "not translated", result.Left)
	c.list(io, "stricter", result.Stricter)
	if len(result.Left) > 0 {
		fmt.Fprintf(io.Err, "interlock: %s not translated; write the rules that are missing, then try the policy with `interlock policy simulate`\n",
			show.Counted(len(result.Left), "part"))
		return console.ErrNo
	}
	return nil
}

// absolute returns a folder with / between its parts; empty stays empty.
func absolute(folder string) (string, error) {
	if folder == "" {
		return "", nil
	}
	path, err := filepath.Abs(folder)
	return filepath.ToSlash(path), err
}

// write prints the policy, or writes it to the file of --out, which is not the one that is read.
func (c *importCommand) write(text []byte, io console.Streams) error {
	if c.Out == "" {
		_, err := io.Out.Write(text)
		return err
	}
	from, err := os.Stat(c.File)
	to, missing := os.Stat(c.Out)
	if err == nil && missing == nil && os.SameFile(from, to) {
		return console.Misused(errors.New("--out names the file that is imported; name another"))
	}
	return os.WriteFile(c.Out, text, 0o600)
}

// list prints notes, one a line.
func (c *importCommand) list(io console.Streams, what string, notes []importer.Note) {
	for _, n := range notes {
		at := c.File
		if n.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, n.Line)
		}
		fmt.Fprintln(io.Err, show.Text(fmt.Sprintf("%s: %s: %s: %s", at, what, n.Text, n.Why)))
	}
}
