package outcome

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/calls"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Report is the result of a tool call (S3.9).
type Report struct {
	Target       enforcer.Target
	CallID       string
	Tool         string
	OK           bool
	FilesChanged []string
	ResultBytes  int64
	CostUSD      string
	// Output is the answer of the tool. It is kept only if the workflow has capture_output.
	Output []byte
	// Unknown: the end of the call is not known, and OK does not count.
	Unknown bool
	// Background is the client's name of the program that the call leaves in the background, and
	// BackgroundEnded that of one whose end the result shows; empty for none.
	Background, BackgroundEnded string
	// NotExecuted: the caller has not made the call and will not make it.
	NotExecuted bool
}

// maxResultBytes bounds the size of a result. It is so far below the largest counter that the results of a
// state's entry cannot overflow it.
const maxResultBytes = 1 << 40

// Reported is a report that was taken.
type Reported struct {
	Report
	// RunID is the run that the call was decided on, at RunVersion when the report
	// came.
	RunID      string
	RunVersion int64
	// Unbound: the call was judged without a run.
	Unbound bool
	// Accounted is false when no such call had been allowed.
	Accounted bool
	// Interrupt is set when the call has fired one.
	Interrupt *enforcer.Interrupted
	// Evidence are the names of that which the report has given.
	Evidence []string
	// Warning informs the agent about its budget; empty for none.
	Warning string
	// Witness is the digest of the witness of the call, and Tree that of the files that it ran on; empty for
	// none.
	Witness, Tree string
	// byJail: the jail of the call has reported, and not the client.
	byJail bool
	// withdrawn: the line of the call was to run in a jail, and was withdrawn before its start.
	withdrawn bool
}

// Report records the result of a call. Reports are idempotent by call id; one
// for a call that was never allowed is taken, and announced as unaccounted. One that says
// that the call was not made instead keeps its id from ever being allowed.
//
// An interrupt that the call fires comes first, and once per call. So a report
// that was answered has interrupted, and one that failed can be sent again.
func (o *Service) Report(ctx context.Context, caller enforcer.Caller, req Report) (*Reported, error) {
	if _, ok := quota.ReadCost(req.CostUSD); !ok && req.CostUSD != rules.CostUnknown {
		return nil, fault.New(fault.InvalidRequest, `cost_usd must be a decimal number of US dollars such as "0.02", at most 1000000, or "unknown", not %q`, req.CostUSD).
			Violate("/cost_usd", "NUMBER", "not a decimal number")
	}
	if req.ResultBytes < 0 || req.ResultBytes > maxResultBytes {
		return nil, fault.New(fault.InvalidRequest, "result_bytes must be between 0 and %d, not %d", int64(maxResultBytes), req.ResultBytes).
			Violate("/result_bytes", document.CodeRange, "out of range")
	}
	if req.NotExecuted && req.OK {
		return nil, fault.New(fault.InvalidRequest, "a call that was not executed has not succeeded: report it with ok = false").
			Violate("/ok", document.CodeRange, "true with not_executed")
	}
	s, root, call, err := o.reportedCall(ctx, caller, req)
	if err != nil {
		return nil, fault.From(err)
	}
	reported := &Reported{Report: req, RunID: s.Run.ID, RunVersion: s.Run.Version, Unbound: s.Unbound}
	if call == nil && req.NotExecuted {
		return reported, nil // no such call was allowed, and none will be
	}
	if call != nil {
		reported.Accounted = true
		if root == s.Root {
			reported.Interrupt, err = o.fireInterrupt(ctx, caller, s, call, req)
		}
		if err != nil {
			return nil, fault.From(err)
		}
	}
	if call != nil && call.Jail != nil && req.NotExecuted {
		if reported.withdrawn, err = o.withdrawStart(ctx, caller, root, req.CallID); err != nil {
			return nil, fault.From(err)
		}
	}
	known := s // if the commit shows that it is old, the next try asks the engine
	if reported.Interrupt != nil {
		known = nil
	}
	err = retry.Run(ctx, "run "+reported.RunID, func() error {
		err := o.take(ctx, caller, root, known, call, reported)
		if !s.Unbound { // a stand-in is never old
			known = nil
		}
		return retry.Fault(err)
	})
	if err == nil {
		err = o.addFinished(ctx, root, call, reported)
	}
	if err != nil {
		return nil, err
	}
	return reported, nil
}

