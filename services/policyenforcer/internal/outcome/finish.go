package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// A witness is recorded by three commits: the witness itself; the interrupt that its files fire; and its
// effects on the evidence, the account and the limits of its run. Each happens once, so that a repeat continues
// after the last one.

// Finish has the witness of a line.
type Finish struct {
	RunID, CallID string
	// Witness is a jail.Witness in JSON, and Signature that with the key of the line.
	Witness, Signature []byte
}

// FinishedCommand is the result of a witness.
type FinishedCommand struct {
	Evidence []string `json:"evidence,omitempty"`
	// Notice informs the agent; empty for none.
	Notice string `json:"notice,omitempty"`
}

// Witnessed reports whether the call's jail has reported it.
func (r *Reported) Witnessed() bool { return r.byJail }

// testimony is a witness that was signed by the jail of its call.
type testimony struct {
	*jail.Witness
	profile *jail.Profile
	digest  string
}

// Finish records the witness of a line, by the jail that has started it.
func (o *Service) Finish(ctx context.Context, caller enforcer.Caller, req Finish) (*FinishedCommand, error) {
	s, err := o.runs.Load(ctx, caller.Namespace, enforcer.Target{RunID: req.RunID})
	if err != nil {
		return nil, fault.From(err)
	}
	root, call, err := o.calledIn(ctx, s.Root, req.CallID)
	if err != nil {
		return nil, fault.From(err)
	}
	w, err := o.readWitness(ctx, root, call, req)
	if err != nil {
		return nil, fault.From(err)
	}
	if err := o.keepWitness(ctx, root, req, w); err != nil {
		return nil, fault.From(err)
	}
	reported := &Reported{
		Report: Report{CallID: req.CallID, Tool: call.Verdict.Tool, OK: w.OK(), FilesChanged: w.Written, NotExecuted: w.Failed != ""},
		RunID:  call.RunID, Accounted: true, byJail: true, Witness: w.digest, Tree: w.tree(),
	}
	if root == s.Root {
		if reported.Interrupt, err = o.interruptByWitness(ctx, caller, s, call, w); err != nil {
			return nil, fault.From(err)
		}
	}
	return retry.Do(ctx, "run "+call.RunID, func() (*FinishedCommand, error) {
		finished, err := o.takeWitness(ctx, caller, root, call, reported, w)
		return finished, retry.Fault(err)
	})
}

// readWitness checks that a witness is of the jail that has claimed the line.
func (o *Service) readWitness(ctx context.Context, root store.Key, call *ledger.DecidedCall, req Finish) (*testimony, error) {
	refused := func(why string) error {
		return fault.New(fault.FailedPrecondition, "the witness of call %q is refused: %s", req.CallID, why)
	}
	if call == nil || call.Jail == nil {
		return nil, refused("no such call was allowed as a command in a jail")
	}
	claimed, err := idempotency.Answer(ctx, o.store, root, ledger.StartedName(req.CallID))
	if err != nil {
		return nil, err
	}
	if claimed == nil {
		return nil, refused("its command was not started")
	}
	started, err := ledger.DecodeStarted(claimed)
	if err != nil {
		return nil, err
	}
	if len(started.Key) == 0 {
		return nil, refused("its command was not started")
	}
	seen, signed := jail.Open(started.Key, req.Witness, req.Signature)
	if !signed {
		return nil, fault.New(fault.PermissionDenied, "the witness of call %q is refused: it is not signed with the key of its command", req.CallID)
	}
	w := &testimony{Witness: seen, profile: &jail.Profile{}, digest: ledger.WitnessDigest(req.Witness)}
	if err := json.Unmarshal(call.Jail.Profile, w.profile); err != nil {
		return nil, fault.From(err)
	}
	switch {
	case seen.CallID != req.CallID:
		return nil, refused("it is of another call")
	case seen.Failed == "" && (seen.Profile != call.Jail.Digest || seen.Level < call.Jail.Level):
		return nil, refused("the command did not run in the jail that it was allowed in")
	case max(len(seen.Tried), len(seen.Hosts), len(seen.Left)) > jail.MostFiles, len(seen.Written) > jail.MostWritten:
		return nil, refused("it lists more than is allowed")
	}
	return w, nil
}

// keepWitness stores a witness, once.
func (o *Service) keepWitness(ctx context.Context, root store.Key, req Finish, w *testimony) error {
	_, err := o.store.Commit(ctx, store.Batch{Idempotency: &store.Idempotency{
		Owner: root, Name: ledger.WitnessName(req.CallID), Digest: w.digest, Answer: req.Witness, TTL: idempotency.TTL,
	}})
	if errors.As(err, new(*store.ReplayMismatchError)) {
		return fault.New(fault.IdempotencyMismatch, "another witness of call %q was recorded before; that stands", req.CallID)
	}
	return err
}

