// Package datadir is the layout of the folder in which `interlock up` keeps
// everything, and in which the CLI and the hook on the same machine find it.
package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Default is the data folder unless told otherwise.
const Default = ".interlock"

// maxSocketPath is the longest path of a unix socket on Linux.
const maxSocketPath = 107

// Dir is a data folder.
type Dir string

// Database is the embedded store.
func (d Dir) Database() string { return filepath.Join(string(d), "interlock.db") }

// NATS is the embedded NATS server's storage.
func (d Dir) NATS() string { return filepath.Join(string(d), "nats") }

// Tokens is the file with a token per role.
func (d Dir) Tokens() string { return filepath.Join(string(d), "tokens.json") }

// Socket is the unix socket of the hook, or empty when its path would be too
// long for one.
func (d Dir) Socket() string {
	path, err := filepath.Abs(filepath.Join(string(d), "hook.sock"))
	if err != nil || len(path) > maxSocketPath {
		return ""
	}
	return path
}

func (d Dir) endpoints() string { return filepath.Join(string(d), "endpoints.json") }

// Make creates the folder, for its owner only.
func (d Dir) Make() error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("create the data folder: %w", err)
	}
	return nil
}

// Endpoints is where a running `interlock up` can be reached.
type Endpoints struct {
	HTTP   string `json:"http"`
	GRPC   string `json:"grpc"`
	NATS   string `json:"nats"`
	Socket string `json:"socket,omitempty"`
	PID    int    `json:"pid"`
}

// WriteEndpoints records where this process serves.
func (d Dir) WriteEndpoints(e Endpoints) error {
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("encode endpoints: %w", err)
	}
	temporary := d.endpoints() + ".new"
	if err := os.WriteFile(temporary, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write endpoints: %w", err)
	}
	if err := os.Rename(temporary, d.endpoints()); err != nil {
		return fmt.Errorf("write endpoints: %w", err)
	}
	return nil
}

// RemoveEndpoints forgets where this process served.
func (d Dir) RemoveEndpoints() { _ = os.Remove(d.endpoints()) }

// ReadEndpoints answers what was recorded; the zero value when nothing was.
func (d Dir) ReadEndpoints() (Endpoints, error) {
	var e Endpoints
	data, err := os.ReadFile(d.endpoints())
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return e, fmt.Errorf("read endpoints: %w", err)
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return e, fmt.Errorf("read endpoints %s: %w", d.endpoints(), err)
	}
	return e, nil
}
