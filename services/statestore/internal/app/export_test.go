package app

import (
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// Swept are the kinds of records whose timers are fired.
var Swept = swept

// Waiting counts the edits that wait for those of the commit that is in progress.
func (a *App) Waiting(stateID string) int {
	return a.Editor.Waiting(ports.StateKey("default", stateID))
}

// Wait returns a channel that receives when a waiter for a state, or with an empty id
// for a task, is woken in this process.
func (a *App) Wait(stateID string) (<-chan struct{}, func()) {
	if stateID == "" {
		return a.ports.Changes.Wait(member.AnyTask)
	}
	return a.ports.Changes.Wait(ports.StateKey("default", stateID))
}

// Watched counts the states whose changes are awaited in this process.
func (a *App) Watched() int { return a.ports.Changes.Waiting() }
