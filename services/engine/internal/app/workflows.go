package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/contend"
)

// Version is one immutable version of a workflow (S1.6). Its number is the
// version of its record, so it can neither skip nor be given twice.
type Version struct {
	Name       string    `json:"name"`
	Number     int64     `json:"-"`
	Digest     string    `json:"digest"`
	Definition []byte    `json:"definition"`
	CreatedAt  time.Time `json:"created_at"`
	CreatedBy  string    `json:"created_by"`
	Role       auth.Role `json:"role"`
}

type machineKey struct {
	namespace, name string
	version         int64
}

// Validate reports every problem of a definition.
func (a *App) Validate(src []byte, strict bool) document.Problems {
	_, problems := workflow.Options{Strict: strict}.Parse(src)
	return problems
}

// Register stores a definition as the next version of its workflow. The content
// of the latest version again changes nothing and answers created = false. An
// agent cannot replace what another role registered (S6.7).
func (a *App) Register(ctx context.Context, caller Caller, src []byte, idempotencyKey string) (v *Version, created bool, warnings document.Problems, err error) {
	def, problems := workflow.Parse(src)
	if problems.HasErrors() {
		return nil, false, nil, invalidDefinition(problems)
	}
	value, problem := document.Parse(src, document.Limits{})
	if problem != nil {
		return nil, false, nil, invalidDefinition(document.Problems{*problem})
	}
	next := &Version{
		Name: def.ID, Digest: document.Digest(value), Definition: src,
		CreatedBy: caller.Principal.Name, Role: caller.Principal.Role,
	}
	key := store.Key{Namespace: caller.Namespace, Kind: kindWorkflow, ID: def.ID}
	if v, err := a.registeredBefore(ctx, key, idempotencyKey, next.Digest); v != nil || err != nil {
		return v, true, problems, err
	}
	for range contend.Attempts {
		latest, err := a.loadLatest(ctx, key)
		switch {
		case fault.ReasonOf(err) == fault.NotFound:
			next.Number = 1
		case err != nil:
			return nil, false, nil, err
		case latest.Digest == next.Digest:
			if err := a.claim(ctx, caller, latest); lostRace(err) {
				continue
			} else if err != nil {
				return nil, false, nil, fault.From(err)
			}
			return latest, false, problems, nil
		case caller.Principal.Role == auth.Agent && latest.Role != auth.Agent:
			return nil, false, nil, nameTaken(def.ID)
		default:
			next.Number = latest.Number + 1
		}
		err = a.putVersion(ctx, caller, key, next, idempotencyKey)
		if conflict := (*store.ConflictError)(nil); errors.As(err, &conflict) && conflict.Key == claimKey(key) {
			return nil, false, nil, nameTaken(def.ID)
		}
		if lostRace(err) {
			continue
		}
		if err != nil {
			return nil, false, nil, fault.From(err)
		}
		return next, true, problems, nil
	}
	return nil, false, nil, contended("workflow " + def.ID)
}

func nameTaken(name string) error {
	return fault.New(fault.NameTaken,
		"workflow %q was registered by an operator, and an agent can not change it; register yours under another id", name)
}

func claimKey(workflow store.Key) store.Key {
	workflow.Kind = kindClaim
	return workflow
}

// claim keeps a workflow from agents once an operator has registered what an
// agent had registered before, which makes no version of its own.
func (a *App) claim(ctx context.Context, caller Caller, v *Version) error {
	if caller.Principal.Role == auth.Agent || v.Role != auth.Agent {
		return nil
	}
	key := claimKey(store.Key{Namespace: caller.Namespace, ID: v.Name})
	_, err := a.store.Commit(ctx, store.Batch{
		Checks: []store.Check{{Key: store.Key{Namespace: key.Namespace, Kind: kindWorkflow, ID: v.Name}, Version: v.Number}},
		Puts:   []store.Put{{Key: key, Expect: store.AnyVersion, Data: []byte(caller.Principal.Name)}},
	})
	return err
}

// claimed reports that an operator has registered what an agent had before.
func (a *App) claimed(ctx context.Context, namespace string, v *Version) (bool, error) {
	_, err := a.store.Get(ctx, claimKey(store.Key{Namespace: namespace, ID: v.Name}))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fault.From(err)
	}
	return true, nil
}

