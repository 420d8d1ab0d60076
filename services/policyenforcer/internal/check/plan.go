package check

import (
	"strconv"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/calls"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
)

// Plan is a ruling with the changes that make it durable.
type Plan struct {
	Ruling
	// Batch has the preconditions and changes of the run. Service.commitPlan adds those of policies and sessions, and the entry of
	// the log.
	Batch store.Batch
	// Record is the record in the log; nil in a dry run.
	Record *ledger.Decision
	// changed is the number of files that the entry has changed after the call, if that is limited.
	changed int64
}

// Plan returns the changes that make the ruling durable: of the files, the open calls and the evidence, the counters
// of the state, the lease, the log and the event. They require that the run is unchanged. The plan is of a denial if
// a limit of files or of open calls is reached.
func (r Ruling) Plan(now time.Time) (Plan, error) {
	p := Plan{Ruling: r, Batch: store.Batch{Checks: []store.Check{{Key: r.At.Key, Version: r.At.Run.Version}, r.Effective.Halts.Check()}}}
	if err := p.countFiles(); err != nil {
		return p, err
	}
	if err := p.planEffects(now); err != nil {
		return p, err
	}
	if !r.Req.DryRun {
		p.Batch.Checks = append(p.Batch.Checks, p.Admission.Rests...)
	}
	p.countState()
	p.spendLease()
	if r.Req.DryRun {
		return p, nil
	}
	if v := &p.Decision.Verdict; v.Counted && v.Decision == toolcall.Allow && !p.At.Unbound {
		stale := p.At.Machine.State(p.At.Run.State).Stale
		p.Batch.SetTimers = append(p.Batch.SetTimers, ledger.Progress(p.At.Key, p.At.Run.Branch, stale, true, now)...)
	}
	return p, p.log(now)
}

// countFiles counts the files that the call would change, if the state limits them. Over the limit the call is
// denied (S3.6).
func (p *Plan) countFiles() error {
	if !p.countsFiles() {
		return nil
	}
	s, v := p.At, &p.Decision.Verdict
	before := p.files.Of(s.Run.Branch, s.Run.Entry)
	files, added, fits := before.Files.Add(v.Paths, v.MaxFiles)
	switch {
	case before.Unknown && len(added) > 0:
		p.Ruling = p.deny(toolcall.FilesUnknown(s.Machine, s.Run, added))
		return nil
	case !fits:
		p.Ruling = p.deny(toolcall.FileLimitReached(s.Machine, s.Run, before.Files, added))
		return nil
	case len(added) == 0:
		p.changed = int64(len(files))
		p.Batch.Checks = append(p.Batch.Checks, p.files.Check())
		return nil
	}
	p.changed = int64(len(files))
	return p.files.Put(s.Run.Branch, ledger.FilesOfEntry{Entry: s.Run.Entry, Files: files, Unknown: before.Unknown}, &p.Batch)
}

// planEffects adds the meaning of the call for evidence and open calls. A call that may change files is open
// from the commit of its decision, so that no agent can move on between the edit and its end, which voids. One
// that may give evidence keeps the number of edits before it: a test that began before an edit never counts as
// after it.
func (p *Plan) planEffects(now time.Time) error {
	e := &p.effects
	if p.Decision.Verdict.Decision != toolcall.Allow || !e.Voids && len(e.Gives) == 0 && !e.opens {
		return nil
	}
	account := p.OpenCalls
	record, elapsed := account.Record.Elapse(now)
	switch {
	case !e.declared && !e.opens && account.Version == store.Absent: // there is no evidence to void; the check requires that
		p.effects = effects{}
		p.Batch.Checks = append(p.Batch.Checks, account.Check())
		return nil
	case e.opens || e.Voids:
		if !p.open(&record, now) {
			return nil
		}
	case account.Version != store.Absent && !elapsed:
		e.edits = record.Edits
		p.Batch.Checks = append(p.Batch.Checks, account.Check())
		return nil
	}
	e.edits = record.Edits
	return account.Put(&record, &p.Batch)
}

// open adds the call to the record of open calls: one that may change files voids evidence, and one with a
// deadline becomes unknown then. With too many open calls the call is denied, and open returns false.
func (p *Plan) open(record *evidence.Record, now time.Time) bool {
	e := &p.effects
	call := evidence.OpenCall{
		ID: p.Req.CallID, RunID: p.At.Run.ID, Tool: p.Req.Tool, What: p.masks.Text(e.What), Digest: p.Digest,
		By: p.Caller.Principal.Name, At: now,
	}
	call.Spares = e.Spares
	if e.opens {
		call.Due = now.Add(e.deadline)
	}
	if e.Background {
		call.Background = evidence.Unnamed
	}
	hasFamily := p.At.Run.Parent != nil || len(p.At.Run.Children()) > 0
	add := record.Open
	switch {
	case e.Voids && (hasFamily || e.declared):
		add = record.Changes
	case e.Voids: // no guard asks for the end of the call
		*record = record.Edited(evidence.Edit{At: now, CallID: p.Req.CallID, What: call.What})
		if !e.opens {
			return true
		}
		add = record.Open // of the record that has changed
	}
	next, fits := add(call)
	if !fits {
		p.effects = effects{}
		p.Ruling = p.deny(toolcall.TooManyOpen(evidence.MostCalls))
		return false
	}
	*record = next
	if e.opens {
		p.Batch.SetTimers = append(p.Batch.SetTimers, ledger.EffectTimer(p.OpenCalls.Root, record))
	}
	return true
}

