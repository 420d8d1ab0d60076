package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Explanation explains a decision. The functions that decide write it.
type Explanation struct {
	// InputKept is false for a recorded call whose input the log does not have.
	InputKept bool
	// State is the verdict of the state with its reasons, and StateMessage its sentence.
	State        toolcall.Reasons
	StateMessage string
	// ToolsRestricted and AllowedTools are those of the state.
	ToolsRestricted bool
	AllowedTools    []string
	Policies        []PolicyReasons
	Limits          []LimitReason
	// WouldAllow has sentences about the changes that would allow the call.
	WouldAllow []string
	// JailLevel and JailDigest are of the jail that the line must run in; 0 and empty for none.
	JailLevel  jail.Level
	JailDigest string
}

// PolicyReasons explains the verdict of one policy.
type PolicyReasons struct {
	Name    string
	Version int64
	// Scope is why it holds for the call, such as "workflow deploy".
	Scope string
	rules.Reasons
}

// LimitReason is a limit that a call counts against: of the account of a policy, or of the
// entry of a state.
type LimitReason struct {
	rules.Account
	// Rule is its place in the policy, or the field of the state.
	Rule string
	// ResetsAt is the end of the present period; zero for none.
	ResetsAt time.Time
	// Used is the present count, and After the count with the call.
	Used, Max, After int64
	// ReopensAt is when a limit that has no room has some again; zero for never, or when it
	// has room.
	ReopensAt time.Time
}

// Measures of the entry of a state, in addition to those of policies.
const (
	MeasureIterations  rules.Measure = "iterations"
	MeasureResultBytes rules.Measure = "result_bytes"
	MeasureFiles       rules.Measure = "files"
	// PerEntry counts those of one entry of a state.
	PerEntry rules.Scope = "entry"
)

// explain explains a decision. state is the verdict of the state.
func (c *Service) explain(ctx context.Context, a Attempt, state toolcall.Verdict) (*Explanation, error) {
	s, e := a.At, &Explanation{InputKept: true}
	e.State = toolcall.Explain(s.Machine, s.Run, a.call())
	e.State.Verdict = state // the input is judged besides
	if p := state.Jail; p != nil {
		e.JailLevel, e.JailDigest = p.Level, p.Digest()
	}
	e.ofState(s)
	if state.Decision == toolcall.Deny {
		e.StateMessage = state.Message(s.Machine, s.Run)
	}
	if !toolcall.Own(a.Req.Tool) {
		call := a.policyCall(Admission{})
		for i, set := range a.Effective.Live {
			e.policy(set, a.Effective.Because[i], a.knowing(call, set))
		}
	}
	if a.Caller.Principal.Role.Drives() {
		e.withhold()
	}
	return e, c.finish(ctx, e, a.Caller.Namespace, a.Req.Tool, s)
}

// withhold removes the comparisons that agents do not learn (S21.9).
func (e *Explanation) withhold() {
	for i := range e.State.Calls {
		call := &e.State.Calls[i]
		call.Leaves = slices.DeleteFunc(call.Leaves, func(l condition.Leaf) bool { return condition.Confidential(l.Looks) })
	}
	for i := range e.Policies {
		for j := range e.Policies[i].Rules {
			rule := &e.Policies[i].Rules[j]
			rule.Conditions = slices.DeleteFunc(rule.Conditions, func(c rules.Condition) bool { return condition.Confidential(c.Field) })
		}
	}
}

func (e *Explanation) ofState(s *runs.Snapshot) {
	view := s.Machine.State(s.Run.State)
	e.ToolsRestricted, e.AllowedTools = view.ToolsRestricted, view.AllowedTools
}

func (e *Explanation) policy(set *rules.Set, scope string, call rules.Call) {
	p := PolicyReasons{Scope: scope, Reasons: set.Explain(call)}
	p.Name, p.Version = set.Identity()
	e.Policies = append(e.Policies, p)
}

// finish adds the limits in their present state, and the changes that would allow the call.
func (c *Service) finish(ctx context.Context, e *Explanation, namespace, tool string, s *runs.Snapshot) error {
	if err := c.stateLimits(ctx, e, s); err != nil {
		return fault.From(err)
	}
	known := map[rules.Account]bool{}
	for i := range e.Policies {
		for _, spend := range e.Policies[i].Limits {
			if known[spend.Account] {
				continue // policies share the accounts of a session
			}
			known[spend.Account] = true
			limit, err := c.limitOf(ctx, namespace, spend)
			if err != nil {
				return fault.From(err)
			}
			e.Limits = append(e.Limits, limit)
		}
	}
	e.wouldAllow(tool, s)
	return nil
}

