package brief

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// S25.3, S25.8: an agent reads when time moves its run, and where to.
func TestTimeFacts(t *testing.T) {
	t.Parallel()
	at := timestamppb.New(time.Date(2026, 1, 2, 18, 0, 0, 0, time.UTC))
	run := &enginev1.Run{State: "working", Status: enginev1.RunStatus_RUN_STATUS_RUNNING, Branch: "ci", Dues: []*enginev1.Due{
		{Kind: "remind", At: at},
		{Kind: "after", Event: "$after:2h", Branch: "other", At: at, Targets: []string{"elsewhere"}},
		{Kind: "after", Event: "$after:2h", Branch: "ci", At: at, Targets: []string{"stuck", "done"}},
		{Kind: "deadline", Event: "$deadline", At: at, Targets: []string{"expired"}},
	}}
	const want = "Time (UTC): at 2026-01-02 18:00:00 the run goes to stuck or done; at 2026-01-02 18:00:00 the run goes to expired."
	if text := State(run, ""); !strings.Contains(text, want) {
		t.Errorf("%s", text)
	}
}

// S23.42: an agent reads that its run is halted, and why.
func TestHaltFacts(t *testing.T) {
	t.Parallel()
	run := &enginev1.Run{
		State: "ready", Status: enginev1.RunStatus_RUN_STATUS_RUNNING,
		Halt: &enginev1.RunHalt{HaltId: "halt_1", Scope: `workflow "ship"`, Reason: "INC-42", CreatedBy: "olga", CreatedAt: timestamppb.New(time.Date(2027, 1, 4, 0, 0, 0, 0, time.UTC))},
	}
	want := `Halted since 2027-01-04T00:00:00Z by "olga": workflow "ship". Reason: "INC-42". Nothing in its scope goes on until an operator lifts it; wait, and do not try another way.`
	if text := State(run, ""); !strings.Contains(text, want) {
		t.Errorf("it lacks %q: %s", want, text)
	}
}

// S25.15: an agent reads which transitions are frozen, until when, and why.
func TestFreezeFacts(t *testing.T) {
	t.Parallel()
	until := timestamppb.New(time.Date(2027, 1, 4, 0, 0, 0, 0, time.UTC))
	run := &enginev1.Run{
		State: "ready", Status: enginev1.RunStatus_RUN_STATUS_RUNNING,
		Freeze: &enginev1.RunFreeze{FreezeId: "frz_1", Reason: "end of the year", CreatedBy: "olga", Until: until},
		Rules: &enginev1.StateRules{LegalEvents: []*enginev1.LegalEvent{
			{Event: "DEPLOY", Targets: []string{"live"}, Frozen: true}, {Event: "PLAN", Targets: []string{"ready"}},
		}},
	}
	text := State(run, "")
	for _, want := range []string{
		"Transitions: DEPLOY -> live [frozen], PLAN -> ready.",
		`Frozen until 2027-01-04T00:00:00Z by "olga": DEPLOY. Reason: "end of the year". Wait, and do not try another way.`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q: %s", want, text)
		}
	}
	run.Rules.LegalEvents = run.Rules.LegalEvents[1:]
	if text := State(run, ""); strings.Contains(text, "Frozen") {
		t.Errorf("it names a freeze that stops nothing here: %s", text)
	}
	run.Rules.LegalEvents, run.Freeze.Reason = []*enginev1.LegalEvent{{Event: strings.Repeat("E", 20_000), Frozen: true}}, strings.Repeat("r", 1024)
	if text := Injected(run); len(text) > MaxBytes || !strings.Contains(text, "Frozen until") || !strings.Contains(text, "Run: ") {
		t.Errorf("%d bytes", len(text))
	}
}
