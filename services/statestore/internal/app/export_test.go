package app

// Swept are the kinds of records whose timers are fired.
var Swept = swept

// Waiting counts the edits that wait for those of the commit that is under way.
func (a *App) Waiting(stateID string) int {
	a.writers.mu.Lock()
	defer a.writers.mu.Unlock()
	if q, ok := a.writers.queues[stateKey("default", stateID)]; ok {
		return len(q.waiting)
	}
	return 0
}

// Wait returns a channel that receives when who waits for a state, or with an empty id
// for a task, is woken in this process.
func (a *App) Wait(stateID string) (<-chan struct{}, func()) {
	if stateID == "" {
		return a.changes.Wait(anyTask)
	}
	return a.changes.Wait(stateKey("default", stateID))
}

// Watched counts the states that somebody waits for a change of in this process.
func (a *App) Watched() int { return a.changes.Waiting() }
