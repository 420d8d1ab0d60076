// Package app holds the state-store's use cases: load, decide in the pure core (packages
// document and session), commit, answer. It makes no decision itself, and it knows
// neither gRPC nor a particular store.
package app

import (
	"errors"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/internal/sweep"
	"github.com/interlock-run/interlock/services/internal/wakeup"
)

// Kinds of the records that the state-store owns.
const (
	kindSchema = "schema"
	// KindState is also the entity of events about states.
	KindState = ledger.KindState
	// kindLock is the lock on a state, under the state's id.
	kindLock = "state_lock"
	// KindSession is under a session's home, an id that lives in the shard of its
	// tree. See ref.
	KindSession = ledger.KindSession
	// kindRef maps a name, or an id that a caller chose, to a session's home.
	kindRef = ledger.KindSessionRef

	kindComponent = "component"
	kindAgent     = ledger.KindAgent
	// kindValues are the values of a component that are kept.
	kindValues = "component_values"
	// kindExecution is a use of a component that has begun.
	kindExecution = "component_execution"
)

// Config of the use cases. Zero fields mean the defaults.
type Config struct {
	Session session.Config
	// ToolPrefix is that of the tools which prompts name (S15.8).
	ToolPrefix string
	// MaxStateBytes is the longest state; 1 MiB (S10.2).
	MaxStateBytes int
	// HistoryVersions is how many versions of a state are kept at least; 0 for all
	// (S10.6).
	HistoryVersions int64
	// Retention is how long a state outlives the end of its root session; 0 keeps it
	// forever (S10.8).
	Retention time.Duration
	// CacheBytes bounds the documents kept in memory; 64 MiB.
	CacheBytes int
	// Timers learns how late timers are; nil if there is none.
	Timers *sweep.Watch
}

func (c Config) withDefaults() Config {
	c.Session = c.Session.WithDefaults()
	if c.MaxStateBytes <= 0 {
		c.MaxStateBytes = document.DefaultBytes
	}
	if c.CacheBytes <= 0 {
		c.CacheBytes = 64 << 20
	}
	return c
}

// Caller is who asks, and where.
type Caller struct {
	Namespace string
	Principal auth.Principal
	// Session is the one that acts, by id or name; empty for none.
	Session string
}

func (c Caller) agent() bool { return c.Principal.Role.Drives() }

// Announcer turns a change into the event that is committed with it.
type Announcer interface {
	SchemaEvent(namespace, actor string, v *Schema) (store.Event, error)
	StateEvent(namespace, actor string, st *State, change *Change) (store.Event, error)
	StateDeleted(namespace, actor string, st *State, forced bool, at time.Time) (store.Event, error)
	StateLocked(namespace, actor, stateID string, lease store.Lease, locked bool, at time.Time) (store.Event, error)
	SessionCreated(namespace, actor string, s *session.Session) (store.Event, error)
	SessionEvent(namespace, actor string, s *session.Session, ev session.Event) (store.Event, error)
	SessionGranted(namespace, actor string, s *session.Session, stateID string, revoked bool) (store.Event, error)
	ComponentEvent(namespace, actor, kind string, c *Component, at time.Time) (store.Event, error)
	CommittedEvent(namespace, actor string, ex *Execution, at time.Time) (store.Event, error)
}

// App is the state-store's use cases over one store.
type App struct {
	store    store.Store
	announce Announcer
	clock    func() time.Time
	log      *slog.Logger
	cfg      Config

	schemas  *snapshot.Cache[schemaKey, *compiled]
	states   *snapshot.Sized[store.Key, *State]
	authors  *snapshot.Cache[store.Key, *authors]
	sessions *snapshot.Cache[store.Key, *Member]
	refs     *snapshot.Cache[store.Key, string]
	compiler *document.SchemaCache
	writers  writers
	turns    *retry.Turns
	changes  *wakeup.Hub
}

// schemaBytes bounds the memory of the compiled schemas that are kept.
const schemaBytes = 128 << 20

// New makes the use cases. clock is time.Now outside of tests.
func New(st store.Store, announce Announcer, clock func() time.Time, log *slog.Logger, cfg Config) *App {
	cfg = cfg.withDefaults()
	a := &App{
		store: st, announce: announce, clock: clock, log: log, cfg: cfg,
		schemas:  snapshot.New[schemaKey, *compiled](schemaBytes),
		states:   snapshot.NewSized[store.Key, *State](cfg.CacheBytes),
		authors:  snapshot.New[store.Key, *authors](authorsKept),
		sessions: snapshot.New[store.Key, *Member](16_384),
		refs:     snapshot.New[store.Key, string](16_384),
		compiler: document.NewSchemaCache(1024),
		writers:  writers{queues: map[store.Key]*queue{}},
		turns:    retry.NewTurns(),
		changes:  wakeup.New(),
	}
	for _, forget := range []func(){a.schemas.Clear, a.states.Clear, a.authors.Clear, a.sessions.Clear, a.refs.Clear} {
		st.Gate().OnTurn(forget)
	}
	return a
}

// Caches returns its caches in memory.
func (a *App) Caches() []snapshot.Use {
	return []snapshot.Use{
		a.schemas.UseBytes("state_schemas"), a.states.Use("states"), a.sessions.Use("sessions"),
		{Name: "state_compiled_schemas", Bytes: true, Of: a.compiler.Size},
	}
}

// Changed wakes those of this process who wait for a change of an entity.
func (a *App) Changed(namespace, entity, id string) {
	switch entity {
	case KindState:
		a.changes.Wake(stateKey(namespace, id))
	case "task", KindSession:
		a.changes.Wake(anyTask)
	}
}

func (a *App) now() time.Time { return a.clock().UTC() }

func notFound(err error) bool { return errors.Is(err, store.ErrNotFound) }

// violations shows problems of a document as those of a request's field.
func violations(e *fault.Error, field string, problems document.Problems) *fault.Error {
	for _, p := range problems {
		if p.Severity != document.SeverityWarning {
			e = e.Violate(field+p.Pointer, p.Code, p.Message)
		}
	}
	return e
}

// badJSON refuses a document that cannot be read.
func badJSON(field string, problems document.Problems) error {
	for _, p := range problems {
		if p.Code == document.CodeTooLarge {
			return fault.New(fault.TooLarge, "%s: %s", field, p.Message)
		}
	}
	return violations(fault.New(fault.InvalidJSON, "%s: %s", field, first(problems)), "/"+field, problems)
}

// first returns one line for callers that read only the message.
func first(problems document.Problems) string {
	shown := ""
	count := 0
	for _, p := range problems {
		if p.Severity == document.SeverityWarning {
			continue
		}
		if count == 0 {
			shown = p.String()
		}
		count++
	}
	switch {
	case count > 2:
		return shown + " (and " + plural(count-1) + ")"
	case count == 2:
		return shown + " (and one more)"
	default:
		return shown
	}
}
