package receipts

import (
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/signature"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// signedVote is a vote whose signature was checked.
type signedVote struct {
	by, verb, key, at string
}

// signature checks the signature of a vote on an approval, as it was before the vote (S23.26):
// by its public key alone, over the statement that the recorded approval makes. It returns nil
// for a vote without one, or with one that does not hold.
func (c *Checked) signature(a *jsonview.Approval, before *consent.Approval, v *jsonview.Vote, edited document.Value) *consent.Signed {
	if v.Signature == nil {
		return nil
	}
	fault := func(format string, args ...any) *consent.Signed {
		c.say("the signature of %q on approval %s does not hold: %s", v.By, a.ApprovalID, fmt.Sprintf(format, args...))
		return nil
	}
	signed, err := v.Signature.Signed()
	if err != nil {
		return fault("%v", err)
	}
	present, _, err := signed.Check(0)
	if err != nil {
		return fault("%v", err)
	}
	st, err := signature.Read(signed.Statement)
	if err != nil {
		return fault("%v", err)
	}
	intent := &consent.Intent{Approve: v.Approve, Note: v.Note, Person: v.By, Namespace: c.Statement.Predicate.Namespace, Deployment: st.Deployment}
	if l := st.Lease; l != nil {
		intent.Lease = &consent.LeaseTerms{Pattern: l.Pattern, Only: l.Only, Calls: l.Calls, Minutes: l.Minutes}
	}
	switch part := before.Matches(st, intent, edited); {
	case part != "":
		return fault("its statement has another %s", part)
	case !v.Person:
		return fault("it is of no registered person")
	case !signed.AtHome(st.Deployment):
		return fault("the passkey was used elsewhere than at %s", st.Deployment)
	case present != v.Signature.Present:
		return fault("it shows something else about the presence of the person")
	case v.Time.Before(st.Time) || v.Time.Sub(st.Time) > signature.Life:
		return fault("its statement is of another time than the vote")
	}
	verb := "rejected"
	if v.Approve {
		verb = "approved"
	}
	at := ""
	if signed.Passkey != nil {
		at = " at " + strings.Join(signed.Origins, ", ")
	}
	c.signed[a.ApprovalID] = append(c.signed[a.ApprovalID], signedVote{v.By, verb, signed.Key(), at})
	return &consent.Signed{Signed: *signed, Present: present}
}

// signers names the people whose signatures were checked, with their keys.
func (c *Checked) signers(a *jsonview.Approval) (all []string) {
	for _, s := range c.signed[a.ApprovalID] {
		all = append(all, fmt.Sprintf("%s %s approval %s, signed with %s%s.", s.by, s.verb, a.ApprovalID, s.key, s.at))
	}
	return all
}