// countState adds the counters of the state.
func (p *Plan) countState() {
	v := &p.Decision.Verdict
	if !v.Counted {
		return
	}
	limit := v.MaxIterations
	if limit <= 0 {
		limit = store.NoLimit
	}
	p.Batch.Counters = []store.Counter{{Owner: p.At.Entry, Name: ledger.Iterations, Delta: 1, Limit: limit}}
	if v.ContextBudget > 0 {
		// It adds 0, and is refused when the budget is spent (S3.7).
		p.Batch.Counters = append(p.Batch.Counters, store.Counter{Owner: p.At.Entry, Name: ledger.ContextBytes, Limit: v.ContextBudget - 1})
	}
}

// log adds the record in the log and its event.
func (p *Plan) log(now time.Time) error {
	p.Record = p.logRecord()
	event, err := p.event(p.Caller.Namespace, p.At.Root.ID, p.Record)
	if err != nil {
		return fault.From(err)
	}
	key := decisionlog.PartitionKey(p.Caller.Namespace, p.At.Root.ID)
	event.Entry = key
	p.Batch.Events = []store.Event{event}
	p.Batch.SetTimers = append(p.Batch.SetTimers, decisionlog.SealTimer(p.Caller.Namespace, p.At.Root.ID, now))
	if p.repeatable() {
		p.Batch.Idempotency = &store.Idempotency{
			Owner: p.At.Root, Name: ledger.CallName(p.Req.CallID), Digest: p.bound()[:calls.ShortDigest], Entry: key, TTL: idempotency.TTL,
		}
	}
	return nil
}

// logRecord returns the record of the decision in the log.
func (p *Plan) logRecord() *ledger.Decision {
	s, d := p.At, p.masked()
	rec := &ledger.Decision{
		Principal: p.Caller.Principal.Name, SessionID: s.Run.SessionID,
		RunID: s.Run.ID, RunVersion: s.Run.Version, Workflow: s.Run.Workflow, WorkflowVersion: s.Run.WorkflowVersion,
		State: s.Run.State, Branch: s.Run.Branch, CallID: d.CallID, Tool: d.Tool, Capability: d.Capability,
		Decision: d.Verdict.Decision, Code: d.Verdict.Code, Message: d.Message, InputDigest: d.InputDigest,
		ApprovalID: d.ApprovalID, LeaseID: d.LeaseID, Shadows: d.Shadows, JailLevel: p.offered(), Limits: p.nearLimits(), Identity: p.identity(),
	}
	if p.repeatable() {
		rec.Kept = ledger.KeptOf(&d.Verdict, s.Run.Entry, ledger.SpendsOf(p.Combined.Spends))
		rec.Kept.Gives, rec.Kept.Edits, rec.Kept.Voids = p.effects.Gives, p.effects.edits, p.effects.Voids
	}
	if j := d.Jail; j != nil && d.Verdict.Decision == toolcall.Allow {
		rec.JailLevel, rec.JailDigest = j.Level, j.Digest
		rec.Kept.Profile, rec.Kept.Line, rec.Kept.Allowed, rec.Kept.Reads = j.Profile, j.Line, j.Allowed, j.Reads
	}
	if d.By != nil {
		rec.Policy, rec.PolicyVersion, rec.Rule = d.By.Policy, d.By.Version, d.By.Pointer()
	}
	if s.Unbound {
		rec.RunID, rec.RunVersion, rec.Workflow, rec.State = "", 0, "", ""
	}
	if d.EstimatedCost > 0 {
		rec.EstimatedCostUSD = d.EstimatedCost.String()
	}
	rec.Exceptions = p.Combined.Exceptions()
	if d.Verdict.Code == toolcall.CodeInvalidInput {
		return rec
	}
	if s.Machine.Meta().CaptureOutput || s.Unbound && p.Req.Observe || p.inputs.keep(d.Verdict.Decision) {
		rec.Input = p.masks.Input(p.Req.Input)
	}
	rec.Facts = p.looked()
	return rec
}

// Measures of a state's limits.
const (
	measureIterations   = "iterations"
	measureContextBytes = "context_bytes"
	measureFiles        = "files"
	scopeEntry          = "entry"
)

// nearLimits returns the limit that has denied the call, and those of which more than 80 percent are used
// after it.
func (p *Plan) nearLimits() []ledger.Limit {
	limits := p.full
	add := func(l ledger.Limit) {
		if quota.Near(l.Used, l.Max) {
			limits = append(limits, l)
		}
	}
	v := &p.Decision.Verdict
	entry := strconv.FormatInt(p.At.Run.Entry, 10)
	state := func(measure string, used, most int64) {
		add(ledger.Limit{Measure: measure, Scope: scopeEntry, Subject: entry, Used: used, Max: most})
	}
	switch {
	case v.Counted:
		state(measureIterations, p.seen(p.At.Entry, ledger.Iterations, 0, p.Now)+1, v.MaxIterations)
		state(measureContextBytes, p.seen(p.At.Entry, ledger.ContextBytes, 0, p.Now), v.ContextBudget)
		state(measureFiles, p.changed, v.MaxFiles)
	case v.Code == toolcall.CodeMaxIterations:
		state(measureIterations, v.Iterations, v.MaxIterations)
	case v.Code == toolcall.CodeContextBudget:
		state(measureContextBytes, v.ContextSpent, v.ContextBudget)
	}
	for i := range p.Combined.Spends {
		spend := &p.Combined.Spends[i]
		used := p.seen(quota.Key(p.Caller.Namespace, spend.Account), spend.Counter(), spend.Window, p.Now) + spend.Delta()
		add(quota.LimitOf(spend, used, p.Now))
	}
	return limits
}
