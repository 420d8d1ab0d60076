package storetest

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/store"
)

var listTests = []test{
	{"by id, in pages", listPages},
	{"whole records", listWholeRecords},
	{"newest first, in pages", listDescending},
	{"by labels", listByLabels},
	{"records are created while a caller pages", listWhileCreated},
	{"labels change, records go", listFollows},
	{"odd ids and labels", listOdd},
	{"bad limits", listBadLimits},
	{"many records without a duplicate or a gap", listMany},
}

// listed returns the ids of all records that a query selects, page by page.
func listed(f *fixture, query store.Query) []string {
	f.Helper()
	var all []string
	for {
		page, err := f.List(f.ctx, query)
		if err != nil {
			f.Fatalf("list: %v", err)
		}
		if len(page.Records) > query.Limit {
			f.Fatalf("a page of %d with a limit of %d", len(page.Records), query.Limit)
		}
		for _, record := range page.Records {
			all = append(all, record.Key.ID)
		}
		if page.Next == "" {
			return all
		}
		forward := query.After == "" || (page.Next < query.After) == query.Descending && page.Next != query.After
		if len(page.Records) == 0 || !forward {
			f.Fatalf("the page after %q has %d records and is followed by %q", query.After, len(page.Records), page.Next)
		}
		query.After = page.Next
	}
}

// runs selects runs with these labels.
func runs(labels map[string]string, limit int) store.Query {
	return store.Query{Namespace: "test", Kind: "run", Labels: labels, Limit: limit}
}

func listPages(f *fixture) {
	if got := listed(f, runs(nil, 10)); len(got) != 0 {
		f.Errorf("an empty store lists %v", got)
	}
	var want []string
	for i := range 50 {
		id := fmt.Sprintf("%03d", i*7%50)
		want = append(want, id)
		f.commit(create(run(id), id))
	}
	f.commit(create(store.Key{Namespace: "test", Kind: "running", ID: "a"}, ""))
	f.commit(create(store.Key{Namespace: "test", Kind: "ru", ID: "n/a"}, ""))
	slices.Sort(want)
	for _, limit := range []int{1, 7, 25, 49, 50, 51, 1000} {
		if diff := cmp.Diff(want, listed(f, runs(nil, limit))); diff != "" {
			f.Errorf("pages of %d (-want +got):\n%s", limit, diff)
		}
	}
	// The last page says that it is the last, also when it is full.
	page, err := f.List(f.ctx, store.Query{Namespace: "test", Kind: "run", After: "024", Limit: 25})
	if err != nil || len(page.Records) != 25 || page.Next != "" {
		f.Errorf("the last page has %d records, next %q, %v", len(page.Records), page.Next, err)
	}
	// After need not be an id that exists.
	query := runs(nil, 2)
	query.After = "0245"
	page, err = f.List(f.ctx, query)
	if err != nil || len(page.Records) != 2 || page.Records[0].Key.ID != "025" {
		f.Errorf("after 0245 comes %v, %v", page.Records, err)
	}
}

// descending returns the same query the other way round.
func descending(query store.Query) store.Query {
	query.Descending = true
	return query
}

