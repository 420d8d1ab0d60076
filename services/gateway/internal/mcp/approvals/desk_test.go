package approvals

import (
	"slices"
	"testing"
)

// TestShown: the oldest entries are forgotten.
func TestShown(t *testing.T) {
	t.Parallel()
	s := newShown()
	to := func(i int) shownTo { return shownTo{approval: string(rune(i))} }
	var again []int
	for i := range maxShown + 1 {
		if !s.first(to(i)) {
			t.Fatalf("%d is not new", i)
		}
	}
	for _, i := range []int{1, maxShown, 0} {
		if s.first(to(i)) {
			again = append(again, i)
		}
	}
	if !slices.Equal(again, []int{0}) || len(s.known) != maxShown || len(s.order) != maxShown {
		t.Errorf("new again: %v; %d and %d are known", again, len(s.known), len(s.order))
	}
}
