// Package pack lists the packs of this program, and writes their files. It needs no server.
package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/packs"
)

// Command is the family of commands on packs.
type Command struct {
	List listCommand `cmd:"" help:"List the packs of this program."`
	Show showCommand `cmd:"" help:"Show a pack: its parameters, files and limits."`
	Add  addCommand  `cmd:"" help:"Write the files of a pack into a folder. They are yours to change."`
	Diff diffCommand `cmd:"" help:"Show how your files differ from the packs of this program."`
}

// one names a pack.
type one struct {
	Name string `arg:"" help:"The name of the pack."`
}

// settings are values of parameters.
type settings struct {
	Set []string `help:"The value of a parameter; may be repeated. Lists are JSON, or words with commas between them." placeholder:"NAME=VALUE" sep:"none"`
}

// read returns the settings on top of those that a workspace suggests.
func (s settings) read(p *packs.Pack, workspace fs.FS) (packs.Settings, error) {
	set := p.Detected(workspace)
	for _, assignment := range s.Set {
		if err := p.Set(set, assignment); err != nil {
			return nil, console.Misused(err)
		}
	}
	return set, nil
}

// here returns the folder that the command was started in.
func here() fs.FS { return os.DirFS(".") }

type listCommand struct {
	show.Printer
}

// Run prints all packs.
func (c *listCommand) Run(io console.Streams) error {
	all, err := packs.List()
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b *packs.Pack) int {
		return slices.Index(packs.Levels, a.Level) - slices.Index(packs.Levels, b.Level)
	})
	return show.Table(c.Printer, io.Out, "NAME\tLEVEL\tTITLE", all, func(p **packs.Pack) []any {
		return []any{(*p).Name, (*p).Level, (*p).Title}
	})
}

type showCommand struct {
	one
	settings
	show.Printer
	File string `help:"Print this file of the pack, as add writes it." placeholder:"FILE"`
}

// Run prints a pack, or one of its files.
func (c *showCommand) Run(io console.Streams) error {
	p, err := packs.Get(c.Name)
	if err != nil {
		return err
	}
	set, err := c.read(p, here())
	if err != nil {
		return err
	}
	files, err := p.Render(set)
	if err != nil {
		return err
	}
	if c.File != "" {
		for _, f := range files {
			if f.Name == c.File {
				_, err := io.Out.Write(f.Text)
				return err
			}
		}
		return console.Misusedf("the pack %s has no file %q; files: %s", p.Name, c.File, strings.Join(names(files), ", "))
	}
	return c.Print(io.Out, struct {
		*packs.Pack
		Files []packs.File `json:"files"`
	}{p, files}, func(w *show.Sheet) {
		fmt.Fprintf(w, "pack\t%s\n", p.Label())
		fmt.Fprintf(w, "title\t%s\n", p.Title)
		fmt.Fprintf(w, "level\t%s\n", p.Level)
		fmt.Fprintf(w, "workflow\t%s\n", orNone(p.Workflow))
		fmt.Fprintf(w, "policies\t%s\n", orNone(strings.Join(p.Policies, ", ")))
		fmt.Fprintf(w, "files\t%s\n", strings.Join(names(files), ", "))
		fmt.Fprintf(w, "\n%s\n", p.Summary)
		for i, q := range p.Parameters {
			if i == 0 {
				fmt.Fprintln(w, "\nPARAMETER\tMEANING\tVALUE")
			}
			value := string(q.Default)
			if v, chosen := set[q.Name]; chosen {
				value = string(v.AppendJSON(nil))
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", q.Name, q.Meaning, short(value))
		}
		fmt.Fprintf(w, "\n%s", p.NotStopped)
	})
}

// short returns the beginning of a long value; -o json has all of it.
func short(value string) string {
	const most = 60
	if runes := []rune(value); len(runes) > most {
		value = string(runes[:most]) + "..."
	}
	return show.Text(value)
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

func names(files []packs.File) []string {
	all := make([]string, len(files))
	for i, f := range files {
		all[i] = f.Name
	}
	return all
}

// folder is where the files of packs are.
type folder struct {
	Dir string `help:"The folder of the files." default:"interlock" type:"path" placeholder:"DIR"`
}

type addCommand struct {
	one
	settings
	folder
	Force bool `help:"Overwrite files that are there already."`
	show.Printer
}

// Run writes the files of a pack. It writes none if one of them is there already and differs.
func (c *addCommand) Run(io console.Streams) error {
	p, err := packs.Get(c.Name)
	if err != nil {
		return err
	}
	set, err := c.read(p, here())
	if err != nil {
		return err
	}
	files, err := p.Render(set)
	if err != nil {
		return err
	}
	if err := c.refuseOverwriting(files); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o750); err != nil {
		return fmt.Errorf("create the folder: %w", err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(c.Dir, f.Name), f.Text, 0o644); err != nil { //nolint:gosec // definitions are no secrets
			return fmt.Errorf("write the pack's file: %w", err)
		}
	}
	return c.Print(io.Out, struct {
		Pack     string       `json:"pack"`
		Dir      string       `json:"dir"`
		Workflow string       `json:"workflow,omitempty"`
		Policies []string     `json:"policies"`
		Files    []packs.File `json:"files"`
	}{p.Label(), c.Dir, p.Workflow, p.Policies, files}, func(w *show.Sheet) {
		for _, f := range files {
			fmt.Fprintf(w, "written\t%s\n", show.Text(filepath.Join(relative(c.Dir), f.Name)))
		}
		fmt.Fprintf(w, "\n%s", c.next(p))
	})
}

// refuseOverwriting returns an error if a file is there with another content.
func (c *addCommand) refuseOverwriting(files []packs.File) error {
	if c.Force {
		return nil
	}
	for _, f := range files {
		name := filepath.Join(c.Dir, f.Name)
		text, err := os.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("read the file that is there: %w", err)
		case string(text) != string(f.Text):
			return fmt.Errorf("%s is there already and differs: no file was written; see `interlock pack diff`, name another --dir, or overwrite it with --force",
				relative(name))
		}
	}
	return nil
}

