package receipts

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// decided checks the claimed decisions of humans, against their use.
func (c *Checked) decided() {
	p := &c.Statement.Predicate
	for i, text := range p.Approvals {
		var a jsonview.Approval
		if err := json.Unmarshal(text, &a, json.RejectUnknownMembers(true)); err != nil {
			c.say("approval %d cannot be read: %v", i+1, err)
			continue
		}
		c.approvals = append(c.approvals, a)
		c.approval(&a)
	}
	used := map[string]string{} // by approval, who has used it
	for i := range c.history {
		if e := &c.history[i]; e.ApprovalID != "" && (e.Type == workflow.EventTransitioned || e.Type == workflow.EventParked) {
			c.carried(e, used)
		}
	}
	for i := range c.calls {
		if d := c.calls[i]; d.ApprovalID != "" && d.LeaseID == "" && d.Decision == toolcall.Allow {
			c.admitted(d, used)
		}
	}
}

// approvalOf returns an approval by its id; nil where it is missing, which was said.
func (c *Checked) approvalOf(id string) *jsonview.Approval {
	at := slices.IndexFunc(c.approvals, func(a jsonview.Approval) bool { return a.ApprovalID == id })
	if at < 0 {
		return nil
	}
	return &c.approvals[at]
}

// carried checks a transition that has waited for humans, or begins to: it is the one that they
// were asked about, and agreed to.
func (c *Checked) carried(e *jsonview.HistoryEntry, used map[string]string) {
	a := c.approvalOf(e.ApprovalID)
	if a == nil {
		return
	}
	subject, _ := document.Parse(a.Subject, document.Limits{})
	text := func(name string) string { v, _ := subject.Get(name); return v.Str() }
	does, data := "waits for", a.Data
	if e.Type == workflow.EventTransitioned {
		does, data = "transitions by", bound(a)
		switch user := fmt.Sprint("version ", e.RunVersion); {
		case a.Status != "USED" && a.Status != "GRANTED":
			c.say("version %d of the history transitions by approval %s, which is %s", e.RunVersion, a.ApprovalID, a.Status)
		case used[a.ApprovalID] != "":
			c.say("version %d of the history transitions by approval %s, which %s has used", e.RunVersion, a.ApprovalID, used[a.ApprovalID])
		default:
			used[a.ApprovalID] = user
		}
	} else if v, _ := subject.Get("run_version"); v.String() != strconv.FormatInt(e.RunVersion, 10) {
		c.say("version %d of the history waits for approval %s, which is of version %s", e.RunVersion, a.ApprovalID, v)
	}
	switch {
	case text("event") != e.Event:
		c.say("version %d of the history %s approval %s, which is of event %q", e.RunVersion, does, a.ApprovalID, text("event"))
	case text("state") != e.From || text("branch") != e.Branch:
		c.say("version %d of the history %s approval %s, which is of state %q", e.RunVersion, does, a.ApprovalID, text("state"))
	case !sameJSON(data, e.Data):
		c.say("version %d of the history %s approval %s, which is of other data", e.RunVersion, does, a.ApprovalID)
	}
}

// admitted checks a call that humans have allowed: it is the one that they were asked about,
// once. A lease allows others.
func (c *Checked) admitted(d *ledger.Decision, used map[string]string) {
	a := c.approvalOf(d.ApprovalID)
	if a == nil {
		return
	}
	subject, _ := document.Parse(a.Subject, document.Limits{})
	text := func(name string) string { v, _ := subject.Get(name); return v.Str() }
	version, _ := subject.Get("run_version")
	input, _ := document.Parse(a.Data, document.Limits{})
	switch user := "call " + d.CallID; {
	case a.Status != "USED" && a.Status != "GRANTED":
		c.say("decision %d allows a call by approval %s, which is %s", d.Sequence, a.ApprovalID, a.Status)
	case a.Kind != string(consent.ToolCall) || text("tool") != d.Tool || text("state") != d.State || text("branch") != d.Branch ||
		version.String() != strconv.FormatInt(d.RunVersion, 10) || toolcall.InputDigest(d.Tool, inputOf(input)) != d.InputDigest:
		c.say("decision %d allows a call by approval %s, which is of something else", d.Sequence, a.ApprovalID)
	case used[a.ApprovalID] != "" && used[a.ApprovalID] != user:
		c.say("decision %d allows a call by approval %s, which %s has used", d.Sequence, a.ApprovalID, used[a.ApprovalID])
	default:
		used[a.ApprovalID] = user
	}
}

func inputOf(v document.Value) []byte {
	if v.IsZero() {
		return nil
	}
	return v.AppendJSON(nil)
}

// bound returns the data that an approval is of in the end.
func bound(a *jsonview.Approval) jsontext.Value {
	if len(a.EditedData) > 0 {
		return a.EditedData
	}
	return a.Data
}

