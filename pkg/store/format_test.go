package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
)

func TestRaised(t *testing.T) {
	t.Parallel()
	known := store.Formats{Oldest: 3, Newest: 4}
	for _, tt := range []struct {
		stamp store.Stamp
		to    int // 0 when it is refused
	}{
		{store.Stamp{Format: 1}, 3},
		{store.Stamp{Format: 2}, 3},
		{store.Stamp{Format: 3}, 3},
		{store.Stamp{Format: 4}, 4},
		{store.Stamp{Format: 5}, 0},
		{store.Stamp{Format: 2, Raising: 3}, 3},
		{store.Stamp{Format: 3, Raising: 4}, 4},
		{store.Stamp{Format: 4, Raising: 5}, 0},
	} {
		to, err := known.Raised(tt.stamp)
		var refused *store.FormatError
		if to != tt.to || (err != nil) != (tt.to == 0) || err != nil && !errors.As(err, &refused) {
			t.Errorf("%+v is raised to %d, %v; want %d", tt.stamp, to, err, tt.to)
		}
	}
	_, err := known.Raised(store.Stamp{Format: 4, Raising: 6, Program: "v1.9.0"})
	for _, says := range []string{"format 6", "Interlock v1.9.0", "formats 3 to 4", "backup"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("the error does not say %q: %v", says, err)
		}
	}
}

// Programs of two releases that follow each other can share a store.
func TestFormatsOverlap(t *testing.T) {
	t.Parallel()
	if known := store.KnownFormats(); known.Oldest < 1 || known.Newest-known.Oldest > 1 || known.Newest < known.Oldest {
		t.Errorf("%+v", known)
	}
}
