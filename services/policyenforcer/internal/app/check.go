package app

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/contend"
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
		err = a.record(ctx, caller, d)
		var limit *store.LimitError
		if errors.As(err, &limit) {
			d.Verdict = toolcall.IterationLimitReached(s.machine, s.run, limit.Value)
			d.Iterations = limit.Value
			err = a.record(ctx, caller, d)
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

// record commits a decision: the condition that the run is unchanged, the
// counters of an allowed call, and the event.
func (a *App) record(ctx context.Context, caller Caller, d *Decision) error {
	key := runKey(caller.Namespace, d.Run.ID)
	d.Message = d.Verdict.Message(d.Machine, d.Run)
	event, err := a.announce.Decided(caller.Namespace, caller.Principal.Name, d, a.clock().UTC())
	if err != nil {
		return fault.From(err)
	}
	batch := store.Batch{
		Idempotency: &store.Idempotency{
			Owner: key, Name: callName(d.CallID), Digest: d.InputDigest, Answer: encodeCall(d), TTL: callsKept,
		},
		Checks: []store.Check{{Key: key, Version: d.Run.Version}},
		Events: []store.Event{event},
	}
	if d.Verdict.Counted {
		limit := store.NoLimit
		if d.Verdict.MaxIterations > 0 {
			limit = d.Verdict.MaxIterations
		}
		batch.Counters = []store.Counter{{Owner: key, Name: toolcall.IterationsCounter, Delta: 1, Limit: limit}}
	}
	result, err := a.store.Commit(ctx, batch)
	switch {
	case err != nil:
		return err
	case result.Replayed:
		return a.repeat(ctx, caller, d, result.Answer)
	case d.Verdict.Counted:
		d.Iterations = result.Counters[0]
	}
	return nil
}

// call is what is kept of a decision, for repeats and for the report.
type call struct {
	Verdict    toolcall.Verdict `json:"verdict"`
	RunVersion int64            `json:"run_version"`
	Message    string           `json:"message,omitempty"`
}

func callName(id string) string { return "call/" + id }

// repeat answers a call id that was decided before with the first decision, as
// long as the run is what that was made on. Otherwise it would be a decision on
// an old state, and the caller must ask about a new call; so must one whose call
// was made and reported.
func (a *App) repeat(ctx context.Context, caller Caller, d *Decision, stored []byte) error {
	first, err := decodeCall(stored)
	if err != nil {
		return fault.From(err)
	}
	fresh, err := a.load(ctx, caller.Namespace, Target{RunID: d.Run.ID})
	if err != nil {
		return err
	}
	if fresh.run.Version != first.RunVersion {
		return fault.New(fault.IdempotencyMismatch,
			"call %q was decided when the run was at version %d, and it is at %d now; ask with a new call_id",
			d.CallID, first.RunVersion, fresh.run.Version)
	}
	key := runKey(caller.Namespace, d.Run.ID)
	switch _, err := a.store.Answer(ctx, key, reportName(d.CallID)); {
	case err == nil:
		return fault.New(fault.IdempotencyMismatch, "call %q was made and reported already; ask with a new call_id for another call", d.CallID)
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	counters, err := a.store.Counters(ctx, key)
	if err != nil {
		return err
	}
	d.Verdict, d.Message, d.Run, d.Machine = first.Verdict, first.Message, fresh.run, fresh.machine
	d.Iterations = counters[toolcall.IterationsCounter]
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

// encodeCall writes a call by hand: it is on the path of every check.
func encodeCall(d *Decision) []byte {
	v := &d.Verdict
	w := jsonobject.New(160 + len(d.Message))
	w.Open()
	w.Name("verdict")
	w.Open()
	w.Text("decision", string(v.Decision))
	w.OptionalText("code", string(v.Code))
	w.OptionalText("tool", v.Tool)
	w.OptionalText("detail", v.Detail)
	w.OptionalTruth("counted", v.Counted)
	w.OptionalInteger("max_iterations", v.MaxIterations)
	w.OptionalInteger("iterations", v.Iterations)
	w.Close()
	w.Integer("run_version", d.Run.Version)
	w.OptionalText("message", d.Message)
	w.Close()
	return w.Bytes()
}

func decodeCall(data []byte) (call, error) {
	var c call
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("decode call: %w", err)
	}
	return c, nil
}

// digest binds a call id to what was asked with it.
func digest(tool string, input []byte) string {
	var room [1024]byte // most inputs fit, and need no memory of their own
	asked := binary.BigEndian.AppendUint64(room[:0], uint64(len(tool)))
	asked = append(append(asked, tool...), input...)
	sum := sha256.Sum256(asked)
	return hex.EncodeToString(sum[:])
}
