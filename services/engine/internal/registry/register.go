package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// Validate reports every problem of a workflow, and the policies that it names and that do not exist.
func (reg *Registry) Validate(ctx context.Context, namespace string, src []byte, strict bool) (document.Problems, error) {
	def, problems := workflow.Options{Strict: strict}.Parse(reg.ports.Enforcement.Write(src))
	if problems.HasErrors() {
		return problems, nil
	}
	return reg.withWarnings(ctx, namespace, problems, def)
}

// withWarnings adds the warnings of a workflow that depend on what else there is in the namespace.
func (reg *Registry) withWarnings(ctx context.Context, namespace string, problems document.Problems, def *workflow.Definition) (document.Problems, error) {
	problems, err := reg.withPolicyWarnings(ctx, namespace, problems, def.Meta.Policies)
	if err != nil {
		return problems, err
	}
	return reg.withPeopleWarnings(ctx, namespace, problems, def)
}

// Terms are the terms of a registration.
type Terms struct {
	IdempotencyKey string
	// Staged stores the version without making it live.
	Staged bool
	// DryRun stores nothing.
	DryRun bool
	Expected
}

// Expected is the live version that a change is made on. Zero and empty stand for any.
type Expected struct {
	Version int64
	Digest  string
}

// check refuses a change on another live version; nil for none.
func (e Expected) check(what, name string, live *Version) error {
	switch {
	case e == Expected{}:
		return nil
	case live == nil:
		return fault.New(fault.VersionConflict, "no version of %s %q is live, and the request expects one; leave the precondition out, or read it and decide again", what, name)
	case e.Version != 0 && e.Version != live.Number, e.Digest != "" && e.Digest != live.Digest:
		return fault.New(fault.VersionConflict, "version %d of %s %q is live, with digest %s, registered by %s at %s; read it and decide again",
			live.Number, what, name, live.Digest, live.CreatedBy, live.CreatedAt.Format(time.RFC3339))
	}
	return nil
}

// Register stores a workflow as the next version of its name, and makes it live.
func (reg *Registry) Register(ctx context.Context, caller ports.Caller, src []byte, idempotencyKey string) (v *Version, created bool, warnings document.Problems, err error) {
	return reg.RegisterOn(ctx, caller, src, Terms{IdempotencyKey: idempotencyKey})
}

// RegisterOn stores a workflow as the next version of its name, with the deployment's enforcement
// where it names none. The content of the live or the latest version again makes no version and answers
// created = false. An agent cannot replace a workflow of another role (S6.7).
func (reg *Registry) RegisterOn(ctx context.Context, caller ports.Caller, src []byte, on Terms) (v *Version, created bool, warnings document.Problems, err error) {
	src = reg.ports.Enforcement.Write(src)
	def, problems := workflow.Parse(src)
	value, err := readable(src, problems, false)
	if err != nil {
		return nil, false, nil, err
	}
	if problems, err = reg.withWarnings(ctx, caller.Namespace, problems, def); err != nil {
		return nil, false, nil, err
	}
	v, created, err = reg.register(ctx, caller, &Version{Name: def.ID, Digest: document.Digest(value), Definition: src, Staged: on.Staged}, on)
	return v, created, append(problems, retiredWarning(v)...), err
}

// RegisterProcess does the work of RegisterOn for a process (S8). Both have their names in
// common.
func (reg *Registry) RegisterProcess(ctx context.Context, caller ports.Caller, src []byte, on Terms) (v *Version, created bool, warnings document.Problems, err error) {
	def, problems := process.Parse(src)
	value, err := readable(src, problems, true)
	if err != nil {
		return nil, false, nil, err
	}
	v, created, err = reg.register(ctx, caller, &Version{Name: def.Name, Process: true, Digest: document.Digest(value), Definition: src, Staged: on.Staged}, on)
	return v, created, append(problems, retiredWarning(v)...), err
}

