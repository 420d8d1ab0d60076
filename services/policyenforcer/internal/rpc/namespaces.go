package rpc

import (
	"context"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/services/internal/namespaces"
)

// Namespaces implements NamespaceService.
type Namespaces struct {
	identityv1.UnimplementedNamespaceServiceServer
	Book *namespaces.Book
}

// ListNamespaces implements NamespaceService.
func (s *Namespaces) ListNamespaces(ctx context.Context, _ *identityv1.ListNamespacesRequest) (*identityv1.ListNamespacesResponse, error) {
	names, all, err := s.Book.List(ctx, caller(ctx).Principal)
	if err != nil {
		return nil, err
	}
	resp := &identityv1.ListNamespacesResponse{All: all}
	for _, name := range names {
		resp.Namespaces = append(resp.Namespaces, &identityv1.Namespace{Name: name})
	}
	return resp, nil
}
