package receipts

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/recorded"
)

// Checked has the findings about a receipt.
type Checked struct {
	Statement *receipt.Statement
	// Faults is empty for a receipt that holds.
	Faults []string
	// Cosigned are the witnesses that were asked for.
	Cosigned []receipt.Cosignature
	// Conformance of the run to its definitions and policies.
	Conformance conform.Conformance
	// Proved are the properties of each version of the definition.
	Proved map[int64][]verify.Certified

	approvals []jsonview.Approval
	terms     map[int64]*workflow.Machine // that has those of approvals, by version of the definition
	calls     []*ledger.Decision          // of the run
	history   []jsonview.HistoryEntry
	allowed   map[string]int // by tool
	denied    int
	open      int // allowed calls that no rule of a state has judged
}

// Check checks a receipt: signatures, chain, its statement of itself, and whether its history
// follows from its definitions and policies.
func Check(text []byte, key ed25519.PublicKey, witnesses []ed25519.PublicKey) (*Checked, error) {
	f, s, err := receipt.Read(text)
	if err != nil {
		return nil, err
	}
	c := &Checked{Statement: s, Proved: map[int64][]verify.Certified{}, allowed: map[string]int{}, terms: map[int64]*workflow.Machine{}}
	c.Cosigned, c.Faults = f.CheckSignatures(s, key, witnesses)
	c.Faults = append(c.Faults, s.CheckLog()...)
	c.Faults = append(c.Faults, s.CheckRecord()...)
	c.conformance()
	c.certificates()
	c.decided()
	c.witnessed()
	return c, nil
}

// witnessed checks the claimed observations of jails: they are of commands that were allowed in a jail, and
// that may give such evidence.
func (c *Checked) witnessed() {
	for i := range c.history {
		r := c.history[i].ToolResult
		if r == nil || r.Witness == "" && r.Tree == "" {
			continue
		}
		at := slices.IndexFunc(c.calls, func(d *ledger.Decision) bool {
			return d.CallID == r.CallID && d.Decision == toolcall.Allow && d.JailDigest != ""
		})
		switch {
		case r.Witness == "":
			c.say("result %d is of tree %s, and no jail has witnessed it", r.Number, r.Tree)
		case at < 0:
			c.say("result %d has a witness, and the log allows no command %q in a jail", r.Number, r.CallID)
		default:
			for _, name := range r.Evidence {
				if !slices.Contains(c.calls[at].Kept.Gives, name) {
					c.say("result %d gives evidence %q, and its command gives none of that name", r.Number, name)
				}
			}
		}
	}
}

func (c *Checked) say(format string, args ...any) {
	c.Faults = append(c.Faults, fmt.Sprintf(format, args...))
}

// conformance decides everything again.
func (c *Checked) conformance() {
	p := &c.Statement.Predicate
	r := &recorded.Run{
		Format: recorded.Format, RunID: p.RunID, Workflow: p.Workflow, SessionID: p.SessionID, Workspace: p.Workspace,
		Versions: versionsOf(p.Definitions), Policies: versionsOf(p.Policies),
	}
	for i, text := range p.History {
		var e jsonview.HistoryEntry
		if err := json.Unmarshal(text, &e, json.RejectUnknownMembers(true)); err != nil {
			c.say("entry %d of the history cannot be read: %v", i+1, err)
			return
		}
		r.History = append(r.History, e)
	}
	for i := range p.Log {
		e := &p.Log[i]
		d, err := ledger.DecodeDecision(p.Partition, store.HistoryEntry{Version: e.Sequence, At: time.UnixMicro(e.CommittedUS), Data: []byte(e.Record)})
		if err != nil {
			c.say("%v", err)
			continue
		}
		if d.RunID != p.RunID {
			continue
		}
		r.Decisions = append(r.Decisions, recordOf(d))
		c.calls = append(c.calls, d)
		if d.Decision == "ALLOW" {
			c.allowed[d.Tool]++
			if d.Code == toolcall.CodeNotEnforced {
				c.open++
			}
		} else {
			c.denied++
		}
	}
	c.history = r.History
	trace, err := r.Trace()
	if err != nil {
		c.say("%v", err)
		return
	}
	c.Conformance = conform.Conform(trace)
	for _, d := range c.Conformance.Differences {
		c.say("%s", d.String())
	}
	if status, state, known := c.ends(); known && (state != p.State || status != p.Status) {
		c.say("the run is stated to be %s in state %q, and its history ends as %s in %q", p.Status, p.State, status, state)
	}
}

