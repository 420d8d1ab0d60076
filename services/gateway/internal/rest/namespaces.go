package rest

import (
	"net/http"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// NamespaceList are the namespaces that the caller may call in, by name.
type NamespaceList struct {
	Namespaces []jsonview.Namespace `json:"namespaces"`
	All        bool                 `json:"all,omitzero" doc:"The caller may call in every namespace. The list has those that something was written in."`
}

// tenancies serves the routes of namespaces.
type tenancies struct {
	namespaces identityv1.NamespaceServiceClient
}

func (h *tenancies) routes(add func(route)) {
	add(route{
		method: http.MethodGet, path: "/v1/namespaces", id: "listNamespaces", summary: "List the namespaces that you may call in",
		about:   "No others are shown. A caller of several need not name one for this.",
		answers: answers[NamespaceList](http.StatusOK), serve: h.list,
	})
}

func (h *tenancies) list(c *call) (*answer, error) {
	resp, err := h.namespaces.ListNamespaces(c.ctx, &identityv1.ListNamespacesRequest{})
	if err != nil {
		return nil, err
	}
	return ok(NamespaceList{Namespaces: jsonview.Each(resp.GetNamespaces(), jsonview.NamespaceOf), All: resp.GetAll()}), nil
}
