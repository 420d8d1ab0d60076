package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
)

// copyIsAPrefix backs a store up while one caller makes random changes: the copy is the state
// after some of its commits.
func copyIsAPrefix(c *copies) {
	c.ballast()
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		r := randtest.New(c.T, 3)
		for n := 0; ; n++ {
			if n == 100 {
				close(begun)
			}
			select {
			case <-end:
				return
			default:
				c.busy(r, n)
			}
		}
	}()
	<-begun
	file := c.backup()
	close(end)
	<-ended
	other := c.restored(file)
	commits := len(other.events()) // each has one
	same := newCopies(c.T, c.open, NewClock())
	same.ballast()
	r := randtest.New(c.T, 3)
	for n := range commits {
		same.busy(r, n)
	}
	same.same(other, commits+1)
	c.Logf("the copy is of the commit %d", commits)
}

// ballast is data that takes time to copy.
func (c *copies) ballast() {
	var group sync.WaitGroup
	for w := range 20 {
		group.Go(func() {
			for i := range 100 {
				batch := create(run(fmt.Sprint("ballast", w, "-", i)), strings.Repeat("x", 200))
				if _, err := c.Commit(c.ctx, batch); err != nil {
					c.Errorf("commit: %v", err)
				}
			}
		})
	}
	group.Wait()
}

// act commits an entry of a log, with its event, its idempotency key and a count in another shard.
func (c *copies) act(log, policy store.Key, n int) error {
	name := fmt.Sprint("call/", n)
	batch := store.Batch{
		Idempotency: &store.Idempotency{Owner: log, Name: name, Digest: name, Entry: log, TTL: hour},
		Appends:     []store.Append{{Key: log, Entry: []byte(name)}},
		Puts: []store.Put{{
			Key: run(log.ID), Expect: int64(n - 1), Data: []byte(name), Labels: map[string]string{"n": name},
		}},
		Events: []store.Event{{Key: log, ID: log.ID + " " + name, Subject: "s", Entry: log}},
		SetTimers: []store.Timer{{
			TimerID: store.TimerID{Key: run(log.ID), Name: "due"}, Due: c.clock.Now(), Data: []byte(name),
		}},
		Counters: []store.Counter{
			{Owner: policy, Name: "n", Delta: 1, Limit: store.NoLimit},
			{Owner: policy, Name: "rolling", Delta: 1, Limit: store.NoLimit, Window: hour},
		},
	}
	_, err := c.Commit(context.WithoutCancel(c.ctx), batch)
	return err
}

// whole requires that all parts of each commit of a log are there, and returns how many.
func (c *copies) whole(other *fixture, log store.Key) int64 {
	c.Helper()
	entries := must(other.History(c.ctx, log, 0, 1_000_000))(c.T)
	last := ""
	for i, entry := range entries {
		last = fmt.Sprint("call/", i+1)
		if entry.Version != int64(i+1) || string(entry.Data) != last {
			c.Fatalf("entry %d of %s is %d, %q", i+1, log, entry.Version, entry.Data)
		}
		if answer, err := other.Answer(c.ctx, log, last); err != nil || string(answer) != last {
			c.Errorf("%s of %s is answered %q, %v", last, log, answer, err)
		}
	}
	if _, err := other.Answer(c.ctx, log, fmt.Sprint("call/", len(entries)+1)); !errors.Is(err, store.ErrNotFound) {
		c.Errorf("%s has an answer without its entry: %v", log, err)
	}
	if len(entries) == 0 {
		return 0
	}
	record := other.get(run(log.ID))
	if record.Version != int64(len(entries)) || string(record.Data) != last {
		c.Errorf("%s is version %d, %q, after %d entries", record.Key, record.Version, record.Data, len(entries))
	}
	found := other.labelled("run", "n", last)
	if !slices.ContainsFunc(found, func(r store.Record) bool { return r.Key == record.Key }) {
		c.Errorf("%s is not listed by its label", record.Key)
	}
	timers := must(other.Due(c.ctx, c.clock.Now(), 100, "run"))(c.T)
	timers = slices.DeleteFunc(timers, func(t store.Timer) bool { return t.Key != record.Key })
	if len(timers) != 1 || string(timers[0].Data) != last {
		c.Errorf("%s has the timers %v", record.Key, timers)
	}
	return int64(len(entries))
}

// interrupted is a source that ends in an error.
type interrupted struct {
	backup.Source
	after int
}

var errInterrupted = errors.New("killed")

func (i *interrupted) Each(yield func(backup.Item) error) error {
	left := i.after
	return i.Source.Each(func(item backup.Item) error {
		if left--; left < 0 {
			return errInterrupted
		}
		return yield(item)
	})
}

// interruptedRestore: half a restore is not used, and the same restore continues it.
func interruptedRestore(c *copies) {
	const commits = 60
	r := randtest.New(c.T, 2)
	for n := range commits {
		c.busy(r, n)
	}
	file := c.backup()
	total := 0
	for _, n := range file.Tail.Items {
		total += int(n)
	}
	for _, after := range []int{0, total / 3, total - 1} {
		if err := c.Import(c.T, &interrupted{file, after}); !errors.Is(err, errInterrupted) {
			c.Fatalf("it was interrupted after %d of %d: %v", after, total, err)
		}
	}
	c.same(c.restored(file), commits)
}
