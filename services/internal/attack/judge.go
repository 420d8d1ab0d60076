package attack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/attack"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/traced"
)

// Kind is the kind of a finding.
type Kind string

// The kinds of findings.
const (
	// Escape: something got through that the definition, the policies or the terms of the
	// approvals make impossible.
	Escape Kind = "escape"
	// Lost: something that was acknowledged is not there.
	Lost Kind = "lost"
	// Doubled: an entry exists twice, or was made without a request.
	Doubled Kind = "doubled"
	// Broken: a property does not hold that verify has not proved. The definition lets it
	// through, and not the services.
	Broken Kind = "broken"
)

// Finding is one thing that is wrong.
type Finding struct {
	Kind Kind `json:"kind"`
	// Class distinguishes findings of one kind: the name of the property, or the compared
	// records.
	Class string `json:"class"`
	What  string `json:"what"`
	// Step is the step that it became visible in, where that is known.
	Step string `json:"step,omitzero"`
}

// evidence is all that was recorded of a schedule.
type recorded struct {
	histories map[string][]jsonview.HistoryEntry
	decisions []*policyv1.DecisionRecord
	approvals map[string]*approvalv1.Approval
}

// judge compares acknowledgements, records and the definition.
func (p *player) judge(properties []workflow.Property, proved map[string]bool) ([]Finding, error) {
	p.clock.recover() // records of the future are sealed when it has come
	p.sweep(p.ctx)
	p.done(&ack{step: attack.Step{Do: attack.Advance}})
	if err := p.look(); err != nil {
		return nil, err
	}
	if err := p.revive(); err != nil {
		return nil, err
	}
	r, err := p.read()
	if err != nil {
		return []Finding{{Kind: Lost, Class: "unreadable", What: "the record cannot be read: " + err.Error()}}, nil
	}
	p.reached = p.statesOf(r)
	all := p.found
	all = append(all, p.chains()...)
	all = append(all, p.events()...)
	all = append(all, p.histories(r)...)
	all = append(all, p.decided(r)...)
	all = append(all, p.repeated()...)
	all = append(all, p.votes(r)...)
	all = append(all, p.shared()...)
	all = append(all, p.agreed(r)...)
	all = append(all, p.clocks(r)...)
	return append(all, p.watch(r, properties, proved)...), nil
}

// read reads all histories, decisions and approvals.
func (p *player) read() (*recorded, error) {
	conn := p.honest(attack.Operator)
	r := &recorded{histories: map[string][]jsonview.HistoryEntry{}, approvals: map[string]*approvalv1.Approval{}}
	for _, run := range p.runs {
		next := &enginev1.GetRunHistoryRequest{RunId: run.GetRunId(), PageSize: 1000}
		for more := true; more; more = next.GetAfterVersion() > 0 || next.GetAfterResult() > 0 {
			page, err := enginev1.NewRunServiceClient(conn).GetRunHistory(p.ctx, next)
			if err != nil {
				return nil, err
			}
			r.histories[run.GetRunId()] = append(r.histories[run.GetRunId()], jsonview.HistoryOf(page.GetEntries())...)
			next.AfterVersion, next.AfterResult = page.GetNextAfterVersion(), page.GetNextAfterResult()
		}
	}
	var err error
	if r.decisions, err = decisions(p.ctx, conn); err != nil {
		return nil, err
	}
	for _, id := range p.asked {
		got, err := approvalv1.NewApprovalServiceClient(conn).GetApproval(p.ctx, &approvalv1.GetApprovalRequest{ApprovalId: id})
		if err == nil {
			r.approvals[id] = got.GetApproval()
		}
	}
	return r, nil
}

// statesOf returns the states that runs of the target were in.
func (p *player) statesOf(r *recorded) []string {
	seen := map[string]bool{}
	for _, run := range p.runs {
		if run.GetWorkflow() != p.model.Main.Machine.Name() {
			continue
		}
		for i := range r.histories[run.GetRunId()] {
			if to := r.histories[run.GetRunId()][i].To; to != "" {
				seen[to] = true
			}
		}
	}
	return sorted(seen)
}

