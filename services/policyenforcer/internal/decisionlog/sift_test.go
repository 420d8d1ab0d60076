package decisionlog

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// TestSiftDropsNothingThatIsAskedFor: whatever a query asks, of whatever records.
func TestSiftDropsNothingThatIsAskedFor(t *testing.T) {
	t.Parallel()
	names := []string{"", "a", `q"uo\te`, "é<&>\n", "{}"}
	var records []*ledger.Decision
	for i := range 60 {
		d := &ledger.Decision{
			Tool: names[i%5], SessionID: names[i/2%5], Workflow: names[i/3%5], Policy: names[i/4%5], Principal: names[i/5%5],
			Decision: []toolcall.Decision{toolcall.Allow, toolcall.Ask, toolcall.Deny}[i%3], Code: toolcall.CodeToolNotAllowed,
		}
		if i%4 == 0 {
			d.Shadows = []ledger.Shadow{{Policy: "a", Decision: toolcall.Deny}}
		}
		records = append(records, d)
	}
	dropped := 0
	for i, r := range records {
		queries := []Query{
			{Tool: r.Tool},
			{SessionID: r.SessionID, Workflow: "a"},
			{Policy: "a", Principal: r.Principal},
			{Decision: toolcall.Deny},
			{NotDecisions: []toolcall.Decision{toolcall.Deny, toolcall.Ask}},
			{Code: toolcall.CodeToolNotAllowed},
			{Code: toolcall.CodeRateLimited},
		}
		for _, q := range queries {
			sift := siftOf(&q)
			for k, other := range records {
				drops := sift.drops(other.Encode())
				if drops && q.matches(other) {
					t.Fatalf("query %+v of record %d drops %d: %s", q, i, k, other.Encode())
				}
				if drops {
					dropped++
				}
			}
		}
	}
	if dropped == 0 {
		t.Error("nothing is dropped")
	}
	sift := siftOf(&Query{Tool: "Edit"})
	if text := []byte(`{"tool":"Read"`); sift.drops(text) {
		t.Errorf("a record that is not JSON is dropped: %s", string(text))
	}
}
