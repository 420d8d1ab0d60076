package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
)

func TestShardOfABatch(t *testing.T) {
	t.Parallel()
	const shards = 8
	in := func(shard int) store.Key {
		for i := 0; ; i++ {
			if key := (store.Key{Namespace: "ns", Kind: "run", ID: fmt.Sprint(i)}); key.Shard(shards) == shard {
				return key
			}
		}
	}
	puts := func(shard int) []store.Put { return []store.Put{{Key: in(shard)}} }
	checks := func(shard int) []store.Check { return []store.Check{{Key: in(shard)}} }
	counters := func(shard int) []store.Counter { return []store.Counter{{Owner: in(shard)}} }
	postpone := func(shard int) []store.Postpone {
		return []store.Postpone{{Timer: store.Timer{TimerID: store.TimerID{Key: in(shard)}}}}
	}
	for name, tt := range map[string]struct {
		batch    store.Batch
		want     int
		spanning bool
		refused  bool
	}{
		"no key":                       {},
		"one shard":                    {batch: store.Batch{Puts: puts(3), Checks: checks(3), Counters: counters(3)}, want: 3},
		"a check elsewhere":            {batch: store.Batch{Puts: puts(3), Checks: checks(4)}, want: 3, spanning: true},
		"a counter elsewhere":          {batch: store.Batch{Postpone: postpone(3), Counters: counters(4)}, want: 3, spanning: true},
		"the first check":              {batch: store.Batch{Checks: checks(5), Counters: counters(4)}, want: 5, spanning: true},
		"the only counter":             {batch: store.Batch{Counters: counters(4)}, want: 4},
		"a reset elsewhere":            {batch: store.Batch{Puts: puts(3), Reset: []store.Key{in(4)}}, refused: true},
		"a timer put off elsewhere":    {batch: store.Batch{Puts: puts(3), Postpone: postpone(4)}, refused: true},
		"two shards and a check":       {batch: store.Batch{Puts: append(puts(3), puts(4)...), Checks: checks(4)}, refused: true},
		"a delete next to its counter": {batch: store.Batch{Deletes: checks(3), Counters: append(counters(3), counters(2)...)}, want: 3, spanning: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shard, spanning, err := tt.batch.Shard(shards)
			switch {
			case errors.Is(err, store.ErrCrossShard) != tt.refused || !tt.refused && err != nil:
				t.Error(err)
			case !tt.refused && (shard != tt.want || spanning != tt.spanning):
				t.Errorf("shard %d, spanning %t", shard, spanning)
			}
		})
	}
}
