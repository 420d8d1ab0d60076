package outcome

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Start is the claim of an allowed line by the jail that is to run it.
type Start struct {
	Target enforcer.Target
	CallID string
	// Command is the line, as it was judged, and Level that of the jail.
	Command []byte
	Level   jail.Level
}

// StartedCommand is the answer to the jail that has claimed a line.
type StartedCommand struct {
	RunID string
	Jail  *ledger.Jail
	// Key signs the witness.
	Key []byte
}

// startWithin is how long after its decision a line may be started: after that it counts as ended (S14.6).
const startWithin = evidence.AtWork

// keyBytes is the length of the key of a line.
const keyBytes = 32

// notStarted returns the refusal of a start, with the next step.
func notStarted(callID, format string, args ...any) error {
	return fault.New(fault.FailedPrecondition, "call %q is not started: "+format+"; ask for the call again, under another id", append([]any{callID}, args...)...)
}

// Start claims an allowed line once. The line must be the one that was judged, and its run must still be in
// the entry in which it was judged.
func (o *Service) Start(ctx context.Context, caller enforcer.Caller, req Start) (*StartedCommand, error) {
	if !caller.Vouched {
		return nil, fault.New(fault.PermissionDenied,
			"only who observes calls starts their commands: use the token of the role runtime or operator, or have it vouch for the call")
	}
	started := &ledger.Started{Key: make([]byte, keyBytes), By: caller.Principal.Name}
	_, _ = rand.Read(started.Key) // never fails
	return retry.Do(ctx, "call "+req.CallID, func() (*StartedCommand, error) {
		out, err := o.tryStart(ctx, caller, req, started)
		return out, retry.Fault(err)
	})
}

// tryStart claims a line on condition that its permission is unchanged.
func (o *Service) tryStart(ctx context.Context, caller enforcer.Caller, req Start, started *ledger.Started) (*StartedCommand, error) {
	s, err := o.runs.Load(ctx, caller.Namespace, req.Target)
	if err != nil {
		return nil, err
	}
	root, call, err := o.calledIn(ctx, s.Root, req.CallID)
	if err != nil {
		return nil, err
	}
	if call == nil || call.Verdict.Decision != toolcall.Allow {
		return nil, fault.New(fault.NotFound, "no call %q was allowed in run %s", req.CallID, s.Run.ID)
	}
	now := o.clock().UTC()
	switch j := call.Jail; {
	case j == nil:
		return nil, notStarted(req.CallID, "it was not allowed as a command in a jail")
	case o.jails == enforcer.JailsOff:
		return nil, notStarted(req.CallID, "jails are switched off here (--jail off)")
	case ledger.LineDigest(req.Command) != j.Line:
		return nil, notStarted(req.CallID, "the command line is not the one that was judged")
	case req.Level < j.Level:
		return nil, notStarted(req.CallID, "it needs a jail of level %d, and this one has level %d", j.Level, req.Level)
	case now.Sub(j.Allowed) > startWithin:
		return nil, notStarted(req.CallID, "it was allowed at %s, more than %s ago", j.Allowed.UTC().Format(time.TimeOnly), startWithin)
	}
	at, err := o.reportedOn(ctx, caller.Namespace, s, call)
	if err != nil {
		return nil, err
	}
	if s.Superseded != "" || !toolcall.StillJudges(at.Machine, at.Run, call.RunVersion, call.WorkflowVersion, call.Entry) {
		return nil, notStarted(req.CallID, "its run is %s in state %q now, and has moved since the call was allowed", at.Run.Status, at.Run.State)
	}
	batch := store.Batch{Checks: []store.Check{{Key: at.Key, Version: at.Run.Version}}}
	if err := o.checkUnsettled(ctx, root, req.CallID, &batch); err != nil {
		return nil, err
	}
	if err := o.checkSessions(ctx, caller, at, req, &batch); err != nil {
		return nil, err
	}
	started.At = now
	if err := o.commitStart(ctx, root, req.CallID, started, batch); err != nil {
		return nil, err
	}
	return &StartedCommand{RunID: call.RunID, Jail: call.Jail, Key: started.Key}, nil
}

