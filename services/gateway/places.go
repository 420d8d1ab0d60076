package gateway

import (
	"os"
	"path/filepath"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// PlacesOf returns what no agent on this machine may reach with its tools: a data folder, the
// folder of all default ones, and this program.
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
	if program, err := os.Executable(); err == nil {
		p.Programs = []string{program}
	}
	return p
}
