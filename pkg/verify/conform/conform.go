// Package conform holds recorded runs against definitions: it takes the changes of a run and the
// decisions on its calls again, by the functions that made them, or by those of a candidate.
//
// It is pure: records in, results out.
package conform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify/calls"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Difference is an entry that the definition or a policy would not give.
type Difference struct {
	// Entry is "history" or "decision", and Number the run's version or the decision's
	// sequence.
	Entry  string
	Number int64
	What   string
}

func (d Difference) String() string { return fmt.Sprintf("%s %d: %s", d.Entry, d.Number, d.What) }

// Conformance is the result of checking a trace.
type Conformance struct {
	// History counts the changes that were taken again, and Decisions those that were
	// decided again.
	History, Decisions int
	// Open counts undecided entries, by reason.
	Open        map[string]int
	Differences []Difference
	// Run is the run after its last change; nil where not every change was taken again.
	Run *workflow.Run
}

// Why an entry cannot be decided again.
const (
	OpenInput    = "the input was not kept, or is masked"
	OpenCounter  = "a counter of the store decided"
	OpenPolicy   = "the version of the policy was not given"
	OpenVersion  = "the version of the workflow was not given"
	OpenPause    = "who paused the run is not recorded"
	OpenChild    = "the calls that an invoked run left open are not recorded with this run"
	OpenEvidence = "evidence is taken as it was recorded"
	OpenSource   = "the record does not show whether an operator sent a value whose source a guard asks for"
	OpenAfter    = "it comes after a difference in the history"
	OpenVersions = "no history of that version of the run was given"
	OpenRejected = "people may have rejected the same call before"
	OpenDriven   = "whether the session had ended, or still drove the run, is not recorded"
	OpenEffects  = "whether the outcome of an earlier call of the same was unknown is not recorded"
)

// Conform takes a recorded run again, by the functions that have decided it: every change
// must be the one that its version of the definition makes, and every decision the one
// that the state, or the policy that is named, gives.
func Conform(t *Trace) Conformance {
	c := newConformer(t, nil)
	c.history()
	if !c.broken {
		c.out.Run = c.run
	}
	for i := range t.Decisions {
		if i > 0 {
			c.order(&t.Decisions[i-1], &t.Decisions[i])
		}
		c.decision(&t.Decisions[i])
	}
	return c.out
}

// order finds decisions that are not where they were made: each is committed on the present
// version of the run, in the place after the last.
func (c *conformer) order(before, d *Traced) {
	switch {
	case d.Sequence <= before.Sequence:
		c.differs("decision", d.Sequence, "it comes after decision %d", before.Sequence)
	case d.RunVersion < before.RunVersion:
		c.differs("decision", d.Sequence, "it was made on version %d of the run, and decision %d before it on version %d",
			d.RunVersion, before.Sequence, before.RunVersion)
	}
}

type conformer struct {
	trace *Trace
	out   Conformance
	run   *workflow.Run
	// at are the runs as they were, by version; unsure those after which something is not
	// known.
	at      map[int64]*workflow.Run
	tainted bool
	broken  bool
	// observed, when it is set, has the observations of the calls: evidence is judged by it,
	// and not taken as it was recorded.
	observed *evidence.Record
	// earlier counts the calls that were allowed before and not seen to end, by their digest, where observed is set.
	earlier map[string]int
	// last is the result of the last change.
	last workflow.Result
}

func newConformer(t *Trace, observed *evidence.Record) *conformer {
	return &conformer{trace: t, out: Conformance{Open: map[string]int{}}, at: map[int64]*workflow.Run{}, observed: observed}
}

func (c *conformer) open(why string) { c.out.Open[why]++ }

func (c *conformer) differs(entry string, number int64, format string, args ...any) {
	c.out.Differences = append(c.out.Differences, Difference{entry, number, fmt.Sprintf(format, args...)})
}

