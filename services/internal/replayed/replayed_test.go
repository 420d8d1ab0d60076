package replayed_test

import (
	"encoding/json"
	"testing"

	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/services/internal/replayed"
)

// Differences are grouped by effect and cause, loosened decisions first, and every entry is
// counted once.
func TestSummarize(t *testing.T) {
	t.Parallel()
	differs := func(run string, effect conform.Effect, cause string, beyond int) conform.Replayed {
		return conform.Replayed{RunID: run, Same: 2, First: &conform.Divergence{
			Entry: "history", Number: 3, Effect: effect, Cause: cause, What: "w", State: "a", Event: "GO", To: "b", Beyond: beyond,
		}}
	}
	s := replayed.Summarize([]conform.Replayed{
		differs("r1", conform.Tightened, "x", 1), differs("r2", conform.Diverted, "x", 0), differs("r3", conform.Tightened, "y", 0),
		differs("r4", conform.Loosened, "z", 4), differs("r5", conform.Tightened, "y", 0),
		{RunID: "r6", Same: 5, Open: map[string]int{conform.OpenInput: 2, conform.OpenLimits: 3}},
		{RunID: "r7", Open: map[string]int{conform.OpenInput: 1, conform.OpenCounter: 1}},
	})
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	one := func(run, beyond string) string {
		return `{"run_id":"` + run + `","entry":"history","number":3,"state":"a","event":"GO","to":"b","what":"w","beyond":` + beyond + `}`
	}
	want := `{"runs":7,"same":15,"loosened":1,"tightened":3,"other":1,"undecided":4,"beyond":5,` +
		`"open":{"a counter of the store decided":1,"limits of policies are not counted over a replay":3,"the input was not kept, or is masked":3},` +
		`"differences":[{"effect":"loosened","cause":"z","runs":[` + one("r4", "4") + `]},` +
		`{"effect":"other","cause":"x","runs":[` + one("r2", "0") + `]},` +
		`{"effect":"tightened","cause":"y","runs":[` + one("r3", "0") + `,` + one("r5", "0") + `]},` +
		`{"effect":"tightened","cause":"x","runs":[` + one("r1", "1") + `]}]}`
	if string(got) != want {
		t.Errorf("\n%s, not\n%s", got, want)
	}
}

// Without replayed runs there are no differences, and no null.
func TestSummarizeNothing(t *testing.T) {
	t.Parallel()
	if got, err := json.Marshal(replayed.Summarize(nil)); err != nil ||
		string(got) != `{"runs":0,"same":0,"loosened":0,"tightened":0,"other":0,"undecided":0,"beyond":0,"open":{},"differences":[]}` {
		t.Errorf("%s %v", got, err)
	}
}