// decisions reads the log, in order.
func decisions(ctx context.Context, conn grpc.ClientConnInterface) (all []*policyv1.DecisionRecord, err error) {
	next := &policyv1.ListDecisionsRequest{PageSize: 1000}
	for {
		page, err := policyv1.NewDecisionServiceClient(conn).ListDecisions(ctx, next)
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetDecisions()...)
		if next.PageToken = page.GetNextPageToken(); next.GetPageToken() == "" {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b *policyv1.DecisionRecord) int { return int(a.GetSequence() - b.GetSequence()) })
	return all, nil
}

// chains verifies the seals of the log.
func (p *player) chains() (all []Finding) {
	page, err := policyv1.NewDecisionServiceClient(p.honest(attack.Operator)).VerifyDecisions(p.ctx, &policyv1.VerifyDecisionsRequest{})
	if err != nil {
		return []Finding{{Kind: Lost, Class: "log", What: "the log cannot be verified: " + err.Error()}}
	}
	for _, c := range page.GetChains() {
		if !c.GetOk() {
			all = append(all, Finding{Kind: Lost, Class: "log", What: "the log is not whole: " + c.GetProblem()})
		}
	}
	return all
}

// events looks for ids of events that are there twice.
func (p *player) events() (all []Finding) {
	entries, err := p.file.Tail(p.ctx, map[int]int64{0: 0}, 1_000_000, 0)
	if err != nil {
		return []Finding{{Kind: Lost, Class: "events", What: "the events cannot be read: " + err.Error()}}
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if seen[e.ID] && !slices.ContainsFunc(p.reused(), func(id string) bool { return strings.Contains(e.ID, id) }) {
			all = append(all, Finding{Kind: Doubled, Class: "events", What: "two events have one id, of " + e.Subject})
		}
		seen[e.ID] = true
	}
	return all
}

// reused returns the ids of calls that were used again after the time for which answers are
// kept: those are new calls.
func (p *player) reused() (all []string) {
	first := map[string]time.Time{}
	for _, a := range p.acks {
		id := a.step.Call
		at, known := first[id]
		switch {
		case id == "":
		case !known || a.at.Before(at):
			first[id] = a.at
		case a.latest.Sub(at) >= idempotency.TTL-time.Second && !slices.Contains(all, id):
			all = append(all, id)
		}
	}
	return all
}

// histories compares the changes of runs with the acknowledgements.
func (p *player) histories(r *recorded) (all []Finding) {
	lost := func(class, format string, args ...any) {
		all = append(all, Finding{Kind: Lost, Class: class, What: fmt.Sprintf(format, args...)})
	}
	explained := map[int]int{} // how many moves an order has
	for n, run := range p.runs {
		version := int64(0)
		for i := range r.histories[run.GetRunId()] {
			e := &r.histories[run.GetRunId()][i]
			if e.ToolResult != nil {
				continue
			}
			if version++; e.RunVersion != version {
				lost("versions", "run %d: version %d is followed by %d", n+1, version-1, e.RunVersion)
				version = e.RunVersion
			}
			if moves(e) {
				explained[run.seen[e.RunVersion]]++
			}
		}
		if version != run.GetVersion() {
			lost("versions", "run %d is at version %d, and its history ends at %d", n+1, run.GetVersion(), version)
		}
	}
	for _, a := range p.acks {
		p.hand(a, explained)
		all = append(all, p.accounted(r, a, explained[a.order])...)
	}
	return all
}

// hand assigns changes that became visible with a step, and were not made by it, to the
// step in the middle of which it happened.
func (p *player) hand(a *ack, explained map[int]int) {
	mine := 0
	if a.moved != nil && a.step.Do != attack.Force || a.died {
		mine = 1
	}
	if more := explained[a.order] - mine; a.within != nil && more > 0 {
		explained[a.order] -= more
		explained[a.within.order] += more
	}
}

