package caller

import (
	"fmt"

	"github.com/interlock-run/interlock/pkg/typeid"
)

// Identity is who calls when no HTTP request says so.
type Identity struct {
	Binding
	// Token is the bearer token sent to the services; empty for none.
	Token string
	// For has the token of the person on whose behalf the caller acts, as "Bearer TOKEN"; empty for none.
	For string
	// Namespace is empty for the default one.
	Namespace string
	// Workspace is the root that file globs are relative to, sent when a
	// workflow is loaded.
	Workspace string
	// StateID is the shared state to work on; empty for that of the session. It only
	// names it: the state-store decides on the session's rights.
	StateID string
}

// Validate returns an error that names the part that is too long, or not printable.
func (i Identity) Validate() error {
	if len(i.StateID) > maxStateID || !printable(i.StateID) {
		return fmt.Errorf("the workflow state's id must be at most %d printable ASCII characters", maxStateID)
	}
	return i.validate()
}

// Limits of ids, as the contracts have them.
const (
	MaxRunID     = 128
	MaxSessionID = 256
	maxStateID   = 128
	maxNamespace = 128
	MaxWorkspace = 4096
)

// Binding says which run a connection works on: one run by its id, or the run that a
// session drives. A run id wins. The zero Binding is unbound.
type Binding struct {
	RunID     string
	SessionID string
}

// Bound reports whether there is anything to judge calls by.
func (b Binding) Bound() bool { return b.RunID != "" || b.SessionID != "" }

// BindingFromEnv returns the binding of a stdio server: INTERLOCK_RUN, or else
// INTERLOCK_SESSION, or else a new session for this process.
func BindingFromEnv(getenv func(string) string) (Binding, error) {
	b := Binding{RunID: getenv("INTERLOCK_RUN"), SessionID: getenv("INTERLOCK_SESSION")}
	if err := b.validate(); err != nil {
		return b, err
	}
	if b.Bound() {
		return b, nil
	}
	// Not the bare id: only the state-store names sessions so.
	return Binding{SessionID: "stdio-" + typeid.New(typeid.Session)}, nil
}

func (b Binding) validate() error {
	if len(b.RunID) > MaxRunID || !printable(b.RunID) {
		return fmt.Errorf("the run id must be at most %d printable ASCII characters", MaxRunID)
	}
	if len(b.SessionID) > MaxSessionID || !printable(b.SessionID) {
		return fmt.Errorf("the session must be at most %d printable ASCII characters", MaxSessionID)
	}
	return nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
