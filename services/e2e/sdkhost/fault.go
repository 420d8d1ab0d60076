package main

import (
	"encoding/json"
	"fmt"
	"sync"
)

// The effects of a fault on one RPC. "Before" is before the server has heard of it, "after" is
// when it has committed and answered.
const (
	refuse      = "refuse"       // answered UNAVAILABLE before
	uncertain   = "uncertain"    // answered COMMIT_UNCERTAIN after
	resetBefore = "reset_before" // the connection is reset before
	resetAfter  = "reset_after"  // the connection is reset after
	hangBefore  = "hang_before"  // never answered, and the server never hears of it
	hangAfter   = "hang_after"   // never answered after
	internal    = "internal"     // answered INTERNAL before
	empty       = "empty"        // answered with an empty message, after
	garble      = "garble"       // answered with bytes that are not a message, after
	alter       = "alter"        // answered with some fields changed, after
	cut         = "cut"          // a stream is reset after that many of its messages
)

// kinds are those faults. A missing listener is not one of them: see down and up.
var kinds = map[string]bool{
	refuse: true, uncertain: true, resetBefore: true, resetAfter: true, hangBefore: true, hangAfter: true,
	internal: true, empty: true, garble: true, alter: true, cut: true,
}

// always is how often a fault happens that names no number and is not to end.
const always = -1

// fault is the fault of the next RPCs of a name.
type fault struct {
	// RPC is the method's name, such as "CheckToolCall".
	RPC string `json:"rpc"`
	Do  string `json:"do"`
	// Times it happens; 1 when absent, -1 for always.
	Times *int `json:"times"`
	// Fields replace those of the answer, with alter: protobuf's JSON.
	Fields json.RawMessage `json:"fields"`
	// Messages of a stream that pass before it is cut.
	Messages int `json:"messages"`
}

func (f fault) check() error {
	switch {
	case f.RPC == "":
		return fmt.Errorf("a fault names no rpc")
	case !kinds[f.Do]:
		return fmt.Errorf("a fault of %s does %q, which is not known", f.RPC, f.Do)
	case (f.Do == alter) != (len(f.Fields) > 0):
		return fmt.Errorf("a fault of %s that does %q: fields are what alter changes", f.RPC, f.Do)
	default:
		return nil
	}
}

// attempt is one RPC as the proxy saw it.
type attempt struct {
	RPC string `json:"rpc"`
	// Key makes repeats of one request recognizable: the call's id, the idempotency key.
	Key string `json:"key"`
	// Tool and OK are those of a check and of a report.
	Tool string `json:"tool,omitempty"`
	OK   bool   `json:"ok"`
	// Request is the request in protobuf's JSON, under the names of the contract.
	Request json.RawMessage `json:"request,omitempty"`
	// Fault that happened to it; empty for none. Hangs is true once no answer will come: of one that
	// hangs after, the server has answered.
	Fault string `json:"fault,omitempty"`
	Hangs bool   `json:"hangs,omitempty"`
	// Answered is true once an answer was passed on.
	Answered bool `json:"answered,omitempty"`
}

// troubles are the faults ahead of one proxy, and the past RPCs.
type troubles struct {
	mu     sync.Mutex
	ahead  []fault
	passed []attempt
}

func (t *troubles) add(faults []fault) error {
	for i := range faults {
		if err := faults[i].check(); err != nil {
			return err
		}
		if faults[i].Times == nil {
			once := 1
			faults[i].Times = &once
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ahead = append(t.ahead, faults...)
	return nil
}

// clear forgets the faults that have not happened.
func (t *troubles) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ahead = nil
}

// next takes the fault of an RPC, and notes that it has passed.
func (t *troubles) next(a attempt) (f fault, change func(func(*attempt))) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := len(t.passed)
	change = func(to func(*attempt)) {
		t.mu.Lock()
		defer t.mu.Unlock()
		to(&t.passed[at])
	}
	for i, one := range t.ahead {
		if one.RPC != a.RPC && one.RPC != "*" {
			continue
		}
		if *one.Times != always {
			*one.Times--
		}
		if *one.Times == 0 {
			t.ahead = append(t.ahead[:i:i], t.ahead[i+1:]...)
		}
		f = one
		break
	}
	a.Fault = f.Do
	t.passed = append(t.passed, a)
	return f, change
}

// attempts returns all that have passed, in order.
func (t *troubles) attempts() []attempt {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]attempt{}, t.passed...)
}

// traffic is how often each RPC was tried, and by how many requests.
type traffic struct {
	Tries    int `json:"tries"`
	Requests int `json:"requests"`
}

// seen sums up the past RPCs.
func (t *troubles) seen() map[string]traffic {
	t.mu.Lock()
	defer t.mu.Unlock()
	sums, keys := map[string]traffic{}, map[string]bool{}
	for _, a := range t.passed {
		sum := sums[a.RPC]
		sum.Tries++
		if id := a.RPC + " " + a.Key; a.Key == "" || !keys[id] {
			keys[id] = true
			sum.Requests++
		}
		sums[a.RPC] = sum
	}
	return sums
}
