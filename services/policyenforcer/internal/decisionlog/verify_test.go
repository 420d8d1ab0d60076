package decisionlog_test

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
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
)

// Whatever is done to the log behind the store's back is found, and where.
func TestTamperingIsFound(t *testing.T) {
	t.Parallel()
	decisions, seals := decisionlog.PartitionKey(enforcertest.Namespace, "run_1"), decisionlog.SealKey(enforcertest.Namespace, "run_1")
	without := func(at int) func(enforcertest.Tampering) {
		return func(x enforcertest.Tampering) {
			all := x.History(decisions)
			x.SetHistory(decisions, slices.Delete(all, at, at+1))
		}
	}
	for name, c := range map[string]struct {
		do       func(enforcertest.Tampering)
		sequence int64
		problem  string
	}{
		"changed": {func(x enforcertest.Tampering) {
			all := x.History(decisions)
			all[2].Data = strings.Replace(all[2].Data, `"ALLOW"`, `"DENY"`, 1)
			x.SetHistory(decisions, all)
		}, 3, "not the one that was sealed"},
		"time changed": {func(x enforcertest.Tampering) {
			all := x.History(decisions)
			all[1].At = strings.Replace(all[1].At, "1", "2", 1)
			x.SetHistory(decisions, all)
		}, 2, "not the one that was sealed"},
		"time given": {func(x enforcertest.Tampering) {
			all := x.History(decisions)
			all[1].Data = `{"time":"2026-01-01T00:00:00Z",` + all[1].Data[1:]
			x.SetHistory(decisions, all)
		}, 2, "not the one that was sealed"},
		"a blank added": {func(x enforcertest.Tampering) {
			all := x.History(decisions)
			all[0].Data = " " + all[0].Data
			x.SetHistory(decisions, all)
		}, 1, "not the one that was sealed"},
		"first missing":         {without(0), 1, "missing"},
		"middle missing":        {without(2), 3, "missing"},
		"last of sealed gone":   {without(5), 6, "missing"},
		"unsealed missing":      {without(6), 7, "missing"},
		"last unsealed missing": {without(7), 8, "missing"},
		"all missing":           {func(x enforcertest.Tampering) { x.SetHistory(decisions, nil) }, 1, "missing"},
		"all missing, and their record": {func(x enforcertest.Tampering) {
			x.SetHistory(decisions, nil)
			x.Drop(decisions)
		}, 1, "missing"},
		"record dropped": {func(x enforcertest.Tampering) { x.Drop(decisions) }, 1, "missing"},
		"cut short": {func(x enforcertest.Tampering) {
			x.SetHistory(decisions, x.History(decisions)[:4])
			x.SetVersion(decisions, 4)
		}, 5, "missing"},
		"closed up": {func(x enforcertest.Tampering) {
			all := slices.Delete(x.History(decisions), 2, 3)
			for i := range all {
				all[i].Version = int64(i + 1)
			}
			x.SetHistory(decisions, all)
			x.SetVersion(decisions, int64(len(all)))
		}, 3, "not the one that was sealed"},
		"exchanged": {func(x enforcertest.Tampering) {
			all := x.History(decisions)
			all[1].Data, all[2].Data = all[2].Data, all[1].Data
			x.SetHistory(decisions, all)
		}, 2, "not the one that was sealed"},
		"inserted": {func(x enforcertest.Tampering) {
			all := x.History(decisions)
			all = slices.Insert(all, 1, all[0])
			for i := range all {
				all[i].Version = int64(i + 1)
			}
			x.SetHistory(decisions, all)
			x.SetVersion(decisions, int64(len(all)))
		}, 2, "not the one that was sealed"},
		"unreadable": {func(x enforcertest.Tampering) {
			all := x.History(decisions)
			all[7].Data = "?"
			x.SetHistory(decisions, all)
		}, 8, "cannot be read"},
		"hidden": {func(x enforcertest.Tampering) { x.SetVersion(decisions, 7) }, 8, "beyond"},
		"seal changed": {func(x enforcertest.Tampering) {
			all := x.History(seals)
			all[1].Data = strings.Replace(all[1].Data, `"hashes":"`, `"hashes":"AAAA`, 1)
			x.SetHistory(seals, all)
		}, 4, "seal 2"},
		"hash in a seal changed": {func(x enforcertest.Tampering) {
			all := x.History(seals)
			at := strings.Index(all[0].Data, `"hashes":"`) + len(`"hashes":"`)
			other := "A"
			if all[0].Data[at] == 'A' {
				other = "B"
			}
			all[0].Data = all[0].Data[:at] + other + all[0].Data[at+1:]
			x.SetHistory(seals, all)
		}, 1, "not the one that was sealed"},
		"seal missing":     {func(x enforcertest.Tampering) { x.SetHistory(seals, x.History(seals)[1:]) }, 1, "seal 1"},
		"last seal gone":   {func(x enforcertest.Tampering) { x.SetHistory(seals, x.History(seals)[:1]) }, 4, "seal is missing"},
		"seals exchanged":  {func(x enforcertest.Tampering) { exchange(x, seals) }, 1, "seal 1"},
		"seal unreadable":  {func(x enforcertest.Tampering) { x.SetData(seals, "?") }, 0, "cannot be read"},
		"head changed":     {func(x enforcertest.Tampering) { replaceData(x, seals, `"head":"`, strings.Repeat("0", 64)) }, 6, "head"},
		"count of seals":   {func(x enforcertest.Tampering) { x.SetVersion(seals, 3) }, 6, "seal"},
		"sealed less":      {func(x enforcertest.Tampering) { replaceData(x, seals, `"through":`, "5") }, 5, "seal"},
		"sealed more":      {func(x enforcertest.Tampering) { replaceData(x, seals, `"through":`, "8") }, 7, "seal"},
		"seals taken back": {func(x enforcertest.Tampering) { takeBack(x, seals) }, 4, "was sealed"},
		"seals dropped":    {func(x enforcertest.Tampering) { x.Drop(seals) }, 1, "was sealed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(r *rig) {
				r.AppendMany("run_1", 3)
				r.sealed()
				r.AppendMany("run_1", 3)
				r.sealed()
				r.AppendMany("run_1", 2)
				r.AppendMany("run_2", 1)
				if got := r.verified("run_1"); !got.OK() || got.Sealed != 6 || got.Unsealed != 2 {
					r.Fatalf("before: %+v", got)
				}
				r.tamper(c.do)
				if got := r.verified("run_1"); got.Sequence != c.sequence || !strings.Contains(got.Problem, c.problem) {
					r.Errorf("%+v, want %d, %s", got, c.sequence, c.problem)
				}
				if got := r.verified("run_2"); !got.OK() {
					r.Errorf("another partition: %+v", got)
				}
				r.Events()
				r.sealed() // seals no gap, and mends nothing
				if name == "unsealed missing" && len(r.Events()) != 1 {
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
func exchange(x enforcertest.Tampering, key store.Key) {
	all := x.History(key)
	all[0].Data, all[1].Data = all[1].Data, all[0].Data
	x.SetHistory(key, all)
}

// replaceData writes over what follows a text in a record.
func replaceData(x enforcertest.Tampering, key store.Key, after, with string) {
	data := x.Data(key)
	at := strings.Index(data, after) + len(after)
	x.SetData(key, data[:at]+with+data[at+len(with):])
}

// takeBack makes the record of seals what it was after the first.
func takeBack(x enforcertest.Tampering, key store.Key) {
	var first struct {
		Hashes []byte `json:"hashes"`
	}
	if err := json.Unmarshal([]byte(x.History(key)[0].Data), &first); err != nil {
		panic(err)
	}
	head := hex.EncodeToString(first.Hashes[len(first.Hashes)-32:])
	x.SetData(key, fmt.Sprintf(`{"through":3,"head":%q}`, head))
	x.SetVersion(key, 1)
}

// Whatever a store answers other than what was sealed, in any of its records, is
// found.
func TestAnyLieIsFound(t *testing.T) {
	t.Parallel()
	r := newRig(enforcertest.New(t, enforcertest.NewSQLite(t)))
	const records = 12
	for range 4 {
		r.AppendMany("run_1", records/4)
		r.sealed()
	}
	honest, err := r.Storage.History(t.Context(), decisionlog.PartitionKey(enforcertest.Namespace, "run_1"), 0, records)
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
		reports, _, err := r.replica(&liar{r.Storage, entries}).Verify(r.Context(), enforcertest.Namespace, "run_1", "")
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
			r.AppendMany(fmt.Sprintf("run_%03d", i), 1)
		}
		for range 3 {
			r.sealed()
		}
		gone := decisionlog.PartitionKey(enforcertest.Namespace, "run_050")
		r.tamper(func(x enforcertest.Tampering) {
			x.SetHistory(gone, nil)
			x.Drop(gone)
		})
		var seen []string
		for token := ""; ; {
			reports, next, err := r.Verify(r.Context(), enforcertest.Namespace, "", token)
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
		_, _, err := r.Verify(r.Context(), enforcertest.Namespace, "run_none", "")
		r.Refused(err, fault.NotFound)
	})
}
