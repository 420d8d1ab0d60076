package consent

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// MaxNote is the longest note of an approver, in bytes.
const MaxNote = 4096

// Approver is who decides, as the authentication knows them.
type Approver struct {
	Name, Role string
	// SessionID is the session that the credentials are bound to, and RootSession the
	// name of the root of its tree; both are empty for a person's own.
	SessionID, RootSession string
	// Person is the registered person that they are; empty for none.
	Person string
	// Relay passes on their decision, and knows them as Identity; empty for none.
	Relay, Identity string
}

// voter returns whose vote it is: the person's, under every token.
func (by *Approver) voter() string {
	if by.Person != "" {
		return by.Person
	}
	return by.Name
}

// Decision is an approver's answer.
type Decision struct {
	Approve bool
	// Digest of the action that the approver was shown. It may be empty as long as the
	// data is not edited.
	Digest string
	// Data replaces the action's data; missing leaves it as it is. Only who
	// approves edits.
	Data document.Value
	Note string
	// Signed is the signature, checked against Statement; nil for none.
	Signed *Signed
}

// Decide casts a vote. Enough of them decide: the one that does so makes the
// approval final, and all that come later are refused (S9.3, S9.4).
func (a *Approval) Decide(by Approver, d Decision, now time.Time) Result {
	if refused := a.barred(by, now); refused != nil {
		return *refused
	}
	if refused := a.unsigned(by, d.Signed); refused != nil {
		return *refused
	}
	if len(d.Note) > MaxNote {
		return a.refuse(CodeNote, "the note has %d bytes, the limit is %d; shorten it", len(d.Note), MaxNote)
	}
	edit, refused := a.edited(by, d)
	if refused != nil {
		return *refused
	}
	r := a.begin()
	next := r.Approval
	if edit != nil {
		next.Edit = edit
		next.Digest = next.Bound().Digest()
	}
	vote := Vote{
		Name: by.voter(), Role: by.Role, Approve: d.Approve, Note: d.Note, At: now, Person: by.Person != "",
		Relay: by.Relay, Identity: by.Identity, Signed: d.Signed,
	}
	if by.Name != vote.Name {
		vote.Principal = by.Name
	}
	next.Votes = append(next.Votes, vote)
	r.announce(Event{Type: EventVoted, Vote: &vote})
	switch {
	case d.Approve && next.agreed():
		r.end(Granted, EventGranted, now)
	case !d.Approve && next.count(false) >= next.Terms.DenyThreshold:
		r.end(Rejected, EventRejected, now)
	}
	return *r
}

// barred refuses callers that may not decide, or no longer. The requester is refused whatever
// the terms say, and so are agents: their names may be on a list by mistake.
func (a *Approval) barred(by Approver, now time.Time) *Result {
	var refused Result
	switch {
	case a.Status.Final():
		refused = a.decided()
	case !now.Before(a.ExpiresAt):
		refused = a.refuse(CodeExpired, "approval %s expired at %s; it has to be asked for again", a.ID, stamp(a.ExpiresAt))
	case a.Asker.is(by.Name) || a.Asker.is(by.Person):
		refused = a.refuse(CodeAsker, "%s requested approval %s, so another approver must decide it", strconv.Quote(by.Name), a.ID)
	case a.Asker.hasInTree(by.SessionID) || a.Asker.hasInTree(by.RootSession):
		refused = a.refuse(CodeAsker, "%s works in the tree of sessions that requested approval %s, so another approver must decide it",
			strconv.Quote(by.Name), a.ID)
	case by.Name == "" || by.Role == "" || by.Role == RoleAgent:
		refused = a.refuse(CodeNotEligible, "only people who are known by name decide approval %s; %s with the role %s cannot",
			a.ID, strconv.Quote(by.Name), strconv.Quote(by.Role))
	case !a.EligibleAt(now, by):
		refused = a.refuse(CodeNotEligible, "%s with the role %s is not an eligible approver of approval %s: %s",
			strconv.Quote(by.Name), strconv.Quote(by.Role), a.ID, a.asked(now))
	case a.Terms.Presence && by.Relay != "":
		refused = a.refuse(CodePresence, "approval %s takes a signature by a person who is there, and %s only passes decisions on; decide it in the console or with interlock approval approve --sign",
			a.ID, strconv.Quote(by.Relay))
	case (a.Terms.Presence || a.Terms.Distinct) && by.Person == "":
		refused = a.refuse(CodePerson, "approval %s is decided by registered people only, and the token of %s belongs to none; log in as a person with interlock login",
			a.ID, strconv.Quote(by.Name))
	default:
		i := slices.IndexFunc(a.Votes, func(v Vote) bool { return same(v.Name, by.voter()) || v.Principal != "" && same(v.Principal, by.Name) })
		if i < 0 {
			return nil
		}
		refused = a.refuse(CodeVoted, "%s has already %s approval %s; approvals still needed from others: %d",
			strconv.Quote(by.voter()), voted(a.Votes[i].Approve), a.ID, a.missing())
	}
	return &refused
}

// unsigned refuses a vote without the signature that the terms demand.
func (a *Approval) unsigned(by Approver, signed *Signed) *Result {
	var refused Result
	switch {
	case signed != nil && by.Relay != "":
		refused = a.refuse(CodePresence, "%s passes decisions on, and cannot pass on a signature; sign in the console or with interlock approval approve --sign", strconv.Quote(by.Relay))
	case signed != nil && by.Person == "":
		refused = a.refuse(CodePerson, "only a registered person signs decisions, and the token of %s belongs to none; log in with interlock login", strconv.Quote(by.Name))
	case !a.Terms.Presence || signed != nil && signed.Present:
		return nil
	case signed != nil:
		refused = a.refuse(CodePresence, "approval %s takes a signature that shows that the person is there, and this key asks for no touch; use a passkey or a security key (sk-ssh-ed25519)", a.ID)
	default:
		refused = a.refuse(CodePresence, "approval %s takes a signature by a passkey or a security key; decide it in the console or with interlock approval approve --sign", a.ID)
	}
	return &refused
}

