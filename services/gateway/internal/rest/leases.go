package rest

import (
	"context"
	"net/http"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// LeaseList is one page of leases, newest first.
type LeaseList struct {
	Leases        []jsonview.Lease `json:"leases"`
	NextPageToken string           `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// leases serves the routes of leases.
type leases struct {
	approvals approvalv1.ApprovalServiceClient
}

func (h *leases) routes(add func(route)) {
	add(route{
		method: http.MethodGet, path: "/v1/leases", id: "listLeases", summary: "List the leases that last",
		about: "A lease lets calls like one that was approved pass without another question. It is given with an approval.",
		params: []param{
			inQuery("run_id", "Only leases of this run."), pageSizeParam, pageTokenParam,
		},
		fields: map[string]string{"run_id": "run_id"}, answers: answers[LeaseList](http.StatusOK), serve: h.list,
	})
	add(route{
		method: http.MethodDelete, path: "/v1/leases/{id}", id: "revokeLease", summary: "Revoke a lease",
		about:  "No decision that is made afterwards goes by it. 404 when there is no such lease that lasts.",
		params: []param{inPath("id", "Id of the lease.")},
		fields: map[string]string{"lease_id": "id"}, answers: answers[jsonview.Lease](http.StatusOK), serve: h.revoke,
	})
}

func (h *leases) list(c *call) (*answer, error) {
	resp, err := h.approvals.ListLeases(c.ctx, &approvalv1.ListLeasesRequest{PageSize: c.size, PageToken: c.token, RunId: c.query.Get("run_id")})
	if err != nil {
		return nil, err
	}
	return ok(LeaseList{Leases: jsonview.Each(resp.GetLeases(), jsonview.LeaseOf), NextPageToken: resp.GetNextPageToken()}), nil
}

func (h *leases) revoke(c *call) (*answer, error) {
	resp, err := h.approvals.RevokeLease(c.ctx, &approvalv1.RevokeLeaseRequest{LeaseId: c.path("id")})
	return shown(resp.GetLease(), err, jsonview.LeaseOf)
}

// of returns those of a run, as far as the caller may see them: agents may not. A run
// can be read without them, too.
func (h *leases) of(ctx context.Context, runID string) []jsonview.Lease {
	role := access.CallerOf(ctx).Principal.Role
	if role != "" && !auth.Allowed(approvalv1.ApprovalService_ListLeases_FullMethodName, role) {
		return nil // asking would be refused, and leave a warning in the log
	}
	resp, err := h.approvals.ListLeases(ctx, &approvalv1.ListLeasesRequest{RunId: runID})
	if err != nil || len(resp.GetLeases()) == 0 {
		return nil
	}
	return jsonview.Each(resp.GetLeases(), jsonview.LeaseOf)
}
