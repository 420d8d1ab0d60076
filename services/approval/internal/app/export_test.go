package app

import (
	"context"
	"sync"

	"github.com/interlock-run/interlock/pkg/store"
)

// DeliverOnce sends what is due now, and answers when that is over.
func (a *App) DeliverOnce(ctx context.Context) {
	a.spreader().Once(ctx)
	if a.webhooks == nil {
		return
	}
	var all sync.WaitGroup
	for _, receiver := range a.webhooks.Receivers() {
		all.Go(func() { a.deliverer(receiver).Once(ctx) })
	}
	all.Wait()
}

// WaitSettled waits until the engine was told of all that it is told of behind.
func (a *App) WaitSettled() { a.behind.Wait() }

// Watching counts those of this process who watch a namespace, or wait for an approval.
func (a *App) Watching(namespace string) int {
	a.watchers.mu.Lock()
	defer a.watchers.mu.Unlock()
	return len(a.watchers.all[namespace]) + a.changes.Waiting()
}

// SetPageBytes makes the pages of lists smaller.
func (a *App) SetPageBytes(n int) { a.pageBytes = n }

// DueTimer is the timer of an approval.
func DueTimer(r *Record) store.TimerID { return r.timer() }
