package conform

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify/calls"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Candidate has the rules by which a recorded run is replayed.
type Candidate struct {
	Machine *workflow.Machine
	// Policies judge every call, in place of those that did; nil leaves their answers as they
	// were recorded.
	Policies []*rules.Set
	// LimitsAsRecorded takes the limits on calls, edits, files and results of a state as they
	// were recorded: they stop the same acts.
	LimitsAsRecorded bool
}

// Effect is the effect of a change on the safety of a run.
type Effect string

// The effects.
const (
	// Loosened: a denied act, or one that needed approval, would be allowed.
	Loosened Effect = "loosened"
	// Tightened: an allowed act would be denied, or would have to be approved.
	Tightened Effect = "tightened"
	// Diverted: the run would be in another state.
	Diverted Effect = "other"
)

// Divergence is the first entry of a recorded run to which the candidate gives another answer.
type Divergence struct {
	// Entry is "history" or "decision", and Number the run's version or the decision's
	// sequence.
	Entry  string
	Number int64
	Effect Effect
	// Cause names the state, guard or policy that makes the difference, and What
	// describes it.
	Cause, What string
	// State is where the run stood, as it was recorded; where it began for its start. Event and
	// To are those of a recorded change; To is empty when it left the state for none.
	State, Event, To string
	// Beyond counts the entries after it: the agent's later acts are not known.
	Beyond int
}

// Why a call of a recorded run cannot be decided by a candidate.
const (
	OpenLimits   = "limits of policies are not counted over a replay"
	OpenPoint    = "a decision point outside of Interlock decides"
	OpenUnseen   = "the candidate asks for evidence that was not recorded"
	OpenFrontier = "the further course is not known after a difference"
)

// Replayed is the result of replaying a run.
type Replayed struct {
	RunID string
	// Same counts the entries that the candidate answers as they were recorded.
	Same int
	// Open counts those that cannot be decided, by why.
	Open map[string]int
	// First is where the candidate differs; nil where it does not, as far as it is known.
	First *Divergence
}

// Replay drives a recorded run through a candidate, by the functions that would enforce it,
// up to the first entry that is another (not proof beyond that).
func Replay(t *Trace, by *Candidate) Replayed {
	r := &replay{
		conformer: *newConformer(t, nil),
		by:        by, counted: map[entryOf]int64{}, files: map[entryOf]toolcall.Files{}, out: Replayed{RunID: t.RunID, Open: map[string]int{}},
	}
	decisions := slices.Clone(t.Decisions)
	slices.SortStableFunc(decisions, func(a, b Traced) int { return int(a.Sequence - b.Sequence) })
	next := 0
	left := func(i int) int { return len(t.History) - i + len(decisions) - next }
	for i := range t.History {
		e := &t.History[i]
		for next < len(decisions) && decisions[next].RunVersion < e.RunVersion {
			if !r.call(&decisions[next]) {
				next++
				return r.end(left(i))
			}
			next++
		}
		if !r.move(e) {
			return r.end(left(i + 1))
		}
	}
	for ; next < len(decisions); next++ {
		if !r.call(&decisions[next]) {
			next++
			return r.end(left(len(t.History)))
		}
	}
	return r.end(0)
}

type replay struct {
	conformer
	by *Candidate
	// counted are the calls of an entry of a state that count, and files those that were
	// edited in it.
	counted map[entryOf]int64
	files   map[entryOf]toolcall.Files
	out     Replayed
}

type entryOf struct {
	branch string
	entry  int64
}

func (r *replay) end(beyond int) Replayed {
	if r.out.First != nil {
		r.out.First.Beyond = beyond
	} else if beyond > 0 {
		r.out.Open[OpenFrontier] += beyond
	}
	return r.out
}

// differs ends the replay: False.
func (r *replay) differs(d Divergence) bool {
	r.out.First = &d
	return false
}

// callDiffers ends it at a call.
func (r *replay) callDiffers(d *Traced, effect Effect, cause, would string) bool {
	return r.differs(Divergence{
		Entry: "decision", Number: d.Sequence, Effect: effect, Cause: cause, State: d.State,
		What: fmt.Sprintf("%s %s would be %s, and was %s", d.Tool, document.Quote(d.CallID), would, answerOf(d.Decision, d.Code)),
	})
}

