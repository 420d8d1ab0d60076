package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/once"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// Validate reports every problem of a workflow, and the policies that it names and that do not exist.
func (reg *Registry) Validate(ctx context.Context, namespace string, src []byte, strict bool) (document.Problems, error) {
	def, problems := workflow.Options{Strict: strict}.Parse(reg.ports.Enforcement.Write(src))
	if problems.HasErrors() {
		return problems, nil
	}
	return reg.withPolicyWarnings(ctx, namespace, problems, def.Meta.Policies)
}

// Register stores a workflow as the next version of its name, with the deployment's enforcement
// where it names none. The content of the latest version again makes no change and answers
// created = false. An agent cannot replace a workflow of another role (S6.7).
func (reg *Registry) Register(ctx context.Context, caller ports.Caller, src []byte, idempotencyKey string) (v *Version, created bool, warnings document.Problems, err error) {
	src = reg.ports.Enforcement.Write(src)
	def, problems := workflow.Parse(src)
	value, err := readable(src, problems, false)
	if err != nil {
		return nil, false, nil, err
	}
	if problems, err = reg.withPolicyWarnings(ctx, caller.Namespace, problems, def.Meta.Policies); err != nil {
		return nil, false, nil, err
	}
	v, created, err = reg.register(ctx, caller, &Version{Name: def.ID, Digest: document.Digest(value), Definition: src}, idempotencyKey)
	return v, created, problems, err
}

// RegisterProcess does the work of Register for a process (S8). Both have their names in
// common.
func (reg *Registry) RegisterProcess(ctx context.Context, caller ports.Caller, src []byte, idempotencyKey string) (v *Version, created bool, warnings document.Problems, err error) {
	def, problems := process.Parse(src)
	value, err := readable(src, problems, true)
	if err != nil {
		return nil, false, nil, err
	}
	v, created, err = reg.register(ctx, caller, &Version{Name: def.Name, Process: true, Digest: document.Digest(value), Definition: src}, idempotencyKey)
	return v, created, problems, err
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
func (reg *Registry) register(ctx context.Context, caller ports.Caller, next *Version, idempotencyKey string) (v *Version, created bool, err error) {
	next.CreatedBy, next.Role = caller.Principal.Name, caller.Principal.Role
	key := store.Key{Namespace: caller.Namespace, Kind: KindWorkflow, ID: next.Name}
	request := once.Key{Name: idempotencyKey, Digest: next.Digest}.By(caller.Principal)
	if v, err := reg.registeredBefore(ctx, key, request); v != nil || err != nil {
		return v, true, err
	}
	err = retry.Run(ctx, next.what()+" "+next.Name, func() (err error) {
		v, created, err = reg.tryRegister(ctx, caller, key, next, request)
		return err
	})
	return v, created, err
}

// tryRegister makes the next version of a name, unless it is the same as the latest.
func (reg *Registry) tryRegister(ctx context.Context, caller ports.Caller, key store.Key, next *Version, request once.Key) (v *Version, created bool, err error) {
	latest, err := reg.loadLatest(ctx, key)
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		next.Number = 1
	case err != nil:
		return nil, false, err
	case latest.Process != next.Process:
		return nil, false, fault.New(fault.NameTaken, "%q is the name of a %s, and a %s cannot also have it; choose another name",
			next.Name, latest.what(), next.what())
	case latest.Digest == next.Digest:
		return latest, false, retry.Fault(reg.claim(ctx, caller, latest))
	case caller.Principal.Role.Drives() && !latest.Role.Drives():
		return nil, false, nameTaken(next)
	default:
		next.Number = latest.Number + 1
	}
	if next.Process {
		next.ID = typeid.New(typeid.Process)
		if latest != nil && latest.ID != "" {
			next.ID = latest.ID
		}
	}
	err = reg.put(ctx, caller, key, next, request)
	if conflict := (*store.ConflictError)(nil); errors.As(err, &conflict) && conflict.Key == claimKey(key) {
		return nil, false, nameTaken(next)
	}
	return next, true, retry.Fault(err)
}

func nameTaken(v *Version) error {
	return fault.New(fault.NameTaken,
		"%s %q was registered by an operator, and an agent cannot change it; register yours under another name", v.what(), v.Name)
}

// claim keeps a workflow from agents once an operator has registered a text that an agent
// had registered before, which makes no version of its own.
func (reg *Registry) claim(ctx context.Context, caller ports.Caller, v *Version) error {
	if caller.Principal.Role.Drives() || !v.Role.Drives() {
		return nil
	}
	key := claimKey(store.Key{Namespace: caller.Namespace, ID: v.Name})
	_, err := reg.ports.Store.Commit(ctx, store.Batch{
		Checks: []store.Check{{Key: store.Key{Namespace: key.Namespace, Kind: KindWorkflow, ID: v.Name}, Version: v.Number}},
		Puts:   []store.Put{{Key: key, Expect: store.AnyVersion, Data: []byte(caller.Principal.Name)}},
	})
	return err
}

// registeredBefore returns the version that a repeat of a request made (S6.5).
func (reg *Registry) registeredBefore(ctx context.Context, key store.Key, request once.Key) (*Version, error) {
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

func (reg *Registry) put(ctx context.Context, caller ports.Caller, key store.Key, v *Version, request once.Key) error {
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
		Puts:   []store.Put{{Key: key, Expect: v.Number - 1, Data: data, History: data}},
		Events: []store.Event{event},
	}
	if v.Process {
		batch.Puts[0].Labels = processes()
	}
	if v.Role.Drives() {
		batch.Checks = []store.Check{{Key: claimKey(key), Version: store.Absent}}
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