func (c *conformer) history() {
	for i := range c.trace.History {
		e := &c.trace.History[i]
		if c.broken {
			c.open(OpenAfter)
			continue
		}
		m := c.trace.Definitions[e.WorkflowVersion]
		if m == nil {
			c.open(OpenVersion)
			c.broken = true
			continue
		}
		c.change(m, e)
	}
	switch {
	case len(c.trace.History) == 0:
		c.differs("history", 0, "there is none: every run has started")
	case !c.broken && c.run.Version < c.trace.Version:
		c.differs("history", c.run.Version, "it ends there, and the run is at version %d", c.trace.Version)
	}
}

// change takes one change again.
func (c *conformer) change(m *workflow.Machine, e *workflow.HistoryEntry) {
	var out workflow.Result
	bySource := false
	switch {
	case e.Type == workflow.EventStarted && c.run != nil:
		c.differs("history", e.RunVersion, "the run starts once more, after version %d", c.run.Version)
		c.broken = true
		return
	case e.Type == workflow.EventStarted:
		out = m.Start(workflow.StartParams{
			ID: c.trace.RunID, SessionID: c.trace.SessionID, Workspace: c.trace.Workspace, Context: e.Data,
		}, e.Actor, e.Time)
	case c.run == nil:
		c.differs("history", e.RunVersion, "the run changes before it has started")
		c.broken = true
		return
	case e.Type == workflow.EventMigrated:
		from := c.trace.Definitions[c.run.WorkflowVersion]
		if from == nil {
			c.open(OpenVersion)
			c.broken = true
			return
		}
		out = from.Step(c.run, workflow.Migrate{To: m, States: workflow.StatesOf(e), Actor: e.Actor}, e.Time)
	default:
		cmd := c.command(m, e)
		if cmd == nil {
			c.differs("history", e.RunVersion, "%s is no change that a run makes", document.Quote(e.Type))
			c.broken = true
			return
		}
		out, bySource = c.step(m, e, cmd)
	}
	if bySource {
		c.open(OpenSource)
	} else {
		c.out.History++
	}
	if why := c.compare(e, &out); why != "" {
		if c.tainted {
			c.open(OpenChild)
		} else {
			c.differs("history", e.RunVersion, "%s", why)
		}
		c.broken = true
		return
	}
	run := out.Run
	c.run, c.last = &run, out
	c.at[run.Version] = &run
}

// step tries possible causes of a change: an invoked run has ended in one of two ways,
// and an approval is stale by itself or because its guards fail.
func (c *conformer) step(m *workflow.Machine, e *workflow.HistoryEntry, cmd workflow.Command) (out workflow.Result, bySource bool) {
	out = c.stepOnce(m, e, cmd)
	if _, ended := cmd.(workflow.ChildEnded); ended || c.compare(e, &out) == "" {
		return out, false
	}
	if other, ok := c.bySource(m, e, cmd); ok {
		return other, true
	}
	return out, false
}

func (c *conformer) stepOnce(m *workflow.Machine, e *workflow.HistoryEntry, cmd workflow.Command) workflow.Result {
	out := m.Step(c.run, cmd, e.Time)
	switch first := cmd.(type) {
	case workflow.ChildEnded:
		c.tainted = c.tainted || model.ReadsResults(m)
		if out.Entry.To != e.To || out.Entry.Status != e.Status {
			first.Child.Status = workflow.Failed
			out = m.Step(c.run, first, e.Time)
		}
	case workflow.Grant:
		if e.Type == workflow.EventStale && out.Entry.Type != workflow.EventStale {
			out = m.Step(c.run, workflow.Reject{
				ApprovalID: e.ApprovalID, Outcome: workflow.ApprovalStale, Note: e.Reason,
				Actor: e.Actor,
			}, e.Time)
		}
	}
	return out
}