// next lists the commands that put the pack in force.
func (c *addCommand) next(p *packs.Pack) string {
	dir := show.Text(relative(c.Dir))
	var b strings.Builder
	fmt.Fprintf(&b, "Read %s: it lists the limits of the pack. Then, next to `interlock up` and logged in:\n\n", filepath.Join(dir, p.Name+".md"))
	fmt.Fprintf(&b, "  interlock test %s\n", filepath.Join(dir, p.Name+".test.yaml"))
	for _, name := range p.Policies {
		fmt.Fprintf(&b, "  interlock policy put %s\n", filepath.Join(dir, name+".policy.json"))
	}
	if p.Workflow == "" {
		for _, name := range p.Policies {
			fmt.Fprintf(&b, "  interlock policy attach %s --role agent\n", name)
		}
		return b.String()
	}
	fmt.Fprintf(&b, "  interlock workflow register %s\n", filepath.Join(dir, p.Name+".json"))
	return b.String()
}

// relative returns a path as it is named from the folder that the command was started in.
func relative(path string) string {
	at, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(at, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

type diffCommand struct {
	Names []string `arg:"" optional:"" name:"name" help:"Packs; without one, all that the folder has files of."`
	folder
	show.Printer
}

// Run prints the state of each file. It returns console.ErrNo if one differs.
func (c *diffCommand) Run(io console.Streams) error {
	chosen, err := c.chosen()
	if err != nil {
		return err
	}
	var all []packs.Drift
	for _, p := range chosen {
		drift, err := p.Compare(os.DirFS(c.Dir))
		if err != nil {
			return err
		}
		all = append(all, drift...)
	}
	err = show.Table(c.Printer, io.Out, "FILE\tSTATUS\tFROM\tTO\tCHANGES", all, func(d *packs.Drift) []any {
		return []any{d.File, d.Status, d.From, d.To, strings.Join(d.Changes, " ")}
	})
	if err == nil && slices.ContainsFunc(all, func(d packs.Drift) bool { return d.Status != "same" }) {
		return console.ErrNo
	}
	return err
}

// chosen returns the packs that are named, or those that the folder has files of.
func (c *diffCommand) chosen() ([]*packs.Pack, error) {
	var chosen []*packs.Pack
	for _, name := range c.Names {
		p, err := packs.Get(name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, p)
	}
	if len(c.Names) > 0 {
		return chosen, nil
	}
	all, err := packs.List()
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if p.Present(os.DirFS(c.Dir)) {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%s has no file of a pack; write some with `interlock pack add`, or name another --dir", relative(c.Dir))
	}
	return chosen, nil
}
