// Package policystore stores policies, their versions and attachments, and finds the policies that apply to
// a call.
package policystore

import (
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/bundle"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Announcer creates the events of changes of policies.
type Announcer interface {
	PolicyChanged(namespace, actor string, c *Change, at time.Time) (store.Event, error)
	catalog.Announcer
}

// Store stores policies and their attachments, and finds those that apply to a call.
type Store struct {
	store    store.Store
	announce Announcer
	clock    func() time.Time
	log      *slog.Logger
	runs     *runs.Reader
	quota    *quota.Accounts
	halts    *halts.Reader
	// signers may sign sets; none where sets need no signature.
	signers bundle.Keys
	// applied learns of applications of signed sets.
	applied func(time.Time)
	// compile has the settings by which shadows of processes are compiled.
	compile definition.Flags

	// Sets and machines are immutable. An index may be old, so each decision checks its version.
	indexes  *snapshot.Cache[string, *Index]
	sets     *snapshot.Cache[versionKey, *rules.Set]
	machines *snapshot.Cache[shadowKey, *workflow.Machine]
}

// cacheBytes bounds the memory of each cache of definitions.
const cacheBytes = 128 << 20

// New returns the policies in a store. runs reads the sessions of a call, accounts reads counters, and halted
// reads the halts in force.
func New(
	st store.Store, announce Announcer, clock func() time.Time, log *slog.Logger, runs *runs.Reader, accounts *quota.Accounts, halted *halts.Reader,
) *Store {
	s := &Store{
		store: st, announce: announce, clock: clock, log: log, runs: runs, quota: accounts, halts: halted,
		indexes:  snapshot.New[string, *Index](16_384),
		sets:     snapshot.New[versionKey, *rules.Set](cacheBytes),
		machines: snapshot.New[shadowKey, *workflow.Machine](cacheBytes),
	}
	for _, forget := range []func(){s.indexes.Clear, s.sets.Clear, s.machines.Clear} {
		st.Gate().OnTurn(forget)
	}
	return s
}

// CompileBy gives the settings by which shadows of processes are compiled. It is called before the first request.
func (st *Store) CompileBy(flags definition.Flags) { st.compile = flags }

// Caches returns the memory that the caches use.
func (st *Store) Caches() []snapshot.Use {
	return []snapshot.Use{st.sets.UseBytes("enforcer_policies"), st.machines.UseBytes("enforcer_shadow_workflows")}
}