// ends describes how the history leaves the run, for callers that work in no branch of their
// own. A change in a branch says where that branch is.
func (c *Checked) ends() (status, state string, known bool) {
	if run := c.Conformance.Run; run != nil {
		at := run.At("")
		return string(at.Status), at.State, true
	}
	last := c.last()
	if last == nil || last.Branch != "" {
		return "", "", false
	}
	return last.Status, last.To, true
}

// last returns the last change of the run.
func (c *Checked) last() *jsonview.HistoryEntry {
	for i := range slices.Backward(c.history) {
		if c.history[i].ToolResult == nil {
			return &c.history[i]
		}
	}
	return nil
}

func versionsOf(texts []receipt.Text) []recorded.Version {
	var all []recorded.Version
	for _, t := range texts {
		all = append(all, recorded.Version(t))
	}
	return all
}

// recordOf returns a decision as conformance takes it.
func recordOf(d *ledger.Decision) jsonview.DecisionRecord {
	r := jsonview.DecisionRecord{
		Sequence: d.Sequence, Time: d.Time, Principal: d.Principal, SessionID: d.SessionID, RunID: d.RunID, RunVersion: d.RunVersion,
		Workflow: d.Workflow, WorkflowVersion: d.WorkflowVersion, State: d.State, Branch: d.Branch, CallID: d.CallID, Tool: d.Tool, Capability: d.Capability,
		Decision: string(d.Decision), Code: string(d.Code), Policy: d.Policy, PolicyVersion: d.PolicyVersion, InputDigest: d.InputDigest,
		Input: jsontext.Value(d.Input), ApprovalID: d.ApprovalID, LeaseID: d.LeaseID,
	}
	if d.JailLevel != 0 {
		r.Jail = &jsonview.Jail{Level: int32(d.JailLevel), Digest: d.JailDigest} //nolint:gosec // at most 3
	}
	return r
}

// certificates explores claimed proofs again. Every version that has properties has one.
func (c *Checked) certificates() {
	p := &c.Statement.Predicate
	left := p.Certificates
	for i := range p.Definitions {
		t := &p.Definitions[i]
		m, model, err := modelOf(t)
		if err != nil {
			c.say("%v", err)
			continue
		}
		c.terms[t.Version] = m.Machine
		properties := m.Definition().Properties
		if len(properties) == 0 {
			continue
		}
		at := slices.IndexFunc(left, func(text jsontext.Value) bool {
			var certificate verify.Certificate
			return json.Unmarshal(text, &certificate) == nil && certificate.Definition == document.Digest(model.Main.Text)
		})
		if at < 0 {
			c.say("version %d of %s has properties, and no certificate", t.Version, t.Name)
			continue
		}
		c.certificate(t, left[at], model, properties)
		left = slices.Delete(slices.Clone(left), at, at+1)
	}
	if len(left) > 0 {
		c.say("%d certificates are of other definitions", len(left))
	}
}

func (c *Checked) certificate(t *receipt.Text, text jsontext.Value, model *verify.Model, properties []workflow.Property) {
	var certificate verify.Certificate
	if err := json.Unmarshal(text, &certificate, json.RejectUnknownMembers(true)); err != nil {
		c.say("the certificate of version %d cannot be read: %v", t.Version, err)
		return
	}
	if certificate.MaxStates > mostStates {
		c.say("the certificate of version %d is of %d states: more than a receipt has", t.Version, certificate.MaxStates)
		return
	}
	for _, differs := range verify.Confirm(&certificate, model, properties, verify.Options{}) {
		c.say("the certificate of version %d: %s", t.Version, differs)
	}
	c.Proved[t.Version] = certificate.Properties
}

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
		Asker: consent.Asker{Principal: a.Asker.Principal, SessionID: a.Asker.SessionID, RootID: a.Asker.RootSessionID},
	}, a.CreatedAt)
	if err != nil {
		c.say("approval %s could not be asked for: %v", a.ApprovalID, err)
		return
	}
	c.votes(a, opened.Approval)
}