// moves reports a change that a caller must have requested by an event.
func moves(e *jsonview.HistoryEntry) bool {
	switch e.Type {
	case workflow.EventTransitioned:
		return e.ApprovalID == "" && e.Cause == nil
	case workflow.EventParked, workflow.EventForked, workflow.EventInvoked:
		return true
	default:
		return false
	}
}

// accounted holds one acknowledged event against the changes that happened with it.
func (p *player) accounted(r *recorded, a *ack, changes int) (all []Finding) {
	step := a.step.String()
	moved := a.moved != nil && a.step.Do != attack.Force
	switch {
	case moved && a.moved.GetVersion() > a.before:
		i := slices.IndexFunc(r.histories[a.moved.GetRunId()], func(e jsonview.HistoryEntry) bool {
			return e.ToolResult == nil && e.RunVersion == a.moved.GetVersion()
		})
		if i < 0 {
			all = append(all, Finding{Kind: Lost, Class: "changes", Step: step, What: fmt.Sprintf("version %d was acknowledged and is not in the history", a.moved.GetVersion())})
		}
		if changes > 1 {
			all = append(all, Finding{Kind: Doubled, Class: "changes", Step: step, What: fmt.Sprintf("one event has made %d changes", changes)})
		}
	case (a.died || moved || a.lostTrack) && changes <= 1:
	case changes > 0:
		all = append(all, Finding{Kind: Doubled, Class: "changes", Step: step, What: fmt.Sprintf("%d changes were announced to no one", changes)})
	}
	return all
}

// answers are the answers about one call.
type answers struct {
	records []*policyv1.DecisionRecord
	acks    []*ack
}

// decided compares the answers to calls with the log: each is there once, and the log has
// no others.
func (p *player) decided(r *recorded) (all []Finding) {
	var nameless []*ack // whose id was not given
	calls := map[string]*answers{}
	of := func(id string) *answers {
		if calls[id] == nil {
			calls[id] = &answers{}
		}
		return calls[id]
	}
	for _, d := range r.decisions {
		of(d.GetCallId()).records = append(of(d.GetCallId()).records, d)
	}
	for _, a := range p.acks {
		if a.step.Do == attack.Check {
			id := a.step.Call
			if a.check != nil {
				id = a.check.GetCallId()
			}
			if id == "" {
				nameless = append(nameless, a)
				continue
			}
			of(id).acks = append(of(id).acks, a)
		}
	}
	reused := p.reused()
	for _, id := range sorted(calls) {
		if slices.Contains(reused, id) {
			continue
		}
		if len(calls[id].acks) == 0 {
			calls[id].acks = nameless
		}
		all = append(all, p.logged(calls[id])...)
	}
	return append(all, spent(r)...)
}

// logged holds the answers to the calls of one id against the log.
func (p *player) logged(c *answers) (all []Finding) {
	seen := map[string]bool{}
	for _, d := range c.records {
		key := fmt.Sprint(d.GetRunId(), d.GetRunVersion(), d.GetInputDigest(), d.GetDecision(), d.GetCode(), d.GetApprovalId())
		if seen[key] && d.GetDecision() != policyv1.Decision_DECISION_ASK { // a repeated question is logged again
			all = append(all, Finding{Kind: Doubled, Class: "decisions", What: "one decision on " + d.GetTool() + " " + d.GetCallId() + " is in the log twice"})
		}
		seen[key] = true
		if p.orderOf(c.acks, d) == 0 {
			all = append(all, Finding{Kind: Doubled, Class: "decisions", What: fmt.Sprintf("the log has %s of %s %s, which was announced to no one",
				word(d.GetDecision().String()), d.GetTool(), d.GetCallId())})
		}
	}
	for _, a := range c.acks {
		if a.check == nil || free(a.step.Tool) {
			continue
		}
		if !slices.ContainsFunc(c.records, func(d *policyv1.DecisionRecord) bool { return isAnswer(a, d) }) {
			all = append(all, Finding{Kind: Lost, Class: "decisions", Step: a.step.String(), What: fmt.Sprintf("%s was answered and is not in the log",
				strings.TrimSpace(word(a.check.GetDecision().String())+" "+word(a.check.GetCode().String())))})
		}
	}
	return all
}