// move takes one change by the candidate. False: the rest is not known.
func (r *replay) move(e *workflow.HistoryEntry) bool {
	m := r.by.Machine
	var out workflow.Result
	bySource := false
	switch {
	case e.Type == workflow.EventStarted:
		out = m.Start(workflow.StartParams{
			ID: r.trace.RunID, SessionID: r.trace.SessionID, Workspace: r.trace.Workspace, Context: e.Data,
		}, e.Actor, e.Time)
	case r.run == nil:
		r.out.Open[OpenVersions]++
		return false
	case e.Type == workflow.EventMigrated: // the candidate stands in for all versions
		run := *r.run
		run.Version++
		r.run, r.at[run.Version] = &run, &run
		r.out.Same++
		return true
	default:
		cmd := r.command(m, e)
		if cmd == nil {
			r.out.Open[OpenVersions]++
			return false
		}
		out, bySource = r.step(m, e, cmd)
	}
	if out.Rejection != nil && r.unseen(out.Rejection) {
		r.out.Open[OpenUnseen]++
		return false
	}
	effect, cause, what := r.judgeMove(e, &out)
	switch {
	case what == "":
	case r.tainted:
		r.out.Open[OpenChild]++
		return false
	default:
		return r.differs(Divergence{
			Entry: "history", Number: e.RunVersion, Effect: effect, Cause: cause, What: what,
			State: cmp.Or(e.From, e.To), Event: e.Event, To: e.To,
		})
	}
	if bySource {
		r.out.Open[OpenSource]++
	} else {
		r.out.Same++
	}
	run := out.Run
	r.run, r.at[run.Version] = &run, &run
	return true
}

// unseen reports a refusal by evidence of which the recording says nothing.
func (r *replay) unseen(refused *workflow.Rejection) bool {
	return slices.ContainsFunc(refused.Guards, func(g workflow.GuardResult) bool {
		return !g.Passed && (g.Code == workflow.GuardEvidenceMissing || g.Code == workflow.GuardEffectsUnknown)
	})
}

// judgeMove describes how a change of the candidate differs from the recorded one.
func (r *replay) judgeMove(e *workflow.HistoryEntry, out *workflow.Result) (effect Effect, cause, what string) {
	state := "state " + document.Quote(e.From)
	asked := e.Type == workflow.EventParked
	switch {
	case out.Rejection != nil:
		for _, g := range out.Rejection.Guards {
			if !g.Passed {
				state = "guard " + document.Quote(g.Name)
				break
			}
		}
		return Tightened, state, fmt.Sprintf("%s %s would be refused: %s", e.Type, e.Event, out.Rejection.Message)
	case out.Entry.Type == workflow.EventParked && !asked:
		return Tightened, state, fmt.Sprintf("event %s would need an approval", document.Quote(e.Event))
	case asked && out.Entry.Type != workflow.EventParked:
		return Loosened, state, fmt.Sprintf("event %s would need no approval, and lead to state %s", document.Quote(e.Event), document.Quote(out.Entry.To))
	case out.Entry.Type != e.Type || out.Entry.To != e.To || out.Entry.Status != e.Status && e.Status != "":
		return Diverted, state, fmt.Sprintf("event %s would lead to state %s (%s), and led to %s (%s)",
			document.Quote(e.Event), document.Quote(out.Entry.To), out.Entry.Status, document.Quote(e.To), e.Status)
	default:
		return "", "", ""
	}
}

// call decides one recorded call by the candidate. False: the rest is not known.
func (r *replay) call(d *Traced) bool {
	run := r.at[d.RunVersion]
	if run == nil {
		r.out.Open[OpenVersions]++
		return true
	}
	if d.Code == toolcall.CodeCallerDenied || d.Code == toolcall.CodeHalted || d.Code == toolcall.CodeJailRequired && d.Jail == jail.None { // by the caller, a halt or the deployment, and no rule can allow that
		r.out.Same++
		return true
	}
	m := r.by.Machine
	at := run.At(d.Branch)
	input, exact := d.Input, d.exact()
	if !exact {
		input = nil
	}
	state := d.decide(m, &at, input)
	if state.Code == toolcall.CodeCallUnclear && (!exact || d.Code != state.Code) { // conditions of the state decide, on facts that the log does not have
		r.out.Open[OpenInput]++
		return true
	}
	said := decision{state.Decision, state.Code, "state " + document.Quote(at.State)}
	if !exact && takesInput(m, &at, d.Tool) && !calls.WhateverInput(m, &at, d.Tool, "", rules.Combined{State: state}) {
		if d.Code == toolcall.CodeToolNotAllowed || d.Code == toolcall.CodeToolDisallowed { // with any input
			return r.callDiffers(d, Loosened, "state "+document.Quote(d.State), "decided by its input")
		}
		if d.Policy.Name != "" && d.Decision == toolcall.Deny || !r.sameRules(d, &at) {
			r.out.Open[OpenInput]++
			return true
		}
		said.Decision, said.Code = d.Decision, d.Code
		if d.Policy.Name != "" {
			said.Decision, said.Code = toolcall.Allow, ""
		}
	}
	key := entryOf{d.Branch, at.Entry}
	said = r.limited(key, d, &state, said)
	said, known := r.judgePolicies(m, &at, d, input, exact, said)
	if !known {
		return true
	}
	if said.Decision == d.Decision {
		r.out.Same++
		r.count(key, d, &state)
		return true
	}
	effect := Tightened
	if strict(said.Decision) < strict(d.Decision) {
		effect = Loosened
	}
	cause := said.by
	if effect == Loosened {
		cause = "state " + document.Quote(d.State)
		if d.Policy.Name != "" {
			cause = "policy " + document.Quote(d.Policy.Name)
		}
	}
	return r.callDiffers(d, effect, cause, answerOf(said.Decision, said.Code))
}

