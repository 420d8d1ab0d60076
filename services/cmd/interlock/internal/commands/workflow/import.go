package workflow

import (
	"fmt"
	"os"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/importer"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/offline"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

type importCommand struct {
	File    string `arg:"" help:"The file of Statewright, with \"definition\" and \"upstream_servers\"; - is standard input." placeholder:"FILE"`
	Out     string `short:"f" help:"Write the definition there, and not to standard output." placeholder:"FILE"`
	Servers string `help:"Write the MCP servers there, as --mcp-config of the gate reads them." placeholder:"FILE"`
}

// Run writes the definition and the servers, and prints the parts that they lack on standard error. It returns console.ErrNo when
// they lack any.
func (c *importCommand) Run(io console.Streams) error {
	src, err := input.File(c.File, io.In)
	if err != nil {
		return err
	}
	w, err := importer.Statewright(src)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if !w.Servers.IsZero() && c.Servers == "" {
		return console.Misusedf("%s has MCP servers, too: say with --servers FILE where they are written", c.File)
	}
	if err := write(io, c.Out, w.Definition); err != nil {
		return err
	}
	if !w.Servers.IsZero() {
		if err := write(io, c.Servers, w.Servers); err != nil {
			return err
		}
	}
	for _, n := range w.Left {
		fmt.Fprintln(io.Err, show.Text(fmt.Sprintf("%s:%d: not translated: %s: %s", c.File, n.Line, n.Text, n.Why)))
	}
	if len(w.Left) > 0 {
		return console.ErrNo
	}
	return nil
}

// write prints a document, or writes it to a new file.
func write(io console.Streams, path string, v document.Value) error {
	text, problems := offline.Format(v.AppendJSON(nil))
	if problems.HasErrors() {
		return problems.Err()
	}
	if path == "" {
		_, err := io.Out.Write(text)
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%w; name a new file", err)
	}
	_, err = file.Write(text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
