package app_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

// Whatever is done to the log behind the store's back is found, and where.
func TestTamperingIsFound(t *testing.T) {
	t.Parallel()
	decisions, seals := app.DecisionsKey(ns, "run_1"), app.SealKey(ns, "run_1")
	without := func(at int) func(tampering) {
		return func(x tampering) {
			all := x.history(decisions)
			x.setHistory(decisions, slices.Delete(all, at, at+1))
		}
	}
	for name, c := range map[string]struct {
		do       func(tampering)
		sequence int64
		problem  string
	}{
		"changed": {func(x tampering) {
			all := x.history(decisions)
			all[2].data = strings.Replace(all[2].data, `"ALLOW"`, `"DENY"`, 1)
			x.setHistory(decisions, all)
		}, 3, "not the one that was sealed"},
		"time changed": {func(x tampering) {
			all := x.history(decisions)
			all[1].at = strings.Replace(all[1].at, "1", "2", 1)
			x.setHistory(decisions, all)
		}, 2, "not the one that was sealed"},
		"time given": {func(x tampering) {
			all := x.history(decisions)
			all[1].data = `{"time":"2026-01-01T00:00:00Z",` + all[1].data[1:]
			x.setHistory(decisions, all)
		}, 2, "not the one that was sealed"},
		"a blank added": {func(x tampering) {
			all := x.history(decisions)
			all[0].data = " " + all[0].data
			x.setHistory(decisions, all)
		}, 1, "not the one that was sealed"},
		"first missing":         {without(0), 1, "missing"},
		"middle missing":        {without(2), 3, "missing"},
		"last of sealed gone":   {without(5), 6, "missing"},
		"unsealed missing":      {without(6), 7, "missing"},
		"last unsealed missing": {without(7), 8, "missing"},
		"all missing":           {func(x tampering) { x.setHistory(decisions, nil) }, 1, "missing"},
		"all missing, and their record": {func(x tampering) {
			x.setHistory(decisions, nil)
			x.drop(decisions)
		}, 1, "missing"},
		"record dropped": {func(x tampering) { x.drop(decisions) }, 1, "missing"},
		"cut short": {func(x tampering) {
			x.setHistory(decisions, x.history(decisions)[:4])
			x.setVersion(decisions, 4)
		}, 5, "missing"},
		"closed up": {func(x tampering) {
			all := slices.Delete(x.history(decisions), 2, 3)
			for i := range all {
				all[i].version = int64(i + 1)
			}
			x.setHistory(decisions, all)
			x.setVersion(decisions, int64(len(all)))
		}, 3, "not the one that was sealed"},
		"exchanged": {func(x tampering) {
			all := x.history(decisions)
			all[1].data, all[2].data = all[2].data, all[1].data
			x.setHistory(decisions, all)
		}, 2, "not the one that was sealed"},
		"inserted": {func(x tampering) {
			all := x.history(decisions)
			all = slices.Insert(all, 1, all[0])
			for i := range all {
				all[i].version = int64(i + 1)
			}
			x.setHistory(decisions, all)
			x.setVersion(decisions, int64(len(all)))
		}, 2, "not the one that was sealed"},
		"unreadable": {func(x tampering) {
			all := x.history(decisions)
			all[7].data = "?"
			x.setHistory(decisions, all)
		}, 8, "cannot be read"},
		"hidden": {func(x tampering) { x.setVersion(decisions, 7) }, 8, "beyond"},
		"seal changed": {func(x tampering) {
			all := x.history(seals)
			all[1].data = strings.Replace(all[1].data, `"hashes":"`, `"hashes":"AAAA`, 1)
			x.setHistory(seals, all)
		}, 4, "seal 2"},
		"hash in a seal changed": {func(x tampering) {
			all := x.history(seals)
			at := strings.Index(all[0].data, `"hashes":"`) + len(`"hashes":"`)
			other := "A"
			if all[0].data[at] == 'A' {
				other = "B"
			}
			all[0].data = all[0].data[:at] + other + all[0].data[at+1:]
			x.setHistory(seals, all)
		}, 1, "not the one that was sealed"},
		"seal missing":     {func(x tampering) { x.setHistory(seals, x.history(seals)[1:]) }, 1, "seal 1"},
		"last seal gone":   {func(x tampering) { x.setHistory(seals, x.history(seals)[:1]) }, 4, "seal is missing"},
		"seals exchanged":  {func(x tampering) { exchange(x, seals) }, 1, "seal 1"},
		"seal unreadable":  {func(x tampering) { x.setData(seals, "?") }, 0, "cannot be read"},
		"head changed":     {func(x tampering) { replaceData(x, seals, `"head":"`, strings.Repeat("0", 64)) }, 6, "head"},
		"count of seals":   {func(x tampering) { x.setVersion(seals, 3) }, 6, "seal"},
		"sealed less":      {func(x tampering) { replaceData(x, seals, `"through":`, "5") }, 5, "seal"},
		"sealed more":      {func(x tampering) { replaceData(x, seals, `"through":`, "8") }, 7, "seal"},
		"seals taken back": {func(x tampering) { takeBack(x, seals) }, 4, "was sealed"},
		"seals dropped":    {func(x tampering) { x.drop(seals) }, 1, "was sealed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(r *rig) {
				r.log("run_1", 3)
				r.sealed()
				r.log("run_1", 3)
				r.sealed()
				r.log("run_1", 2)
				r.log("run_2", 1)
				if got := r.verified("run_1"); !got.OK() || got.Sealed != 6 || got.Unsealed != 2 {
					r.Fatalf("before: %+v", got)
				}
				r.tampered(c.do)
				if got := r.verified("run_1"); got.Sequence != c.sequence || !strings.Contains(got.Problem, c.problem) {
					r.Errorf("%+v, want %d, %s", got, c.sequence, c.problem)
				}
				if got := r.verified("run_2"); !got.OK() {
					r.Errorf("another partition: %+v", got)
				}
				r.events()
				r.sealed() // seals no gap, and mends nothing
				if name == "unsealed missing" && len(r.events()) != 1 {
					r.Error("more than the other partition was sealed")
				}
				if got := r.verified("run_1"); name != "seals dropped" && name != "seals taken back" && got.OK() {
					r.Errorf("after a sweep: %+v", got)
				}
			})
		})
	}
}

