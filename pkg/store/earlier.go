package store

import "fmt"

// MaxEarlier is the most entries that one put has in Earlier.
const MaxEarlier = 1000

// Validate refuses a put whose Earlier cannot be kept: without History the last
// of its versions would have no entry after all those that do.
func (p *Put) Validate() error {
	switch n := len(p.Earlier); {
	case n > MaxEarlier:
		return fmt.Errorf("store: a put of %s with %d earlier entries: split it, %d is the most", p.Key, n, MaxEarlier)
	case n > 0 && p.History == nil:
		return fmt.Errorf("store: a put of %s with %d earlier entries but no history: give the entry of its last version too", p.Key, n)
	}
	return nil
}
