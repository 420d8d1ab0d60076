package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

// list reads the whole log by pages, and tells the calls that are in it.
func (r *rig) list(q app.DecisionQuery) []string {
	r.Helper()
	var calls []string
	for range 1000 {
		found, next, err := r.Decisions(r.Context(), ns, q)
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
		begin := r.clock.Now()
		r.engine.parents = map[string]string{"run_child": "run_2"}
		for i := range 12 {
			root := fmt.Sprintf("run_%d", 1+i%3)
			record := r.record(root, fmt.Sprint(i))
			switch i % 4 {
			case 1:
				record.Decision, record.Tool = toolcall.Deny, "Edit"
			case 2:
				record.SessionID = "other"
			case 3:
				record.Shadows = []ledger.Shadow{{Policy: "p", Decision: toolcall.Ask}}
			}
			if i == 4 || i == 10 {
				record.RunID = "run_child"
			}
			if err := r.Log(r.Context(), ns, root, record); err != nil {
				r.Fatal(err)
			}
			r.clock.Advance(time.Hour)
		}
		for name, c := range map[string]struct {
			query app.DecisionQuery
			want  string
		}{
			"all":      {app.DecisionQuery{}, "3/11 3/8 3/5 3/2 2/10 2/7 2/4 2/1 1/9 1/6 1/3 1/0"},
			"root run": {app.DecisionQuery{RunID: "run_2"}, "2/10 2/7 2/4 2/1"},
			"child":    {app.DecisionQuery{RunID: "run_child"}, "2/10 2/4"},
			"session":  {app.DecisionQuery{SessionID: "other"}, "3/2 2/10 1/6"},
			"tool":     {app.DecisionQuery{Tool: "Edit"}, "3/5 2/1 1/9"},
			"denied":   {app.DecisionQuery{Decision: toolcall.Deny}, "3/5 2/1 1/9"},
			"none":     {app.DecisionQuery{Decision: toolcall.Deny, Tool: "Bash"}, ""},
			"since":    {app.DecisionQuery{Since: begin.Add(9 * time.Hour)}, "3/11 2/10 1/9"},
			"shadowed": {app.DecisionQuery{Shadowed: true}, "3/11 2/7 1/3"},
		} {
			for _, limit := range []int{1, 3, 100} {
				c.query.Limit = limit
				got := strings.ReplaceAll(strings.Join(r.list(c.query), " "), "run_", "")
				if got != c.want {
					r.Errorf("%s by %d: %s, want %s", name, limit, got, c.want)
				}
			}
		}
		_, _, err := r.Decisions(r.Context(), ns, app.DecisionQuery{RunID: "run_none", Limit: 1})
		r.refused(err, fault.NotFound)
		for _, token := range []string{"?", "AAAA", "LTEgcnVuXzE"} {
			_, _, err := r.Decisions(r.Context(), ns, app.DecisionQuery{PageToken: token, Limit: 1})
			r.refused(err, fault.InvalidRequest)
		}
	})
}

// Hashes are those of the chain, and only sealed records have one.
func TestListedHashes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		for range 5 {
			r.log("run_1", 3)
			r.log("run_2", 1)
			r.sealed()
		}
		r.log("run_1", 2)
		hashes := func(limit int) []string {
			var out []string
			for token := ""; ; {
				found, next, err := r.Decisions(r.Context(), ns, app.DecisionQuery{Limit: limit, PageToken: token})
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
		r.log("run_1", 3)
		r.tampered(func(x tampering) {
			all := x.history(app.DecisionsKey(ns, "run_1"))
			all[1].data = "?"
			x.setHistory(app.DecisionsKey(ns, "run_1"), all)
		})
		found, _, err := r.Decisions(r.Context(), ns, app.DecisionQuery{Tool: "Bash", Limit: 10})
		if err != nil || len(found) != 3 || !strings.Contains(found[1].Message, "verify") {
			r.Errorf("%d records, %v", len(found), err)
		}
	})
}
