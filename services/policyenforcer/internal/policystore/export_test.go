package policystore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

const (
	SpendKept   = quota.SpendKept
	MaxPolicies = maxPolicies

	MaxExceptions = maxExceptions
)

// Spend counts spends as a check does.
func (st *Store) Spend(ctx context.Context, namespace string, spends []rules.Spend) error {
	if err := st.quota.DropLater(ctx, namespace, spends); err != nil {
		return err
	}
	for _, counter := range st.quota.Counters(namespace, spends) {
		if _, err := st.store.Commit(ctx, store.Batch{Counters: []store.Counter{counter}}); err != nil {
			return err
		}
	}
	return nil
}

// Index returns the cached index of a namespace.
func (st *Store) Index(ctx context.Context, namespace string) (*Index, error) {
	return st.known(ctx, namespace)
}

func (x *Index) Live(name string) int64 {
	version, _ := x.live(name)
	return version
}

func (x *Index) ShadowOf(name string) int64 {
	version, _ := x.shadow(name)
	return version
}

// WaitsOf returns what of a policy waits besides a version: the version that it then has, and the attachments; empty for nothing.
func (x *Index) WaitsOf(name string) string {
	w := x.text.Policies[name].Waits
	if w == nil {
		return ""
	}
	return fmt.Sprint(w.Version, w.Attachments)
}

func (x *Index) AttachedTo(kind AttachmentKind, id string) []string {
	return x.attachedTo(kind, id)
}

// OfCaller returns the policies that are attached to a caller, each with its first reason.
func (x *Index) OfCaller(p auth.Principal, now time.Time) map[string]string {
	found := make(map[string]string)
	x.ofCaller(p, enforcer.OnBehalf(nil, enforcer.Caller{Principal: p}, now).People(), now, func(kind AttachmentKind, id string, names ...string) {
		for _, name := range names {
			if found[name] == "" {
				found[name] = reason(kind, id)
			}
		}
	})
	return found
}

// ExceptionsOf counts the exceptions that are about a caller.
func (x *Index) ExceptionsOf(name string, set *rules.Set, p auth.Principal, sessions []string, now time.Time) int {
	status := &runs.Status{Place: sessionread.Place{Names: sessions}}
	return len(x.exceptionsOf(name, set, p, enforcer.OnBehalf(nil, enforcer.Caller{Principal: p}, now).People(), status, now))
}

func (x *Index) SessionsAttached() bool { return len(x.kinds[AttachedToSession]) > 0 }

// ShadowJudges reports whether the shadow of a workflow can be judged by.
func (st *Store) ShadowJudges(ctx context.Context, namespace, workflow, digest string) error {
	_, err := st.ShadowMachine(ctx, namespace, workflow, digest)
	return err
}

// IndexOf returns the index of policies with attachments.
func IndexOf(attached map[string][]Attachment) *Index {
	text := IndexText{Policies: map[string]Indexed{}}
	for name, to := range attached {
		text.Policies[name] = Indexed{Live: 1, Attachments: to}
	}
	return newIndex("default", 1, text)
}

// OnBehalf returns the policies that are attached to a caller who acts for people, sorted.
func (x *Index) OnBehalf(p auth.Principal, people []*auth.Human, now time.Time) []string {
	var found []string
	x.ofCaller(p, people, now, func(_ AttachmentKind, _ string, names ...string) { found = append(found, names...) })
	slices.Sort(found)
	return slices.Compact(found)
}
