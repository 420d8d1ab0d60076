// Package jail compiles what a workflow's state forbids into a profile that a kernel can enforce on
// one command line.
//
// It is pure: Compile turns rules into a Profile, and Profile.On turns the profile into paths of one
// machine. Package services/internal/jailer enforces the result.
package jail

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Level counts how much of a profile a kernel enforces.
type Level int

// The levels. Each has all of the one before.
const (
	// None enforces nothing.
	None Level = 0
	// Files enforces which files can be read and written (Landlock, any version).
	Files Level = 1
	// Scoped also enforces signals, abstract sockets and the ports of TCP connections (Landlock ABI 6
	// and seccomp).
	Scoped Level = 2
	// Full enforces the complete profile (user, mount, process and network namespaces as well).
	Full Level = 3
)

// Writes decides what happens to writes into the workspace.
type Writes string

// The values of Writes.
const (
	// WritesAllow lets the command change the workspace, except for protected files.
	WritesAllow Writes = "allow"
	// WritesDeny makes the workspace read-only: a write fails with EROFS or EACCES.
	WritesDeny Writes = "deny"
	// WritesDiscard gives the command a copy-on-write view: a write succeeds, and is dropped when the
	// command ends. Below level Full it is WritesDeny.
	WritesDiscard Writes = "discard"
)

// Network decides which hosts a command reaches.
type Network string

// The values of Network.
const (
	// NetworkNone leaves only the loopback of the jail itself.
	NetworkNone Network = "none"
	// NetworkHosts leaves a proxy that connects to Hosts alone.
	NetworkHosts Network = "hosts"
	// NetworkOpen leaves the network of the machine.
	NetworkOpen Network = "open"
)

// Limits bound one command; 0 is no limit.
type Limits struct {
	Processes   int   `json:"processes,omitempty"`
	MemoryMB    int64 `json:"memory_mb,omitempty"`
	CPUSeconds  int64 `json:"cpu_seconds,omitempty"`
	WallSeconds int64 `json:"wall_seconds,omitempty"`
	OutputBytes int64 `json:"output_bytes,omitempty"`
	// ScratchMB bounds what WritesDiscard and throw-away caches may hold; 2,048 when 0.
	ScratchMB int64 `json:"scratch_mb,omitempty"`
	// KeptMB bounds what the run may keep on the disk between commands, in /tmp and copies of caches; 4,096 when 0.
	KeptMB int64 `json:"kept_mb,omitempty"`
}

// Rules are the settings of `meta.jail` and of a state's `jail`.
type Rules struct {
	// Level is the least level at which a command may run; None asks for no jail.
	Level Level `json:"level,omitempty"`
	// Writes applies where the state has no tool that edits: WritesDiscard when empty.
	Writes Writes `json:"writes,omitempty"`
	// Read are paths that are hidden otherwise, such as "~/.ssh".
	Read []string `json:"read,omitempty"`
	// Write are paths outside of the workspace that may be changed.
	Write []string `json:"write,omitempty"`
	// Caches are folders that a command may change in a copy of its run: of the workspace, such as
	// "target", or of the user, such as "~/.cache/foo".
	Caches []string `json:"caches,omitempty"`
	// Hosts are names such as "proxy.golang.org", "*.example.com" and "*" for any, with an optional port.
	// Nil: none where the state only reads, any elsewhere.
	Hosts []string `json:"hosts,omitempty"`
	// Lend are environment variables with credentials that are removed otherwise.
	Lend []string `json:"lend,omitempty"`
	// Background lets programs outlive the command that has started them.
	Background bool   `json:"background,omitempty"`
	Limits     Limits `json:"limits,omitzero"`
}

// Command is what the compiler knows of one command line.
type Command struct {
	// Level is the one at which the caller runs the command.
	Level Level
	// ReadOnly is true where the state has no tool that edits.
	ReadOnly bool
	// Writes and Reaches are true where the author's allowed_commands name a program of the line that
	// is known to write, or to act on other machines: it does so in a ReadOnly state as well.
	Writes, Reaches bool
	// Repository is true where the line changes the repository of git and no file of the workspace, by
	// commands such as git commit: a ReadOnly state allows that.
	Repository bool
	// Check is true where the line has a command that evidence asks for.
	Check bool
	// Reread is true of such a line where programs in the background may change files.
	Reread bool
	// Workspace and Folder are absolute paths; Folder is where the command starts.
	Workspace, Folder string
	// DropEnv are patterns of variables to remove, SetEnv are variables to set.
	DropEnv []string
	SetEnv  map[string]string
	// Programs are the programs of the line that act on other machines and that the author's allowed_commands
	// name: their credentials are lent.
	Programs []string
	// Remotes is true where git keeps remotes and upstreams of branches in its settings, and no other
	// command of the line could write there.
	Remotes bool
}

// Profile is what is enforced on one command, in terms that hold on every machine: paths begin with
// "~/" or "/", or are relative to the workspace. Protect precedes Write, Hide precedes both, and what
// is in no list is readable. Its JSON is canonical: the same profile has the same bytes.
type Profile struct {
	// Version is 1.
	Version int `json:"version"`
	// Level is the least level that enforces it; a jail that can do less starts nothing.
	Level     Level    `json:"level"`
	Workspace string   `json:"workspace,omitempty"`
	Folder    string   `json:"folder,omitempty"`
	Writes    Writes   `json:"writes"`
	Write     []string `json:"write,omitempty"`
	Caches    []string `json:"caches,omitempty"`
	Protect   []string `json:"protect,omitempty"`
	// Below are names that are protected in each folder below the workspace, where files are put back as they were.
	Below      []string          `json:"below,omitempty"`
	Hide       []string          `json:"hide,omitempty"`
	Network    Network           `json:"network"`
	Hosts      []string          `json:"hosts,omitempty"`
	DropEnv    []string          `json:"drop_env,omitempty"`
	SetEnv     map[string]string `json:"set_env,omitempty"`
	Lend       []string          `json:"lend,omitempty"`
	Background bool              `json:"background,omitempty"`
	// Fresh has the command start from the machine's own caches and an empty /tmp, and keep nothing of
	// them: earlier commands of the run cannot decide its outcome.
	Fresh bool `json:"fresh,omitempty"`
	// Reread has the jail read all files of the workspace for the tree before the command: a program that has one mapped into
	// its memory changes it without a new time.
	Reread bool `json:"reread,omitempty"`
	// Nest lets the command make jails of its own, inside of this one. No workflow sets it.
	Nest   bool   `json:"nest,omitempty"`
	Limits Limits `json:"limits,omitzero"`
}

// Digest returns "sha256:" and the hash of the profile's JSON.
func (p *Profile) Digest() string {
	sum := sha256.Sum256(p.JSON())
	return "sha256:" + hex.EncodeToString(sum[:])
}

// JSON returns the profile's canonical bytes.
func (p *Profile) JSON() []byte {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers
	}
	return data
}
