package redisstore_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// callers is how many goroutines commit at once.
var callers = []int{1, 16, 64, 256}

// together runs op b.N times from n goroutines. Next to the rate it reports the
// processor time that one commit costs here and in the server, which say more
// on a busy machine.
func together(b *testing.B, n int, op func(caller, i int) error) {
	b.Helper()
	b.ReportAllocs()
	var next atomic.Int64
	var wg sync.WaitGroup
	ours, theirs := ourTime(b), serverTime(b)
	b.ResetTimer()
	for caller := range n {
		wg.Go(func() {
			for {
				i := int(next.Add(1))
				if i > b.N {
					return
				}
				if err := op(caller, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
	b.ReportMetric((ourTime(b)-ours)*1e6/float64(b.N), "client-us/op")
	b.ReportMetric((serverTime(b)-theirs)*1e6/float64(b.N), "server-us/op")
}

// ourTime is the processor time of this process in seconds.
func ourTime(b *testing.B) float64 {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// serverTime is the processor time of the server in seconds.
func serverTime(b *testing.B) float64 {
	b.Helper()
	client := redistest.Shared(b).Client(b)
	info, err := client.Info(context.Background(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	sum := 0.0
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			sum += seconds
		}
	}
	return sum
}

// payload is about as large as a run.
var payload = make([]byte, 300)

// BenchmarkCommit commits a typical transition: a record at its next version
// with a history entry, an idempotency key and an event. Each caller has a run
// of its own.
func BenchmarkCommit(b *testing.B) {
	for _, n := range callers {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			s := open(b, redisstore.Config{URL: redistest.Shared(b).URL()})
			versions := make([]int64, n)
			together(b, n, func(caller, i int) error {
				key := store.Key{Namespace: "default", Kind: "run", ID: "run_" + strconv.Itoa(caller)}
				result, err := s.Commit(context.Background(), store.Batch{
					Puts: []store.Put{{
						Key: key, Expect: versions[caller], Data: payload, History: payload,
						Labels: map[string]string{"status": "RUNNING", "workflow": "release"},
					}},
					Events: []store.Event{{Key: key, ID: "evt_" + strconv.Itoa(i), Subject: "interlock.default.run.transitioned", Payload: payload}},
				})
				if err == nil {
					versions[caller] = result.Versions[0]
				}
				return err
			})
		})
	}
}

// BenchmarkCheck commits a typical tool call: the run is still at its version,
// and a counter goes up.
func BenchmarkCheck(b *testing.B) {
	for _, n := range callers {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			s := open(b, redisstore.Config{URL: redistest.Shared(b).URL()})
			keys := make([]store.Key, n)
			for i := range keys {
				keys[i] = store.Key{Namespace: "default", Kind: "run", ID: "run_" + strconv.Itoa(i)}
				if _, err := s.Commit(context.Background(), store.Batch{Puts: []store.Put{{Key: keys[i], Data: payload}}}); err != nil {
					b.Fatal(err)
				}
			}
			together(b, n, func(caller, _ int) error {
				_, err := s.Commit(context.Background(), store.Batch{
					Checks:   []store.Check{{Key: keys[caller], Version: 1}},
					Counters: []store.Counter{{Owner: keys[caller], Name: "calls", Delta: 1, Limit: 1 << 40}},
				})
				return err
			})
		})
	}
}

// BenchmarkSpanningCheck is BenchmarkCheck with a limit that all callers share, in a
// shard of its own.
func BenchmarkSpanningCheck(b *testing.B) {
	for _, n := range callers {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			s := open(b, redisstore.Config{URL: redistest.Shared(b).URL()})
			policy := store.Key{Namespace: "default", Kind: "policy", ID: "p"}
			keys := make([]store.Key, n)
			for i := range keys {
				keys[i] = store.Key{Namespace: "default", Kind: "run", ID: "run_" + strconv.Itoa(i)}
				if _, err := s.Commit(context.Background(), store.Batch{Puts: []store.Put{{Key: keys[i], Data: payload}}}); err != nil {
					b.Fatal(err)
				}
			}
			together(b, n, func(caller, _ int) error {
				_, err := s.Commit(context.Background(), store.Batch{
					Checks: []store.Check{{Key: keys[caller], Version: 1}},
					Counters: []store.Counter{
						{Owner: keys[caller], Name: "calls", Delta: 1, Limit: 1 << 40},
						{Owner: policy, Name: "calls", Delta: 1, Limit: 1 << 40},
					},
				})
				return err
			})
		})
	}
}

