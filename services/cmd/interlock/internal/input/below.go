package input

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/bundle"
	"github.com/interlock-run/interlock/pkg/document"
)

// Below is the ending of an argument that means all files below a folder.
const Below = "/..."

// SetFile is the name of the file that describes a set of definitions.
const SetFile = "interlock.yaml"

// Folder returns the folder of an argument that means all files below it.
func Folder(arg string) (root string, below bool) {
	if arg == "..." {
		return ".", true
	}
	root, below = strings.CutSuffix(filepath.ToSlash(arg), Below)
	return filepath.FromSlash(root + "/"), below
}

// Walk returns the files below a folder, by name, without those in hidden folders.
func Walk(root string, wanted func(name string) bool) (found []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.IsDir() && wanted(d.Name()):
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		return found, fmt.Errorf("read: %w", err)
	}
	return found, nil
}

// Definitions replaces each argument DIR/... by the definitions below that folder, and leaves the others as they are.
// Below a folder, files of scenarios and properties are left out, and so is JSON or YAML that is no definition.
func Definitions(args []string) (files []string, err error) {
	for _, arg := range args {
		root, below := Folder(arg)
		if !below {
			files = append(files, arg)
			continue
		}
		found, err := Walk(root, namesDefinition)
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(file string) bool { return !mayBeDefinition(file) })
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: there are no definitions here; name files, or another folder", arg)
		}
		files = append(files, found...)
	}
	return files, nil
}

// namesDefinition reports that a file is JSON or YAML, and no file of scenarios, of properties, or of a set.
func namesDefinition(name string) bool {
	base := strings.TrimSuffix(name, filepath.Ext(name))
	return IsDefinition(name) && name != SetFile && name != bundle.File && !strings.HasSuffix(base, ".test") && !strings.HasSuffix(base, ".properties")
}

// mayBeDefinition reports that a file has the shape of a definition, or that it cannot be read and so is reported.
func mayBeDefinition(file string) bool {
	text, err := File(file, nil)
	if err != nil {
		return true
	}
	value, problems := Source{Name: file, Text: text}.Parse()
	return problems.HasErrors() || document.KindOf(value) != ""
}
