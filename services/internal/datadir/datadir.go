// Package datadir is the layout of the folder in which `interlock up` keeps
// everything, and in which the CLI and the hook on the same machine find it.
//
// It must never hold a secret itself, and it stays light: the hook starts with
// it before every tool call.
package datadir

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Default is the name of the pointer in a workspace to its data folder, and of a data folder
// that is in the workspace.
const Default = ".interlock"

// maxSocketPath is the longest path of a unix socket that every system takes.
const maxSocketPath = 103

// Dir is a data folder.
type Dir string

// Database returns the embedded store.
func (d Dir) Database() string { return d.join("interlock.db") }

// NATS returns the embedded NATS server's storage.
func (d Dir) NATS() string { return d.join("nats") }

// Tokens returns the server's file with hashes of tokens.
func (d Dir) Tokens() string { return d.join("tokens.json") }

// Local returns the file with the tokens of programs of this machine: of roles that neither decide nor
// change rules, unless the server runs without presence.
func (d Dir) Local() string { return d.join("local.json") }

// TokenKey returns the file with the key of session tokens.
func (d Dir) TokenKey() string { return d.join("token.key") }

// ReceiptKey returns the file with the key that receipts are signed with; its public part is
// next to it, with .pub behind its name.
func (d Dir) ReceiptKey() string { return d.join("receipt.key") }

// Seal returns the file of the seal of the folder.
func (d Dir) Seal() string { return d.join("seal.json") }

// Mark returns the file in which the seal remembers the newest records that decide.
func (d Dir) Mark() string { return d.join("seal.mark") }

// Socket returns the unix socket of the hook, or empty when its path would be too long
// for one.
func (d Dir) Socket() string { return d.socketFile("hook.sock") }

// PersonSocket returns the unix socket at which people log in from a terminal, or empty when its path
// would be too long for one.
func (d Dir) PersonSocket() string { return d.socketFile("person.sock") }

// GRPCSocket returns the unix socket of the gRPC services when their address wants TLS,
// or empty when its path would be too long for one.
func (d Dir) GRPCSocket() string { return d.socketFile("grpc.sock") }

func (d Dir) socketFile(name string) string {
	path := d.join(name)
	if !strings.HasPrefix(path, "/") {
		wd, err := os.Getwd()
		if err != nil {
			return ""
		}
		path = Dir(wd).join(path)
	}
	if len(path) > maxSocketPath {
		return ""
	}
	return path
}

// TreeCache returns the file in which digests of a workspace remember its contents. Its folder is made; empty
// when that fails.
func (d Dir) TreeCache(workspace string) string {
	if os.MkdirAll(d.join("trees"), 0o700) != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(workspace))
	return d.join("trees/" + hex.EncodeToString(sum[:16]))
}

func (d Dir) endpoints() string { return d.join("endpoints.json") }

func (d Dir) join(name string) string {
	if d == "" {
		return name
	}
	return strings.TrimSuffix(string(d), "/") + "/" + name
}

// Make creates the folder, for its owner only, and keeps it out of git and of searches: it is
// often inside of a workspace, and it has tokens.
func (d Dir) Make() error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("create the data folder: %w; choose another with --data-dir", err)
	}
	// Search tools of agents read .ignore also where there is no repository.
	for _, name := range []string{".gitignore", ".ignore"} {
		file := d.join(name)
		if _, err := os.Stat(file); err == nil {
			continue // a full disk would not take it again
		}
		if err := os.WriteFile(file, []byte("*\n"), 0o600); err != nil {
			return fmt.Errorf("write to the data folder: %w; choose another with --data-dir", err)
		}
	}
	return nil
}

// Endpoints is where a running `interlock up` can be reached.
type Endpoints struct {
	HTTP       string `json:"http"`
	GRPC       string `json:"grpc"`
	GRPCSocket string `json:"grpc_socket,omitempty"` // for this machine, when the address wants TLS
	NATS       string `json:"nats"`
	Socket     string `json:"socket,omitempty"` // of the hook
	PID        int    `json:"pid"`
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

// ReadEndpoints returns the recorded endpoints; the zero value without a record.
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
		return Endpoints{}, fmt.Errorf("%s cannot be read: %w; restart `interlock up`", d.endpoints(), err)
	}
	return e, nil
}

// NotServed explains that no server runs in the folder, and where to start one.
func (d Dir) NotServed() string {
	text := "no server runs in " + string(d) + ": "
	if workspace := d.Workspace(); workspace != "" {
		return text + "start `interlock up` in " + workspace
	}
	if inner, ok := In(string(d)); ok { // a workspace was named instead of its folder
		return text + "give --data-dir " + string(inner)
	}
	if root, err := Root(); err == nil && d.parent() == root {
		return text + "start `interlock up` in its workspace"
	}
	if above, found := strings.CutSuffix(string(d), "/"+Default); found {
		return text + "start `interlock up` in " + cmp.Or(above, "/")
	}
	return text + "start `interlock up --data-dir " + string(d) + "`"
}

// Served returns the nearest data folder in or above a folder where a server runs, or empty.
func Served(start string) Dir {
	for folder := Dir(start); folder != ""; folder = folder.parent() {
		dir, ok := In(string(folder))
		if e, err := dir.ReadEndpoints(); ok && err == nil && e.GRPC != "" {
			return dir
		}
	}
	return ""
}

// parent returns the folder above, empty above the root.
func (d Dir) parent() Dir {
	trimmed := strings.TrimSuffix(string(d), "/")
	cut := strings.LastIndexByte(trimmed, '/')
	if cut < 0 {
		return ""
	}
	return Dir(trimmed[:max(cut, 1)])
}

// Find returns the data folder of the nearest workspace, here or upwards, that a server has
// served; it is empty when there is none. A pointer on the way that does not count is an error, not
// passed by. Agents run commands in their current folder.
//
// Folders and pointers of other users do not count: their owner could answer every question
// with yes.
func Find(start string) (Dir, error) {
	for folder := Dir(start); folder != ""; folder = folder.parent() {
		if dir, ok := In(string(folder)); ok {
			return dir, nil
		}
		if info, err := os.Stat(folder.join(Default)); err == nil && !info.IsDir() && ours(folder.join(Default)) {
			return pointed(string(folder))
		}
	}
	return "", nil
}
