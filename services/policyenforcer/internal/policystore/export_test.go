package policystore

import (
	"context"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
)

const (
	SpendKept   = quota.SpendKept
	MaxPolicies = maxPolicies
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

func (x *Index) AttachedTo(kind AttachmentKind, id string) []string {
	return x.attachedTo(kind, id)
}

func (x *Index) SessionsAttached() bool { return x.sessionsAttached() }

// ShadowJudges reports whether the shadow of a workflow can be judged by.
func (st *Store) ShadowJudges(ctx context.Context, namespace, workflow, digest string) error {
	_, err := st.ShadowMachine(ctx, namespace, workflow, digest)
	return err
}
