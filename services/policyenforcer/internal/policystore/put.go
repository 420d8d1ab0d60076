package policystore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// Put is a request to store a policy.
type Put struct {
	// Name defaults to the name in the definition.
	Name       string
	Definition []byte
	// Shadow evaluates the policy without enforcement.
	Shadow         bool
	IdempotencyKey string
	// Staged stores the version, and makes it neither live nor the shadow.
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

// expect refuses a change on another live version.
func (st *Store) expect(ctx context.Context, namespace, name string, e Expected, live int64) error {
	if e == (Expected{}) {
		return nil
	}
	if live == 0 {
		return fault.New(fault.VersionConflict, "no version of policy %q is live, and the request expects one; leave the precondition out, or read it and decide again", name)
	}
	v, err := st.load(ctx, namespace, name, live)
	if err != nil {
		return err
	}
	if e.Version != 0 && e.Version != live || e.Digest != "" && e.Digest != v.Digest {
		return fault.New(fault.VersionConflict, "version %d of policy %q is live, with digest %s, stored by %s at %s; read it and decide again",
			live, name, v.Digest, v.CreatedBy, v.CreatedAt.Format(time.RFC3339))
	}
	return nil
}

// versions is the record of a policy.
type versions struct {
	// Digests has the digests of all versions, from version 1 on.
	Digests []string `json:"digests"`
}

// Put stores a policy as its next version, and makes it live or the shadow. A definition that was stored
// before keeps its version. The version is committed before the index; a repeat finds it and continues.
func (st *Store) Put(ctx context.Context, caller enforcer.Caller, req Put) (p *Policy, created bool, warnings document.Problems, err error) {
	policy, problems := rules.ParsePolicy(req.Definition)
	if problems.HasErrors() {
		return nil, false, nil, InvalidDefinition("policy", problems)
	}
	name := req.Name
	if name == "" {
		name = policy.Name
	}
	if err := checkName("policy", name); err != nil {
		return nil, false, nil, err
	}
	value, problem := document.Parse(req.Definition, document.Limits{})
	if problem != nil {
		return nil, false, nil, InvalidDefinition("policy", document.Problems{*problem})
	}
	v := &Version{Name: name, Digest: document.Digest(value), Definition: req.Definition, CreatedBy: caller.Principal.Name}
	request := req.once(v).By(caller.Principal)
	if p, created, err := st.putBefore(ctx, caller.Namespace, name, request); p != nil || err != nil {
		return p, created, problems, err
	}
	put := func(text *IndexText) ([]*Change, error) {
		if err := st.expect(ctx, caller.Namespace, name, req.Expected, text.Policies[name].Live); err != nil || req.Staged {
			return nil, err
		}
		return putInIndex(text, v, policy, req.Shadow), nil
	}
	e, err := st.edit(ctx, caller.Namespace, put)
	if err != nil {
		return nil, false, nil, err // there is no room for it
	}
	if created, err = st.addVersion(ctx, caller.Namespace, v, req.DryRun); err != nil {
		return nil, false, nil, err
	}
	if req.DryRun || req.Staged {
		return e.before.withStatus(*v), created, problems, nil
	}
	x, err := st.changeIndex(ctx, caller, keepPut(caller.Namespace, request, v.Number, created), put)
	if err != nil {
		return nil, false, nil, err
	}
	return x.withStatus(*v), created, problems, nil
}

// checkName returns an error for an invalid name of a policy or set. Policies of processes have names of another form.
func checkName(what, name string) error {
	const form = "use 1 to 128 lower-case letters, digits, dots, dashes and underscores, with a letter or digit among them"
	strange := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-'
	}
	switch {
	case name == "":
		return fault.New(fault.InvalidRequest, "the %s has no name; %s, in the request or as \"name\" in the definition", what, form).
			Violate("/name", "REQUIRED", "empty")
	case len(name) > 128 || strings.ContainsFunc(name, strange) || strings.Trim(name, "._-") == "":
		return fault.New(fault.InvalidRequest, "%s cannot name a %s; %s", document.Quote(name), what, form).
			Violate("/name", "NAME", "not a name")
	}
	return nil
}

// addVersion stores the definition as a version unless one has it, and sets the number in v. A dry run stores nothing.
func (st *Store) addVersion(ctx context.Context, namespace string, v *Version, dry bool) (created bool, err error) {
	key := Key(namespace, v.Name)
	return retry.Do(ctx, "policy "+v.Name, func() (created bool, err error) {
		record, err := st.store.Get(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			record, err = store.Record{Version: store.Absent}, nil
		}
		if err != nil {
			return false, fault.From(err)
		}
		var known versions
		if record.Version != store.Absent {
			if err := json.Unmarshal(record.Data, &known); err != nil {
				return false, fault.From(fmt.Errorf("decode versions of policy: %w", err))
			}
		}
		if at := slices.Index(known.Digests, v.Digest); at >= 0 {
			before, err := st.load(ctx, namespace, v.Name, int64(at)+1)
			if err == nil {
				*v = *before
			}
			return false, err
		}
		if len(known.Digests) >= maxVersions {
			return false, fault.New(fault.LimitReached, "policy %q has %d versions, and cannot have more; store it under another name", v.Name, maxVersions)
		}
		v.Number, v.CreatedAt = record.Version+1, st.clock().UTC()
		if dry {
			return true, nil
		}
		known.Digests = append(known.Digests, v.Digest)
		return true, retry.Fault(st.putVersion(ctx, key, record.Version, known, v))
	})
}

func (st *Store) putVersion(ctx context.Context, key store.Key, before int64, known versions, v *Version) error {
	data, err := json.Marshal(known)
	if err != nil {
		return fmt.Errorf("encode versions of policy: %w", err)
	}
	history, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode policy: %w", err)
	}
	_, err = st.store.Commit(ctx, store.Batch{Puts: []store.Put{{Key: key, Expect: before, Data: data, History: history}}})
	return err
}

// once returns the idempotency key of a request (S6.5).
func (r *Put) once(v *Version) idempotency.Key {
	if r.IdempotencyKey == "" {
		return idempotency.Key{}
	}
	return idempotency.Key{Name: "put/" + v.Name + "/" + r.IdempotencyKey, Digest: fmt.Sprintf("%s %t", v.Digest, r.Shadow)}
}

// putAnswer is the stored answer of a put.
type putAnswer struct {
	Digest  string `json:"digest"`
	Version int64  `json:"version"`
	Created bool   `json:"created"`
}

// keepPut returns the idempotency key with the answer, for the batch of the index.
func keepPut(namespace string, request idempotency.Key, version int64, created bool) *store.Idempotency {
	answer, _ := json.Marshal(putAnswer{request.Digest, version, created}) // text and numbers always encode
	return request.KeepAnswer(IndexKey(namespace), answer)
}

// putBefore returns the answer of an earlier put with the same key.
func (st *Store) putBefore(ctx context.Context, namespace, name string, request idempotency.Key) (*Policy, bool, error) {
	key := IndexKey(namespace)
	stored, err := idempotency.Answer(ctx, st.store, key, request.Name)
	if stored == nil || err != nil {
		return nil, false, err
	}
	var first putAnswer
	if err := json.Unmarshal(stored, &first); err != nil {
		return nil, false, fault.From(fmt.Errorf("decode answer: %w", err))
	}
	if err := request.Same(key, first.Digest); err != nil {
		return nil, false, err
	}
	p, err := st.Get(ctx, namespace, name, first.Version)
	return p, first.Created, err
}
