package redisstore_test

import (
	"slices"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// A record that is deleted and forgotten leaves its last version behind, and
// no other data.
func TestWhatForgettingLeavesBehind(t *testing.T) {
	t.Parallel()
	s := open(t, redisstore.Config{URL: redistest.Shared(t).URL(), Prefix: "forget"})
	commit := func(batch store.Batch) {
		t.Helper()
		if _, err := s.Commit(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	a := key("a")
	never := store.Key{Namespace: a.Namespace, Kind: "never", ID: a.ID}
	put := store.Put{
		Key: a, Data: []byte("data"), Labels: map[string]string{"l": "v"},
		History: []byte("2"), Earlier: [][]byte{[]byte("1")},
	}
	commit(store.Batch{Puts: []store.Put{put}})
	commit(store.Batch{
		Deletes: []store.Check{{Key: a, Version: 2}},
		Forget:  []store.Forget{{Key: a, Through: 2}, {Key: never, Through: 2}},
	})

	client := redistest.Shared(t).Client(t)
	left, err := client.Keys(t.Context(), "forget:{[0-9]*").Result()
	if err != nil || len(left) != 1 {
		t.Fatalf("left are %v, %v", left, err)
	}
	fields, err := client.HKeys(t.Context(), left[0]).Result()
	if err != nil || !slices.Equal(fields, []string{"x"}) {
		t.Errorf("%s has %v, %v", left[0], fields, err)
	}
}
