package sdk

import (
	"context"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// ApplySet changes all objects of a set in one commit, or none, as an operator (S26.5). Versions are registered before it,
// with [Staged]. It returns the set, and whether it was changed.
func (g *setGroup) ApplySet(ctx context.Context, application *policyv1.ApplySetRequest) (set *policyv1.DefinitionSet, changed bool, err error) {
	resp, err := retry(ctx, g.sets.ApplySet, application)
	return resp.GetSet(), resp.GetChanged(), err
}

// GetSet returns a set.
func (g *setGroup) GetSet(ctx context.Context, name string) (*policyv1.DefinitionSet, error) {
	resp, err := retry(ctx, g.sets.GetSet, &policyv1.GetSetRequest{Name: name})
	return resp.GetSet(), err
}

// ListSets returns the sets of the namespace, by name.
func (g *setGroup) ListSets(ctx context.Context) ([]*policyv1.DefinitionSet, error) {
	resp, err := retry(ctx, g.sets.ListSets, &policyv1.ListSetsRequest{})
	return resp.GetSets(), err
}