// decision is an answer and its source.
type decision struct {
	Decision toolcall.Decision
	Code     toolcall.Code
	by       string
}

// limited adds the verdict of a state's limits on a call.
func (r *replay) limited(key entryOf, d *Traced, state *toolcall.Verdict, said decision) decision {
	if r.by.LimitsAsRecorded {
		if limits(said.Code) || limits(d.Code) && said.Decision == toolcall.Allow {
			said.Decision, said.Code = d.Decision, d.Code
		}
		return said
	}
	if said.Decision != toolcall.Allow {
		return said
	}
	if _, _, ok := r.files[key].Add(state.Paths, state.MaxFiles); !ok {
		return decision{toolcall.Deny, toolcall.CodeTooManyFiles, said.by}
	}
	if state.MaxIterations > 0 && r.counted[key] >= state.MaxIterations {
		return decision{toolcall.Deny, toolcall.CodeMaxIterations, said.by}
	}
	return said
}

// count adds an allowed call to those of its entry.
func (r *replay) count(key entryOf, d *Traced, state *toolcall.Verdict) {
	if !state.Counted || d.Decision != toolcall.Allow {
		return
	}
	r.counted[key]++
	r.files[key], _, _ = r.files[key].Add(state.Paths, 0)
}

// limits reports a denial by a limit of a state.
func limits(code toolcall.Code) bool {
	switch code {
	case toolcall.CodeEditTooLarge, toolcall.CodeTooManyFiles, toolcall.CodeMaxIterations, toolcall.CodeContextBudget:
		return true
	default:
		return false
	}
}

// judgePolicies adds the verdicts of policies to the answer of the state. False: they cannot
// be known.
func (r *replay) judgePolicies(m *workflow.Machine, at *workflow.View, d *Traced, input []byte, exact bool, said decision) (decision, bool) {
	if r.by.Policies == nil {
		switch {
		case d.Policy.Name != "" && strict(d.Decision) > strict(said.Decision):
			return decision{d.Decision, d.Code, "policy " + document.Quote(d.Policy.Name)}, true
		case d.Policy.Name == "" && d.Code != "" && counts(d.Code) && d.Code != toolcall.CodeMaxIterations && said.Decision == toolcall.Allow:
			r.out.Open[OpenCounter]++
			return said, false
		default:
			return said, true
		}
	}
	outside := false
	for _, set := range r.by.Policies {
		call := d.policyCall(m, at, input)
		v := set.Decide(call, nil)
		if v.Code == toolcall.CodeEmailDenied && !exact || !decidable(set, call) {
			r.out.Open[OpenInput]++
			return said, false
		}
		outside = outside || len(v.Outside) > 0
		if strict(v.Decision) > strict(said.Decision) {
			by := "policy"
			if v.By != nil {
				by = fmt.Sprintf("policy %s, %s", document.Quote(v.By.Policy), v.By.Pointer())
			}
			said = decision{v.Decision, v.Code, by}
		}
		if v.Decision == toolcall.Allow && len(v.Spends) > 0 {
			r.out.Open[OpenLimits]++
		}
	}
	if outside && said.Decision != toolcall.Deny {
		r.out.Open[OpenPoint]++
		return said, false
	}
	if counts(d.Code) && said.Decision == toolcall.Allow && d.Code != toolcall.CodeMaxIterations {
		r.out.Open[OpenCounter]++
		return said, false
	}
	return said, true
}

// counts reports a denial by a counter of the store.
func counts(code toolcall.Code) bool {
	switch code {
	case toolcall.CodeMaxIterations, toolcall.CodeTooManyFiles, toolcall.CodeContextBudget, toolcall.CodeRateLimited,
		toolcall.CodeBudgetExceeded, toolcall.CodePolicyUnavailable, toolcall.CodeEffectsUnknown:
		return true
	default:
		return false
	}
}

// sameRules reports that the state that judged a call, and that of the candidate, say the
// same of calls.
func (r *replay) sameRules(d *Traced, at *workflow.View) bool {
	for _, old := range r.trace.Definitions {
		was := old.State(d.State)
		if !was.Known() || d.State != at.State || !reflect.DeepEqual(calls.Judging(old, was), calls.Judging(r.by.Machine, r.by.Machine.State(at.State))) {
			return false
		}
	}
	return len(r.trace.Definitions) > 0
}

// strict orders decisions; anything else is as strict as a denial.
func strict(d toolcall.Decision) int {
	switch d {
	case toolcall.Allow:
		return 0
	case toolcall.Ask:
		return 1
	default:
		return 2
	}
}

func answerOf(d toolcall.Decision, code toolcall.Code) string { return said(d, code) }