// witnessOf returns the witness of a call, or nil.
func (o *Service) witnessOf(ctx context.Context, root store.Key, callID string) (*testimony, error) {
	data, err := idempotency.Answer(ctx, o.store, root, ledger.WitnessName(callID))
	if data == nil || err != nil {
		return nil, err
	}
	w := &testimony{Witness: &jail.Witness{}, digest: ledger.WitnessDigest(data)}
	if err := json.Unmarshal(data, w.Witness); err != nil {
		return nil, fault.From(err)
	}
	return w, nil
}

// tree returns the digest of the files that the command ran on, from its begin to its end. It is empty if that
// is not known or the files have changed.
func (w *testimony) tree() string {
	if w.TreeAfter == "" || w.changed() != "" {
		return ""
	}
	return w.TreeBefore
}

// changed returns the first file that has changed during the command. It is empty for none, and if that is not
// known.
func (w *testimony) changed() string {
	switch {
	case w.TreeBefore == "" || w.TreeAfter == "":
		return ""
	case w.TreeChanged != "":
		return w.TreeChanged
	case w.TreeBefore != w.TreeAfter:
		return "a file"
	default:
		return ""
	}
}

// ended returns the end of the command, limited to the time between its decision and now.
func (w *testimony) ended(call *ledger.DecidedCall, now time.Time) time.Time {
	switch at := w.Ended.UTC(); {
	case at.After(now):
		return now
	case at.Before(call.Jail.Allowed):
		return call.Jail.Allowed
	default:
		return at
	}
}

// interruptByWitness asks the engine to divert the run if the command has written a file that an interrupt
// watches, or an unknown file (S4.1).
func (o *Service) interruptByWitness(ctx context.Context, caller enforcer.Caller, s *runs.Snapshot, call *ledger.DecidedCall, w *testimony) (*enforcer.Interrupted, error) {
	unknown := call.FilesUnknown(w.Witness)
	if len(w.Written) == 0 && !unknown {
		return nil, nil
	}
	at, err := o.reportedOn(ctx, caller.Namespace, s, call)
	if err != nil {
		return nil, err
	}
	_, fires := at.Machine.Watches(pathglob.RootOf(at.Run.Workspace), w.Written)
	if !fires && unknown {
		_, fires = at.Machine.FirstInterrupt()
	}
	if !fires {
		return nil, nil
	}
	return o.engine.Interrupt(ctx, s.Root.ID, w.CallID, w.Written)
}

// takeWitness commits the effects of a witness.
func (o *Service) takeWitness(ctx context.Context, caller enforcer.Caller, root store.Key, call *ledger.DecidedCall, r *Reported, w *testimony) (*FinishedCommand, error) {
	s, err := o.reportedOn(ctx, caller.Namespace, nil, call)
	if err != nil {
		return nil, err
	}
	r.RunVersion, r.Evidence = s.Run.Version, nil
	batch := store.Batch{Checks: []store.Check{{Key: s.Key, Version: s.Run.Version}}}
	if err := o.evidenceOfWitness(ctx, caller, root, s, call, r, w, &batch); err != nil {
		return nil, err
	}
	if err := o.countWritten(ctx, s, call, w, &batch); err != nil {
		return nil, err
	}
	if capture := s.Machine.Meta().CaptureOutput; capture || len(r.Evidence) > 0 {
		if err := o.keepResult(caller, s, r, false, &batch); err != nil {
			return nil, err
		}
	}
	finished := &FinishedCommand{Evidence: r.Evidence, Notice: w.notice(s.Run.State, o.news(root, s.Run.State, w))}
	if in := r.Interrupt; in != nil {
		finished.Notice = strings.TrimSpace(toolcall.InterruptNotice(in.Machine, in.Run, in.Name, in.From) + " " + finished.Notice)
	}
	answer, err := json.Marshal(finished)
	if err != nil {
		return nil, fault.From(err)
	}
	batch.Idempotency = &store.Idempotency{Owner: root, Name: ledger.FinishedName(r.CallID), Digest: w.digest, Answer: answer, TTL: idempotency.TTL}
	event, err := o.announce.Reported(caller.Namespace, caller.Principal.Name, r, o.clock().UTC())
	if err != nil {
		return nil, err
	}
	batch.Events = append([]store.Event{event}, batch.Events...)
	result, err := o.store.Commit(ctx, batch)
	if err != nil || !result.Replayed {
		return finished, err
	}
	first := &FinishedCommand{}
	return first, json.Unmarshal(result.Answer, first)
}

