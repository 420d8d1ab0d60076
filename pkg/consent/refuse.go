package consent

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Code says why a command was refused, for programs.
type Code string

// The codes.
const (
	// CodeAsker: who asks does not decide, nor a session of its tree (S9.3).
	CodeAsker       Code = "APPROVER_IS_ASKER"
	CodeNotEligible Code = "APPROVER_NOT_ELIGIBLE"
	CodeVoted       Code = "ALREADY_VOTED"
	// CodeDecided: a decision is final (S9.4).
	CodeDecided Code = "ALREADY_DECIDED"
	// CodeExpired: it has expired, also before that is recorded.
	CodeExpired     Code = "APPROVAL_EXPIRED"
	CodeNotEditable Code = "NOT_EDITABLE"
	CodeInvalidEdit Code = "INVALID_EDIT"
	// CodeChanged: the action differs from the one that was seen.
	CodeChanged Code = "ACTION_CHANGED"
	CodeNote    Code = "NOTE_TOO_LONG"
	// CodePresence: the terms demand a signature by a person who is there (S23.22).
	CodePresence Code = "PRESENCE_REQUIRED"
	// CodePerson: only registered people decide.
	CodePerson Code = "PERSON_REQUIRED"
	// CodeSignature: the signature is of something else.
	CodeSignature Code = "SIGNATURE_MISMATCH"
	// CodeNotGranted, CodeUsed, CodeOtherAction and CodeLapsed refuse the use.
	CodeNotGranted  Code = "NOT_GRANTED"
	CodeUsed        Code = "ALREADY_USED"
	CodeOtherAction Code = "OTHER_ACTION"
	// CodeLapsed: it was not used in time.
	CodeLapsed Code = "GRANT_LAPSED"
)

// Refusal describes why a command was refused; the approval has not changed.
type Refusal struct {
	Code Code
	// Message is one sentence that the caller can act on.
	Message string
}

func (a *Approval) refuse(code Code, format string, args ...any) Result {
	return Result{Approval: a, Refusal: &Refusal{code, fmt.Sprintf(format, args...)}}
}

// decided refuses late commands, and shows the decision.
func (a *Approval) decided() Result {
	return a.refuse(CodeDecided, "%s; that is final", a.Outcome())
}

// Outcome describes in one sentence how the approval stands, for the agent that waits for
// it. Text of people is quoted, so that it cannot pose as more.
func (a *Approval) Outcome() string {
	what := "approval " + a.ID
	switch a.Status {
	case Pending:
		if a.Reason != "" {
			what += " is asked again: " + a.Reason + "; it"
		}
		return fmt.Sprintf("%s is pending: %s, until %s", what, a.progress(), stamp(a.ExpiresAt))
	case Granted:
		text := fmt.Sprintf("%s was granted by %s", what, a.voters(true))
		if a.Edit != nil {
			text += ", with data that " + strconv.Quote(a.Edit.By) + " has edited"
		}
		if !a.UsedAt.IsZero() {
			text += ", and was used at " + stamp(a.UsedAt)
		}
		if until := a.LapsesAt(); !until.IsZero() {
			text += ", and can be used until " + stamp(until)
		}
		return text
	case Rejected:
		return fmt.Sprintf("%s was rejected by %s", what, a.voters(false))
	case Expired:
		return fmt.Sprintf("%s expired at %s with %s; the request was not rejected, and can be made again",
			what, stamp(a.ExpiresAt), a.progress())
	case Cancelled:
		return fmt.Sprintf("%s was cancelled by %s: %s", what, strconv.Quote(a.By), strconv.Quote(a.Reason))
	default:
		return fmt.Sprintf("%s was granted by %s and has become stale: %s", what, a.voters(true), strconv.Quote(a.Reason))
	}
}

// voters names the people who voted one way, with their notes.
func (a *Approval) voters(approve bool) string {
	var words []string
	for i := range a.Votes {
		v := &a.Votes[i]
		if v.Approve != approve {
			continue
		}
		word := strconv.Quote(v.Name)
		if v.Note != "" {
			word += " (" + strconv.Quote(v.Note) + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, " and ")
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
