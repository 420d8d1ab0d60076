package presence

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/interlock-run/interlock/pkg/bus"
)

const (
	// silent is when a process that was not heard is one that may be gone.
	silent = 3 * Interval
	// forgotten is when it is listed no more.
	forgotten = 10 * time.Minute
	// most processes are remembered, and largest is the size of one announcement: with that
	// many dependencies and kinds of timers, for short words become long ones when they are
	// shown.
	most    = 1000
	largest = 16 << 10
	longest = 64
)

// Heard is a process and when it was heard.
type Heard struct {
	Process
	HeardAt time.Time `json:"heard_at" doc:"When it announced itself last."`
	Silent  bool      `json:"silent" doc:"True when it has missed three announcements: it has ended, or cannot reach NATS."`
}

// Board remembers the processes that were heard. The zero value has heard none.
type Board struct {
	mu    sync.Mutex
	heard map[[2]string]Heard
}

// Follow returns work that listens until its context ends.
func (b *Board) Follow(endpoint bus.Endpoint) func(context.Context) error {
	return func(ctx context.Context) error {
		conn := connect(ctx, endpoint, "gateway presence")
		if conn == nil {
			return nil
		}
		defer conn.Close()
		_, err := conn.Subscribe(Subject, func(m *nats.Msg) { b.hear(m.Data, time.Now().UTC()) })
		if err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
}

// hear notes the announcement of a process. Other messages are ignored: NATS may let others
// publish.
func (b *Board) hear(data []byte, now time.Time) {
	var p Process
	if len(data) > largest || json.Unmarshal(data, &p) != nil || p.Service == "" || p.Instance == "" ||
		len(p.Down) > longest || len(p.Timers) > longest {
		return
	}
	if p.Down == nil {
		p.Down = []string{}
	}
	if p.Timers == nil {
		p.Timers = []Timers{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := [2]string{p.Service, p.Instance}
	if _, known := b.heard[key]; !known && len(b.heard) >= most {
		b.forget(now, silent) // who speaks is listed before who does not any more
		if len(b.heard) >= most {
			return
		}
	}
	if b.heard == nil {
		b.heard = map[[2]string]Heard{}
	}
	b.heard[key] = Heard{Process: p, HeardAt: now}
}

// forget drops those that were not heard for longer than that; mu is held.
func (b *Board) forget(now time.Time, than time.Duration) {
	for key, h := range b.heard {
		if now.Sub(h.HeardAt) > than {
			delete(b.heard, key)
		}
	}
}

// Processes lists those that were heard of late, by service and instance.
func (b *Board) Processes(now time.Time) []Heard {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(now, forgotten)
	all := make([]Heard, 0, len(b.heard))
	for _, h := range b.heard {
		h.Silent = now.Sub(h.HeardAt) > silent
		all = append(all, h)
	}
	slices.SortFunc(all, func(x, y Heard) int {
		return cmp.Or(cmp.Compare(x.Service, y.Service), cmp.Compare(x.Instance, y.Instance))
	})
	return all
}