// evidenceOfWitness adds the evidence and the effects of a witness to its batch. s is the run of the call.
func (o *Service) evidenceOfWitness(
	ctx context.Context, caller enforcer.Caller, root store.Key, s *runs.Snapshot, call *ledger.DecidedCall, r *Reported, w *testimony, batch *store.Batch,
) error {
	gives := call.Gives
	if call.WorkflowVersion != s.Run.WorkflowVersion { // evidence of that name may differ in another version (S17.2)
		gives = nil
	}
	keeps := s.EffectDeadline() > 0
	if !call.Voids && len(gives) == 0 && !keeps && (w.changed() == "" || !s.DeclaresEvidence()) {
		return nil
	}
	read, err := o.calls.AccountOf(ctx, root)
	if err != nil {
		return err
	}
	now := o.clock().UTC()
	record, _ := read.Record.Elapse(now)
	if w.Failed != "" {
		record, _, _ = record.Settle(r.CallID)
		return read.Put(&record, batch)
	}
	if keeps {
		record, _, _ = record.Close(r.CallID)
	}
	alone := ranAlone(&record, call, r.CallID)
	switch changed := w.changed(); {
	case call.Voids:
		record = record.Witnessed(evidence.Edit{At: now, CallID: r.CallID}, w.profile.Background)
	case changed != "":
		record = record.Edited(evidence.Edit{At: now, CallID: r.CallID, What: changed})
	}
	seen := o.sighting(caller, call, r, w)
	if !alone {
		seen.Tree = ""
	}
	specs := s.Machine.Evidence()
	for i := range specs {
		if spec := &specs[i]; slices.Contains(gives, spec.Name) && spec.Output == nil { // the report has the output
			record = r.addSighting(record, call, spec, seen, nil)
		}
	}
	return read.Put(&record, batch)
}

// ranAlone reports that no other call could change files while a command ran: one could have shown it other files than those
// that were there before and after.
func ranAlone(record *evidence.Record, call *ledger.DecidedCall, callID string) bool {
	return record.Edits == call.Edits && !slices.ContainsFunc(record.Calls, func(c evidence.OpenCall) bool { return c.Edits && c.ID != callID })
}

// sighting returns what a jail has seen of a command, as evidence keeps it.
func (o *Service) sighting(caller enforcer.Caller, call *ledger.DecidedCall, r *Reported, w *testimony) evidence.Sighting {
	return evidence.Sighting{
		At: w.ended(call, o.clock().UTC()), CallID: r.CallID, By: caller.Principal.Name, Edits: call.Edits, Entry: call.Entry,
		Tree: w.tree(), Changed: w.changed(),
	}
}

// addSighting adds a sighting of a command in a jail to the record. r has its end. A sighting during which
// files have changed gives no evidence about the files.
func (r *Reported) addSighting(record evidence.Record, call *ledger.DecidedCall, spec *evidence.Spec, o evidence.Sighting, output []byte) evidence.Record {
	as := spec.As(r.OK, output)
	if !spec.AfterEdit || !as {
		o.Changed = ""
	}
	as = as && o.Changed == ""
	if as {
		r.Evidence = append(r.Evidence, spec.Name)
	}
	return record.Seen(call.RunID, spec, o, as)
}

// mostCounted is no limit: all files that were written are counted.
const mostCounted = 0

// countWritten counts the files that a command has written, where the state limits them (S3.6): those over the
// limit too, so that the next edit is refused.
func (o *Service) countWritten(ctx context.Context, s *runs.Snapshot, call *ledger.DecidedCall, w *testimony, batch *store.Batch) error {
	unknown := call.FilesUnknown(w.Witness)
	if len(w.Written) == 0 && !unknown || s.Run.Entry != call.Entry || s.Machine.State(s.Run.State).MaxFilesPerState == 0 {
		return nil
	}
	kept, err := o.calls.FilesOf(ctx, s.Key)
	if err != nil {
		return err
	}
	root := pathglob.RootOf(s.Run.Workspace)
	paths := make([]string, len(w.Written))
	for i, name := range w.Written {
		if paths[i], _ = root.Clean(name); paths[i] == "" {
			paths[i] = name
		}
	}
	before := kept.Of(s.Run.Branch, s.Run.Entry)
	files, added, _ := before.Files.Add(paths, mostCounted)
	if len(added) == 0 && (!unknown || before.Unknown) {
		return nil
	}
	return kept.Put(s.Run.Branch, ledger.FilesOfEntry{Entry: s.Run.Entry, Files: files, Unknown: before.Unknown || unknown}, batch)
}
