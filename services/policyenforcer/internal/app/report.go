package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/once"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// Report is the result of a tool call (S3.9).
type Report struct {
	Target       Target
	CallID       string
	Tool         string
	OK           bool
	FilesChanged []string
	ResultBytes  int64
	CostUSD      string
	// Output is what the tool answered; kept only where the workflow says so.
	Output []byte
	// Unknown: nobody can tell how the call ended, whatever OK says. It shows nothing.
	Unknown bool
	// Background is the client's name of the program that the call leaves in the background, and
	// BackgroundEnded that of one whose end the result shows; empty for none.
	Background, BackgroundEnded string
}

// maxResultBytes is far above the size of any result, and so far below what a counter holds that the
// results of a state's entry cannot overflow it.
const maxResultBytes = 1 << 40

// Reported is a report that was taken.
type Reported struct {
	Report
	// RunID is the run that the call was decided on, at RunVersion when the report
	// came.
	RunID      string
	RunVersion int64
	// Accounted is false when no such call had been allowed.
	Accounted bool
	// Interrupt is set when the call has fired one.
	Interrupt *Interrupted
	// Evidence are the names of that which the report has given.
	Evidence []string
	// Warning is for the agent; empty when there is nothing to warn of.
	Warning string
}

// Interrupted is an interrupt that has fired.
type Interrupted struct {
	Name string
	// From is the state that was left.
	From string
	// Run as it stands in the handler.
	Run     *workflow.View
	Machine *workflow.Machine
	// Files that the call has changed.
	Files []string
}

// Report records the result of a call. Reports are idempotent by call id; one
// for a call that was never allowed is taken, and announced as unaccounted.
//
// An interrupt that the call fires comes first, and once per call. So a report
// that was answered has interrupted, and one that failed can be sent again.
func (a *App) Report(ctx context.Context, caller Caller, req Report) (*Reported, error) {
	if _, ok := readCost(req.CostUSD); !ok && req.CostUSD != rules.CostUnknown {
		return nil, fault.New(fault.InvalidRequest, `cost_usd must be a decimal number of US dollars such as "0.02", at most 1000000, or "unknown", not %q`, req.CostUSD).
			Violate("/cost_usd", "NUMBER", "not a decimal number")
	}
	if req.ResultBytes < 0 || req.ResultBytes > maxResultBytes {
		return nil, fault.New(fault.InvalidRequest, "result_bytes must be between 0 and %d, not %d", int64(maxResultBytes), req.ResultBytes).
			Violate("/result_bytes", document.CodeRange, "out of range")
	}
	s, err := a.cached(ctx, caller, req.Target)
	if err != nil {
		return nil, fault.From(err)
	}
	call, err := a.allowedCall(ctx, s.root, req.CallID)
	if err != nil {
		return nil, fault.From(err)
	}
	reported := &Reported{Report: req, RunID: s.run.ID, RunVersion: s.run.Version}
	if call != nil {
		reported.Accounted = true
		if reported.Interrupt, err = a.fireInterrupt(ctx, caller, s, call, req); err != nil {
			return nil, fault.From(err)
		}
	}
	known := s // it may be old, and the engine need not be asked when it is not
	if reported.Interrupt != nil {
		known = nil
	}
	err = retry.Run(ctx, "run "+reported.RunID, func() error {
		err := a.take(ctx, caller, s.root, known, call, reported)
		known = nil
		return retry.Fault(err)
	})
	if err != nil {
		return nil, err
	}
	return reported, nil
}

// allowedCall is the decision that allowed a call, or nil.
func (a *App) allowedCall(ctx context.Context, root store.Key, callID string) (*ledger.Call, error) {
	data, err := a.store.Answer(ctx, root, ledger.CallName(callID))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	call, err := ledger.DecodeCall(root.ID, data)
	if err != nil || call.Verdict.Decision != toolcall.Allow {
		return nil, err
	}
	return call, nil
}