// stateLimits adds the limits of the entry of the state.
func (c *Service) stateLimits(ctx context.Context, e *Explanation, s *runs.Snapshot) error {
	view := s.Machine.State(s.Run.State)
	if view.MaxIterations == 0 && view.ContextBudgetBytes == 0 && view.MaxFilesPerState == 0 {
		return nil
	}
	counters, err := c.Store.Counters(ctx, s.Entry)
	if err != nil {
		return err
	}
	add := func(measure rules.Measure, rule string, used, most, need int64) {
		if most > 0 {
			e.Limits = append(e.Limits, LimitReason{
				Account: rules.Account{Measure: measure, Scope: PerEntry}, Rule: rule, Used: used, Max: most, After: used + need,
			})
		}
	}
	add(MeasureIterations, "/max_iterations", counters[ledger.Iterations], view.MaxIterations, 1)
	add(MeasureResultBytes, "/context_budget_bytes", counters[ledger.ContextBytes], view.ContextBudgetBytes, 0)
	if view.MaxFilesPerState == 0 || len(e.State.Verdict.Paths) == 0 {
		return nil
	}
	kept, err := c.Calls.FilesOf(ctx, s.Key)
	if err != nil {
		return err
	}
	before := kept.Of(s.Run.Branch, s.Run.Entry)
	_, added, _ := before.Files.Add(e.State.Verdict.Paths, view.MaxFilesPerState)
	add(MeasureFiles, "/max_files_per_state", int64(len(before.Files)), view.MaxFilesPerState, int64(len(added)))
	return nil
}

// limitOf returns a limit of a policy with its present count.
func (c *Service) limitOf(ctx context.Context, namespace string, spend rules.Spend) (LimitReason, error) {
	owner := quota.Key(namespace, spend.Account)
	used, err := c.Quota.Counted(ctx, owner, spend.Account)
	if err != nil {
		return LimitReason{}, err
	}
	limit := LimitReason{Account: spend.Account, Used: used, Max: spend.Max, After: used + spend.Need}
	if spend.By != nil {
		limit.Rule = spend.By.Pointer()
		limit.Policy = spend.By.Policy
	}
	if spend.Period != "" {
		_, limit.ResetsAt = spend.Period.Bounds(spend.Start)
	}
	if limit.full() {
		limit.ReopensAt = limit.ResetsAt
		if spend.Window > 0 {
			err := c.Store.Probe(ctx, store.Batch{Counters: []store.Counter{
				{Owner: owner, Name: spend.Counter(), Delta: spend.Need, Limit: spend.Max, Window: spend.Window},
			}})
			var full *store.LimitError
			if !errors.As(err, &full) {
				return limit, err
			}
			limit.ReopensAt = full.ReopensAt
		}
	}
	return limit, nil
}

// full reports whether the limit has no room for the call. A call that adds 0 has no room in a limit that is
// spent.
func (l *LimitReason) full() bool { return l.After > l.Max || l.After == l.Used && l.Used >= l.Max }

// wouldAllow adds the changes that would allow the call.
func (e *Explanation) wouldAllow(tool string, s *runs.Snapshot) {
	if e.State.Verdict.Decision == toolcall.Deny {
		e.stateWouldAllow(tool, s)
	}
	for i := range e.Policies {
		if p := &e.Policies[i]; p.Verdict.Decision != toolcall.Allow {
			e.add(p.Verdict.Explain())
		}
	}
	for i := range e.Limits {
		if l := &e.Limits[i]; l.full() {
			e.add(l.wouldAllow(s))
		}
	}
}

func (e *Explanation) add(sentence string) { e.WouldAllow = append(e.WouldAllow, sentence) }

// stateWouldAllow adds the changes by which the state would allow the call.
func (e *Explanation) stateWouldAllow(tool string, s *runs.Snapshot) {
	name, view := document.Quote(s.Run.State), s.Machine.State(s.Run.State)
	switch e.State.Verdict.Code {
	case toolcall.CodeToolNotAllowed, toolcall.CodeToolDisallowed:
		sentence := fmt.Sprintf("In state %s, tool %s is not allowed", name, document.Quote(tool))
		ways := 0
		for _, event := range view.LegalEvents() {
			for _, target := range event.Targets {
				// The end of a run is no way to a call.
				if to := s.Machine.State(target); !to.Final && to.Tool(tool) == workflow.ToolAllowed {
					sentence += fmt.Sprintf("; event %s leads to %s, which allows it", document.Quote(event.Event), document.Quote(target))
					ways++
					break
				}
			}
		}
		if ways == 0 {
			sentence += ", and no event of it leads to a state that allows it"
		}
		e.add(sentence + ".")
	case toolcall.CodeRunNotActive:
		e.add(activeAgain(s.Run))
	default:
		said := len(e.WouldAllow)
		if e.State.Line != nil {
			for i := range e.State.Line.Parts {
				e.partWouldAllow(&e.State.Line.Parts[i], name, view)
			}
		}
		switch {
		case len(e.WouldAllow) > said:
		case e.State.Verdict.Code == toolcall.CodeCommandNotAllowed:
			e.add(otherCommands(name, view))
		default:
			e.add(e.StateMessage)
		}
	}
}

