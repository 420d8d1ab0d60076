package redisstore_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// By the server's clock too, a commit with windowed counters returns its time, and
// its neighbours on the same flight do not.
func TestAdmittedByTheServersClock(t *testing.T) {
	t.Parallel()
	s := open(t, redisstore.Config{URL: redistest.Shared(t).URL(), Flights: 1})
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			for i := range 20 {
				own := key(strconv.Itoa(worker) + "." + strconv.Itoa(i))
				batch := store.Batch{Puts: []store.Put{{Key: own}}}
				if worker%2 == 0 {
					batch.Counters = []store.Counter{{Owner: key("limit"), Name: "w", Delta: 1, Limit: store.NoLimit, Window: time.Hour}}
				}
				result, err := s.Commit(t.Context(), batch)
				if err != nil {
					t.Error(err)
					return
				}
				record, err := s.Get(t.Context(), own)
				if err != nil {
					t.Error(err)
					return
				}
				want := time.Time{}
				if worker%2 == 0 {
					want = record.UpdatedAt
				}
				if !result.Admitted.Equal(want) {
					t.Errorf("admitted at %v, not %v", result.Admitted, want)
				}
			}
		})
	}
	wg.Wait()
}
