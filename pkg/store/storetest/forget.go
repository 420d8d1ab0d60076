package storetest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/store"
)

var forgetTests = []test{
	{"through a version", forgetThrough},
	{"with a put", forgetWithPut},
	{"with a delete", forgetWithDelete},
	{"of what is not there", forgetNothing},
	{"of one record only", forgetOnlyIt},
	{"long histories", forgetLong},
	{"any order of puts, deletes and forgetting", historyProperty},
}

// forget returns a batch that forgets a record's history.
func forget(key store.Key, through int64) store.Batch {
	return store.Batch{Forget: []store.Forget{{Key: key, Through: through}}}
}

func forgetThrough(f *fixture) {
	a := run("a")
	version(f, several(a, store.Absent, "c", "a", "b"), 3)
	version(f, store.Put{Key: a, Expect: 3, Data: []byte("no entry")}, 4)
	version(f, several(a, 4, "f", "e"), 6)
	for _, tt := range []struct {
		through int64
		left    string
	}{
		{math.MinInt64, "1:a 2:b 3:c 5:e 6:f"},
		{-1, "1:a 2:b 3:c 5:e 6:f"},
		{0, "1:a 2:b 3:c 5:e 6:f"},
		{2, "3:c 5:e 6:f"},
		{1, "3:c 5:e 6:f"},
		{2, "3:c 5:e 6:f"},
		{4, "5:e 6:f"},
		{6, ""},
		{6, ""},
	} {
		f.commit(forget(a, tt.through))
		tells(f, a, tt.left)
	}
	if got := f.get(a); got.Version != 6 || string(got.Data) != "data of f" {
		f.Errorf("the record is %q at version %d", got.Data, got.Version)
	}
	version(f, several(a, 6, "g"), 7)
	f.reopen()
	tells(f, a, "7:g")
	f.commit(forget(a, math.MaxInt64))
	tells(f, a, "")
	version(f, several(a, 7, "i", "h"), 9)
	tells(f, a, "8:h 9:i")
}

func forgetWithPut(f *fixture) {
	a := run("a")
	for _, tt := range []struct {
		through int64
		left    string
	}{
		{1, "2:b 3:c"},
		{3, "4:a 5:b 6:c"},
		{8, "9:c"},
		{12, ""},
		{99, ""},
		{15, "16:a 17:b 18:c"},
	} {
		batch := forget(a, tt.through)
		batch.Puts = []store.Put{several(a, store.AnyVersion, "c", "a", "b")}
		f.commit(batch)
		tells(f, a, tt.left)
	}

	batch := forget(a, 99)
	batch.Puts = []store.Put{several(a, 1, "x")}
	f.refused(batch, store.ErrConflict)
	tells(f, a, "16:a 17:b 18:c")
}

func forgetWithDelete(f *fixture) {
	a := run("a")
	version(f, several(a, store.Absent, "b", "a"), 2)
	batch := forget(a, 1)
	batch.Deletes = []store.Check{{Key: a, Version: 2}}
	f.commit(batch)
	f.gone(a)
	tells(f, a, "2:b")
	f.commit(forget(a, 2))
	tells(f, a, "")
	f.reopen()

	// The versions continue where they were.
	version(f, several(a, store.Absent, "d", "c"), 4)
	batch.Deletes[0].Version, batch.Forget[0].Through = 4, math.MaxInt64
	f.commit(batch)
	tells(f, a, "")
	version(f, several(a, store.Absent, "e"), 5)
	tells(f, a, "5:e")
}

func forgetNothing(f *fixture) {
	a := run("a")
	f.commit(forget(a, 7))
	f.gone(a)
	batch := forget(a, 7)
	batch.Forget = append(batch.Forget, store.Forget{Key: a, Through: 9}) // twice is no harm
	batch.Deletes = []store.Check{{Key: a, Version: store.Absent}}
	f.commit(batch)
	version(f, several(a, store.Absent, "a"), 1)
	tells(f, a, "1:a")
	if result := f.commit(forget(a, 1)); len(result.Versions)+len(result.Counters) != 0 {
		f.Errorf("forgetting answered %+v", result)
	}
	if _, err := f.Commit(f.ctx, forget(run(strings.Repeat("x", store.MaxIDBytes+1)), 1)); err == nil {
		f.Error("forgetting an id that is too long was accepted")
	}
}

func forgetOnlyIt(f *fixture) {
	a := run("a")
	others := []store.Key{run("a/"), run("a0"), run("A"), run("a/1-0"), {Namespace: "test", Kind: "ru", ID: "a"}, {Namespace: "tes", Kind: "run", ID: "a"}}
	others = append(others, f.sameShard(a, 1)[0])
	for _, key := range append(slices.Clone(others), a) {
		version(f, several(key, store.Absent, "b", "a"), 2)
	}
	f.commit(forget(a, 2))
	tells(f, a, "")
	for _, other := range others {
		tells(f, other, "1:a 2:b")
	}
}

// forgetLong forgets more than a store keeps in one piece, and not at the edges
// of one.
func forgetLong(f *fixture) {
	a := run("a")
	last := int64(0)
	for range 3 {
		last += store.MaxEarlier + 1
		version(f, most(a, store.MaxEarlier), last)
	}
	for _, through := range []int64{1, 777, 1001, 2500, last - 1, last} {
		f.commit(forget(a, through))
		got := history(f, a, 0, int(last))
		if len(got) != int(last-through) {
			f.Fatalf("%d entries are left of %d after forgetting through %d", len(got), last, through)
		}
		if len(got) > 0 && got[0].Version != through+1 {
			f.Errorf("the first entry after %d is of version %d", through, got[0].Version)
		}
	}
}

// historyProperty compares a record's history with a list, for any changes of
// the record.
func historyProperty(f *fixture) {
	var round atomic.Int64
	randtest.Check(f.T, func(t *rapid.T) {
		key := run(fmt.Sprintf("round %d", round.Add(1)))
		var want []string // by version less 1; "" has no entry
		left := func() (all []string) {
			for i, data := range want {
				if data != "" {
					all = append(all, fmt.Sprintf("%d:%s", i+1, data))
				}
			}
			return all
		}
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			var batch store.Batch
			versions := []int64(nil)
			switch rapid.SampledFrom([]string{"put", "put", "plain", "delete", "none"}).Draw(t, "change") {
			case "put":
				var texts []string
				for i := range rapid.IntRange(1, 4).Draw(t, "entries") {
					texts = append(texts, fmt.Sprintf("%d.%d", step, i))
				}
				n := len(texts) - 1
				batch.Puts = []store.Put{several(key, store.AnyVersion, texts[n], texts[:n]...)}
				want = append(want, texts...)
				versions = []int64{int64(len(want))}
			case "plain":
				batch.Puts = []store.Put{{Key: key, Expect: store.AnyVersion}}
				want = append(want, "")
				versions = []int64{int64(len(want))}
			case "delete":
				batch.Deletes = []store.Check{{Key: key, Version: store.AnyVersion}}
			}
			if rapid.Bool().Draw(t, "forget") {
				through := rapid.IntRange(-1, len(want)+2).Draw(t, "through")
				batch.Forget = []store.Forget{{Key: key, Through: int64(through)}}
				clear(want[:min(max(through, 0), len(want))])
			}
			result, err := f.Commit(f.ctx, batch)
			if err != nil || !slices.Equal(result.Versions, versions) {
				t.Fatalf("commit answered %+v, %v, not versions %v", result, err, versions)
			}
			if got := told(f, key); !slices.Equal(got, left()) {
				t.Fatalf("history is %v, not %v", got, left())
			}
		}
	})
}
