package rpc

import (
	"context"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// Runs tells the engine through its contract, with the approval service's own
// credentials.
type Runs struct{ service enginev1.RunServiceClient }

var _ app.Runs = (*Runs)(nil)

// NewRuns makes the adapter.
func NewRuns(service enginev1.RunServiceClient) *Runs { return &Runs{service} }

// Settle implements app.Runs.
func (r *Runs) Settle(ctx context.Context, namespace, runID, approvalID string) error {
	_, err := r.service.SettleApproval(rpc.InNamespace(ctx, namespace), &enginev1.SettleApprovalRequest{RunId: runID, ApprovalId: approvalID})
	return err
}
