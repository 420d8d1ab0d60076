package brief_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

// TestApproval: what waits for people, and what they have decided (S9.1, S9.3). What
// they and agents have written is data.
func TestApproval(t *testing.T) {
	t.Parallel()
	since := timestamppb.New(time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC))
	for _, row := range []struct {
		name     string
		approval *enginev1.RunApproval
		want     string
	}{
		{
			"pending", &enginev1.RunApproval{ApprovalId: "apr_1", Event: "DEPLOY", To: "live", Message: "Go\u200b?\n[INTERLOCK]", AskedBy: "agent\x1b[31m", Since: since, Pending: true},
			`Approval: apr_1 for "DEPLOY" -> live is pending since 2026-11-21T15:00:00Z, asked for by "agent\x1b[31m", with the message "Go\u200b?\n[INTERLOCK]".`,
		},
		{"pending, no more is known", &enginev1.RunApproval{ApprovalId: "apr_1", Event: "DEPLOY", Pending: true}, `Approval: apr_1 for "DEPLOY" is pending.`},
		{
			"rejected", &enginev1.RunApproval{ApprovalId: "apr_1", Event: "DEPLOY", Outcome: enginev1.ApprovalOutcome_APPROVAL_OUTCOME_REJECTED, DecidedBy: "bob", Note: "no\u202e"},
			`Approval: apr_1 for "DEPLOY" was rejected by "bob". Note: "no\u202e".`,
		},
		{"expired", &enginev1.RunApproval{ApprovalId: "apr_1", Event: "DEPLOY", Outcome: enginev1.ApprovalOutcome_APPROVAL_OUTCOME_EXPIRED}, "has expired without a decision. This is not a rejection"},
		{"cancelled", &enginev1.RunApproval{ApprovalId: "apr_1", Event: "DEPLOY", Outcome: enginev1.ApprovalOutcome_APPROVAL_OUTCOME_CANCELLED, DecidedBy: "op"}, `was withdrawn by "op".`},
		{"stale", &enginev1.RunApproval{ApprovalId: "apr_1", Event: "DEPLOY", Outcome: enginev1.ApprovalOutcome_APPROVAL_OUTCOME_STALE, DecidedBy: "bob"}, `was granted by "bob", but it was no longer possible`},
		{"of the future", &enginev1.RunApproval{ApprovalId: "apr_1", Event: "DEPLOY", Outcome: enginev1.ApprovalOutcome(99)}, "has ended otherwise."},
		{"without an outcome", &enginev1.RunApproval{ApprovalId: "apr_1", Event: "DEPLOY"}, `Approval: apr_1 for "DEPLOY" is decided.`},
	} {
		run := testing1()
		run.Approval = row.approval
		for _, text := range []string{brief.State(run, ""), brief.Injected(run), strings.Join(brief.Asks(run, ""), "\n")} {
			if !strings.Contains(text, row.want) {
				t.Errorf("%s: want %s in\n%s", row.name, row.want, text)
			}
		}
		// A note that is too long leaves room for the rest.
		run.Approval.Note, run.Approval.Message = strings.Repeat("n\u202e", 4096), strings.Repeat("m\x00", 8192)
		if text := brief.Injected(run); len(text) > brief.MaxBytes || !strings.Contains(text, "Run: run_1 of deploy") {
			t.Errorf("%s: %d bytes:\n%s", row.name, len(text), text)
		}
	}
	// S6.2: of a held run, the grant waits until it continues.
	held := testing1()
	held.Status, held.Approval = enginev1.RunStatus_RUN_STATUS_HELD, &enginev1.RunApproval{ApprovalId: "apr_1", Event: "DEPLOY", Pending: true}
	if text := brief.State(held, ""); !strings.Contains(text, `apr_1 for "DEPLOY" is pending or decided, which is carried out when the run continues`) {
		t.Errorf("a held run: %s", text)
	}
	if asks := brief.Asks(testing1(), ""); len(asks) != 0 {
		t.Errorf("a run that asks nothing asks %q", asks)
	}
}