// checkUnsettled adds to a start that no one has said how its call has ended.
func (o *Service) checkUnsettled(ctx context.Context, root store.Key, callID string, batch *store.Batch) error {
	for _, name := range []string{ledger.ReportName(callID), settledName(callID)} {
		switch said, err := idempotency.Answer(ctx, o.store, root, name); {
		case err != nil:
			return err
		case said != nil:
			return notStarted(callID, "it was reported or settled already")
		}
	}
	account, err := o.calls.OwnAccount(ctx, root)
	if err != nil {
		return err
	}
	batch.Checks = append(batch.Checks, account.Check())
	return nil
}

// checkSessions adds to a start that no session of its call has ended, and that the call is not halted.
func (o *Service) checkSessions(ctx context.Context, caller enforcer.Caller, at *runs.Snapshot, req Start, batch *store.Batch) error {
	if err := o.runs.Freshen(ctx, caller, at, req.Target); err != nil {
		return err
	}
	status, err := o.runs.StatusOf(ctx, caller, at, req.Target)
	if err != nil {
		return err
	}
	if status.Ended != "" {
		return notStarted(req.CallID, "session %q has ended", status.Ended)
	}
	all, halted, err := o.policies.HaltedNow(ctx, caller, at, status, "")
	switch {
	case err != nil:
		return err
	case halted != nil:
		return halted.Refusal()
	}
	batch.Checks = append(append(batch.Checks, all.Check()), status.Checks...)
	return nil
}

// commitStart commits the start of a line, or that it is never started. There is one of them.
func (o *Service) commitStart(ctx context.Context, root store.Key, callID string, started *ledger.Started, batch store.Batch) error {
	answer, err := started.Encode()
	if err != nil {
		return fault.From(err)
	}
	batch.Idempotency = &store.Idempotency{Owner: root, Name: ledger.StartedName(callID), Digest: "started", Answer: answer, TTL: idempotency.TTL}
	result, err := o.store.Commit(ctx, batch)
	if errors.Is(err, store.ErrUncertain) {
		kept, lost := idempotency.Answer(ctx, o.store, root, ledger.StartedName(callID))
		if lost != nil || kept == nil {
			return err
		}
		result, err = store.Result{Replayed: true, Answer: kept}, nil
	}
	if err != nil || !result.Replayed {
		return err
	}
	first, err := ledger.DecodeStarted(result.Answer)
	switch {
	case err != nil:
		return fault.From(err)
	case len(first.Key) == 0 && len(started.Key) == 0, len(first.Key) > 0 && bytes.Equal(first.Key, started.Key):
		return nil // our own, whose answer was lost
	case len(first.Key) == 0:
		return notStarted(callID, "its client has said that it will not make the call")
	default:
		return errStarted(callID, first)
	}
}

// startedError is that of a line that was started before.
type startedError struct{ cause error }

func (e *startedError) Error() string { return e.cause.Error() }

// Unwrap returns the fault.
func (e *startedError) Unwrap() error { return e.cause }

func errStarted(callID string, first *ledger.Started) error {
	return &startedError{notStarted(callID, "it was started already at %s, and each call starts one command", first.At.UTC().Format(time.TimeOnly))}
}

// withdrawStart keeps an allowed line from being started, because its client will not make the call. False: it was
// started before.
func (o *Service) withdrawStart(ctx context.Context, caller enforcer.Caller, root store.Key, callID string) (bool, error) {
	err := o.commitStart(ctx, root, callID, &ledger.Started{At: o.clock().UTC(), By: caller.Principal.Name}, store.Batch{})
	if errors.As(err, new(*startedError)) {
		return false, nil
	}
	return err == nil, err
}
