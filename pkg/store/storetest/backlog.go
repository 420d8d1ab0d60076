package storetest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/store"
)

var backlogTests = []test{
	{"ends of the outbox", endsOfTheOutbox},
	{"number of timers", numberOfTimers},
}

func endsOfTheOutbox(f *fixture) {
	last := func() []int64 {
		b, err := f.Backlog(f.ctx)
		if err != nil || len(b.Last) != f.Shards() || len(b.Timers) != 0 {
			f.Fatalf("of %d shards: %+v, %v", f.Shards(), b, err)
		}
		return b.Last
	}
	want := make([]int64, f.Shards())
	if diff := cmp.Diff(want, last()); diff != "" {
		f.Errorf("of an empty store (-want +got):\n%s", diff)
	}
	for i := range 3 * f.Shards() {
		key := run(fmt.Sprint(i))
		f.commit(store.Batch{Events: []store.Event{{Key: key, ID: fmt.Sprint(i), Subject: "s", Payload: []byte("{}")}}})
		want[key.Shard(f.Shards())]++
	}
	if diff := cmp.Diff(want, last()); diff != "" {
		f.Errorf("after events (-want +got):\n%s", diff)
	}
	for shard, seq := range want {
		if err := f.Trim(f.ctx, shard, seq-1); err != nil {
			f.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, last()); diff != "" {
		f.Errorf("when all but the newest were trimmed (-want +got):\n%s", diff)
	}
}

func numberOfTimers(f *fixture) {
	now := f.clock.Now()
	for i := range 20 {
		for _, kind := range []string{"run", "run/t"} {
			key := store.Key{Namespace: fmt.Sprintf("ns%d", i%3), Kind: kind, ID: fmt.Sprint(i)}
			f.commit(store.Batch{SetTimers: []store.Timer{
				timer(key, "late", now.Add(-hour), ""), timer(key, "early", now.Add(time.Duration(i)*hour), ""),
			}})
		}
	}
	f.commit(store.Batch{ClearTimers: []store.TimerID{{Key: store.Key{Namespace: "ns0", Kind: "run", ID: "0"}, Name: "late"}}})
	b, err := f.Backlog(f.ctx, "none", "run", "run/t")
	if diff := cmp.Diff(map[string]int64{"none": 0, "run": 39, "run/t": 40}, b.Timers); diff != "" || err != nil {
		f.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