// votes casts the votes of an approval again.
func (c *Checked) votes(a *jsonview.Approval, at *consent.Approval) {
	if is := at.Terms; int(a.Terms.Required) != is.Required || int(a.Terms.DenyThreshold) != is.DenyThreshold {
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
		out := at.Decide(consent.Approver{Name: v.By, Role: v.Role}, d, v.Time)
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

// Sentences returns the claims of the receipt, for people: only checked ones.
func (c *Checked) Sentences() []string {
	p := &c.Statement.Predicate
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	first, last := (*jsonview.HistoryEntry)(nil), c.last()
	if len(c.history) > 0 {
		first = &c.history[0]
	}
	if first != nil && last != nil {
		say("Run %s of workflow %q was started at %s by %s, and is %s in state %q since %s.", p.RunID, p.Workflow, clock(first.Time), first.Actor,
			p.Status, p.State, clock(last.Time))
	}
	for i := range c.history {
		e := &c.history[i]
		switch {
		case e.ToolResult != nil:
			if text := gave(e); text != "" {
				all = append(all, text)
			}
			continue
		case e.Type == workflow.EventForced:
			say("At %s %s forced it from %q to %q, past guards and approvals.", clock(e.Time), e.Actor, e.From, e.To)
			continue
		case e.Type == workflow.EventMigrated && i > 0:
			say("At %s %s moved it from version %d to version %d.", clock(e.Time), e.Actor, c.history[i-1].WorkflowVersion, e.WorkflowVersion)
			continue
		case e.Type != workflow.EventTransitioned || e.ApprovalID == "" && len(e.Guards) == 0:
			continue
		}
		text := fmt.Sprintf("At %s it went from %q to %q by %s", clock(e.Time), e.From, e.To, e.Event)
		if names := passed(e); names != "" {
			text += ", after " + names
		}
		if people := c.people(e.ApprovalID); people != "" {
			text += ", approved by " + people
		}
		all = append(all, text+".")
	}
	allowed := 0
	for _, n := range c.allowed {
		allowed += n
	}
	say("%s allowed, and %d refused or asked about.", plural(allowed, "call was", "calls were"), c.denied)
	if c.open > 0 {
		say("%s allowed because enforcement was off (NOT_ENFORCED): the run had ended, or its agent had paused it.", plural(c.open, "of these calls was", "of these calls were"))
	}
	for _, d := range p.Definitions {
		for _, proved := range c.Proved[d.Version] {
			switch proved.Verdict {
			case verify.Proved:
				say("Version %d keeps %q, regardless of the agent's actions (proved, %d states).", d.Version, proved.Name, proved.States)
			case verify.ProvedRunning:
				say("Version %d keeps %q while it is running (proved, %d states).", d.Version, proved.Name, proved.States)
			}
		}
	}
	if c.Conformance.Open[conform.OpenSource] > 0 {
		say("Its guards ask who has sent a value, and an operator may have done so, which is not recorded: the proof is about agents alone.")
	}
	for _, w := range c.Cosigned {
		say("Witness %s has seen this log at %s.", w.Witness, w.At.Format(time.RFC3339))
	}
	return all
}

// gave describes which evidence a jail has witnessed, and on which files.
func gave(e *jsonview.HistoryEntry) string {
	r := e.ToolResult
	if r.Witness == "" || len(r.Evidence) == 0 {
		return ""
	}
	on := ""
	if r.Tree != "" {
		on = " on " + r.Tree
	}
	return fmt.Sprintf("At %s a jail has witnessed %s%s (call %q, witness %s).", clock(e.Time), strings.Join(r.Evidence, ", "), on, r.CallID, r.Witness)
}

func passed(e *jsonview.HistoryEntry) string {
	var names []string
	for i := range e.Guards {
		if e.Guards[i].Passed {
			names = append(names, e.Guards[i].Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "guard " + strings.Join(names, ", ") + " had passed"
}

// people names all who have agreed.
func (c *Checked) people(id string) string {
	at := slices.IndexFunc(c.approvals, func(a jsonview.Approval) bool { return a.ApprovalID == id })
	if at < 0 {
		return ""
	}
	var names []string
	for _, v := range c.approvals[at].Votes {
		if v.Approve {
			names = append(names, v.By)
		}
	}
	return strings.Join(names, " and ")
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
