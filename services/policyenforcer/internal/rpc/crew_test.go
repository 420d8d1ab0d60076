package rpc

import (
	"sync"
	"testing"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// Every message is worked on once, no matter who does it, and end waits for all.
func TestCrewWorksOnEveryMessage(t *testing.T) {
	t.Parallel()
	const messages = 1000
	var mu sync.Mutex
	seen := map[uint64]int{}
	c := newCrew(func(req *policyv1.CheckToolCallsRequest) {
		mu.Lock()
		defer mu.Unlock()
		seen[req.GetCorrelationId()]++
	})
	for i := range uint64(messages) {
		c.begin(&policyv1.CheckToolCallsRequest{CorrelationId: i})
	}
	c.end()
	if len(seen) != messages {
		t.Errorf("%d of %d messages were worked on", len(seen), messages)
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("message %d was worked on %d times", id, times)
		}
	}
	c.end() // and again, as its stream may
}

// A message never waits for another one's work.
func TestCrewWorksConcurrently(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	all.Add(inFlight)
	c := newCrew(func(*policyv1.CheckToolCallsRequest) {
		all.Done()
		all.Wait()
	})
	for range inFlight {
		c.begin(&policyv1.CheckToolCallsRequest{})
	}
	c.end()
}