// TestApprovalLink: a link identifies an approval; without an address there is none.
func TestApprovalLink(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ public, id, want string }{
		{"", "apr_1", ""},
		{"https://gate.example", "apr_1", "https://gate.example/ui/approvals/apr_1"},
		{"https://gate.example/base/", "apr_1", "https://gate.example/base/ui/approvals/apr_1"},
		{"https://gate.example", "../x?y#z", "https://gate.example/ui/approvals/..%2Fx%3Fy%23z"},
	} {
		if got := brief.ApprovalLink(row.public, row.id); got != row.want {
			t.Errorf("%q and %q: %s", row.public, row.id, got)
		}
	}
	for _, link := range []string{"", "https://x/ui/approvals/apr_1"} { // S13.4
		for _, message := range []string{"people are asked", "people are asked: apr_1"} {
			if text := brief.Asked(message, "apr_1", link, ""); strings.ContainsAny(text, "`") || strings.Contains(text, "interlock approval") {
				t.Errorf("agents read a command: %s", text)
			}
		}
	}
	const said = "Make this call again then. The approval is apr_1; a person decides it."
	for link, want := range map[string]string{
		"":                             `You cannot decide it. Wait with x_wait_approval(approval_id="apr_1").`,
		"https://x/ui/approvals/apr_1": `You cannot decide it. Its page is https://x/ui/approvals/apr_1. Wait with x_wait_approval(approval_id="apr_1").`,
	} {
		if got := brief.Asked(said, "apr_1", link, "x_"); got != want {
			t.Errorf("the message is repeated: %s", got)
		}
	}
	if text := brief.Deciders(""); strings.Contains(text, " at ") {
		t.Error(text)
	}
	if text := brief.Asked("people are asked", "apr_1", "https://x/ui/approvals/apr_1", "x_"); !strings.Contains(text, `x_wait_approval(approval_id="apr_1")`) || !strings.Contains(text, "decides it, at https://x/ui/approvals/apr_1;") {
		t.Error(text)
	}
}

// TestProcess: an agent in a process reads its question and answers, not events
// (S8.1).
func TestProcess(t *testing.T) {
	t.Parallel()
	process := func(change func(*enginev1.Run)) *enginev1.Run {
		run := &enginev1.Run{
			RunId: "run_1", Workflow: "deploy-gate", WorkflowVersion: 1, Status: running, State: "env", WorkflowMeta: &enginev1.WorkflowMeta{Process: true},
			Rules: &enginev1.StateRules{Instructions: "Is it right?", LegalEvents: []*enginev1.LegalEvent{{Event: "yes", Targets: []string{"load"}}, {Event: "n/a", Targets: []string{"$completed"}}}},
		}
		change(run)
		return run
	}
	const want = `Phase: env. Tools: any.
Question: Is it right?
Answers: "yes", "n/a". Give one with x_process_step(answer=...).
Run: run_1 of deploy-gate version 1, RUNNING.`
	if got := brief.State(process(func(*enginev1.Run) {}), "x_"); got != want {
		t.Errorf("got\n%s", got)
	}
	for _, row := range []struct {
		name   string
		change func(*enginev1.Run)
		want   string
		lacks  string
	}{
		{"awaiting", func(r *enginev1.Run) {
			r.Status, r.Approval = enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL, &enginev1.RunApproval{ApprovalId: "apr_1", Event: "yes", Pending: true}
		}, "no answer is accepted. x_wait_approval returns when that is decided.", "Answers:"},
		{"awaiting, no more is known", func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL }, "no answer is accepted. x_wait returns", "Answers:"},
		{"blocked", func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_BLOCKED }, "It is blocked, and this session cannot continue", "Question:"},
		{"complete", func(r *enginev1.Run) { r.Status, r.Rules.LegalEvents = enginev1.RunStatus_RUN_STATUS_COMPLETED, nil }, "begin another", "Answers:"},
		{"paused", func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_PAUSED }, `x_load_workflow(name="deploy-gate", resume=true)`, "Answers:"},
	} {
		run := process(row.change)
		text := brief.State(run, "x_")
		if !strings.Contains(text, row.want) || strings.Contains(text, row.lacks) || strings.Contains(text, "Transitions:") {
			t.Errorf("%s:\n%s", row.name, text)
		}
		if len(brief.Answers(run)) != 0 {
			t.Errorf("%s: answers %q", row.name, brief.Answers(run))
		}
	}
	asks := strings.Join(brief.Asks(process(func(*enginev1.Run) {}), "x_"), "\n")
	if asks != "Question: Is it right?\nAnswers: \"yes\", \"n/a\". Give one with x_process_step(answer=...)." {
		t.Errorf("asks\n%s", asks)
	}
	long := process(func(r *enginev1.Run) { r.Rules.Instructions = strings.Repeat("q", 20_000) })
	opening := brief.Opening(strings.Repeat("p", 20_000), long)
	if len(opening) > brief.MaxBytes || !strings.Contains(opening, "...\nPhase: env.") || !strings.Contains(opening, `Answers: "yes", "n/a".`) {
		t.Errorf("%d bytes: %s", len(opening), opening)
	}
}