// exchange exchanges the first two entries of a record's history.
func exchange(x tampering, key store.Key) {
	all := x.history(key)
	all[0].data, all[1].data = all[1].data, all[0].data
	x.setHistory(key, all)
}

// replaceData writes over what follows a text in a record.
func replaceData(x tampering, key store.Key, after, with string) {
	data := x.data(key)
	at := strings.Index(data, after) + len(after)
	x.setData(key, data[:at]+with+data[at+len(with):])
}

// takeBack makes the record of seals what it was after the first.
func takeBack(x tampering, key store.Key) {
	var first struct {
		Hashes []byte `json:"hashes"`
	}
	if err := json.Unmarshal([]byte(x.history(key)[0].data), &first); err != nil {
		panic(err)
	}
	head := hex.EncodeToString(first.Hashes[len(first.Hashes)-32:])
	x.setData(key, fmt.Sprintf(`{"through":3,"head":%q}`, head))
	x.setVersion(key, 1)
}

// Whatever a store answers other than what was sealed, in any of its records, is
// found.
func TestAnyLieIsFound(t *testing.T) {
	t.Parallel()
	r := newRig(t, newSQLite(t))
	const records = 12
	for range 4 {
		r.log("run_1", records/4)
		r.sealed()
	}
	honest, err := r.store.History(t.Context(), app.DecisionsKey(ns, "run_1"), 0, records)
	if err != nil {
		t.Fatal(err)
	}
	randtest.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, records-1).Draw(t, "record")
		entries := slices.Clone(honest)
		switch rapid.IntRange(0, 2).Draw(t, "lie") {
		case 0:
			entries = slices.Delete(entries, at, at+1)
		case 1:
			other := rapid.IntRange(0, records-1).Filter(func(i int) bool { return !bytes.Equal(entries[i].Data, entries[at].Data) }).Draw(t, "other")
			entries[at].Data, entries[other].Data = entries[other].Data, entries[at].Data
			at = min(at, other)
		default:
			data := slices.Clone(entries[at].Data)
			data[rapid.IntRange(0, len(data)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			entries[at].Data = data
		}
		reports, _, err := r.replica(&liar{r.store, entries}).Verify(r.Context(), ns, "run_1", "")
		if err != nil || reports[0].OK() || reports[0].Sequence != int64(at)+1 {
			t.Fatalf("a lie about record %d: %+v, %v", at+1, reports[0], err)
		}
	})
}

// liar returns other decisions than a store has.
type liar struct {
	store.Store
	decisions []store.HistoryEntry
}

func (l *liar) History(ctx context.Context, key store.Key, after int64, limit int) ([]store.HistoryEntry, error) {
	if key.Kind != "decisions" {
		return l.Store.History(ctx, key, after, limit)
	}
	var page []store.HistoryEntry
	for _, e := range l.decisions {
		if e.Version > after && len(page) < limit {
			page = append(page, e)
		}
	}
	return page, nil
}

// All partitions are verified by their ids, a page at a time, those too whose
// records are all gone.
func TestVerifyAll(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		const partitions = 130
		for i := range partitions {
			r.log(fmt.Sprintf("run_%03d", i), 1)
		}
		for range 3 {
			r.sealed()
		}
		gone := app.DecisionsKey(ns, "run_050")
		r.tampered(func(x tampering) {
			x.setHistory(gone, nil)
			x.drop(gone)
		})
		var seen []string
		for token := ""; ; {
			reports, next, err := r.Verify(r.Context(), ns, "", token)
			if err != nil {
				r.Fatal(err)
			}
			for _, report := range reports {
				seen = append(seen, report.Partition)
				if bad := report.Partition == gone.ID; report.OK() == bad {
					r.Errorf("%+v", report)
				}
			}
			if token = next; token == "" {
				break
			}
		}
		if len(seen) != partitions || !slices.IsSorted(seen) {
			r.Errorf("%d partitions: %v", len(seen), seen)
		}
		_, _, err := r.Verify(r.Context(), ns, "run_none", "")
		r.refused(err, fault.NotFound)
	})
}
