package app

// Waiting counts the edits that wait for those of the commit that is under way.
func (a *App) Waiting(stateID string) int {
	a.writers.mu.Lock()
	defer a.writers.mu.Unlock()
	if q, ok := a.writers.queues[stateKey("default", stateID)]; ok {
		return len(q.waiting)
	}
	return 0
}
