package decisionlog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
)

// list reads the whole log by pages, and tells the calls that are in it.
func (r *rig) list(q decisionlog.Query) []string {
	r.Helper()
	var calls []string
	for range 1000 {
		found, next, err := r.List(r.Context(), enforcertest.Namespace, q)
		if err != nil || len(found) > q.Limit {
			r.Fatalf("%d records of %d, %v", len(found), q.Limit, err)
		}
		for _, record := range found {
			calls = append(calls, record.Partition+"/"+record.CallID)
		}
		if q.PageToken = next; next == "" {
			return calls
		}
	}
	r.Fatal("there is no end to the pages")
	return nil
}

func TestListDecisions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		begin := r.Clock.Now()
		above, _ := document.Parse([]byte(`{"/amount": {"gt": 7}}`), document.Limits{})
		r.Engine.Parents = map[string]string{"run_child": "run_2"}
		for i := range 12 {
			root := fmt.Sprintf("run_%d", 1+i%3)
			record := r.Record(root, fmt.Sprint(i))
			switch i % 4 {
			case 1:
				record.Decision, record.Tool = toolcall.Deny, "Edit"
			case 2:
				record.SessionID = "other"
			case 3:
				record.Shadows = []ledger.Shadow{{Policy: "p", Decision: toolcall.Ask}}
			}
			record.Input = []byte(fmt.Sprintf(`{"amount":%d}`, i))
			if i == 11 {
				record.Input = []byte(`{"amount":"[masked]"}`)
			}
			if i == 4 || i == 10 {
				record.RunID = "run_child"
			}
			if err := r.Append(root, record); err != nil {
				r.Fatal(err)
			}
			r.Clock.Advance(time.Hour)
		}
		for name, c := range map[string]struct {
			query decisionlog.Query
			want  string
		}{
			"all":      {decisionlog.Query{}, "3/11 3/8 3/5 3/2 2/10 2/7 2/4 2/1 1/9 1/6 1/3 1/0"},
			"root run": {decisionlog.Query{RunID: "run_2"}, "2/10 2/7 2/4 2/1"},
			"child":    {decisionlog.Query{RunID: "run_child"}, "2/10 2/4"},
			"session":  {decisionlog.Query{SessionID: "other"}, "3/2 2/10 1/6"},
			"tool":     {decisionlog.Query{Tool: "Edit"}, "3/5 2/1 1/9"},
			"denied":   {decisionlog.Query{Decision: toolcall.Deny}, "3/5 2/1 1/9"},
			"none":     {decisionlog.Query{Decision: toolcall.Deny, Tool: "Bash"}, ""},
			"since":    {decisionlog.Query{Since: begin.Add(9 * time.Hour)}, "3/11 2/10 1/9"},
			"when":     {decisionlog.Query{When: condition.Read(&document.Report{}, above, nil, condition.Use{})}, "3/8 2/10 1/9"},
			"shadowed": {decisionlog.Query{Shadowed: true}, "3/11 2/7 1/3"},
		} {
			for _, limit := range []int{1, 3, 100} {
				c.query.Limit = limit
				got := strings.ReplaceAll(strings.Join(r.list(c.query), " "), "run_", "")
				if got != c.want {
					r.Errorf("%s by %d: %s, want %s", name, limit, got, c.want)
				}
			}
		}
		_, _, err := r.List(r.Context(), enforcertest.Namespace, decisionlog.Query{RunID: "run_none", Limit: 1})
		r.Refused(err, fault.NotFound)
		for _, token := range []string{"?", "AAAA", "LTEgcnVuXzE"} {
			_, _, err := r.List(r.Context(), enforcertest.Namespace, decisionlog.Query{PageToken: token, Limit: 1})
			r.Refused(err, fault.InvalidRequest)
		}
	})
}

// Hashes are those of the chain, and only sealed records have one.
func TestListedHashes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		for range 5 {
			r.AppendMany("run_1", 3)
			r.AppendMany("run_2", 1)
			r.sealed()
		}
		r.AppendMany("run_1", 2)
		hashes := func(limit int) []string {
			var out []string
			for token := ""; ; {
				found, next, err := r.List(r.Context(), enforcertest.Namespace, decisionlog.Query{Limit: limit, PageToken: token})
				if err != nil {
					r.Fatal(err)
				}
				for _, record := range found {
					sealed := record.Partition == "run_2" || record.Sequence <= 15
					if sealed != (len(record.Hash) == 64) {
						r.Errorf("%s %d has hash %q", record.Partition, record.Sequence, record.Hash)
					}
					out = append(out, record.Hash)
				}
				if token = next; token == "" {
					return out
				}
			}
		}
		all := hashes(100)
		if len(all) != 22 || all[7] != r.verified("run_1").Head || all[0] != r.verified("run_2").Head {
			r.Errorf("%d hashes: %v", len(all), all)
		}
		if !slices.Equal(hashes(4), all) {
			r.Error("by pages the hashes are others")
		}
	})
}

// A record that was made unreadable keeps nobody from the others, and is seen.
func TestUnreadableRecordIsListed(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.AppendMany("run_1", 3)
		r.tamper(func(x enforcertest.Tampering) {
			all := x.History(decisionlog.PartitionKey(enforcertest.Namespace, "run_1"))
			all[1].Data = "?"
			x.SetHistory(decisionlog.PartitionKey(enforcertest.Namespace, "run_1"), all)
		})
		found, _, err := r.List(r.Context(), enforcertest.Namespace, decisionlog.Query{Tool: "Bash", Limit: 10})
		if err != nil || len(found) != 3 || !strings.Contains(found[1].Message, "verify") {
			r.Errorf("%d records, %v", len(found), err)
		}
	})
}