// fireInterrupt asks the engine to divert the run when a call that edits files has
// changed one that an interrupt watches (S4.1).
func (a *App) fireInterrupt(ctx context.Context, caller Caller, s *snapshotOf, call *ledger.Call, req Report) (*Interrupted, error) {
	if !req.OK {
		return nil, nil
	}
	run := s.run
	if run.ID != call.RunID {
		var err error
		if run, err = a.engine.Lane(ctx, caller.Namespace, call.RunID, ""); err != nil {
			return nil, err
		}
	}
	definition, err := a.engine.Definition(ctx, caller.Namespace, run.Workflow, run.WorkflowVersion)
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
	return a.engine.Interrupt(ctx, s.root.ID, req.CallID, req.FilesChanged)
}

// changedFiles are the files that a call named and those that were reported.
func changedFiles(call *ledger.Call, req Report) []string {
	return append(append([]string(nil), call.Verdict.Paths...), req.FilesChanged...)
}

// take commits a report: its event, the bytes of its result, and the result
// itself where history keeps it. known is a snapshot that may be that of the call's run, and
// may be old; nil for none.
func (a *App) take(ctx context.Context, caller Caller, root store.Key, known *snapshotOf, call *ledger.Call, r *Reported) error {
	batch := store.Batch{
		Idempotency: &store.Idempotency{
			Owner: root, Name: ledger.ReportName(r.CallID), Digest: r.digest(), Answer: reportedBy(caller), TTL: once.Kept,
		},
	}
	var s *snapshotOf
	if call != nil {
		var err error
		if s, err = a.reportedOn(ctx, caller.Namespace, known, call); err != nil {
			return err
		}
		r.RunID, r.RunVersion = s.run.ID, s.run.Version
		batch.Checks = []store.Check{{Key: s.key, Version: s.run.Version}}
		if err := a.takeEvidence(ctx, caller, root, s, call, r, &batch); err != nil {
			return err
		}
		if err := a.keep(caller, s, r, &batch); err != nil {
			return err
		}
	}
	kept := len(batch.Counters)
	if err := a.settle(ctx, caller.Namespace, root, call, r, &batch); err != nil {
		return err
	}
	event, err := a.announce.Reported(caller.Namespace, caller.Principal.Name, r, a.clock().UTC())
	if err != nil {
		return err
	}
	batch.Events = append([]store.Event{event}, batch.Events...)
	result, err := a.store.Commit(ctx, batch)
	if errors.Is(err, store.ErrReplayMismatch) || err == nil && result.Replayed {
		err = a.observeClaimed(ctx, caller, root, s, call, r, err)
	}
	if err != nil {
		return err
	}
	return a.warn(ctx, s, r, result.Counters[:min(kept, len(result.Counters))])
}

// reportedOn is the run of a call: as it is known, or as the engine has it.
func (a *App) reportedOn(ctx context.Context, namespace string, known *snapshotOf, call *ledger.Call) (*snapshotOf, error) {
	if known != nil && known.run.ID == call.RunID && known.run.Branch == call.Branch {
		return known, nil
	}
	run, err := a.engine.Lane(ctx, namespace, call.RunID, call.Branch)
	if err != nil {
		return nil, err
	}
	return a.snapshot(ctx, namespace, run)
}

