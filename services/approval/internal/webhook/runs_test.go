package webhook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/approval/internal/webhook"
	"github.com/interlock-run/interlock/services/internal/runnotice"
)

// S23.54: routes select events of runs by kind, event, workflow and namespace, and a route that names none of them gets none.
func TestRunRoutes(t *testing.T) {
	t.Parallel()
	night := time.Date(2026, time.January, 1, 23, 0, 0, 0, time.UTC)
	const to = "ntfy:https://ntfy.example.com/t"
	for route, want := range map[string]string{
		"":                                       "",
		"#event=requested":                       "",
		"#kind=transition":                       "",
		"#kind=run":                              "failed held stale reminded deadline timer.blocked",
		"#kind=run,tool_call&namespace=def*":     "failed held stale reminded deadline timer.blocked",
		"#event=run.completed,run.held":          "held completed",
		"#event=run.timer.blocked,requested":     "timer.blocked",
		"#event=run.failed&workflow=rel*":        "failed",
		"#event=run.failed&workflow=x":           "",
		"#kind=run&namespace=other":              "",
		"#kind=transition&event=run.failed":      "",
		"#event=run.held&quiet=22:00-07:00":      "held until 2026-01-02T07:00:00Z",
		"#kind=run&event=run.stale&workflow=re*": "stale",
	} {
		r, err := webhook.New(webhook.Config{Notify: []string{to + route}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, event := range runnotice.Events() {
			plan := r.PlanRun(r.Receivers()[0], "default", &runnotice.Notice{Event: event, Workflow: "release"}, night)
			if plan.Takes {
				got = append(got, event)
			}
			if !plan.NotBefore.IsZero() {
				got = append(got, "until", plan.NotBefore.Format(time.RFC3339))
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s takes %q, want %q", route, text, want)
		}
		if names := strings.Contains(route, "run"); r.HearRuns() != names {
			t.Errorf("%s hears of runs: %t", route, r.HearRuns())
		}
	}
	for route, want := range map[string]string{
		"#event=run.gone":                 "run.gone is not known",
		"#event=run.failed&role=approver": "no one decides an event of a run",
		"#kind=run&person=kim":            "no one decides an event of a run",
	} {
		if _, err := webhook.New(webhook.Config{Notify: []string{to + route}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", route, err, want)
		}
	}
}

// runSaid is a notice of a run in words of an agent.
func runSaid() app.Notice {
	at := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	return app.Notice{ID: "default.run.run_1.3.held@2026-01-01T00:00:00Z", Type: runnotice.Held, At: at, SentAt: at, Namespace: "default", Run: &runnotice.Notice{
		ID: "default.run.run_1.3.held@2026-01-01T00:00:00Z", Event: runnotice.Held, At: at, RunID: "run_1", Version: 3, Workflow: "release", WorkflowVersion: 2,
		Status: workflow.Held, State: "work", SessionID: "s1", Owner: "amir", Reason: hostile, Cause: workflow.DueStale, Due: at,
	}}
}

// S23.57: a message about a run has its text ready to show, and links to the run, without secrets and markup.
func TestRunMessages(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "run.tmpl")
	if err := os.WriteFile(file, []byte(`{{.Type}} {{.Run.status}} {{.Link}} {{.Urgent}} {{.Namespace}} {{len .Approval}} {{.Run.reason}} {{.Text}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string][]string{
		"slack:":                     {`"text":"Run held: release, in state work"`, "<https://interlock.example.com/ui/runs/run_1|Open the run>"},
		"teams:":                     {"Run held: release, in state work", "https://interlock.example.com/ui/runs/run_1", "Open the run"},
		"template:" + file + "#url=": {"held HELD https://interlock.example.com/ui/runs/run_1 true default 0 ", "Run held: release", "run run_1 is held", `by the clock "stale", due 2026-01-01T00:00:00Z`},
	} {
		send, got := sentBy(t, given)
		if err := send(runSaid()); err != nil {
			t.Fatal(err)
		}
		body := got().body
		for _, part := range want {
			if !strings.Contains(body, part) {
				t.Errorf("%s: it has no %q: %s", given, part, body)
			}
		}
		if strings.Contains(body, "sk-live") {
			t.Errorf("%s: it has a secret: %s", given, body)
		}
	}
}

// sentBy returns what sends by one channel, and what its service gets.
func sentBy(t *testing.T, given string) (send func(app.Notice) error, got func() post) {
	t.Helper()
	r, posts := receiverOf(t, func(url string) string { return given + url })
	return func(n app.Notice) error { return r.Send(t.Context(), r.Receivers()[0], n) }, func() post { return <-posts }
}
