package store

import (
	"fmt"
	"math"
)

// Validate refuses a counter that has no meaning.
func (c *Counter) Validate() error {
	switch {
	case c.Window < 0:
		return fmt.Errorf("store: the counter %s has a window of %v; it must not be negative", c.Name, c.Window)
	case c.Limit < NoLimit:
		return fmt.Errorf("store: the counter %s has a limit of %d; the least is %d, for none", c.Name, c.Limit, NoLimit)
	case c.Delta == math.MinInt64:
		return fmt.Errorf("store: the counter %s has a delta that is out of range", c.Name)
	case c.Window > 0 && c.Delta < 0 && c.Admitted.IsZero():
		return fmt.Errorf("store: the counter %s gives units of a window back; say when they were admitted", c.Name)
	}
	return nil
}

// Windowed reports whether some counter of the batch has a window.
func (b *Batch) Windowed() bool {
	for i := range b.Counters {
		if b.Counters[i].Window > 0 {
			return true
		}
	}
	return false
}
