package packs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// Drift is the difference of a user's file from the pack in this program, with the same settings.
type Drift struct {
	Pack string `json:"pack"`
	File string `json:"file"`
	// Status is same, changed or missing.
	Status string `json:"status"`
	// From is the label of the user's file, such as coding-tdd@1, and To the one of this program.
	From string `json:"from,omitempty"`
	To   string `json:"to"`
	// Changes are the JSON Pointers of a definition whose values differ.
	Changes []string `json:"changes,omitempty"`
}

// Label returns the name and the version, such as coding-tdd@1.
func (p *Pack) Label() string { return fmt.Sprintf("%s@%d", p.Name, p.Version) }

// Compare compares the files of the pack in a folder with those that this program renders. The settings are those
// that the user's definitions were rendered with. Layout of JSON and YAML does not count.
func (p *Pack) Compare(folder fs.FS) ([]Drift, error) {
	label, set, err := p.rendered(folder)
	if err != nil {
		return nil, err
	}
	files, err := p.Render(set)
	if err != nil {
		return nil, err
	}
	all := make([]Drift, 0, len(files))
	for _, f := range files {
		d := Drift{Pack: p.Name, File: f.Name, Status: "same", From: label, To: p.Label()}
		text, err := fs.ReadFile(folder, f.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			d.Status = "missing"
		case err != nil:
			return nil, fmt.Errorf("read the pack's file: %w", err)
		default:
			if d.Changes = changes(f, text); d.Changes != nil {
				d.Status = "changed"
			}
		}
		all = append(all, d)
	}
	return all, nil
}

// Present reports whether a folder has a file of the pack.
func (p *Pack) Present(folder fs.FS) bool {
	for _, part := range p.parts {
		if _, err := fs.Stat(folder, p.Name+ending(part.kind)); err == nil {
			return true
		}
	}
	return false
}

// rendered returns the label and the settings of the user's definitions.
func (p *Pack) rendered(folder fs.FS) (label string, set Settings, err error) {
	for _, kind := range []Kind{Workflow, Policy} {
		text, err := fs.ReadFile(folder, p.Name+ending(kind))
		if err != nil {
			continue
		}
		v, problems := document.ParseAll(text, document.Limits{})
		if problems.HasErrors() {
			return "", nil, fmt.Errorf("%s: %w", p.Name+ending(kind), problems.Err())
		}
		set := Settings{}
		chosen, _ := v.Get("x-pack-set")
		for name, value := range chosen.Members() {
			set[name] = value
		}
		return textOf(v, "x-pack"), set, nil
	}
	return "", Settings{}, nil
}

// changes returns what differs in a file: pointers of definitions, and an empty pointer for other files.
func changes(f File, text []byte) []string {
	read := func(src []byte) (document.Value, bool) {
		if strings.HasSuffix(f.Name, ".json") {
			v, problems := document.ParseAll(src, document.Limits{})
			return v, !problems.HasErrors()
		}
		v, problems := document.FromYAML(src)
		return v, !problems.HasErrors()
	}
	if f.Kind == Page {
		if bytes.Equal(f.Text, text) {
			return nil
		}
		return []string{""}
	}
	want, _ := read(f.Text)
	got, readable := read(text)
	switch {
	case !readable:
		return []string{""}
	case document.Equal(want, got):
		return nil
	default:
		return differing(nil, want, got)
	}
}

// differing returns the pointers below which two values differ.
func differing(at []string, a, b document.Value) []string {
	if a.Kind() != document.Object || b.Kind() != document.Object {
		if document.Equal(a, b) {
			return nil
		}
		return []string{document.Pointer(at...)}
	}
	var all []string
	for name, value := range a.Members() {
		other, there := b.Get(name)
		below := slices.Concat(at, []string{name})
		if !there {
			all = append(all, document.Pointer(below...))
			continue
		}
		all = append(all, differing(below, value, other)...)
	}
	for name := range b.Members() {
		if _, there := a.Get(name); !there {
			all = append(all, document.Pointer(append(at[:len(at):len(at)], name)...))
		}
	}
	return all
}