// withdrawnDigest stands for the digest of a call that was given up before it was decided: the report does not have
// the input.
const withdrawnDigest = "withdrawn"

// reportedCall returns the decision that has allowed a reported call, nil for none, the family that keeps it, and a
// snapshot of the run that the report names. If the report says that the call was not executed and there is no
// decision yet, it prevents one: the check may still be on its way.
func (o *Service) reportedCall(ctx context.Context, caller enforcer.Caller, req Report) (s *runs.Snapshot, root store.Key, call *ledger.DecidedCall, err error) {
	err = retry.Run(ctx, "call "+req.CallID, func() error {
		if s, root, call, err = o.decidedCall(ctx, caller, req); err != nil || call != nil || !req.NotExecuted {
			return err
		}
		return retry.Fault(o.calls.GiveUp(ctx, s.Root, req.CallID, withdrawnDigest))
	})
	if err == nil && call != nil && call.Verdict.Decision != toolcall.Allow {
		root, call = s.Root, nil
	}
	return s, root, call, err
}

// decidedCall returns the decision on a reported call, or nil, the family that keeps it, and a snapshot of its
// run. A session without a run reports calls that policies alone have allowed, also after it has begun a run.
func (o *Service) decidedCall(ctx context.Context, caller enforcer.Caller, req Report) (*runs.Snapshot, store.Key, *ledger.DecidedCall, error) {
	s, noRun := o.runs.Cached(ctx, caller, req.Target)
	bySession := req.Target.RunID == "" && req.Target.SessionID != ""
	switch {
	case noRun == nil:
		if root, call, err := o.calledIn(ctx, s.Root, req.CallID); call != nil || err != nil || !bySession {
			return s, root, call, err
		}
	case !bySession, !errors.As(noRun, new(*runs.NoRunError)):
		return nil, store.Key{}, nil, noRun
	}
	without := runs.StandIn(caller.Namespace, req.Target.SessionID)
	call, err := o.calls.Decided(ctx, without.Root, req.CallID)
	if call != nil || err != nil || noRun != nil && req.NotExecuted {
		return without, without.Root, call, err
	}
	if noRun != nil {
		return nil, store.Key{}, nil, noRun
	}
	return s, s.Root, nil, nil
}

// calledIn finds the decision on a call: in a family, or in those that its session has driven before
// and whose open calls the family has taken over (S14.8). The call is nil for none.
func (o *Service) calledIn(ctx context.Context, family store.Key, callID string) (root store.Key, call *ledger.DecidedCall, err error) {
	root = family
	for range calls.MostHandovers {
		call, err = o.calls.Decided(ctx, root, callID)
		if call != nil || err != nil {
			return root, call, err
		}
		account, err := o.calls.OwnAccount(ctx, root)
		if err != nil || account.Record.Before == "" {
			return family, nil, err
		}
		root = ledger.Run(family.Namespace, account.Record.Before)
	}
	return family, nil, nil
}

