package packset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/interlock-run/interlock/services/internal/beginning"
	"github.com/interlock-run/interlock/services/internal/packs"
)

// Folder is where the files of packs are in a workspace.
const Folder = "interlock"

// Load returns packs by name: the files that a workspace has, and the others with the settings that it suggests.
func Load(names []string, workspace string) ([]Pack, error) {
	all := make([]Pack, 0, len(names))
	for _, name := range names {
		p, err := packs.Get(name)
		if err != nil {
			return nil, err
		}
		files, err := p.Render(p.Detected(os.DirFS(workspace)))
		if err != nil {
			return nil, err
		}
		for i := range files {
			text, err := os.ReadFile(filepath.Join(workspace, Folder, files[i].Name))
			switch {
			case err == nil:
				files[i].Text = text
			case !errors.Is(err, fs.ErrNotExist):
				return nil, fmt.Errorf("read the file of the pack %s: %w", name, err)
			}
		}
		all = append(all, of(p, files))
	}
	return all, nil
}

// of returns a pack with its rendered files. Its policies come before the workflow, which may name them.
func of(p *packs.Pack, files []packs.File) Pack {
	made := Pack{Name: p.Name, Title: p.Title}
	for _, f := range files {
		made.Files = append(made.Files, File{f.Name, f.Text})
		switch f.Kind {
		case packs.Policy:
			made.Begin = append([]beginning.Definition{{Name: p.Name, Policy: f.Text, Agents: p.Workflow == ""}}, made.Begin...)
		case packs.Workflow:
			made.Workflow = f.Text
			made.Begin = append(made.Begin, beginning.Definition{Name: p.Workflow, Workflow: f.Text})
		default:
		}
	}
	return made
}

// Has reports that this program has a pack.
func Has(name string) bool {
	_, err := packs.Get(name)
	return err == nil
}