// readable returns a text that has no errors. Anyone who reads it later recognizes its
// kind by its shape, so one that looks like the other kind is refused.
func readable(src []byte, problems document.Problems, asProcess bool) (document.Value, error) {
	value, problem := document.Parse(src, document.Limits{})
	if problem != nil {
		problems = append(problems, *problem)
	}
	this, hint := "workflow", "it looks like a process; register it as a process (POST /v1/processes)"
	if asProcess {
		this, hint = "process", "it looks like a workflow; register it as a workflow (POST /v1/workflows)"
	}
	misplaced := document.KindOf(value) != "" && process.Is(value) != asProcess
	switch {
	case problems.HasErrors():
		e := invalidDefinition(this, problems)
		if misplaced {
			e.Message += "; " + hint
		}
		return value, e
	case misplaced:
		return value, fault.New(fault.InvalidDefinition, "the %s is not valid as one: %s", this, hint)
	default:
		return value, nil
	}
}

// register stores a version; its number and who registers it are filled in.
func (reg *Registry) register(ctx context.Context, caller ports.Caller, next *Version, on Terms) (v *Version, created bool, err error) {
	if on.Staged && caller.Principal.Role.Drives() {
		return nil, false, fault.New(fault.PermissionDenied, "only operators stage versions; register it without staged")
	}
	if !on.Staged && !on.DryRun {
		if err := reg.ports.Definitions.Unsigned(); err != nil {
			return nil, false, err
		}
	}
	next.CreatedBy, next.Role = caller.Principal.Name, caller.Principal.Role
	key := store.Key{Namespace: caller.Namespace, Kind: KindWorkflow, ID: next.Name}
	request := idempotency.Key{Name: on.IdempotencyKey, Digest: next.Digest}.By(caller.Principal)
	if v, err := reg.registeredBefore(ctx, key, request); v != nil || err != nil {
		return v, true, err
	}
	err = retry.Run(ctx, next.what()+" "+next.Name, func() (err error) {
		v, created, err = reg.tryRegister(ctx, caller, key, next, on, request)
		return err
	})
	return v, created, err
}

// tryRegister makes the next version of a name, unless the live or the latest one has the same content.
func (reg *Registry) tryRegister(ctx context.Context, caller ports.Caller, key store.Key, next *Version, on Terms, request idempotency.Key) (v *Version, created bool, err error) {
	st, err := reg.standing(ctx, key)
	if err != nil {
		return nil, false, err
	}
	if latest := st.latest; latest != nil && latest.Process != next.Process {
		return nil, false, fault.New(fault.NameTaken, "%q is the name of a %s, and a %s cannot also have it; choose another name",
			next.Name, latest.what(), next.what())
	}
	if err := on.check(next.what(), next.Name, st.live); err != nil {
		return nil, false, err
	}
	switch {
	case st.live != nil && st.live.Digest == next.Digest && (st.live == st.latest || !caller.Principal.Role.Drives()):
		if on.DryRun {
			return st.live, false, nil
		}
		return st.live, false, retry.Fault(reg.claim(ctx, caller, st))
	case caller.Principal.Role.Drives() && st.keptFromAgents():
		return nil, false, nameTaken(next)
	case st.latest != nil && st.latest.Digest == next.Digest && (on.Staged || on.DryRun):
		return st.latest, false, nil
	case st.latest != nil && st.latest.Digest == next.Digest:
		return st.latest, false, retry.Fault(reg.makeLive(ctx, caller, st, st.latest))
	}
	next.Number, next.Before = 1, 0
	if st.latest != nil {
		next.Number, next.Before = st.latest.Number+1, st.latest.own()
	}
	if !next.Staged {
		next.Before = 0
	}
	if next.Process {
		next.ID = typeid.New(typeid.Process)
		if st.latest != nil && st.latest.ID != "" {
			next.ID = st.latest.ID
		}
	}
	if on.DryRun {
		next.CreatedAt = reg.ports.Clock().UTC()
		return next, true, nil
	}
	err = reg.put(ctx, caller, key, next, st.unchanged(on.Expected, next.Role), request)
	if conflict := (*store.ConflictError)(nil); errors.As(err, &conflict) && conflict.Key == claimKey(key) {
		return nil, false, nameTaken(next)
	}
	if err != nil {
		return next, true, retry.Fault(err)
	}
	next.Live, next.Retired = st.place.LiveOf(next.own()), st.place.Retired
	return next, true, nil
}

