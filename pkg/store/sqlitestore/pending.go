package sqlitestore

// counterKey is a counter as it is stored.
type counterKey struct{ owner, name string }

// pending are the states of counters that a transaction has still to write. Batches
// of one group often count in the same one: it is written once, however many they are.
type pending struct {
	counters map[counterKey]int64
	windows  map[counterKey]window
}

func newPending() pending {
	return pending{counters: map[counterKey]int64{}, windows: map[counterKey]window{}}
}

func (p *pending) clear() {
	clear(p.counters)
	clear(p.windows)
}

// flush writes pending changes.
func (w *writer) flush() error {
	for key, value := range w.pending.counters {
		if err := w.setCounter.run(key.owner, key.name, value); err != nil {
			return fail("storing a counter", err)
		}
	}
	for key, state := range w.pending.windows {
		if err := w.setWindow.run(key.owner, key.name, state.span, state.total); err != nil {
			return fail("storing a counter", err)
		}
	}
	w.pending.clear()
	return nil
}
