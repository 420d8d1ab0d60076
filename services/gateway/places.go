package gateway

import (
	"os"
	"path/filepath"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// PlacesOf are what no agent on this machine may reach with its tools: a data folder and
// this program.
func PlacesOf(data string) toolcall.Places {
	var p toolcall.Places
	if full, err := filepath.Abs(data); err == nil && data != "" {
		p.Data = []string{full}
		if real, err := filepath.EvalSymlinks(full); err == nil && real != full {
			p.Data = append(p.Data, real)
		}
	}
	if program, err := os.Executable(); err == nil {
		p.Programs = []string{program}
	}
	return p
}
