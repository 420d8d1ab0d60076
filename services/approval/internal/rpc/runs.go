package rpc

import (
	"context"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// Runs informs the engine through its contract, with the approval service's own
// credentials.
type Runs struct {
	service enginev1.RunServiceClient
	peer    peerv1.RunPeerServiceClient
}

var _ app.Runs = (*Runs)(nil)

// NewRuns makes the adapter.
func NewRuns(service enginev1.RunServiceClient, peer peerv1.RunPeerServiceClient) *Runs {
	return &Runs{service, peer}
}

// Settle implements app.Runs.
func (r *Runs) Settle(ctx context.Context, namespace, runID, approvalID string) error {
	_, err := r.peer.SettleApproval(rpc.InNamespace(ctx, namespace), &peerv1.SettleApprovalRequest{RunId: runID, ApprovalId: approvalID})
	return err
}

// Entry implements app.Runs.
func (r *Runs) Entry(ctx context.Context, namespace, runID, branch string) (int64, error) {
	resp, err := r.service.GetRun(rpc.InNamespace(ctx, namespace), &enginev1.GetRunRequest{RunId: runID, Branch: branch})
	if err != nil {
		return 0, err
	}
	switch resp.GetRun().GetStatus() {
	case enginev1.RunStatus_RUN_STATUS_COMPLETED, enginev1.RunStatus_RUN_STATUS_FAILED,
		enginev1.RunStatus_RUN_STATUS_BLOCKED, enginev1.RunStatus_RUN_STATUS_CANCELLED:
		return 0, nil
	default:
		return resp.GetRun().GetEntry(), nil
	}
}