// isAnswer reports that a record is that of an answer.
func isAnswer(a *ack, d *policyv1.DecisionRecord) bool {
	return d.GetDecision() == a.check.GetDecision() && d.GetCode() == a.check.GetCode() && d.GetRunVersion() == a.check.GetRunVersion() &&
		d.GetRunId() == a.check.GetRunId() && d.GetInputDigest() == toolcall.InputDigest(a.step.Tool, bytesOf(&a.step, a.step.Input))
}

// orderOf returns when a decision was made: with the first step that it was the answer to, or
// that has not been heard the answer of; 0 for none.
func (p *player) orderOf(acks []*ack, d *policyv1.DecisionRecord) int {
	for _, a := range acks {
		if a.check != nil && isAnswer(a, d) || a.died && unheard(a, d) {
			return a.order
		}
	}
	return 0
}

// unheard reports that a record may be that of a step without a received answer.
func unheard(a *ack, d *policyv1.DecisionRecord) bool {
	return a.step.Do == attack.Check && (a.step.Call == d.GetCallId() || a.step.Call == "" && strings.HasPrefix(d.GetCallId(), typeid.Call+"_")) &&
		d.GetInputDigest() == toolcall.InputDigest(a.step.Tool, bytesOf(&a.step, a.step.Input))
}

// spent looks for approvals that have admitted more than one call.
func spent(r *recorded) (all []Finding) {
	by := map[string]string{}
	for _, d := range r.decisions {
		id := d.GetApprovalId()
		if id == "" || d.GetDecision() != policyv1.Decision_DECISION_ALLOW {
			continue
		}
		if other, used := by[id]; used && other != d.GetCallId() {
			all = append(all, Finding{Kind: Escape, Class: "an approval that is used twice", What: fmt.Sprintf("one approval has admitted the calls %s and %s", other, d.GetCallId())})
		}
		by[id] = d.GetCallId()
	}
	return all
}

// repeated looks for a call that was answered, and answered otherwise when it was made again
// while the run had not changed.
func (p *player) repeated() (all []Finding) {
	first := map[string]*ack{}
	reused := p.reused()
	for _, a := range p.acks {
		if a.check == nil || a.step.Call == "" || slices.Contains(reused, a.step.Call) || free(a.step.Tool) {
			continue
		}
		key := fmt.Sprint(a.step.As, a.step.Call, a.check.GetRunId(), a.check.GetRunVersion(), a.step.Branch, a.step.Tool, a.step.Qualified, a.step.Input, a.step.Garbled)
		before := first[key]
		switch {
		case before == nil:
			first[key] = a
		case before.check.GetDecision() == policyv1.Decision_DECISION_ASK:
			first[key] = a
		case before.check.GetDecision() != a.check.GetDecision() || before.check.GetCode() != a.check.GetCode():
			all = append(all, Finding{Kind: Lost, Class: "answers", Step: a.step.String(), What: fmt.Sprintf("it was answered with %s %s before, and now with %s %s",
				word(before.check.GetDecision().String()), word(before.check.GetCode().String()), word(a.check.GetDecision().String()), word(a.check.GetCode().String()))})
		}
	}
	return all
}

// votes holds the votes that were acknowledged against the approvals.
func (p *player) votes(r *recorded) (all []Finding) {
	for _, a := range p.acks {
		if a.granted == nil {
			continue
		}
		n := 0
		for _, v := range r.approvals[a.granted.GetApprovalId()].GetVotes() {
			if v.GetBy() == people[a.step.As].Name && v.GetApprove() == !a.step.Reject {
				n++
			}
		}
		switch {
		case n == 0:
			all = append(all, Finding{Kind: Lost, Class: "votes", Step: a.step.String(), What: "a vote was acknowledged and is not there"})
		case n > 1:
			all = append(all, Finding{Kind: Doubled, Class: "votes", Step: a.step.String(), What: "a vote is there twice"})
		}
	}
	return all
}