// command returns the cause of a change.
func (c *conformer) command(m *workflow.Machine, e *workflow.HistoryEntry) workflow.Command {
	fire := workflow.Fire{
		Event: e.Event, Data: e.Data, Branch: e.Branch, Actor: e.Actor, ApprovalID: e.ApprovalID,
		Evidence: c.evidenceOf(m, e),
	}
	if e.Cause != nil {
		due := workflow.Due{Kind: e.Cause.Kind, Branch: e.Branch, After: e.Cause.After}
		return workflow.Elapse{Due: due, Evidence: fire.Evidence, Actor: e.Actor}
	}
	switch e.Type {
	case workflow.EventTransitioned:
		if at, waits := c.run.Asking(e.ApprovalID); e.ApprovalID != "" && waits {
			grant := workflow.Grant{ApprovalID: e.ApprovalID, Note: e.Reason, Actor: e.Actor, Evidence: fire.Evidence}
			if !document.Equal(at.Approval.Data, e.Data) {
				grant.Data = e.Data
			}
			return grant
		}
		return fire
	case workflow.EventParked, workflow.EventForked:
		return fire
	case workflow.EventInvoked:
		name := m.State(c.laneState(e)).Invokes(e.Event)
		fire.ChildID, fire.Child = e.ChildRunID, c.trace.Invoked[name]
		if fire.Child == nil && name != "" {
			fire.Child = model.UnknownWorkflow(name)
		}
		return fire
	case workflow.EventChildEnded:
		return workflow.ChildEnded{Child: workflow.Run{
			ID: e.ChildRunID, Status: workflow.Completed, Lane: workflow.Lane{Context: document.ObjectValue(nil)},
		}, Actor: e.Actor}
	case workflow.EventInterrupted:
		return workflow.Divert{Interrupt: e.Interrupt, Files: e.Files, Branch: e.Branch, Actor: e.Actor}
	case workflow.EventBound:
		return workflow.Bind{Branch: e.Branch, SessionID: e.SessionID, Actor: e.Actor}
	case workflow.EventForced:
		return workflow.Force{State: e.To, Context: e.Data, Branch: e.Branch, Actor: e.Actor}
	case workflow.EventPaused, workflow.EventHeld:
		return c.pause(e)
	case workflow.EventResumed, workflow.EventHoldLifted:
		return workflow.Resume{Lifts: []workflow.HoldCause{workflow.HoldOperator, workflow.HoldSessionEnd, workflow.HoldStale}, Actor: e.Actor}
	case workflow.EventCancelled:
		return workflow.Cancel{Reason: e.Reason, Actor: e.Actor}
	case workflow.EventStale:
		return workflow.Grant{ApprovalID: e.ApprovalID, Actor: e.Actor, Evidence: fire.Evidence}
	case workflow.EventApprovalRejected:
		return workflow.Reject{ApprovalID: e.ApprovalID, Note: e.Reason, Actor: e.Actor}
	case workflow.EventApprovalExpired:
		return workflow.Reject{ApprovalID: e.ApprovalID, Outcome: workflow.ApprovalExpired, Note: e.Reason, Actor: e.Actor}
	case workflow.EventApprovalCancelled:
		return workflow.Reject{ApprovalID: e.ApprovalID, Outcome: workflow.ApprovalCancelled, Note: e.Reason, Actor: e.Actor}
	default:
		return nil
	}
}

// pause returns a pause or a hold: a further one is a hold, and of the first it is not
// recorded.
func (c *conformer) pause(e *workflow.HistoryEntry) workflow.Command {
	p := workflow.Pause{Reason: e.Reason, Actor: e.Actor}
	if len(e.HoldCauses) > 0 {
		p.Hold = e.HoldCauses[0]
		return p
	}
	if e.Type == workflow.EventHeld {
		p.Hold = workflow.HoldOperator
		if c.run.HeldFor(p.Hold) {
			p.Hold = workflow.HoldSessionEnd
		}
	}
	return p
}

func (c *conformer) laneState(e *workflow.HistoryEntry) string {
	at := c.run.At(e.Branch)
	return at.State
}

// evidenceOf returns how evidence stood: by observations of the calls, where those are
// known, and else by the results of guards.
func (c *conformer) evidenceOf(m *workflow.Machine, e *workflow.HistoryEntry) evidence.Statuses {
	if c.observed != nil {
		return c.standings(m, e)
	}
	all := m.EvidencePassed(e.Guards)
	if len(all) > 0 {
		c.open(OpenEvidence)
	}
	return all
}

