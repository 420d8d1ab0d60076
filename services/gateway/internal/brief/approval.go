package brief

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// approvalFacts returns facts about the transition that waits for humans, or of the
// outcome of the last one that did (S9.1). Text of people and agents is quoted: it is
// data, and cannot pose as more.
func approvalFacts(run *enginev1.Run, size int) []string {
	a := run.GetApproval()
	if a == nil {
		return nil
	}
	what := fmt.Sprintf("Approval: %s for %s", name(a.GetApprovalId()), quote(a.GetEvent(), nameSize))
	if !a.GetPending() {
		return []string{what + " " + Outcome(a, size) + "."}
	}
	if a.GetTo() != "" {
		what += " -> " + name(a.GetTo())
	}
	what += " is pending"
	if run.GetStatus() == enginev1.RunStatus_RUN_STATUS_HELD {
		what += " or decided, which is carried out when the run continues,"
	}
	if since := a.GetSince(); since != nil {
		what += " since " + since.AsTime().UTC().Format(time.RFC3339)
	}
	if by := a.GetAskedBy(); by != "" {
		what += ", asked for by " + quote(by, nameSize)
	}
	if message := a.GetMessage(); message != "" {
		what += ", with the message " + quote(message, size)
	}
	return []string{what + "."}
}

// Outcome returns the outcome of a transition that waited for humans, as the end of a
// sentence after its name.
func Outcome(a *enginev1.RunApproval, size int) string {
	by := ""
	if a.GetDecidedBy() != "" {
		by = " by " + quote(a.GetDecidedBy(), nameSize)
	}
	var text string
	switch a.GetOutcome() {
	case enginev1.ApprovalOutcome_APPROVAL_OUTCOME_REJECTED:
		text = "was rejected" + by
	case enginev1.ApprovalOutcome_APPROVAL_OUTCOME_EXPIRED:
		text = "has expired without a decision. This is not a rejection; you can ask again"
	case enginev1.ApprovalOutcome_APPROVAL_OUTCOME_CANCELLED:
		text = "was withdrawn" + by
	case enginev1.ApprovalOutcome_APPROVAL_OUTCOME_STALE:
		text = "was granted" + by + ", but it was no longer possible; read the state, and ask again if you still need it"
	case enginev1.ApprovalOutcome_APPROVAL_OUTCOME_UNSPECIFIED:
		return "is decided"
	default:
		text = "has ended otherwise" + by
	}
	if note := a.GetNote(); note != "" {
		text += ". Note: " + quote(note, size)
	}
	return text
}

// Asked returns the advice to an agent whose tool call waits for humans (S7.6), after the message of
// the decision. That message usually names the approval and who decides it; then the advice does not
// repeat it. link is where they decide it, or empty; it grants nothing.
func Asked(message, approvalID, link, prefix string) string {
	if strings.Contains(message, approvalID) {
		where := ""
		if link != "" {
			where = " Its page is " + link + "."
		}
		return fmt.Sprintf("You cannot decide it.%s Wait with %swait_approval(approval_id=%q).", where, prefix, approvalID)
	}
	return fmt.Sprintf("Approval %s is pending. %s Wait for that with %swait_approval(approval_id=%q), "+
		"then make exactly the same call again; it is allowed once.", approvalID, Deciders(link), prefix, approvalID)
}

// Deciders describes who decides an approval, and where. It holds no command line: agents
// read it, and would try one (S13.4).
func Deciders(link string) string {
	if link == "" {
		return "A person with the role approver decides it, in the console, /ui/approvals; you cannot."
	}
	return "A person with the role approver decides it, at " + link + "; you cannot."
}

// ApprovalLink returns the page of an approval below the public address of the gateway;
// empty when there is none.
func ApprovalLink(publicURL, approvalID string) string {
	if publicURL == "" {
		return ""
	}
	return strings.TrimRight(ForBrowsers(publicURL), "/") + "/ui/approvals/" + url.PathEscape(approvalID)
}

// quote writes text of other parties, clipped, with all that is not plain text made
// visible.
func quote(text string, size int) string { return strconv.Quote(clip(text, size)) }