func nameTaken(v *Version) error {
	return fault.New(fault.NameTaken,
		"%s %q was registered, promoted or applied by an operator, and an agent cannot change it; register yours under another name", v.what(), v.Name)
}

// claim keeps a workflow from agents once an operator has registered a text that an agent
// had registered before, which makes no version of its own.
func (reg *Registry) claim(ctx context.Context, caller ports.Caller, st *standing) error {
	if caller.Principal.Role.Drives() || !st.live.Role.Drives() {
		return nil
	}
	_, err := reg.ports.Store.Commit(ctx, store.Batch{
		Checks: []store.Check{{Key: st.key, Version: st.latest.Number}},
		Puts:   []store.Put{{Key: claimKey(st.key), Expect: store.AnyVersion, Data: []byte(caller.Principal.Name)}},
	})
	return err
}

// registeredBefore returns the version that a repeat of a request made (S6.5).
func (reg *Registry) registeredBefore(ctx context.Context, key store.Key, request idempotency.Key) (*Version, error) {
	number, err := request.Number(ctx, reg.ports.Store, key)
	if number == 0 || err != nil {
		return nil, err
	}
	v, err := reg.Workflow(ctx, key.Namespace, key.ID, number)
	if err != nil {
		return nil, err
	}
	return v, request.Same(key, v.Digest)
}

func (reg *Registry) put(ctx context.Context, caller ports.Caller, key store.Key, v *Version, checks []store.Check, request idempotency.Key) error {
	v.CreatedAt = reg.ports.Clock().UTC()
	event, err := reg.announce.WorkflowEvent(caller.Namespace, caller.Principal.Name, v)
	if err != nil {
		return err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode workflow: %w", err)
	}
	batch := store.Batch{
		Checks: checks,
		Puts:   []store.Put{{Key: key, Expect: v.Number - 1, Data: data, History: data}},
		Events: []store.Event{event},
	}
	if v.Process {
		batch.Puts[0].Labels = processes()
	}
	if v.Role.Drives() {
		batch.Checks = append(batch.Checks, store.Check{Key: claimKey(key), Version: store.Absent})
	}
	batch.Idempotency = request.KeepNumber(key, v.Number)
	batch.Counters = []store.Counter{ports.Taken(caller, ports.QuotaDefinitions, int64(len(v.Definition)), reg.ports.Quotas.DefinitionBytes)}
	_, err = reg.ports.Commit(ctx, batch)
	return err
}

func invalidDefinition(what string, problems document.Problems) *fault.Error {
	errs := slices.DeleteFunc(slices.Clone(problems), func(p document.Problem) bool { return p.Severity == document.SeverityWarning })
	e := fault.New(fault.InvalidDefinition, "the %s is not valid: %s", what, firstOf(errs))
	for _, p := range errs {
		e.Violations = append(e.Violations, fault.Violation{Pointer: p.Pointer, Code: p.Code, Message: p.Message})
	}
	return e
}

// firstOf returns one line for callers that read only the message.
func firstOf(errs document.Problems) string {
	if len(errs) == 1 {
		return errs[0].String()
	}
	return fmt.Sprintf("%s (and %d more)", errs[0], len(errs)-1)
}

// retiredWarning returns the warning that a registered version starts no runs.
func retiredWarning(v *Version) document.Problems {
	if v == nil || v.Retired == nil {
		return nil
	}
	return document.Problems{{
		Code: "RETIRED", Severity: document.SeverityWarning,
		Message: fmt.Sprintf("%s %s is retired, so no run can start: restore it with `interlock %s restore %s`", v.what(), document.Quote(v.Name), v.what(), v.Name),
	}}
}
