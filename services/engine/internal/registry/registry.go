// Package registry stores the versions of workflows and processes, compiles them, and plans the
// migration of runs between versions.
package registry

import (
	"time"

	"github.com/interlock-run/interlock/pkg/auth"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/verify/migrate"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/personread"
	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// Announcer turns a new version into the event that is committed with it.
type Announcer interface {
	WorkflowEvent(namespace, actor string, version *Version) (store.Event, error)
	catalog.Announcer
}

// Registry stores the versions of workflows and processes, and compiles them.
type Registry struct {
	ports    *ports.Ports
	announce Announcer
	people   *personread.Reader
	machines *snapshot.Cache[machineKey, definition.Compiled]
	plans    *snapshot.Cache[planKey, *migrate.Plan]
}

// cacheBytes bounds the memory of each cache.
const cacheBytes = 256 << 20

// New returns the registry of a store.
func New(p *ports.Ports, announce Announcer) *Registry {
	reg := &Registry{
		ports: p, announce: announce, people: personread.New(p.Store),
		machines: snapshot.New[machineKey, definition.Compiled](cacheBytes),
		plans:    snapshot.New[planKey, *migrate.Plan](cacheBytes),
	}
	p.Store.Gate().OnTurn(reg.machines.Clear)
	p.Store.Gate().OnTurn(reg.plans.Clear)
	return reg
}

// Cache returns the cache of compiled definitions in memory.
func (reg *Registry) Cache() snapshot.Use { return reg.machines.UseBytes("engine_definitions") }

// KindWorkflow is the kind of the records of workflows and processes.
const KindWorkflow = ledger.KindWorkflow

// kindClaim marks a workflow of an agent that an operator registered too.
const kindClaim = "workflow_claim"

// Version is one immutable version of a workflow or a process (S1.6). Its number is
// the version of its record, so it can neither skip nor be given twice.
type Version struct {
	// ID is that of the process, the same in each of its versions. Workflows have none, nor has
	// a version of a process from before there were ids.
	ID         string    `json:"id,omitempty"`
	Name       string    `json:"name"`
	Process    bool      `json:"process,omitempty"`
	Number     int64     `json:"-"`
	Digest     string    `json:"digest"`
	Definition []byte    `json:"definition"`
	CreatedAt  time.Time `json:"created_at"`
	CreatedBy  string    `json:"created_by"`
	Role       auth.Role `json:"role"`
	// Staged says that the registration has not made it live, and Before is the version that was then; 0 for none.
	Staged bool  `json:"staged,omitempty"`
	Before int64 `json:"before,omitempty"`

	// Live is the live version now; 0 for none. Retired is set when no new runs are started. They are of the name,
	// and not of this version.
	Live    int64               `json:"-"`
	Retired *catalog.Retirement `json:"-"`
}

// own returns the version that is live by the record alone, when this is the latest.
func (v *Version) own() int64 {
	if v.Staged {
		return v.Before
	}
	return v.Number
}

// what returns its kind, for messages.
func (v *Version) what() string {
	if v.Process {
		return "process"
	}
	return "workflow"
}

type machineKey struct {
	namespace, name string
	version         int64
}
