package gateway

import (
	"os"
	"path/filepath"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/shield"
)

// PlacesOf returns the places that no agent on this machine may reach with its tools: a data
// folder, the folder of all default ones, and this program.
func PlacesOf(data string) toolcall.Places {
	var p toolcall.Places
	folders := []string{data}
	if root, err := datadir.Root(); err == nil {
		folders = append(folders, string(root))
	}
	for _, folder := range folders {
		full, err := filepath.Abs(folder)
		if err != nil || folder == "" {
			continue
		}
		p.Data = append(p.Data, full)
		if real, err := filepath.EvalSymlinks(full); err == nil && real != full {
			p.Data = append(p.Data, real)
		}
	}
	if program, err := shield.Executable(); err == nil {
		p.Programs = []string{program}
	}
	return p
}

// thisMachine returns the facts about this machine that jails need. Unknown ones are
// empty.
func thisMachine(data string) jail.Machine {
	real := func(path string, err error) string {
		if err != nil || path == "" {
			return ""
		}
		if full, err := filepath.Abs(path); err == nil {
			path = full
		}
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			path = resolved
		}
		return path
	}
	root, rootErr := datadir.Root()
	return jail.Machine{
		Home: real(os.UserHomeDir()), Program: real(shield.Executable()), DataFolder: real(data, nil), ConfigFolder: real(string(root), rootErr),
		RuntimeDir: real(os.Getenv("XDG_RUNTIME_DIR"), nil),
	}
}