// activeAgain returns how calls of a run that was not active are judged again.
func activeAgain(run *workflow.View) string {
	switch {
	case run.Status.Ended():
		return fmt.Sprintf("Run %s has ended as %s: start another one.", run.ID, run.Status)
	case run.Status == workflow.Running:
		return fmt.Sprintf("Run %s was not active then: its session had ended, or it had ended itself. Start another one.", run.ID)
	default:
		return fmt.Sprintf("Run %s is %s: calls are judged again once it is running.", run.ID, run.Status)
	}
}

// mostEntries bounds how many commands a sentence lists.
const mostEntries = 24

func (e *Explanation) partWouldAllow(part *toolcall.Part, state string, view *workflow.StateView) {
	if part.Said == toolcall.Fine {
		return
	}
	text := document.Quote(e.State.Line.Text[part.Start:part.End])
	if part.Code != toolcall.CodeCommandNotAllowed || part.Said == toolcall.Unknown {
		e.add(text + " is refused: " + strings.TrimSuffix(part.Message, ".") + ".")
		return
	}
	entries := view.AllowedCommands
	if len(entries) == 0 {
		e.add(fmt.Sprintf("%s is refused: state %s allows no command at all. To allow it there, add its first words to %s of the workflow.",
			text, state, commandsOf(view)))
		return
	}
	e.add(fmt.Sprintf("%s is not among the commands of state %s: %s. To allow it there, add its first words to %s of the workflow.",
		text, state, entriesText(entries), commandsOf(view)))
}

// otherCommands describes how a command would be allowed whose line is not kept.
func otherCommands(state string, view *workflow.StateView) string {
	if len(view.AllowedCommands) == 0 {
		return fmt.Sprintf("State %s allows no command at all: add the first words of one to %s of the workflow.", state, commandsOf(view))
	}
	return fmt.Sprintf("State %s allows these commands: %s. To allow another one there, add its first words to %s of the workflow.",
		state, entriesText(view.AllowedCommands), commandsOf(view))
}

// commandsOf returns where a workflow lists the commands of a state.
func commandsOf(view *workflow.StateView) string {
	return (*document.Path)(nil).Key("states").Key(view.Name).Key("allowed_commands").String()
}

// entriesText lists entries of allowed_commands.
func entriesText(entries []string) string {
	quoted := make([]string, 0, mostEntries)
	for _, entry := range entries[:min(len(entries), mostEntries)] {
		quoted = append(quoted, shell.ShowEntry(entry))
	}
	more := ""
	if len(entries) > mostEntries {
		more = fmt.Sprintf(" and %d more", len(entries)-mostEntries)
	}
	return strings.Join(quoted, ", ") + more
}

// wouldAllow describes the change of a full limit that would allow the call.
func (l *LimitReason) wouldAllow(s *runs.Snapshot) string {
	if l.Scope == PerEntry {
		return fmt.Sprintf("%s of state %s is reached, with %d of %d: leave the state by an event, and the next entry begins with none.",
			strings.TrimPrefix(l.Rule, "/"), document.Quote(s.Run.State), l.Used, l.Max)
	}
	policy := "its policy"
	if l.Policy != "" {
		policy = "policy " + document.Quote(l.Policy)
	}
	again := "it does not reopen"
	if !l.ReopensAt.IsZero() {
		again = "it reopens at " + l.ReopensAt.UTC().Format(time.RFC3339Nano)
	}
	used := fmt.Sprintf("%d of %d %s", l.Used, l.Max, l.Measure)
	if l.Measure == rules.Money {
		used = fmt.Sprintf("%s of %s USD", rules.MicroUSD(l.Used), rules.MicroUSD(l.Max))
	}
	return fmt.Sprintf("An operator may raise the limit of rule %s of %s, which has counted %s; %s.", l.Rule, policy, used, again)
}

