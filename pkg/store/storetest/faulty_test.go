package storetest_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
)

func TestFaulty(t *testing.T) {
	t.Parallel()
	key := store.Key{Namespace: "test", Kind: "run", ID: "a"}
	for _, tt := range []struct {
		name    string
		fault   storetest.Fault
		want    error
		version int64
	}{
		{"healthy", storetest.Healthy, nil, 3},
		{"failed", storetest.Failed, store.ErrUnavailable, 2},
		{"failed but applied", storetest.FailedButApplied, store.ErrUncertain, 3},
		{"uncertain", storetest.Uncertain, store.ErrUncertain, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inner, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
			if err != nil {
				t.Fatal(err)
			}
			s := &storetest.Faulty{Store: inner, Decide: storetest.Nth(2, tt.fault)}
			defer s.Close()
			for n := 1; n <= 3; n++ {
				_, err := s.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: key, Expect: store.AnyVersion}}})
				want := tt.want
				if n != 2 {
					want = nil
				}
				if !errors.Is(err, want) {
					t.Errorf("commit %d answered %v, not %v", n, err, want)
				}
			}
			record, err := s.Get(t.Context(), key)
			if err != nil || record.Version != tt.version {
				t.Errorf("the record is at version %d, not %d, %v", record.Version, tt.version, err)
			}
			if s.Commits() != 3 {
				t.Errorf("%d commits, not 3", s.Commits())
			}
			// A batch that the store refuses is refused, with any fault.
			s.Decide = func(int, *store.Batch) storetest.Fault { return storetest.FailedButApplied }
			if _, err := s.Commit(t.Context(), store.Batch{Checks: []store.Check{{Key: key, Version: 99}}}); !errors.Is(err, store.ErrConflict) {
				t.Errorf("a batch to be refused answered %v", err)
			}
		})
	}
}
