package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

func TestFencedError(t *testing.T) {
	t.Parallel()
	key := store.Key{Namespace: "ns", Kind: "lock", ID: "a"}
	until := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		err  store.FencedError
		want string
	}{
		{store.FencedError{Key: key, Token: 7}, "store: lease is not held with this token: ns/lock/a is not held any more, acquire it again"},
		{store.FencedError{Key: key, Token: 7, Holder: "you", Until: until}, "store: lease is not held with this token: ns/lock/a is held by you until 2026-01-02T03:04:05Z"},
		{store.FencedError{Key: key, Token: store.Unheld, Holder: "you", Until: until}, "store: lease is not free: ns/lock/a is held by you until 2026-01-02T03:04:05Z"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%+v says %q, not %q", tt.err, got, tt.want)
		}
		if !errors.Is(&tt.err, store.ErrFenced) || errors.Is(&tt.err, store.ErrHeld) {
			t.Errorf("%+v is not just %v", tt.err, store.ErrFenced)
		}
	}
}
