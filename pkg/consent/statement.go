package consent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/signature"
	"github.com/interlock-run/interlock/pkg/visible"
)

// Intent is a vote that a person signs: everything but the action.
type Intent struct {
	Approve bool
	Note    string
	// Lease is nil for none.
	Lease *LeaseTerms
	// Person signs, in a namespace of a deployment.
	Person, Namespace, Deployment string
}

// Statement returns the statement of a vote on approvals, without its nonce and time.
func (in *Intent) Statement(items ...signature.Item) *signature.Statement {
	s := &signature.Statement{
		Format: signature.Format, Deployment: in.Deployment, Namespace: in.Namespace, Decision: signature.Reject, Person: in.Person,
		Items: items, Note: signature.NoteDigest(in.Note),
	}
	if in.Approve {
		s.Decision = signature.Approve
	}
	if l := in.Lease; l != nil {
		s.Lease = &signature.Lease{Pattern: l.Pattern, Only: l.Only, Calls: l.Calls, Minutes: l.Minutes}
	}
	return s
}

// Item returns an approval as a person signs it, with the data that they may have edited;
// missing data leaves it as it is. Of a list, the items after the first are alike, and show
// only where they differ.
func (a *Approval) Item(edited document.Value, alike bool) signature.Item {
	action := a.Bound()
	if !edited.IsZero() {
		action = action.With(edited)
	}
	shown := a.shown
	if alike {
		shown = a.shownBriefly
	}
	return signature.Item{
		ApprovalID: a.ID, Kind: string(action.Kind), Digest: action.Digest(), Terms: a.Terms.Digest(),
		RunID: action.text("run_id"), RunVersion: action.number("run_version"),
		Workflow: action.text("workflow"), WorkflowVersion: action.number("workflow_version"), State: action.text("state"),
		Tool: action.text("tool"), Event: action.text("event"), Shown: shown(action),
	}
}

// Matches describes the first part in which a statement is not one of the vote on this
// approval; empty for one that is. The statement may be of further approvals.
func (a *Approval) Matches(s *signature.Statement, in *Intent, edited document.Value) string {
	var found []signature.Item
	alike := false
	for i := range s.Items {
		if s.Items[i].ApprovalID == a.ID {
			found, alike = append(found, s.Items[i]), i > 0
		}
	}
	if len(found) != 1 {
		return "approval"
	}
	one := *s
	one.Items = found
	want := in.Statement(a.Item(edited, alike))
	want.Nonce, want.Time = s.Nonce, s.Time
	return want.Differs(&one)
}

func (a Action) text(name string) string {
	v, _ := a.Subject.Get(name)
	if v.Kind() != document.String {
		return ""
	}
	return v.Str()
}

func (a Action) number(name string) int64 {
	v, _ := a.Subject.Get(name)
	if v.Kind() != document.Number {
		return 0
	}
	n, _ := strconv.ParseInt(string(v.AppendJSON(nil)), 10, 64) // 0 for another number
	return n
}

// mostShown is how much data a statement shows, in bytes. The digest is of all of it.
const mostShown = 8 << 10

// shown returns the text that a person is shown of an action. An agent's words in it cannot
// pose as ours: they are on lines of their own, behind a mark, with every hidden character
// spelled out.
func (a *Approval) shown(action Action) string {
	var b strings.Builder
	switch {
	case action.Kind == ToolCall:
		tool := action.text("tool")
		if tool == "" {
			tool = action.text("capability")
		}
		fmt.Fprintf(&b, "Call %s in state %s", quoted(tool), quoted(action.text("state")))
	case action.text("to") != "":
		fmt.Fprintf(&b, "Event %s: from state %s to %s", quoted(action.text("event")), quoted(action.text("state")), quoted(action.text("to")))
	default:
		fmt.Fprintf(&b, "Event %s in state %s", quoted(action.text("event")), quoted(action.text("state")))
	}
	fmt.Fprintf(&b, " of workflow %s\n%s", quoted(action.text("workflow")), a.shownBriefly(action))
	marked(&b, "The question:", visible.Text(a.Message, true))
	if !action.Data.IsZero() {
		var pretty bytes.Buffer
		text := action.Data.AppendJSON(nil)
		if json.Indent(&pretty, text, "", "  ") != nil {
			pretty.Write(text)
		}
		marked(&b, "The data:", visible.JSON(pretty.String()))
	}
	return b.String()
}

// shownBriefly returns where an action is asked for, and by whom.
func (a *Approval) shownBriefly(action Action) string {
	var b strings.Builder
	if run := action.text("run_id"); run != "" {
		fmt.Fprintf(&b, "Run %s at version %d\n", quoted(run), action.number("run_version"))
	}
	fmt.Fprintf(&b, "Asked by %s", quoted(a.Asker.Principal))
	if a.Asker.SessionID != "" {
		fmt.Fprintf(&b, ", session %s", quoted(a.Asker.SessionID))
	}
	b.WriteByte('\n')
	return b.String()
}

func quoted(s string) string { return "\"" + visible.Text(s, false) + "\"" }

// marked adds lines of another party, each behind a mark.
func marked(b *strings.Builder, title, text string) {
	if text == "" {
		return
	}
	left := ""
	if len(text) > mostShown {
		left = fmt.Sprintf("(cut: %d bytes of %d are shown; the digest is of all)\n", mostShown, len(text))
		text = strings.ToValidUTF8(text[:mostShown], "")
	}
	b.WriteString(title + "\n")
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString("| " + line + "\n")
	}
	b.WriteString(left)
}
