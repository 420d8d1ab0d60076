// Package packset reads packs of this program as one workspace uses them.
package packset

import (
	"github.com/interlock-run/interlock/services/internal/beginning"
)

// Pack is a pack with the settings that a workspace suggests.
type Pack struct {
	Name, Title string
	// Workflow is the text of its workflow; nil for a pack of policies.
	Workflow []byte
	// Files are those that `interlock pack add` writes.
	Files []File
	// Begin are its definitions, for a server to begin with.
	Begin []beginning.Definition
}

// File is a file of a pack.
type File struct {
	Name string
	Text []byte
}
