package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/once"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// PutPolicy is a policy to be stored.
type PutPolicy struct {
	// Name is that in the definition when empty.
	Name       string
	Definition []byte
	// Shadow judges it alongside the live version, and enforces nothing.
	Shadow         bool
	IdempotencyKey string
}

// versions is what the record of a policy says of its versions.
type versions struct {
	// Digests of all of them; that of version 1 first.
	Digests []string `json:"digests"`
}

// PutPolicy stores a policy as its next version, and makes it live or the shadow.
// The same content as an older version makes no new one: that version is live, or
// the shadow, again. The version comes first; a repeat finds it and continues.
func (a *App) PutPolicy(ctx context.Context, caller Caller, req PutPolicy) (p *Policy, created bool, warnings document.Problems, err error) {
	policy, problems := rules.ParsePolicy(req.Definition)
	if problems.HasErrors() {
		return nil, false, nil, invalidDefinition("policy", problems)
	}
	name := req.Name
	if name == "" {
		name = policy.Name
	}
	if err := checkPolicyName(name); err != nil {
		return nil, false, nil, err
	}
	value, problem := document.Parse(req.Definition, document.Limits{})
	if problem != nil {
		return nil, false, nil, invalidDefinition("policy", document.Problems{*problem})
	}
	v := &PolicyVersion{Name: name, Digest: document.Digest(value), Definition: req.Definition, CreatedBy: caller.Principal.Name}
	request := req.once(v).By(caller.Principal)
	if p, created, err := a.putBefore(ctx, caller.Namespace, name, request); p != nil || err != nil {
		return p, created, problems, err
	}
	put := func(text *indexText) (*PolicyChange, error) { return putInIndex(text, v, req.Shadow), nil }
	if _, err := a.edit(ctx, caller.Namespace, put); err != nil {
		return nil, false, nil, err // there is no room for it
	}
	if created, err = a.addVersion(ctx, caller.Namespace, v); err != nil {
		return nil, false, nil, err
	}
	x, err := a.changeIndex(ctx, caller, keepPut(caller.Namespace, request, v.Number, created), put)
	if err != nil {
		return nil, false, nil, err
	}
	return x.withStanding(*v), created, problems, nil
}

// checkPolicyName refuses what cannot name a policy. Those of processes are named
// otherwise.
func checkPolicyName(name string) error {
	const form = "use 1 to 128 lower-case letters, digits, dots, dashes and underscores, with a letter or digit among them"
	strange := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-'
	}
	switch {
	case name == "":
		return fault.New(fault.InvalidRequest, "the policy has no name; %s, in the request or as \"name\" in the definition", form).
			Violate("/name", "REQUIRED", "empty")
	case len(name) > 128 || strings.ContainsFunc(name, strange) || strings.Trim(name, "._-") == "":
		return fault.New(fault.InvalidRequest, "%s cannot name a policy; %s", document.Quote(name), form).
			Violate("/name", "NAME", "not a name")
	}
	return nil
}

// addVersion makes sure that a policy has a version of this content, and tells its
// number.
func (a *App) addVersion(ctx context.Context, namespace string, v *PolicyVersion) (created bool, err error) {
	key := policyKey(namespace, v.Name)
	return retry.Do(ctx, "policy "+v.Name, func() (created bool, err error) {
		record, err := a.store.Get(ctx, key)
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
			before, err := a.loadPolicy(ctx, namespace, v.Name, int64(at)+1)
			if err == nil {
				*v = *before
			}
			return false, err
		}
		if len(known.Digests) >= maxVersions {
			return false, fault.New(fault.LimitReached, "policy %q has %d versions, and cannot have more; store it under another name", v.Name, maxVersions)
		}
		v.Number, v.CreatedAt = record.Version+1, a.clock().UTC()
		known.Digests = append(known.Digests, v.Digest)
		return true, retry.Fault(a.putVersion(ctx, key, record.Version, known, v))
	})
}

func (a *App) putVersion(ctx context.Context, key store.Key, before int64, known versions, v *PolicyVersion) error {
	data, err := json.Marshal(known)
	if err != nil {
		return fmt.Errorf("encode versions of policy: %w", err)
	}
	history, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode policy: %w", err)
	}
	_, err = a.store.Commit(ctx, store.Batch{Puts: []store.Put{{Key: key, Expect: before, Data: data, History: history}}})
	return err
}

// once makes the put happen once (S6.5).
func (r *PutPolicy) once(v *PolicyVersion) once.Key {
	if r.IdempotencyKey == "" {
		return once.Key{}
	}
	return once.Key{Name: "put/" + v.Name + "/" + r.IdempotencyKey, Digest: fmt.Sprintf("%s %t", v.Digest, r.Shadow)}
}

// putAnswer is what is kept of a put.
type putAnswer struct {
	Digest  string `json:"digest"`
	Version int64  `json:"version"`
	Created bool   `json:"created"`
}

// keepPut is for the batch of the index: the version that the put has made.
func keepPut(namespace string, request once.Key, version int64, created bool) *store.Idempotency {
	answer, _ := json.Marshal(putAnswer{request.Digest, version, created}) // text and numbers always encode
	return request.KeepAnswer(policyIndexKey(namespace), answer)
}

// putBefore returns what a put with the same key has made.
func (a *App) putBefore(ctx context.Context, namespace, name string, request once.Key) (*Policy, bool, error) {
	key := policyIndexKey(namespace)
	stored, err := once.Answer(ctx, a.store, key, request.Name)
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
	p, err := a.Policy(ctx, namespace, name, first.Version)
	return p, first.Created, err
}