// compare describes the difference of a change from the recorded one, or is empty.
func (c *conformer) compare(e *workflow.HistoryEntry, out *workflow.Result) string {
	switch {
	case out.Rejection != nil:
		return fmt.Sprintf("%s %s is refused by the definition: %s", e.Type, document.Quote(e.Event), out.Rejection.Message)
	case !out.Changed:
		return fmt.Sprintf("%s %s has no effect by the definition", e.Type, document.Quote(e.Event))
	case out.Entry.Type != e.Type:
		return fmt.Sprintf("the definition makes it %s, and %s was recorded", out.Entry.Type, e.Type)
	case out.Entry.From != e.From:
		return fmt.Sprintf("it begins in state %s, and %s was recorded", document.Quote(out.Entry.From),
			document.Quote(e.From))
	case out.Entry.To != e.To:
		return fmt.Sprintf("it leads to state %s, and %s was recorded", document.Quote(out.Entry.To), document.Quote(e.To))
	case out.Entry.Status != e.Status && e.Status != "":
		return fmt.Sprintf("the run is %s, and %s was recorded", out.Entry.Status, e.Status)
	case out.Entry.RunVersion != e.RunVersion:
		return fmt.Sprintf("it makes version %d, and %d was recorded", out.Entry.RunVersion, e.RunVersion)
	case out.Entry.SafeNext != e.SafeNext:
		return "safe_next was taken in one of the two"
	}
	for i := range e.Guards {
		g := &e.Guards[i]
		j := slices.IndexFunc(out.Entry.Guards, func(other workflow.GuardResult) bool { return other.Name == g.Name })
		if j < 0 || out.Entry.Guards[j].Passed != g.Passed {
			return fmt.Sprintf("guard %s is recorded as %s, and is not", document.Quote(g.Name),
				map[bool]string{true: "passed", false: "failed"}[g.Passed])
		}
	}
	if len(e.Joins) != len(out.Entry.Joins) {
		return fmt.Sprintf("%d forks join, and %d were recorded", len(out.Entry.Joins), len(e.Joins))
	}
	return ""
}

// decision decides one call again.
func (c *conformer) decision(d *Traced) {
	run := c.at[d.RunVersion]
	if run == nil {
		c.open(OpenVersions)
		return
	}
	m := c.trace.Definitions[run.WorkflowVersion]
	at := run.At(d.Branch)
	if at.State == "" && d.Decision == toolcall.Deny && d.Code == toolcall.CodeRunNotActive {
		c.out.Decisions++ // the run has no such branch
		return
	}
	if d.State != "" && at.State != d.State && !strings.HasPrefix(d.State, "$") {
		c.differs("decision", d.Sequence, "it was made in state %s, and version %d of the run is in %s",
			document.Quote(d.State), d.RunVersion, document.Quote(at.State))
		return
	}
	if d.Decision == toolcall.Allow && d.Code != "" && d.Code != toolcall.CodeNotEnforced {
		c.differs("decision", d.Sequence, "%s %s: %s was recorded, and what is allowed has no code", d.Tool, d.CallID, said(d.Decision, d.Code))
		return
	}
	switch d.Code {
	case toolcall.CodeMaxIterations, toolcall.CodeTooManyFiles, toolcall.CodeContextBudget, toolcall.CodeRateLimited,
		toolcall.CodeBudgetExceeded,
		toolcall.CodePolicyUnavailable:
		c.open(OpenCounter)
		return
	case toolcall.CodeCallerDenied, toolcall.CodeJailRequired, toolcall.CodeHalted:
		c.out.Decisions++ // the caller or a halt has denied it, and no rule can allow that
		return
	}
	input, exact := d.Input, d.exact()
	if !exact {
		input = nil
	}
	if d.Code == toolcall.CodeEffectsUnknown && d.Policy.Name == "" {
		c.open(OpenCounter) // too many calls of its family waited for their reports
		return
	}
	state := d.decide(m, &at, input)
	if run.Status.Stopped() && c.observed == nil {
		c.open(OpenPause)
		return
	}
	if state.Code == toolcall.CodeCallUnclear && (!exact || d.Code != state.Code) {
		c.open(OpenInput) // conditions of the state decide, on facts that the log does not have
		return
	}
	if d.Policy.Name != "" {
		c.byPolicy(m, &at, d, input, exact, state)
		return
	}
	certain := exact || calls.WhateverInput(m, &at, d.Tool, "", rules.Combined{State: state})
	switch {
	case state.Decision == d.Decision && state.Code == d.Code && certain, state.Decision == toolcall.Allow &&
		d.Decision == toolcall.Allow && state.Code == d.Code && !takesInput(m, &at, d.Tool):
		c.out.Decisions++
	case d.Decision == toolcall.Deny && d.Code == toolcall.CodeRunNotActive:
		c.open(OpenDriven)
	case certain:
		c.out.Decisions++
		c.differs("decision", d.Sequence, "%s %s: the state decides %s, and %s was recorded", d.Tool, d.CallID,
			said(state.Decision, state.Code), said(d.Decision, d.Code))
	default:
		c.open(OpenInput)
	}
}

