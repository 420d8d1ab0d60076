package approvalpage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/visible"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// approvalView is the page of one approval. All text in it can be seen for what it
// is: see package visible.
type approvalView struct {
	frame
	Path, What, Status, Outcome, Run string
	Asker, Session, Root             string
	Created, Expires, Decided, Used  string
	Needs, Approvers                 string
	Message                          string
	// Subject and Data are what is asked for, Bound what is agreed to: the data, or
	// what an approver has made of it.
	Subject, Data, Bound string
	Digest               string
	EditedBy             string
	Edits                []editView
	MoreEdits            int
	Votes                []voteView
	Pending, Editable    bool

	// Key makes the same form sent twice one vote.
	Key       string
	Draft     draft
	Changes   []changeView
	NoChanges string // why there are none
}

type voteView struct {
	By, Said, Note, Time string
}

// viewOf shows an approval.
func viewOf(a *approvalv1.Approval, now time.Time) approvalView {
	view := approvalView{
		Path: pathOf(a.GetApprovalId()), What: what(a), Status: jsonview.ApprovalStatus(a.GetStatus()),
		Outcome: line(a.GetOutcome()), Run: line(a.GetRunId()),
		Asker: line(a.GetAsker().GetPrincipal()), Session: line(a.GetAsker().GetSessionId()), Root: line(a.GetAsker().GetRootSessionId()),
		Created: moment(a.GetCreatedAt(), now), Expires: moment(a.GetExpiresAt(), now),
		Decided: moment(a.GetDecidedAt(), now), Used: moment(a.GetUsedAt(), now),
		Needs: needsOf(a), Approvers: approversOf(a), Message: visible.Text(a.GetMessage(), true),
		Subject: pretty(a.GetSubject()), Data: pretty(a.GetData()), Digest: line(a.GetDigest()),
		Pending:  a.GetStatus() == approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING,
		Editable: a.GetEditable(),
	}
	view.Bound = view.Data
	if len(a.GetEditedData()) > 0 {
		view.Bound, view.EditedBy = pretty(a.GetEditedData()), line(a.GetEditedBy())
		view.Edits, view.MoreEdits = editsOf(a.GetData(), a.GetEditPatch())
	}
	for _, vote := range a.GetVotes() {
		said := "rejected"
		if vote.GetApprove() {
			said = "approved"
		}
		view.Votes = append(view.Votes, voteView{
			By: line(vote.GetBy()) + " (" + protomap.LowerWord(vote.GetRole(), "APPROVER_ROLE_") + ")", Said: said,
			Note: visible.Text(vote.GetNote(), true), Time: moment(vote.GetTime(), now),
		})
	}
	return view
}

func kindOf(a *approvalv1.Approval) string {
	switch a.GetKind() {
	case approvalv1.ApprovalKind_APPROVAL_KIND_TRANSITION:
		return "Transition"
	case approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL:
		return "Tool call"
	case approvalv1.ApprovalKind_APPROVAL_KIND_PROCESS_STEP:
		return "Process step"
	default:
		return "Action"
	}
}

// what is asked for, in a few words: the kind, and the event or the capability.
func what(a *approvalv1.Approval) string {
	subject, problem := document.Parse(a.GetSubject(), document.Limits{})
	if problem == nil {
		for _, pointer := range []string{"/event", "/capability"} {
			if name, ok := document.Lookup(subject, pointer); ok && name.Kind() == document.String {
				return kindOf(a) + " " + line(clip(name.Str(), maxRowMessage))
			}
		}
	}
	return kindOf(a)
}

func needsOf(a *approvalv1.Approval) string {
	approved := 0
	for _, vote := range a.GetVotes() {
		if vote.GetApprove() {
			approved++
		}
	}
	return fmt.Sprintf("%d of %d so far, and %d to reject", approved, a.GetTerms().GetRequired(), a.GetTerms().GetDenyThreshold())
}

// approversOf are people who are asked now.
func approversOf(a *approvalv1.Approval) string {
	groups := []*approvalv1.Approvers{a.GetTerms().GetEligible()}
	if a.GetEscalated() {
		groups = append(groups, a.GetTerms().GetEscalateTo())
	}
	var words []string
	for _, group := range groups {
		for _, role := range group.GetRoles() {
			words = append(words, "role "+line(role))
		}
		for _, name := range group.GetNames() {
			words = append(words, line(name))
		}
	}
	return strings.Join(words, ", ")
}

// maxRowMessage is how much of a text stands in a list, in bytes.
const maxRowMessage = 200

// line is a text of one line that can be seen for what it is.
func line(s string) string { return visible.Text(s, false) }

// clip is text of at most limit bytes, and how long it was when it was longer.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + fmt.Sprintf(" ... (%d bytes in all)", len(text))
}

// pretty is JSON on lines of its own, the same document.
func pretty(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	var lines bytes.Buffer
	if err := json.Indent(&lines, text, "", "  "); err != nil || !utf8.Valid(text) {
		return visible.Text(string(text), true)
	}
	return visible.JSON(lines.String())
}

// withoutReturns is text of a form with the line ends that it was written with.
func withoutReturns(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// moment is a time and how far it is from now; empty for none.
func moment(at *timestamppb.Timestamp, now time.Time) string {
	if at == nil {
		return ""
	}
	text := at.AsTime().Format(time.RFC3339)
	if until := at.AsTime().Sub(now); until > 0 {
		return text + " (in " + distance(until) + ")"
	}
	return text + " (" + distance(now.Sub(at.AsTime())) + " ago)"
}

// distance is a time span in its largest unit, and hours with their minutes.
func distance(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour && d%time.Hour >= time.Minute:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	default:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
}
