package app

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"log/slog"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/contend"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Check is a question: may this tool be called, now, with this input?
type Check struct {
	Target Target
	Tool   string
	Input  []byte
	// CallID is the caller's id of the call; minted when empty.
	CallID string
}

// Check decides one tool call (S3). The decision, its counters and its event are
// committed together, on condition that the run is still what was judged.
func (a *App) Check(ctx context.Context, caller Caller, req Check) (*Decision, error) {
	if req.CallID == "" {
		id, err := typeid.New(typeid.Call)
		if err != nil {
			return nil, fault.From(err)
		}
		req.CallID = id
	}
	inputDigest := digest(req.Tool, req.Input)
	s, err := a.cached(ctx, caller.Namespace, req.Target)
	for i := range contend.Attempts {
		if err != nil {
			return a.unavailable(ctx, req, inputDigest, err)
		}
		d := &Decision{
			Verdict: judge(s, req),
			CallID:  req.CallID, Tool: req.Tool, InputDigest: inputDigest, Run: s.run, Machine: s.machine,
		}
		if err = a.record(ctx, caller, s, d); overLimit(s, d, err) {
			err = a.record(ctx, caller, s, d)
		}
		if err == nil {
			return d, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			continue
		}
		if err = contend.Yield(ctx, i); err == nil {
			s, err = a.load(ctx, caller.Namespace, req.Target)
		}
	}
	return nil, fault.New(fault.VersionConflict, "run %s is being changed faster than this check could follow; try again", req.Target.RunID)
}

// overLimit turns the refusal of a counter into the denial that it stands for.
func overLimit(s *snapshotOf, d *Decision, err error) bool {
	var limit *store.LimitError
	if !errors.As(err, &limit) {
		return false
	}
	if limit.Name == ledger.ContextBytes {
		d.Verdict = toolcall.ContextBudgetSpent(s.machine, s.run, limit.Value)
	} else {
		d.Verdict = toolcall.IterationLimitReached(s.machine, s.run, limit.Value)
		d.Iterations = limit.Value
	}
	d.Verdict.Tool = d.Tool
	return true
}

// record commits a decision: the condition that the run is unchanged, the
// counters of an allowed call, and the event.
func (a *App) record(ctx context.Context, caller Caller, s *snapshotOf, d *Decision) error {
	batch := store.Batch{Checks: []store.Check{{Key: s.key, Version: s.run.Version}}}
	if err := a.countFiles(ctx, s, d, &batch); err != nil {
		return err
	}
	d.Message = d.Verdict.Message(s.machine, s.run)
	event, err := a.announce.Decided(caller.Namespace, caller.Principal.Name, d, a.clock().UTC())
	if err != nil {
		return fault.From(err)
	}
	batch.Events = []store.Event{event}
	batch.Idempotency = &store.Idempotency{
		Owner: s.root, Name: ledger.CallName(d.CallID), Digest: d.InputDigest, Answer: callOf(d).Encode(), TTL: ledger.Kept,
	}
	v := &d.Verdict
	if v.Counted {
		batch.Counters = []store.Counter{{Owner: s.entry, Name: ledger.Iterations, Delta: 1, Limit: limitOr(v.MaxIterations)}}
		if v.ContextBudget > 0 {
			// Adds nothing: it is refused when the budget is spent (S3.7).
			batch.Counters = append(batch.Counters, store.Counter{Owner: s.entry, Name: ledger.ContextBytes, Limit: v.ContextBudget - 1})
		}
	}
	result, err := a.store.Commit(ctx, batch)
	switch {
	case err != nil:
		return err
	case result.Replayed:
		return a.repeat(ctx, caller, s, d, result.Answer)
	case v.Counted:
		d.Iterations = result.Counters[0]
	}
	return nil
}

func limitOr(limit int64) int64 {
	if limit > 0 {
		return limit
	}
	return store.NoLimit
}