// BenchmarkDecision is a check as the policy enforcer commits it: of the run and the
// policies, with a counter, the log, the event, the answer to repeats and a timer that is
// set already.
func BenchmarkDecision(b *testing.B) {
	for _, n := range callers {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			s := open(b, redisstore.Config{URL: redistest.Shared(b).URL()})
			batches := make([]store.Batch, n)
			for i := range batches {
				root := store.Key{Namespace: "default", Kind: "run", ID: fmt.Sprintf("run_01m832b2v8e5x8t2a1y4%04d", i)}
				batches[i] = decision(b, s, root)
			}
			together(b, n, func(caller, i int) error {
				batch := batches[caller]
				call := fmt.Sprintf("call_01m832b2v8e5x8t2a1y4%08d", i)
				batch.Idempotency = &store.Idempotency{
					Owner: batch.Checks[0].Key, Name: "call/" + call, Digest: strings.Repeat("d", 64), Entry: batch.Appends[0].Key, TTL: 24 * time.Hour,
				}
				batch.Events = []store.Event{{
					Key: batch.Checks[0].Key, ID: "default.toolcall." + batch.Checks[0].Key.ID + "." + call + ".allowed",
					Subject: "interlock.default.toolcall." + batch.Checks[0].Key.ID + ".allowed", Entry: batch.Appends[0].Key,
				}}
				_, err := s.Commit(context.Background(), batch)
				return err
			})
		})
	}
}

// decision is the common part of decisions on calls of a run.
func decision(b *testing.B, s store.Store, root store.Key) store.Batch {
	b.Helper()
	policies := store.Key{Namespace: "default", Kind: "policies", ID: "index"}
	if _, err := s.Commit(context.Background(), store.Batch{Puts: []store.Put{{Key: root, Expect: store.AnyVersion, Data: []byte("{}")}}}); err != nil {
		b.Fatal(err)
	}
	log := store.Key{Namespace: "default", Kind: "decisions", ID: root.ID}
	return store.Batch{
		Checks:    []store.Check{{Key: root, Version: 1}, {Key: policies, Version: store.Absent}},
		Appends:   []store.Append{{Key: log, Entry: []byte(strings.Repeat("x", 420))}},
		Counters:  []store.Counter{{Owner: store.Key{Namespace: "default", Kind: "entry", ID: root.ID}, Name: "iterations", Delta: 1, Limit: store.NoLimit}},
		SetTimers: []store.Timer{{TimerID: store.TimerID{Key: log, Name: "seal"}, Due: time.Unix(1<<31, 0)}},
	}
}

// BenchmarkDue looks for the timers of three kinds when none is due, as services do
// several times a second.
func BenchmarkDue(b *testing.B) {
	s := open(b, redisstore.Config{URL: redistest.Shared(b).URL()})
	now := time.Now()
	for i := range 1000 {
		key := store.Key{Namespace: "default", Kind: []string{"run", "session", "state"}[i%3], ID: "id_" + strconv.Itoa(i)}
		later := store.Timer{TimerID: store.TimerID{Key: key, Name: "t"}, Due: now.Add(time.Hour)}
		if _, err := s.Commit(context.Background(), store.Batch{SetTimers: []store.Timer{later}}); err != nil {
			b.Fatal(err)
		}
	}
	together(b, 1, func(int, int) error {
		timers, err := s.Due(context.Background(), now, 32, "run", "session", "state")
		if len(timers) > 0 {
			b.Errorf("due are %v", timers)
		}
		return err
	})
}

// bare is the least that a conditional write does.
const bare = `
local have = redis.call('HGET', KEYS[1], 'v') or '0'
if have ~= ARGV[1] then return {1, tonumber(have)} end
redis.call('HSET', KEYS[1], 'v', have + 1, 'd', ARGV[2])
redis.call('XADD', KEYS[2], '*', 'p', ARGV[3])
return {0, have + 1}`

// BenchmarkBareEvalsha is one EVALSHA for each commit, of the size of the other
// but without its history, labels and checks: the limit without coalescing.
func BenchmarkBareEvalsha(b *testing.B) {
	for _, n := range callers {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			client := redis.NewClient(&redis.Options{Addr: redistest.Shared(b).Addr(), Protocol: 2, DisableIdentity: true, PoolSize: n})
			defer func() { _ = client.Close() }()
			script := redis.NewScript(bare)
			if err := script.Load(context.Background(), client).Err(); err != nil {
				b.Fatal(err)
			}
			versions := make([]int64, n)
			prefix := prefix(b)
			double := append(append([]byte(nil), payload...), payload...)
			together(b, n, func(caller, _ int) error {
				keys := []string{prefix + ":run:" + strconv.Itoa(caller), prefix + ":outbox"}
				reply, err := script.EvalSha(context.Background(), client, keys, versions[caller], double, payload).Int64Slice()
				if err == nil {
					versions[caller] = reply[1]
				}
				return err
			})
		})
	}
}