// takesInput reports that the answer of a state depends on more than the tool.
func takesInput(m *workflow.Machine, at *workflow.View, tool string) bool {
	state := m.State(at.State)
	return toolcall.Shell(state, tool) || toolcall.Edits(m, tool) || toolcall.MayRead(m, at, tool, "")
}

func (c *conformer) byPolicy(m *workflow.Machine, at *workflow.View, d *Traced, input []byte, exact bool,
	state toolcall.Verdict,
) {
	set := c.trace.Policies[d.Policy]
	if set == nil {
		c.open(OpenPolicy)
		return
	}
	if state.Decision == toolcall.Deny && calls.WhateverInput(m, at, d.Tool, "", rules.Combined{State: state}) && d.Decision != toolcall.Deny {
		c.differs("decision", d.Sequence, "%s %s: the state denies it (%s), and %s was recorded", d.Tool, d.CallID,
			state.Code, said(d.Decision, d.Code))
		return
	}
	call := d.policyCall(m, at, input)
	v := set.Decide(call, nil)
	switch {
	case !decidable(set, call):
		c.open(OpenInput)
	case v.Code == toolcall.CodeEmailDenied && !exact || d.Code == toolcall.CodeEmailDenied:
		c.open(OpenInput)
	case v.Decision == d.Decision:
		c.out.Decisions++
	case c.repeats(set, &call, v, d):
		c.open(OpenEffects)
	case len(v.Outside) > 0 && d.Decision == toolcall.Deny && d.Code == toolcall.CodePolicyDenied:
		c.open(OpenPoint)
	case v.Decision == toolcall.Ask && d.Decision == toolcall.Deny && d.Code == toolcall.CodePolicyDenied:
		c.open(OpenRejected)
	default:
		c.out.Decisions++
		c.differs("decision", d.Sequence, "%s %s: policy %s version %d decides %s, and %s was recorded",
			d.Tool, d.CallID, document.Quote(d.Policy.Name), d.Policy.Version, said(v.Decision, v.Code),
			said(d.Decision, d.Code))
	}
}

// repeats reports that a policy gives the recorded decision if the call repeats one of unknown outcome (S16.6), and that there may
// be such a call. When a call becomes unknown is not recorded.
func (c *conformer) repeats(set *rules.Set, call *rules.Call, alone rules.Verdict, d *Traced) bool {
	if !set.AsksRepeats() || alone.Decision == toolcall.Deny || c.observed != nil && c.earlier[d.Digest] == 0 {
		return false
	}
	repeat := *call
	repeat.Repeats = "an earlier call"
	v := set.Decide(repeat, nil)
	rejected := v.Decision == toolcall.Ask && d.Decision == toolcall.Deny && d.Code == toolcall.CodePolicyDenied
	return v.Decision == d.Decision && v.Code == d.Code || rejected
}

// policyCall returns the call as policies judge it.
func (d *Traced) policyCall(m *workflow.Machine, at *workflow.View, input []byte) rules.Call {
	return rules.Call{
		Facts: knowing(m, at, toolcall.Call{Tool: d.Tool, Input: input}).Facts,
		Tool:  d.Tool, Capability: d.Capability, Shell: toolcall.Shell(m.State(at.State), d.Tool), Input: input,
		Principal: d.Principal, Session: d.Session, Approved: d.Approved, Now: d.Time,
	}
}

func said(d toolcall.Decision, code toolcall.Code) string {
	if code == "" {
		return string(d)
	}
	return string(d) + " " + string(code)
}
