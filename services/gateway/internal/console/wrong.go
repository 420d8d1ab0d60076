package console

import (
	"maps"
	"net"
	"sync"
	"time"
)

// Log-ins that fail are limited by address. One that is right is never refused: otherwise any
// program on the machine could lock people out.
const (
	maxWrong    = 20 // in a window
	wrongWindow = time.Minute
	retryAfter  = "60"
	// maxAddresses bounds the addresses that are remembered.
	maxAddresses = 10_000
)

type wrongLogins struct {
	mu    sync.Mutex
	since time.Time
	count map[string]int
}

func newWrongLogins() *wrongLogins { return &wrongLogins{count: map[string]int{}} }

// tooMany counts a log-in that failed, and reports whether its address has had too many.
func (l *wrongLogins) tooMany(remote string, now time.Time) bool {
	address, _, err := net.SplitHostPort(remote)
	if err != nil {
		address = remote
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= wrongWindow {
		l.since = now
		maps.DeleteFunc(l.count, func(string, int) bool { return true })
	}
	if _, known := l.count[address]; !known && len(l.count) >= maxAddresses {
		return true
	}
	l.count[address]++
	return l.count[address] > maxWrong
}