// fireInterrupt asks the engine to divert the run when a call that edits files has
// changed one that an interrupt watches (S4.1).
func (o *Service) fireInterrupt(ctx context.Context, caller enforcer.Caller, s *runs.Snapshot, call *ledger.DecidedCall, req Report) (*enforcer.Interrupted, error) {
	if !req.OK {
		return nil, nil
	}
	if s.Unbound {
		return nil, nil // no workflow, and so no interrupt
	}
	run := s.Run
	if run.ID != call.RunID {
		var err error
		if run, err = o.engine.Lane(ctx, caller.Namespace, call.RunID, ""); err != nil {
			return nil, err
		}
	}
	definition, err := o.engine.Definition(ctx, caller.Namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	m := definition.Machine
	if !toolcall.Edits(m, call.Verdict.Tool) {
		return nil, nil
	}
	if _, matches := m.Watches(pathglob.RootOf(run.Workspace), changedFiles(call, req)); !matches {
		return nil, nil
	}
	return o.engine.Interrupt(ctx, s.Root.ID, req.CallID, req.FilesChanged)
}

// changedFiles returns the files that a call named and those that were reported.
func changedFiles(call *ledger.DecidedCall, req Report) []string {
	return append(append([]string(nil), call.Verdict.Paths...), req.FilesChanged...)
}

// take commits a report: its event, the bytes of its result, and the result itself where history keeps it. known
// saves a request to the engine if it is a snapshot of the call's run; it may be old, or nil.
func (o *Service) take(ctx context.Context, caller enforcer.Caller, root store.Key, known *runs.Snapshot, call *ledger.DecidedCall, r *Reported) error {
	batch := store.Batch{
		Idempotency: &store.Idempotency{
			Owner: root, Name: ledger.ReportName(r.CallID), Digest: r.digest(), Answer: reportedBy(caller, &r.Report), TTL: idempotency.TTL,
		},
	}
	var s *runs.Snapshot
	if call != nil {
		var err error
		if s, err = o.reportedOn(ctx, caller.Namespace, known, call); err != nil {
			return err
		}
		r.RunID, r.RunVersion = s.Run.ID, s.Run.Version
		batch.Checks = []store.Check{{Key: s.Key, Version: s.Run.Version}}
		if err := o.takeEvidence(ctx, caller, root, s, call, r, &batch); err != nil {
			return err
		}
		if err := o.keep(caller, s, r, &batch); err != nil {
			return err
		}
		if s.Run.Status == workflow.Running && call.Verdict.Counted {
			stale := s.Machine.State(s.Run.State).Stale
			batch.SetTimers = append(batch.SetTimers, ledger.Progress(s.Key, s.Run.Branch, stale, false, o.clock().UTC())...)
		}
	}
	kept := len(batch.Counters)
	result, err := o.commitReport(ctx, caller, call, r, &batch)
	if errors.Is(err, store.ErrReplayMismatch) || err == nil && result.Replayed {
		err = o.correctClaim(ctx, caller, root, s, call, r, err)
	}
	if err != nil {
		return err
	}
	return o.warn(ctx, s, r, result.Counters[:min(kept, len(result.Counters))])
}

// commitReport commits the changes of a report, with the budgets that it settles and its event.
func (o *Service) commitReport(ctx context.Context, caller enforcer.Caller, call *ledger.DecidedCall, r *Reported, batch *store.Batch) (store.Result, error) {
	o.settle(caller.Namespace, budgetChanges(call, &r.Report), batch)
	event, err := o.announce.Reported(caller.Namespace, caller.Principal.Name, r, o.clock().UTC())
	if err != nil {
		return store.Result{}, err
	}
	batch.Events = append([]store.Event{event}, batch.Events...)
	return o.store.Commit(ctx, *batch)
}

// reportedOn returns the run of a call, from memory or from the engine.
func (o *Service) reportedOn(ctx context.Context, namespace string, known *runs.Snapshot, call *ledger.DecidedCall) (*runs.Snapshot, error) {
	if known != nil && known.Run.ID == call.RunID && known.Run.Branch == call.Branch {
		return known, nil
	}
	run, err := o.engine.Lane(ctx, namespace, call.RunID, call.Branch)
	if err != nil {
		return nil, err
	}
	return o.runs.Snapshot(ctx, namespace, run)
}

// budgetChanges returns the changes of budgets from the reservation of a call to its reported cost (S7.5). The call
// itself stays counted, and so do its emails: a failed call may have sent them.
func budgetChanges(call *ledger.DecidedCall, r *Report) []rules.Change {
	if call == nil {
		return nil
	}
	switch cost, known := quota.ReadCost(r.CostUSD); {
	case r.CostUSD == "" && r.OK:
		return nil // without a cost, the estimate stays
	case known:
		return rules.Settle(call.Spent(), cost)
	default:
		return rules.Exhaust(call.Spent())
	}
}

// settle adds the changes of budgets to the batch of a report.
func (o *Service) settle(namespace string, changes []rules.Change, batch *store.Batch) {
	batch.Counters = append(batch.Counters, o.quota.Corrections(namespace, changes)...)
}

// keep adds the size of a result and the result to the batch, as far as they are kept. The size counts in the present
// entry of the state, unless the call has interrupted: then the run has left the entry of the call.
func (o *Service) keep(caller enforcer.Caller, s *runs.Snapshot, r *Reported, batch *store.Batch) error {
	capture := s.Machine.Meta().CaptureOutput
	counts := countsBytes(s, r)
	if !capture && !counts && len(r.Evidence) == 0 {
		return nil
	}
	if counts {
		batch.Counters = []store.Counter{{Owner: s.Entry, Name: ledger.ContextBytes, Delta: r.ResultBytes, Limit: store.NoLimit}}
	}
	if !capture && len(r.Evidence) == 0 {
		return nil
	}
	return o.keepResult(caller, s, r, capture, batch)
}

// countsBytes reports that the bytes of a result count against the budget of the state.
func countsBytes(s *runs.Snapshot, r *Reported) bool {
	return s.Machine.State(s.Run.State).ContextBudgetBytes > 0 && r.Interrupt == nil && !s.Run.Over && !s.Run.Status.Ended()
}

// keepResult adds an entry of the history about a result: the evidence that it has given, and its output if the
// history keeps that.
func (o *Service) keepResult(caller enforcer.Caller, s *runs.Snapshot, r *Reported, capture bool, batch *store.Batch) error {
	result := ledger.Result{
		RunVersion: s.Run.Version, Branch: s.Run.Branch, State: s.Run.State, Time: o.clock().UTC(), Actor: caller.Principal.Name,
		CallID: r.CallID, Tool: r.Tool, OK: r.OK, Evidence: r.Evidence, Tree: r.Tree, Witness: r.Witness,
	}
	if capture {
		result.Output = r.Output
	}
	if len(result.Output) > ledger.MostOutput {
		result.Output, result.Truncated = cut(result.Output, ledger.MostOutput), true
	}
	data, err := result.Encode()
	if err != nil {
		return err
	}
	batch.Puts = append(batch.Puts, store.Put{Key: ledger.ResultsOf(s.Key), Expect: store.AnyVersion, History: data})
	return nil
}

// cut returns at most n bytes of an output, without a part of a character at its end.
func cut(output []byte, n int) []byte {
	end := n
	for end > n-utf8.UTFMax && !utf8.RuneStart(output[end]) {
		end--
	}
	return output[:end]
}

// warn adds a warning if the context budget is nearly spent (S3.7). spent are the counters of the report's
// commit; a repeated one has none.
func (o *Service) warn(ctx context.Context, s *runs.Snapshot, r *Reported, spent []int64) error {
	if s == nil || r.Interrupt != nil {
		return nil
	}
	budget := s.Machine.State(s.Run.State).ContextBudgetBytes
	if budget == 0 {
		return nil
	}
	if len(spent) > 0 {
		r.Warning = toolcall.BudgetWarning(spent[0], budget)
		return nil
	}
	counters, err := o.store.Counters(ctx, s.Entry)
	if err != nil {
		return err
	}
	r.Warning = toolcall.BudgetWarning(counters[ledger.ContextBytes], budget)
	return nil
}

func (r *Report) digest() string {
	return calls.TextDigest("%q %t %d %s %q", r.Tool, r.OK, r.ResultBytes, r.CostUSD, r.FilesChanged)
}
