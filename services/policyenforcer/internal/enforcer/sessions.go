package enforcer

import (
	"context"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/services/internal/sessionread"
)

// Sessions is the port to the status of sessions.
type Sessions interface {
	// Place reads the status of a session. parent is the one in the caller's token, or empty.
	Place(ctx context.Context, namespace, session, parent string) (*sessionread.Place, error)
	// Agent reads the present version of a registered agent, and the name of its policy.
	Agent(ctx context.Context, namespace, name string) (sessionread.Agent, error)
}

// Shared is the port to the states that sessions share.
type Shared interface {
	// Reads returns the present values of a session's state at pointers, without a state id if the
	// session shares no state.
	Reads(ctx context.Context, namespace, session string, pointers []string) (*consent.Reads, error)
}