// MayDecide reports that a vote would be accepted at a time, and in a sentence why not.
func (a *Approval) MayDecide(by Approver, now time.Time) (may bool, why string) {
	if r := a.barred(by, now); r != nil {
		return false, r.Refusal.Message
	}
	return true, ""
}

func voted(approve bool) string {
	if approve {
		return "approved"
	}
	return "rejected"
}

// is reports that a name is the asker's.
func (s Asker) is(name string) bool {
	return name != "" && (same(name, s.Principal) || s.Person != "" && same(name, s.Person))
}

// hasInTree reports that a session is the asker's, or the root of its tree. Every
// other session of the tree is known by its root.
func (s Asker) hasInTree(session string) bool {
	return session != "" && (session == s.SessionID || session == s.RootSession)
}

// EligibleAt reports that the terms name this approver, at a time: later the fallback
// approvers do too. It does not say that they may: see Decide.
func (a *Approval) EligibleAt(now time.Time, who Approver) bool {
	return a.Terms.Eligible.admit(who) || a.escalated(now) && a.Terms.Escalation.To.admit(who) ||
		slices.ContainsFunc(a.Terms.Also, func(c Circle) bool { return c.Eligible.admit(who) })
}

// Asked returns the people who are asked: those of every circle and, once it has escalated, the fallback approvers.
func (a *Approval) Asked(escalated bool) Approvers {
	all := a.Terms.Eligible
	for _, c := range a.Terms.Also {
		all = all.and(c.Eligible)
	}
	if escalated {
		all = all.and(a.Terms.Escalation.To)
	}
	return all
}

// agrees counts the approvals of a circle; of one without people, those of the approval's own.
func (a *Approval) agrees(c Approvers) int {
	n := 0
	for i := range a.Votes {
		v := &a.Votes[i]
		who := Approver{Name: v.Name, Role: v.Role}
		if v.Person {
			who.Person = v.Name
		}
		switch {
		case !v.Approve:
		case !c.nobody() && c.admit(who):
			n++
		case !c.nobody():
		case a.Terms.Eligible.admit(who), a.escalated(v.At) && a.Terms.Escalation.To.admit(who):
			n++
		}
	}
	return n
}

// agreed reports that every circle has agreed.
func (a *Approval) agreed() bool { return a.missing() == 0 }

// missing returns how many approvals are missing, of the circle that misses the most.
func (a *Approval) missing() int {
	n := a.Terms.Required - a.agrees(Approvers{})
	for _, c := range a.Terms.Also {
		n = max(n, c.Required-a.agrees(c.Eligible))
	}
	return max(n, 0)
}

// progress counts the approvals of every circle: "1 of 2 approvals, and 0 of 1 of role operator".
func (a *Approval) progress() string {
	text := fmt.Sprintf("%d of %d approvals", a.agrees(Approvers{}), a.Terms.Required)
	for _, c := range a.Terms.Also {
		if !c.Eligible.nobody() {
			text += fmt.Sprintf(", and %d of %d of %s", a.agrees(c.Eligible), c.Required, c.Eligible)
		}
	}
	return text
}

// escalated does not wait for the announcement: that may be late.
func (a *Approval) escalated(now time.Time) bool {
	return a.Escalated || !a.EscalatesAt.IsZero() && !now.Before(a.EscalatesAt)
}

// asked lists the people who are asked at a time.
func (a *Approval) asked(now time.Time) string {
	return a.Asked(a.escalated(now)).String()
}

// edited returns the edit that comes with a vote, or nil. People approve only data that
// they have seen: data is edited before another person has approved it, and later
// approvers give the digest of the data that they were shown.
func (a *Approval) edited(by Approver, d Decision) (*Edit, *Result) {
	var refused Result
	edits := !d.Data.IsZero()
	switch {
	case edits && !d.Approve:
		refused = a.refuse(CodeInvalidEdit, "a rejection cannot edit data; remove the data")
	case !d.Approve:
		return nil, nil
	case d.Digest != "" && d.Digest != a.Digest:
		refused = a.refuse(CodeChanged, "approval %s is for a different action than the one that was shown; look at it again", a.ID)
	case edits && !a.Editable:
		refused = a.refuse(CodeNotEditable, "the data of approval %s cannot be edited; approve it as it is, or reject it", a.ID)
	case edits && d.Data.Kind() != document.Object:
		refused = a.refuse(CodeInvalidEdit, "the edited data must be a JSON object, not a %s", d.Data.Kind())
	case edits && a.Action.With(d.Data).Digest() == a.Digest:
		return nil, nil // it makes no change
	case edits && a.count(true) > 0:
		refused = a.refuse(CodeInvalidEdit, "others have approved the data of approval %s as it is; approve that, or reject it", a.ID)
	case edits:
		return &Edit{By: by.voter(), Data: d.Data}, nil
	case a.Edit != nil && d.Digest == "":
		refused = a.refuse(CodeChanged, "%s has edited the data of approval %s; look at it again, and name the digest %s", strconv.Quote(a.Edit.By), a.ID, a.Digest)
	default:
		return nil, nil
	}
	return nil, &refused
}

// end makes the decision, which is final.
func (r *Result) end(status Status, event string, now time.Time) {
	if status != Cancelled {
		r.Approval.Reason, r.Approval.By = "", ""
	}
	r.Approval.Status, r.Approval.DecidedAt = status, now
	r.announce(Event{Type: event, Reason: r.Approval.Reason, By: r.Approval.By})
}