// agreed compares the effects of approvals with the votes: enough people, each once, and none
// of them the asker.
func (p *player) agreed(r *recorded) (all []Finding) {
	check := func(id, what string) {
		p.approved++
		a := r.approvals[id]
		if a == nil {
			all = append(all, Finding{Kind: Lost, Class: "approvals", What: "the approval of " + what + " is not there"})
			return
		}
		open := approvalOf(a)
		open.Status, open.Votes = consent.Pending, nil
		votes := 0
		for _, v := range a.GetVotes() {
			by := consent.Approver{Name: v.GetBy(), Role: strings.ToLower(word(v.GetRole().String()))}
			if may, why := open.MayDecide(by, v.GetTime().AsTime()); !may {
				all = append(all, Finding{Kind: Escape, Class: "a vote without effect", What: what + ": " + why})
			}
			open.Votes = append(open.Votes, consent.Vote{Name: v.GetBy(), Approve: v.GetApprove()})
			if v.GetApprove() {
				votes++
			}
		}
		if votes < max(1, int(a.GetTerms().GetRequired())) {
			all = append(all, Finding{Kind: Escape, Class: "approvals", What: fmt.Sprintf("%s was let through with %d votes, of %d that it takes", what, votes, a.GetTerms().GetRequired())})
		}
	}
	for _, d := range r.decisions {
		if d.GetApprovalId() != "" && d.GetLeaseId() == "" && d.GetDecision() == policyv1.Decision_DECISION_ALLOW {
			check(d.GetApprovalId(), d.GetTool()+" "+d.GetCallId())
		}
	}
	for _, run := range p.runs {
		for i := range r.histories[run.GetRunId()] {
			if e := &r.histories[run.GetRunId()][i]; e.ToolResult == nil && e.ApprovalID != "" && e.Type == workflow.EventTransitioned {
				check(e.ApprovalID, e.Event)
			}
		}
	}
	return all
}

// timed is something that was seen, and when.
type timed struct {
	order, rank int
	conform.Seen
}

// watch takes the recorded runs again, and monitors the properties.
func (p *player) watch(r *recorded, properties []workflow.Property, proved map[string]bool) (all []Finding) {
	seen := map[string][]timed{} // by the outermost run
	traces := map[string][]*conform.Trace{}
	var roots []string
	for _, run := range p.runs {
		root := run.GetRootRunId()
		if root == "" {
			root = run.GetRunId()
		}
		if !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
		trace := p.trace(run)
		trace.Left = p.leftTo(r, run)
		traces[root] = append(traces[root], trace)
		seen[root] = append(seen[root], p.seenOf(r, run)...)
	}
	for _, root := range roots {
		slices.SortStableFunc(seen[root], func(a, b timed) int {
			if a.order != b.order {
				return a.order - b.order
			}
			return a.rank - b.rank
		})
		in := make([]conform.Seen, len(seen[root]))
		for i := range in {
			in[i] = seen[root][i].Seen
		}
		out := conform.Watch(p.model, traces[root], in, properties)
		for _, run := range p.runs {
			c := out.Runs[run.GetRunId()]
			if c == nil {
				continue
			}
			for _, d := range c.Differences {
				all = append(all, Finding{Kind: Escape, Class: "conformance", What: d.String()})
			}
			p.again += c.History + c.Decisions
			for why, n := range c.Open {
				p.open[why] += n
			}
		}
		for i := range out.Breaches {
			b := &out.Breaches[i]
			f := Finding{Kind: Broken, Class: b.Property.Name, What: b.String()}
			if proved[b.Property.Name] {
				f.Kind = Escape
			}
			all = append(all, f)
		}
	}
	return all
}