// countFiles counts the files that an allowed call would change, where the state
// limits them; over the limit it makes the decision a denial (S3.6).
func (a *App) countFiles(ctx context.Context, s *snapshotOf, d *Decision, batch *store.Batch) error {
	v := &d.Verdict
	if !v.Counted || v.MaxFiles == 0 || len(v.Paths) == 0 {
		return nil
	}
	key := ledger.FilesOf(s.key)
	record, err := a.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		record, err = store.Record{Version: store.Absent}, nil
	}
	if err != nil {
		return err
	}
	kept, err := ledger.DecodeFiles(record.Data)
	if err != nil {
		return fault.From(err)
	}
	before := kept.Of(s.run.Branch, s.run.Entry)
	files, added, fits := before.Add(v.Paths, v.MaxFiles)
	if !fits {
		d.Verdict = toolcall.FileLimitReached(s.machine, s.run, before, added)
		d.Verdict.Tool = d.Tool
		return nil
	}
	if len(added) == 0 {
		batch.Checks = append(batch.Checks, store.Check{Key: key, Version: record.Version})
		return nil
	}
	data, err := kept.With(s.run.Branch, s.run.Entry, files).Encode()
	if err != nil {
		return fault.From(err)
	}
	batch.Puts = []store.Put{{Key: key, Expect: record.Version, Data: data}}
	return nil
}

func callOf(d *Decision) *ledger.Call {
	return &ledger.Call{
		Verdict: d.Verdict, RunID: d.Run.ID, Branch: d.Run.Branch, Entry: d.Run.Entry,
		RunVersion: d.Run.Version, Message: d.Message,
	}
}

// repeat answers a call id that was decided before with the first decision, as
// long as the run is what that was made on. Otherwise it would be a decision on
// an old state, and the caller must ask about a new call; so must one whose call
// was made and reported.
func (a *App) repeat(ctx context.Context, caller Caller, s *snapshotOf, d *Decision, stored []byte) error {
	first, err := ledger.DecodeCall(stored)
	if err != nil {
		return fault.From(err)
	}
	run, err := a.engine.Lane(ctx, caller.Namespace, first.RunID, first.Branch)
	if err != nil {
		return err
	}
	if first.RunID != s.run.ID || first.Branch != s.run.Branch || first.Entry != s.run.Entry || run.Version != first.RunVersion {
		return fault.New(fault.IdempotencyMismatch,
			"call %q was decided on run %s at version %d, and things have changed since; ask with a new call_id",
			d.CallID, first.RunID, first.RunVersion)
	}
	switch _, err := a.store.Answer(ctx, s.root, ledger.ReportName(d.CallID)); {
	case err == nil:
		return fault.New(fault.IdempotencyMismatch, "call %q was made and reported already; ask with a new call_id for another call", d.CallID)
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	fresh, err := a.snapshot(ctx, caller.Namespace, run)
	if err != nil {
		return err
	}
	counters, err := a.store.Counters(ctx, fresh.entry)
	if err != nil {
		return err
	}
	d.Verdict, d.Message, d.Run, d.Machine = first.Verdict, first.Message, fresh.run, fresh.machine
	d.Iterations = counters[ledger.Iterations]
	return nil
}

// unavailable turns a failure into the answer: what the caller did wrong is an
// error that says so, anything else denies (S7.2).
func (a *App) unavailable(ctx context.Context, req Check, inputDigest string, err error) (*Decision, error) {
	if errors.Is(err, context.Canceled) || errors.Is(ctx.Err(), context.Canceled) {
		return nil, fault.From(err)
	}
	switch reason := fault.ReasonOf(err); reason {
	case fault.Unavailable, fault.CommitUncertain, fault.DeadlineExceeded, fault.Internal:
		a.log.LogAttrs(ctx, slog.LevelError, "tool call denied: no decision could be made durable",
			slog.String("run", req.Target.RunID), slog.String("tool", req.Tool),
			slog.String("reason", string(reason)), slog.Any("error", err))
		v := toolcall.Unavailable()
		return &Decision{Verdict: v, Message: v.Message(nil, nil), CallID: req.CallID, Tool: req.Tool, InputDigest: inputDigest}, nil
	default:
		return nil, fault.From(err)
	}
}

// digest binds a call id to what was asked with it.
func digest(tool string, input []byte) string {
	var room [1024]byte // most inputs fit, and need no memory of their own
	asked := binary.BigEndian.AppendUint64(room[:0], uint64(len(tool)))
	asked = append(append(asked, tool...), input...)
	sum := sha256.Sum256(asked)
	return hex.EncodeToString(sum[:])
}