// sameJSON reports that two texts are equal. Empty text is an empty object.
func sameJSON(a, b jsontext.Value) bool {
	read := func(text jsontext.Value) document.Value {
		v, problem := document.Parse(text, document.Limits{})
		if problem != nil || v.Kind() == document.Null {
			return document.ObjectValue(nil)
		}
		return v
	}
	return document.Equal(read(a), read(b))
}

// approval checks one approval by itself: its digest fits its action, and its votes are cast
// again under the terms of the definition.
func (c *Checked) approval(a *jsonview.Approval) {
	subject, _ := document.Parse(a.Subject, document.Limits{})
	action := consent.Action{Kind: consent.Kind(a.Kind), Subject: subject}
	if len(a.Data) > 0 {
		action.Data, _ = document.Parse(a.Data, document.Limits{})
	}
	final := action
	if data := bound(a); len(data) > 0 {
		final.Data, _ = document.Parse(data, document.Limits{})
	}
	if final.Digest() != a.Digest {
		c.say("approval %s was of something else than it says", a.ApprovalID)
	}
	if run, _ := subject.Get("run_id"); run.Str() != c.Statement.Predicate.RunID {
		c.say("approval %s was of another run", a.ApprovalID)
	}
	version, _ := subject.Get("run_version")
	machine := c.termsAt(version.String())
	if machine == nil {
		c.say("approval %s was asked at version %s of the run, which the history does not have", a.ApprovalID, version)
		return
	}
	terms := termsOf(machine, a)
	opened, err := consent.Open(consent.Request{
		ID: a.ApprovalID, Action: action, Editable: a.Editable, Message: a.Message, Terms: terms,
		Asker: consent.Asker{Principal: a.Asker.Principal, Person: a.Asker.Person, SessionID: a.Asker.SessionID, RootSession: a.Asker.RootSessionID},
	}, a.CreatedAt)
	if err != nil {
		c.say("approval %s could not be asked for: %v", a.ApprovalID, err)
		return
	}
	c.votes(a, opened.Approval)
}

// votes casts the votes of an approval again.
func (c *Checked) votes(a *jsonview.Approval, at *consent.Approval) {
	if is := at.Terms; int(a.Terms.Required) != is.Required || int(a.Terms.DenyThreshold) != is.DenyThreshold ||
		a.Terms.Presence != is.Presence || a.Terms.DistinctPeople != is.Distinct {
		c.say("approval %s was decided under other terms than those of the definition", a.ApprovalID)
	}
	at.ExpiresAt = a.ExpiresAt // later than asked for, where it was restored from a backup
	if a.Escalated {
		at.EscalatesAt = at.EscalatesAt.Add(-time.Minute) // by the clock of another replica
	}
	for _, v := range a.Votes {
		d := consent.Decision{Approve: v.Approve, Digest: at.Digest, Note: v.Note}
		if v.Approve && v.By == a.EditedBy && len(a.EditedData) > 0 {
			d.Data, _ = document.Parse(a.EditedData, document.Limits{})
		}
		d.Signed = c.signature(a, at, &v, d.Data)
		by := consent.Approver{Name: cmp.Or(v.Principal, v.By), Role: v.Role, Relay: v.Relay, Identity: v.Identity}
		if v.Person {
			by.Person = v.By
		}
		out := at.Decide(by, d, v.Time)
		if out.Refusal != nil {
			c.say("the vote of %q on approval %s does not count: %s", v.By, a.ApprovalID, out.Refusal.Message)
			return
		}
		at = out.Approval
	}
	ends := map[string]consent.Status{
		"USED": consent.Granted, "GRANTED": consent.Granted, "REJECTED": consent.Rejected, "PENDING": consent.Pending, "EXPIRED": consent.Pending,
	}
	if want, told := ends[a.Status]; told && at.Status != want {
		c.say("approval %s is %s, and its votes make it %s", a.ApprovalID, a.Status, at.Status)
	}
}

// termsAt returns those of the definition by which a version of the run was decided.
func (c *Checked) termsAt(runVersion string) (m *workflow.Machine) {
	for i := range c.history {
		e := &c.history[i]
		if e.ToolResult != nil || strconv.FormatInt(e.RunVersion, 10) != runVersion {
			continue
		}
		m = c.terms[e.WorkflowVersion]
	}
	return m
}

// termsOf returns the terms of a definition for an approval, with the conditional ones that the approval says it was
// decided under: which of them apply rests on facts that a receipt does not have.
func termsOf(m *workflow.Machine, a *jsonview.Approval) consent.Terms {
	meta := m.Meta()
	terms := meta.Approval
	for _, t := range meta.ApprovalTerms {
		if slices.ContainsFunc(a.Terms.Also, func(c jsonview.Circle) bool { return c.Term == t.Circle.Term }) {
			terms = terms.With(t.Circle)
		}
	}
	return terms
}