// registeredBefore answers the version that a repeat of a request made (S6.5).
func (a *App) registeredBefore(ctx context.Context, key store.Key, idempotencyKey, digest string) (*Version, error) {
	if idempotencyKey == "" {
		return nil, nil
	}
	number, err := a.store.Answer(ctx, key, idempotencyKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.From(err)
	}
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil {
		return nil, fault.From(fmt.Errorf("decode answer: %w", err))
	}
	v, err := a.Workflow(ctx, key.Namespace, key.ID, n)
	if err == nil && v.Digest != digest {
		return nil, fault.From(&store.ReplayMismatchError{Owner: key, Name: idempotencyKey})
	}
	return v, err
}

func (a *App) putVersion(ctx context.Context, caller Caller, key store.Key, v *Version, idempotencyKey string) error {
	v.CreatedAt = a.clock().UTC()
	event, err := a.announce.WorkflowEvent(caller.Namespace, caller.Principal.Name, v)
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
	if v.Role == auth.Agent {
		batch.Checks = []store.Check{{Key: claimKey(key), Version: store.Absent}}
	}
	if idempotencyKey != "" {
		batch.Idempotency = &store.Idempotency{
			Owner: key, Name: idempotencyKey, Digest: v.Digest,
			Answer: strconv.AppendInt(nil, v.Number, 10), TTL: answersKept,
		}
	}
	_, err = a.store.Commit(ctx, batch)
	return err
}

// Workflow answers one version, or with number 0 the latest.
func (a *App) Workflow(ctx context.Context, namespace, name string, number int64) (*Version, error) {
	key := store.Key{Namespace: namespace, Kind: kindWorkflow, ID: name}
	if number == 0 {
		return a.loadLatest(ctx, key)
	}
	entries, err := a.store.History(ctx, key, number-1, 1)
	if err != nil {
		return nil, fault.From(err)
	}
	if len(entries) == 0 || entries[0].Version != number {
		return nil, fault.New(fault.NotFound, "workflow %q has no version %d", name, number)
	}
	return decodeVersion(entries[0].Data, number)
}

func (a *App) loadLatest(ctx context.Context, key store.Key) (*Version, error) {
	record, err := a.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.New(fault.NotFound, "no workflow %q is registered; register it first", key.ID)
	}
	if err != nil {
		return nil, fault.From(err)
	}
	return decodeVersion(record.Data, record.Version)
}

func decodeVersion(data []byte, number int64) (*Version, error) {
	v := &Version{Number: number}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fault.From(fmt.Errorf("decode workflow: %w", err))
	}
	return v, nil
}

// Workflows answers a page of latest versions by name.
func (a *App) Workflows(ctx context.Context, namespace, after string, limit int) ([]*Version, string, error) {
	page, err := a.store.List(ctx, store.Query{Namespace: namespace, Kind: kindWorkflow, After: after, Limit: limit})
	if err != nil {
		return nil, "", fault.From(err)
	}
	versions := make([]*Version, len(page.Records))
	for i, record := range page.Records {
		if versions[i], err = decodeVersion(record.Data, record.Version); err != nil {
			return nil, "", err
		}
	}
	return versions, page.Next, nil
}

// machine answers the compiled version of a workflow. Versions are immutable, so
// the cache is always right.
func (a *App) machine(ctx context.Context, namespace, name string, number int64) (*workflow.Machine, error) {
	key := machineKey{namespace, name, number}
	if m, ok := a.machines.Get(key); ok {
		return m, nil
	}
	v, err := a.Workflow(ctx, namespace, name, number)
	if err != nil {
		return nil, err
	}
	def, problems := workflow.Parse(v.Definition)
	if problems.HasErrors() {
		// It was valid when it was registered: a validator that has grown
		// stricter must not guess what the old meaning was.
		return nil, invalidDefinition(problems)
	}
	m := workflow.Compile(def, number)
	a.machines.Put(key, m, nil)
	return m, nil
}

func invalidDefinition(problems document.Problems) error {
	e := fault.New(fault.InvalidDefinition, "the workflow is not valid: %s", firstError(problems))
	for _, p := range problems {
		if p.Severity != document.SeverityWarning {
			e.Violations = append(e.Violations, fault.Violation{Pointer: p.Pointer, Code: p.Code, Message: p.Message})
		}
	}
	return e
}

// firstError is one line for those who read only the message.
func firstError(problems document.Problems) string {
	errs := problems[:0:0]
	for _, p := range problems {
		if p.Severity != document.SeverityWarning {
			errs = append(errs, p)
		}
	}
	if len(errs) == 1 {
		return errs[0].String()
	}
	return fmt.Sprintf("%s (and %d more)", errs[0], len(errs)-1)
}