// settle corrects what policies have counted for a call, to what it has cost
// (S7.5). That it was made stays counted, and so do its emails: a failed call may have
// sent them. In a store that does not span shards that is done first, once.
func (a *App) settle(ctx context.Context, namespace string, root store.Key, call *ledger.Call, r *Reported, batch *store.Batch) error {
	if call == nil || len(call.Spends) == 0 {
		return nil
	}
	var changes []rules.Change
	switch cost, known := readCost(r.CostUSD); {
	case r.CostUSD == "" && r.OK:
		return nil // nothing is said of its cost: what was estimated stays
	case known:
		changes = rules.Settle(call.Spent(), cost)
	default:
		changes = rules.Exhaust(call.Spent())
	}
	counters := a.corrections(namespace, changes)
	if a.store.Spans() {
		batch.Counters = append(batch.Counters, counters...)
		return nil
	}
	for _, at := range byShard(counters, a.store.Shards()) {
		group := make([]store.Counter, len(at))
		for i, index := range at {
			group[i] = counters[index]
		}
		_, err := a.store.Commit(ctx, store.Batch{Counters: group, Idempotency: &store.Idempotency{
			Owner: group[0].Owner, Name: "settle/" + root.ID + "/" + r.CallID, Digest: r.digest(), TTL: once.Kept,
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// keep adds to the batch what the run keeps of a result. The bytes belong to the
// present entry; those of a call that has interrupted belonged to the one that it
// left.
func (a *App) keep(caller Caller, s *snapshotOf, r *Reported, batch *store.Batch) error {
	capture := s.Machine.Meta().CaptureOutput
	budget := s.Machine.State(s.run.State).ContextBudgetBytes
	counts := budget > 0 && r.Interrupt == nil && !s.run.Over && !s.run.Status.Ended()
	if !capture && !counts && len(r.Evidence) == 0 {
		return nil
	}
	if counts {
		batch.Counters = []store.Counter{{Owner: s.entry, Name: ledger.ContextBytes, Delta: r.ResultBytes, Limit: store.NoLimit}}
	}
	if !capture && len(r.Evidence) == 0 {
		return nil
	}
	return a.keepResult(caller, s, r, capture, batch)
}

// keepResult adds an entry of the history that tells of a result: what it has given, and
// what it was where the history keeps that.
func (a *App) keepResult(caller Caller, s *snapshotOf, r *Reported, capture bool, batch *store.Batch) error {
	result := ledger.Result{
		RunVersion: s.run.Version, Branch: s.run.Branch, State: s.run.State, Time: a.clock().UTC(), Actor: caller.Principal.Name,
		CallID: r.CallID, Tool: r.Tool, OK: r.OK, Evidence: r.Evidence,
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
	batch.Puts = append(batch.Puts, store.Put{Key: ledger.ResultsOf(s.key), Expect: store.AnyVersion, History: data})
	return nil
}

// cut is at most n bytes of an output, without a part of a character at its end.
func cut(output []byte, n int) []byte {
	end := n
	for end > n-utf8.UTFMax && !utf8.RuneStart(output[end]) {
		end--
	}
	return output[:end]
}

// warn says when the context budget is nearly spent (S3.7).
// spent are the counters of the report's commit; a repeated one has none.
func (a *App) warn(ctx context.Context, s *snapshotOf, r *Reported, spent []int64) error {
	if s == nil || r.Interrupt != nil {
		return nil
	}
	budget := s.Machine.State(s.run.State).ContextBudgetBytes
	if budget == 0 {
		return nil
	}
	if len(spent) > 0 {
		r.Warning = toolcall.BudgetWarning(spent[0], budget)
		return nil
	}
	counters, err := a.store.Counters(ctx, s.entry)
	if err != nil {
		return err
	}
	r.Warning = toolcall.BudgetWarning(counters[ledger.ContextBytes], budget)
	return nil
}

func (r *Report) digest() string {
	return textDigest("%q %t %d %s %q", r.Tool, r.OK, r.ResultBytes, r.CostUSD, r.FilesChanged)
}

// textDigest binds what is said once to its very words.
func textDigest(format string, args ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, format, args...))
	return hex.EncodeToString(sum[:])
}

// readCost reads an amount of dollars, nothing as none: money is never a float.
func readCost(text string) (rules.MicroUSD, bool) {
	if text == "" {
		return 0, true
	}
	cost, ok := rules.ParseCost(text)
	return cost, ok && cost <= rules.MostCost
}

// ParseCost reads the estimate of a call.
func ParseCost(text string) (rules.MicroUSD, error) {
	cost, ok := readCost(text)
	if !ok {
		return 0, fault.New(fault.InvalidRequest, `estimated_cost_usd must be a decimal number of US dollars such as "0.02", at most 1000000, not %q`, text).
			Violate("/estimated_cost_usd", "NUMBER", "not a decimal number")
	}
	return cost, nil
}