// ExplainRecorded explains a recorded decision. It decides the recorded call again, with the present limits.
// Data that the log does not keep is as recorded.
func (c *Service) ExplainRecorded(ctx context.Context, namespace string, r *ledger.Decision) (*Explanation, error) {
	s, err := c.recordedSnapshot(ctx, namespace, r)
	if err != nil {
		return nil, fault.From(err)
	}
	recorded := recorder{checks: c, namespace: namespace, roots: map[string]string{}}
	was, err := recorded.call(ctx, r)
	if err != nil {
		return nil, fault.From(err)
	}
	if strings.HasPrefix(r.Capability, "mcp:") && !strings.HasPrefix(r.Tool, "mcp__") {
		was.Capability = r.Capability // its full name was given with it
	}
	// An approved call was asked about first.
	was.Approved = false
	was.Now = c.Clock().UTC()
	// The log names who called and not in which role: nearly all are agents.
	caller := enforcer.Caller{Namespace: namespace, Principal: auth.Principal{Name: r.Principal, Role: auth.Agent}}
	effective, err := c.Policies.Effective(ctx, caller, s, enforcer.Target{}, r.Tool)
	if err != nil {
		return nil, fault.From(err)
	}
	e := &Explanation{InputKept: len(r.Input) > 0, JailLevel: r.JailLevel, JailDigest: r.JailDigest}
	e.recordedState(c.Places, s, r)
	if !toolcall.Own(r.Tool) {
		decided := false
		for i, set := range effective.Live {
			if name, version := set.Identity(); name == r.Policy && name != "" {
				decided = true
				if version != r.PolicyVersion {
					if set, err = c.Policies.Set(ctx, namespace, name, r.PolicyVersion); err != nil {
						return nil, fault.From(err)
					}
				}
			}
			was.Facts = decisionlog.Facts(r, was.Shell, set.Tools())
			e.policy(set, effective.Because[i], was.Call)
		}
		if !decided && r.Policy != "" { // it does not hold any more, or for a role that is not recorded
			set, err := c.Policies.Set(ctx, namespace, r.Policy, r.PolicyVersion)
			if err != nil {
				return nil, fault.From(err)
			}
			was.Facts = decisionlog.Facts(r, was.Shell, set.Tools())
			e.policy(set, "", was.Call)
		}
	}
	if err := c.finish(ctx, e, namespace, r.Tool, s); err != nil {
		return nil, err
	}
	if r.Decision == toolcall.Allow { // by an approval, or under limits that are full since
		e.WouldAllow = nil
	}
	return e, nil
}

// recordedState decides a recorded call by its state. The record has priority, because the input, the status of
// the run and its counters at the time are not all known.
func (e *Explanation) recordedState(places toolcall.Places, s *runs.Snapshot, r *ledger.Decision) {
	call := toolcall.Call{Tool: r.Tool, Input: r.Input, Places: places, Jail: r.JailLevel}
	if e.InputKept {
		call = facet.InRun(s.Machine, s.Run, call)
	}
	e.State = toolcall.Explain(s.Machine, s.Run, call)
	e.ofState(s)
	if !e.InputKept {
		e.State.Line = nil
	}
	v := &e.State.Verdict
	switch {
	case r.Decision == toolcall.Deny && r.Policy == "" && r.Code != toolcall.CodePolicyUnavailable:
		if v.Code != r.Code {
			*v = toolcall.Verdict{Decision: toolcall.Deny, Code: r.Code, Tool: r.Tool}
		}
		e.StateMessage = r.Message
	default: // a policy has decided, which none does where the state denies
		*v = toolcall.Verdict{Decision: toolcall.Allow, Tool: r.Tool, Counted: v.Counted, Paths: r.Kept.Paths}
		if r.Code == toolcall.CodeNotEnforced {
			v.Code, v.Detail, e.StateMessage = r.Code, r.Message, r.Message
		}
	}
}

// recordedSnapshot returns a run in the state that a record names.
func (c *Service) recordedSnapshot(ctx context.Context, namespace string, r *ledger.Decision) (*runs.Snapshot, error) {
	if r.RunID == "" {
		s := runs.StandIn(namespace, r.SessionID)
		return s, nil
	}
	definition, err := c.Engine.Definition(ctx, namespace, r.Workflow, r.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	run := &workflow.Run{
		ID: r.RunID, Workflow: r.Workflow, WorkflowVersion: r.WorkflowVersion, SessionID: r.SessionID, Status: workflow.Running, Version: r.RunVersion,
		Lane: workflow.Lane{State: r.State, Entry: r.Kept.Entry},
	}
	at := run.At("")
	at.Branch = r.Branch
	all := []*enforcer.Definition{definition}
	now, err := c.Engine.Lane(ctx, namespace, r.RunID, "")
	switch {
	case err == nil: // these never change
		run.Workspace, run.Parent = now.Workspace, now.Parent
		above, err := c.Runs.Above(ctx, namespace, now)
		if err != nil {
			return nil, err
		}
		all = append(all, above...)
	case fault.ReasonOf(err) != fault.NotFound:
		return nil, err
	}
	key := ledger.Run(namespace, r.RunID)
	return &runs.Snapshot{
		Run: &at, Definition: definition, Key: key, Entry: ledger.Entry(key, r.Kept.Entry), Root: ledger.Run(namespace, r.Partition), All: all,
	}, nil
}
