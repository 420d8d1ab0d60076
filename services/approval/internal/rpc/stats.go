package rpc

import (
	"context"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// GetApprovalStats implements ApprovalService.
func (s *Approvals) GetApprovalStats(ctx context.Context, req *approvalv1.GetApprovalStatsRequest) (*approvalv1.GetApprovalStatsResponse, error) {
	var since time.Time
	if req.GetSince() != nil {
		since = req.GetSince().AsTime()
	}
	asked, complete, err := s.App.Asked(ctx, caller(ctx), since)
	if err != nil {
		return nil, err
	}
	all := jsonview.Each(asked, func(r *app.Record) jsonview.Approval { return jsonview.ApprovalOf(approvalProto(r)) })
	resp := &approvalv1.GetApprovalStatsResponse{Complete: complete}
	for _, q := range jsonview.QuestionsOf(all) {
		resp.Questions = append(resp.Questions, &approvalv1.QuestionCount{
			What: q.What, AskedBy: q.AskedBy, Asked: q.Asked, Granted: q.Granted, Rejected: q.Rejected, Expired: q.Expired, Quick: q.Quick, Hint: q.Hint,
		})
	}
	return resp, nil
}
