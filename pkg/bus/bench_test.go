package bus

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/interlock-run/interlock/pkg/store"
)

// BenchmarkRelay is one event from the outbox to NATS's acknowledgement, out of a
// backlog of many runs. The store is in memory, so only the relay is measured.
func BenchmarkRelay(b *testing.B) {
	r, st := newRig(b), newMemStore(64)
	src := newSource(b, st)
	for i := range b.N {
		ev := src.event("run_" + strconv.Itoa(i%1000))
		if _, err := st.Commit(context.Background(), store.Batch{Events: []store.Event{ev}}); err != nil {
			b.Fatal(err)
		}
	}
	cfg := r.config("a")
	cfg.NATS.InProcess = r.nats.InProcess()
	b.ResetTimer()
	relay, _ := run(b, st, cfg)
	for testutil.ToFloat64(relay.m.relayed) < float64(b.N) {
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkRelaySustained commits to the embedded store from 64 callers while the
// relay runs: the rate at which events leave is the rate at which they come.
func BenchmarkRelaySustained(b *testing.B) {
	r, st := newRig(b), openStore(b)
	src := newSource(b, st)
	cfg := r.config("a")
	cfg.NATS.InProcess = r.nats.InProcess()
	relay, _ := run(b, st, cfg)
	b.ResetTimer()
	var wg sync.WaitGroup
	for caller := range 64 {
		wg.Go(func() {
			for i := caller; i < b.N; i += 64 {
				ev := src.event("run_" + strconv.Itoa(i%1000))
				if _, err := st.Commit(context.Background(), store.Batch{Events: []store.Event{ev}}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	committed := b.Elapsed()
	for testutil.ToFloat64(relay.m.relayed) < float64(b.N) {
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64((b.Elapsed()-committed).Microseconds())/1e3, "behind-ms")
}

// BenchmarkCommitToSubscriber is the time from when a commit is answered until a
// subscriber of the subject has the event, one at a time.
func BenchmarkCommitToSubscriber(b *testing.B) {
	r, st := newRig(b), openStore(b)
	src := newSource(b, st)
	cfg := r.config("a")
	cfg.NATS.InProcess = r.nats.InProcess()
	relay, _ := run(b, st, cfg)
	eventually(b, "the relay is up", func() bool { return testutil.ToFloat64(relay.m.leases) == float64(st.Shards()) })
	js := r.js()
	sub, err := js.Conn().SubscribeSync(Root + ".>")
	if err != nil {
		b.Fatal(err)
	}
	if err := js.Conn().Flush(); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		ev := src.event("run_" + strconv.Itoa(len(took)%100))
		if _, err := st.Commit(context.Background(), store.Batch{Events: []store.Event{ev}}); err != nil {
			b.Fatal(err)
		}
		answered := time.Now()
		if _, err := sub.NextMsg(patience); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(answered))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
}