// leftTo returns the digests of the calls that other families of runs of a session were allowed.
func (p *player) leftTo(r *recorded, run *run) (digests []string) {
	for _, d := range r.decisions {
		other := p.runOf(d.GetRunId())
		if other != nil && other.GetSessionId() == run.GetSessionId() && p.rootOf(other) != p.rootOf(run) && d.GetDecision() == policyv1.Decision_DECISION_ALLOW {
			digests = append(digests, d.GetInputDigest())
		}
	}
	return digests
}

// trace returns a run as it is taken again.
func (p *player) trace(run *run) *conform.Trace {
	t := &conform.Trace{
		RunID: run.GetRunId(), SessionID: run.GetSessionId(), Workspace: run.GetWorkspace(), Definitions: map[int64]*workflow.Machine{},
		Invoked: map[string]*workflow.Machine{}, Policies: map[conform.PolicyVersion]*rules.Set{},
	}
	for _, d := range append([]verify.Definition{p.model.Main}, p.model.Others...) {
		t.Invoked[d.Machine.Name()] = d.Machine
		if d.Machine.Name() == run.GetWorkflow() {
			t.Definitions[1] = d.Machine
		}
		if d.Process != nil {
			for _, policy := range d.Process.Policies() {
				t.Policies[conform.PolicyVersion{Name: policy.Name, Version: 1}] = rules.Compile(policy, 1)
			}
		}
	}
	for _, policy := range p.model.Policies {
		t.Policies[conform.PolicyVersion{Name: policy.Policy.Name, Version: 1}] = rules.Compile(policy.Policy, 1)
	}
	if parent := run.GetParentRunId(); parent != "" {
		t.Parent = &workflow.Parent{RunID: parent, Root: run.GetRootRunId(), Depth: 1}
		for at := p.runOf(parent); at != nil && at.GetParentRunId() != ""; at = p.runOf(at.GetParentRunId()) {
			t.Parent.Depth++
		}
	}
	return t
}

// The order of simultaneous records: changes come first.
const (
	rankChange = iota
	rankCall
	rankReport
)

// seenOf returns the observations of a run.
func (p *player) seenOf(r *recorded, run *run) (all []timed) {
	id := run.GetRunId()
	entries := r.histories[id]
	for i := range entries {
		if e, ok := traced.Change(&entries[i]); ok {
			all = append(all, timed{run.seen[e.RunVersion], rankChange, conform.Seen{RunID: id, Change: &e}})
		}
	}
	for _, d := range r.decisions {
		if d.GetRunId() != id {
			continue
		}
		view := jsonview.DecisionRecordOf(d)
		t := traced.Decision(&view)
		order := 0
		for _, a := range p.acks {
			if a.check != nil && a.check.GetCallId() != d.GetCallId() {
				continue
			}
			if order = p.orderOf([]*ack{a}, d); order == 0 {
				continue
			}
			t.Input, t.Qualified = bytesOf(&a.step, a.step.Input), a.step.Qualified
			t.Exempt = people[a.step.As].Role == auth.Operator // whom policies of agents are not about
			if t.Code == toolcall.CodeInvalidInput {
				t.Input = nil // it is no input, and never kept
			}
			break
		}
		if order > 0 {
			all = append(all, timed{order, rankCall, conform.Seen{RunID: id, Call: &t}})
		}
	}
	if run.GetRunId() == p.rootOf(run) {
		for _, a := range p.acks {
			if a.report.GetAccounted() && p.rootOf(p.runOf(a.report.GetRun().GetRunId())) == id {
				all = append(all, timed{a.order, rankReport, conform.Seen{RunID: id, Report: &conform.Reported{
					CallID: a.step.Call, Time: a.at, By: people[a.step.As].Name, Observed: vouches(a.step.As), OK: !a.step.Failed, Unknown: a.step.Unknown,
					Output: []byte(a.step.Output),
				}}})
			}
		}
	}
	return all
}

// rootOf returns the outermost run of a family.
func (p *player) rootOf(r *run) string {
	switch {
	case r == nil:
		return ""
	case r.GetRootRunId() != "":
		return r.GetRootRunId()
	default:
		return r.GetRunId()
	}
}