// reversed returns a list the other way round.
func reversed(list []string) []string {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

func listDescending(f *fixture) {
	if got := listed(f, descending(runs(nil, 10))); len(got) != 0 {
		f.Errorf("an empty store lists %v", got)
	}
	var want []string
	for i := range 50 {
		want = append(want, fmt.Sprintf("%03d", 49-i))
		f.commit(create(run(fmt.Sprintf("%03d", i*7%50)), ""))
	}
	f.commit(create(store.Key{Namespace: "test", Kind: "running", ID: "a"}, ""))
	f.commit(create(store.Key{Namespace: "test", Kind: "ru", ID: "n/a"}, ""))
	for _, limit := range []int{1, 7, 25, 49, 50, 51, 1000} {
		if diff := cmp.Diff(want, listed(f, descending(runs(nil, limit)))); diff != "" {
			f.Errorf("pages of %d (-want +got):\n%s", limit, diff)
		}
	}
	for _, tt := range []struct {
		after string
		limit int
		want  []string
		next  string
	}{
		{"025", 25, want[25:], ""}, // the last page says that it is the last, also when it is full
		{"0245", 2, []string{"024", "023"}, "023"},
		{"zzz", 1, []string{"049"}, "049"},
		{"000", 2, nil, ""},
		{" ", 2, nil, ""},
	} {
		query := descending(runs(nil, tt.limit))
		query.After = tt.after
		page, err := f.List(f.ctx, query)
		var got []string
		for _, record := range page.Records {
			got = append(got, record.Key.ID)
		}
		if err != nil || !slices.Equal(got, tt.want) || page.Next != tt.next {
			f.Errorf("after %q comes %v, next %q, %v", tt.after, got, page.Next, err)
		}
	}
}

// listWhileCreated creates records on both sides of every page: those before the
// caller's place are in no page, and those after it are in one.
func listWhileCreated(f *fixture) {
	labels := map[string]string{"l": "v", "m": "w"}
	for i, by := range []map[string]string{nil, {"l": "v"}, labels} {
		for _, newestFirst := range []bool{false, true} {
			query := store.Query{
				Namespace: "test", Kind: fmt.Sprintf("run-%d-%t", i, newestFirst),
				Labels: by, Descending: newestFirst, Limit: 2,
			}
			put := func(id string) {
				key := store.Key{Namespace: query.Namespace, Kind: query.Kind, ID: id}
				f.commit(store.Batch{Puts: []store.Put{{Key: key, Labels: labels}}})
			}
			want := []string{"m0", "m1", "m2", "m3", "m4"}
			behind, ahead := "a", "z"
			if newestFirst {
				slices.Reverse(want)
				behind, ahead = ahead, behind
			}
			for _, id := range want {
				put(id)
			}
			want = append(want, ahead)
			var got []string
			for {
				page, err := f.List(f.ctx, query)
				if err != nil {
					f.Fatal(err)
				}
				for _, record := range page.Records {
					got = append(got, record.Key.ID)
				}
				if query.After = page.Next; page.Next == "" {
					break
				}
				if len(got) == query.Limit {
					put(ahead)
				}
				put(fmt.Sprint(behind, len(got)))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				f.Errorf("query %+v (-want +got):\n%s", query, diff)
			}
		}
	}
}

func listWholeRecords(f *fixture) {
	var want []store.Record
	for _, id := range []string{"a", "b", "c"} {
		labels := map[string]string{"l": "v", "id": id}
		f.commit(store.Batch{Puts: []store.Put{{Key: run(id), Data: []byte("data of " + id), Labels: labels}}})
		f.clock.Advance(second)
		f.commit(store.Batch{Puts: []store.Put{{Key: run(id), Expect: 1, Data: []byte("new data of " + id), Labels: labels}}})
		want = append(want, store.Record{Key: run(id), Version: 2, Data: []byte("new data of " + id), Labels: labels, UpdatedAt: f.clock.Now()})
	}
	for _, query := range []store.Query{runs(nil, 10), runs(map[string]string{"l": "v"}, 10)} {
		page, err := f.List(f.ctx, query)
		if err != nil {
			f.Fatal(err)
		}
		if diff := cmp.Diff(want, page.Records, cmpopts.EquateEmpty()); diff != "" {
			f.Errorf("list of %v (-want +got):\n%s", query.Labels, diff)
		}
	}
}

func listByLabels(f *fixture) {
	want := map[string][]string{}
	for i := range 60 {
		id := fmt.Sprintf("%02d", i)
		labels := map[string]string{}
		if i%2 == 0 {
			labels["even"] = "yes"
			want["even"] = append(want["even"], id)
		}
		labels["mod3"] = fmt.Sprint(i % 3)
		if i%3 == 1 {
			want["mod3"] = append(want["mod3"], id)
		}
		if i%2 == 0 && i%3 == 1 {
			want["both"] = append(want["both"], id)
		}
		f.commit(store.Batch{Puts: []store.Put{{Key: run(id), Labels: labels}}})
	}
	for _, limit := range []int{1, 3, 10, 100} {
		for _, tt := range []struct {
			name   string
			labels map[string]string
		}{
			{"even", map[string]string{"even": "yes"}},
			{"mod3", map[string]string{"mod3": "1"}},
			{"both", map[string]string{"mod3": "1", "even": "yes"}},
			{"no such value", map[string]string{"mod3": "7"}},
			{"no such label", map[string]string{"mod3": "1", "mod4": "1"}},
			{"value of another label", map[string]string{"even": "1"}},
		} {
			if diff := cmp.Diff(want[tt.name], listed(f, runs(tt.labels, limit))); diff != "" {
				f.Errorf("%s in pages of %d (-want +got):\n%s", tt.name, limit, diff)
			}
			if diff := cmp.Diff(reversed(want[tt.name]), listed(f, descending(runs(tt.labels, limit)))); diff != "" {
				f.Errorf("%s, newest first, in pages of %d (-want +got):\n%s", tt.name, limit, diff)
			}
		}
	}
}

func listFollows(f *fixture) {
	a := run("a")
	put := func(labels map[string]string) {
		f.commit(store.Batch{Puts: []store.Put{{Key: a, Expect: store.AnyVersion, Labels: labels}}})
	}
	found := func(want bool, name, value string) {
		f.Helper()
		if got := len(listed(f, runs(map[string]string{name: value}, 10))) == 1; got != want {
			f.Errorf("the record is listed by %s=%s: %v, not %v", name, value, got, want)
		}
	}
	put(map[string]string{"status": "active", "owner": "me"})
	found(true, "status", "active")
	put(map[string]string{"status": "done", "owner": "me"})
	found(false, "status", "active")
	found(true, "status", "done")
	found(true, "owner", "me")
	put(map[string]string{"status": "done"})
	found(false, "owner", "me")
	put(nil)
	found(false, "status", "done")
	if got := listed(f, runs(nil, 10)); len(got) != 1 {
		f.Errorf("all records are %v", got)
	}
	put(map[string]string{"status": "active"})
	f.commit(store.Batch{Deletes: []store.Check{{Key: a, Version: 5}}})
	found(false, "status", "active")
	if got := listed(f, runs(nil, 10)); len(got) != 0 {
		f.Errorf("all records are %v after the delete", got)
	}
	put(map[string]string{"status": "new"})
	found(true, "status", "new")
	found(false, "status", "active")
}

func listOdd(f *fixture) {
	odd := []string{" ", "a b", "a.b", "{a}", "a", "a:b", "a=b", "a/b", "ab", "A", "ä", "日本", "🦀", "a\x00b", "z\xff"}
	slices.Sort(odd)
	labels := map[string]string{}
	for _, name := range odd {
		labels[name] = name + "=" + name
	}
	labels["empty"] = ""
	for _, id := range odd {
		f.commit(store.Batch{Puts: []store.Put{{Key: run(id), Labels: labels}}})
	}
	f.commit(store.Batch{Puts: []store.Put{{Key: run("without")}}})
	want := slices.Sorted(slices.Values(append([]string{"without"}, odd...)))
	if diff := cmp.Diff(want, listed(f, runs(nil, 2))); diff != "" {
		f.Errorf("all (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(reversed(want), listed(f, descending(runs(nil, 2)))); diff != "" {
		f.Errorf("all, newest first (-want +got):\n%s", diff)
	}
	for name, value := range labels {
		if diff := cmp.Diff(odd, listed(f, runs(map[string]string{name: value}, 4))); diff != "" {
			f.Errorf("by %q (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(reversed(odd), listed(f, descending(runs(map[string]string{name: value}, 4)))); diff != "" {
			f.Errorf("by %q, newest first (-want +got):\n%s", name, diff)
		}
		if got := listed(f, runs(map[string]string{name: value + " "}, 4)); len(got) != 0 {
			f.Errorf("by %q with another value: %v", name, got)
		}
	}
	if diff := cmp.Diff(odd, listed(f, runs(labels, 3))); diff != "" {
		f.Errorf("by all labels (-want +got):\n%s", diff)
	}
}

func listBadLimits(f *fixture) {
	f.commit(create(run("a"), ""))
	for _, limit := range []int{-1, 0, 1001} {
		if page, err := f.List(f.ctx, runs(nil, limit)); err == nil {
			f.Errorf("a limit of %d answered %d records and no error", limit, len(page.Records))
		}
	}
}

func listMany(f *fixture) {
	const perBatch = 200
	n := randtest.Size(20_000, 100_000)
	byShard := map[int][]store.Put{}
	all := make([]string, 0, n)
	var tenth []string
	for i := range n {
		id := fmt.Sprintf("%06d", i*7919%n)
		put := store.Put{Key: run(id), Data: []byte("data")}
		if i%10 == 0 {
			put.Labels = map[string]string{"tenth": "yes"}
			tenth = append(tenth, id)
		}
		all = append(all, id)
		shard := put.Key.Shard(f.Shards())
		byShard[shard] = append(byShard[shard], put)
	}
	var batches []store.Batch
	for _, puts := range byShard {
		for chunk := range slices.Chunk(puts, perBatch) {
			batches = append(batches, store.Batch{Puts: chunk})
		}
	}
	var next atomic.Int64
	inParallel(f.T, 16, func(int) error {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(batches) {
				return nil
			}
			if _, err := f.Commit(f.ctx, batches[i]); err != nil {
				return err
			}
		}
	})
	slices.Sort(all)
	slices.Sort(tenth)
	if got := listed(f, runs(nil, 1000)); !slices.Equal(all, got) {
		f.Errorf("listed %d of %d records%s", len(got), len(all), firstDifference(all, got))
	}
	if got := listed(f, runs(map[string]string{"tenth": "yes"}, 999)); !slices.Equal(tenth, got) {
		f.Errorf("listed %d of %d labelled records%s", len(got), len(tenth), firstDifference(tenth, got))
	}
	slices.Reverse(tenth)
	if got := listed(f, descending(runs(map[string]string{"tenth": "yes"}, 999))); !slices.Equal(tenth, got) {
		f.Errorf("listed %d of %d labelled records, newest first%s", len(got), len(tenth), firstDifference(tenth, got))
	}
}

// firstDifference describes where two lists part.
func firstDifference(want, got []string) string {
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return fmt.Sprintf("; number %d is %q, not %q", i, got[i], want[i])
		}
	}
	return ""
}
