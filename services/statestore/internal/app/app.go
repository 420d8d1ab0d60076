// Package app joins the rooms of the state-store over one store, and fires their timers. Each
// room loads, decides in the pure core (packages document and session), commits and answers.
package app

import (
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/statestore/internal/agents"
	"github.com/interlock-run/interlock/services/statestore/internal/components"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/prompts"
	"github.com/interlock-run/interlock/services/statestore/internal/schemas"
	"github.com/interlock-run/interlock/services/statestore/internal/sessions"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
	"github.com/interlock-run/interlock/services/statestore/internal/tasks"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// Announcer turns a change into the event that is committed with it.
type Announcer interface {
	schemas.Announcer
	member.Announcer
	components.Announcer
	states.LockAnnouncer
	writes.Announcer
	sessions.Announcer
}

// App has the rooms of the state-store.
type App struct {
	Schemas    *schemas.Schemas
	Names      *member.Names
	Components *components.Registry
	Executions *components.Executions
	Agents     *agents.Agents
	Opener     *opening.Opener
	States     *states.States
	Locks      *states.Locks
	Creator    *writes.Creator
	Editor     *writes.Editor
	Remover    *writes.Remover
	Sessions   *sessions.Sessions
	Tasks      *tasks.Tasks

	ports   *ports.Ports
	members *member.Members
}

// New joins the rooms. clock is time.Now outside of tests.
func New(st store.Store, announce Announcer, clock func() time.Time, log *slog.Logger, cfg ports.Config) *App {
	p := ports.New(st, clock, log, cfg)
	a := &App{ports: p, Schemas: schemas.New(p, announce), members: member.New(p, announce), Components: components.New(p, announce)}
	a.Names = member.NewNames(p, a.members)
	rights := member.NewRights(a.members, a.Names)
	a.Executions = components.NewExecutions(p, announce, a.Components, a.members, a.Names, rights)
	a.Agents = agents.New(p, a.Components)
	a.Opener = opening.New(p, a.Names, rights, a.Components, a.Agents)
	a.States = states.New(p, a.Schemas, a.members, a.Names, rights)
	a.Locks = states.NewLocks(p, announce, a.States, a.members, rights)
	permits := writes.NewPermits(p, a.Schemas)
	a.Creator = writes.NewCreator(p, announce, a.Schemas, a.States, a.members, a.Names, a.Opener)
	a.Editor = writes.NewEditor(p, announce, a.Schemas, a.States, a.members, permits)
	a.Remover = writes.NewRemover(p, announce, a.States, a.members, rights, permits)
	texts := prompts.New(p, a.States, a.Schemas, a.Executions, a.Agents)
	a.Sessions = sessions.New(p, announce, a.members, a.Names, rights, a.States, a.Remover, texts)
	a.Tasks = tasks.New(p, a.members, a.Names, a.Executions, texts)
	return a
}

// Caches returns the caches in memory.
func (a *App) Caches() []snapshot.Use {
	return append(a.Schemas.Caches(), a.States.Cache(), a.members.Cache())
}

// Now returns the time.
func (a *App) Now() time.Time { return a.ports.Now() }

// Changed wakes those of this process that wait for a change of an entity.
func (a *App) Changed(namespace, entity, id string) {
	switch entity {
	case ports.KindState:
		a.ports.Changes.Wake(ports.StateKey(namespace, id))
	case "task", member.Kind:
		a.ports.Changes.Wake(member.AnyTask)
	}
}
