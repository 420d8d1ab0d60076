package webhook

import (
	"fmt"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/visible"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/internal/redact"
	"github.com/interlock-run/interlock/services/internal/runnotice"
)

// Bounds of texts for people, in characters.
const (
	mostTitle = 140
	mostLine  = 600
)

// text is a message for people: without markup, without secrets, every character as it looks.
type text struct {
	// Title names the event and the request in a few words.
	Title string
	// Lines say more.
	Lines []string
	// Link is the page of the approval or the run; empty without a public URL. Open says what it opens.
	Link, Open string
	// Urgent means that a person has to act.
	Urgent bool
}

// String returns the text as a whole.
func (t text) String() string {
	all := append([]string{t.Title}, t.Lines...)
	if t.Link != "" {
		all = append(all, t.Link)
	}
	return strings.Join(all, "\n")
}

// titles are the first words by event.
var titles = map[string]string{
	consent.EventRequested: "Approval wanted", consent.EventEscalated: "Approval wanted, escalated", consent.EventRestored: "Approval wanted again",
	app.EventReminded: "Approval still wanted", consent.EventVoted: "Voted on", consent.EventGranted: "Granted", consent.EventRejected: "Rejected",
	consent.EventExpired: "Expired", consent.EventCancelled: "Cancelled", consent.EventUsed: "Used", consent.EventStale: "Granted, and not possible any more",
}

// textOf returns the text of a notice. Words of agents and of approvers are quoted or on a line of their own.
func textOf(n app.Notice, masks redact.Masks, link string) text {
	r := n.Record
	show := func(s string, most int) string { return clip(visible.Text(masks.Text(s), false), most) }
	title := titles[n.Type]
	if title == "" {
		title = n.Type
	}
	t := text{Title: show(title+": "+r.What(), mostTitle), Link: link, Open: "Open the approval", Urgent: r.Status == consent.Pending}
	if r.Message != "" {
		t.Lines = append(t.Lines, show("“"+strings.Join(strings.Fields(r.Message), " ")+"”", mostLine))
	}
	by := "asked by " + r.Asker.Principal
	if r.Asker.SessionID != "" {
		by += ", session " + r.Asker.SessionID
	}
	t.Lines = append(t.Lines, show(by, mostLine))
	if r.Status == consent.Pending {
		t.Lines = append(t.Lines, show(fmt.Sprintf("who decides: %s, until %s", r.Asked(r.Escalated), r.ExpiresAt.UTC().Format(time.RFC3339)), mostLine))
	}
	t.Lines = append(t.Lines, show(r.Outcome(), mostLine))
	return t
}

// runTitles are the first words by event of a run.
var runTitles = map[string]string{
	runnotice.Started: "Run started", runnotice.Failed: "Run failed", runnotice.Held: "Run held", runnotice.Stale: "Run without progress", runnotice.Reminded: "Run still in its state",
	runnotice.Deadline: "Run at its deadline", runnotice.TimerBlocked: "Run blocked at a timer", runnotice.Completed: "Run completed",
}

// runText returns the text of a notice of a run. Words of agents are quoted.
func runText(n *runnotice.Notice, masks redact.Masks, link string) text {
	show := func(s string, most int) string { return clip(visible.Text(masks.Text(s), false), most) }
	what := n.Workflow + ", in state " + n.State
	if n.Branch != "" {
		what += ", branch " + n.Branch
	}
	t := text{
		Title: show(runTitles[n.Event]+": "+what, mostTitle), Link: link, Open: "Open the run",
		Urgent: n.Event != runnotice.Completed && n.Event != runnotice.Reminded && n.Event != runnotice.Started,
	}
	if n.Reason != "" {
		t.Lines = append(t.Lines, show("“"+strings.Join(strings.Fields(n.Reason), " ")+"”", mostLine))
	}
	by := "started by " + n.Owner
	if n.SessionID != "" {
		by += ", session " + n.SessionID
	}
	if n.Schedule != "" {
		by += ", by schedule " + n.Schedule
	}
	t.Lines = append(t.Lines, show(by, mostLine))
	if n.Cause != "" {
		t.Lines = append(t.Lines, show(fmt.Sprintf("by the clock %q, due %s", n.Cause, n.Due.UTC().Format(time.RFC3339)), mostLine))
	}
	t.Lines = append(t.Lines, show(fmt.Sprintf("run %s is %s", n.RunID, strings.ToLower(string(n.Status))), mostLine))
	return t
}

// clip ends a text with … where it is too long.
func clip(s string, most int) string {
	letters := []rune(s)
	if len(letters) <= most {
		return s
	}
	return string(letters[:most-1]) + "…"
}
