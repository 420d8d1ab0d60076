package await_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/await"
)

const (
	pending = approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING
	granted = approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED
)

// step is what a stream does next, after a time.
type step struct {
	after  time.Duration
	status approvalv1.ApprovalStatus
	err    error
}

// service plays one script of steps for each call of Wait, and then the last one
// again. A stream at its end hangs.
type service struct {
	approvalv1.ApprovalServiceClient
	scripts [][]step
	open    error // of every call of Wait
	asked   int
}

func (s *service) WatchApproval(ctx context.Context, in *approvalv1.WatchApprovalRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[approvalv1.WatchApprovalResponse], error) {
	script := s.scripts[min(s.asked, len(s.scripts)-1)]
	s.asked++
	if s.open != nil {
		return nil, s.open
	}
	return &stream{ctx: ctx, id: in.GetApprovalId(), steps: script}, nil
}

type stream struct {
	grpc.ServerStreamingClient[approvalv1.WatchApprovalResponse]
	ctx   context.Context
	id    string
	steps []step
}

func (s *stream) Recv() (*approvalv1.WatchApprovalResponse, error) {
	if len(s.steps) == 0 {
		<-s.ctx.Done()
		return nil, s.ctx.Err()
	}
	next := s.steps[0]
	s.steps = s.steps[1:]
	select {
	case <-time.After(next.after):
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
	if next.err != nil {
		return nil, next.err
	}
	return &approvalv1.WatchApprovalResponse{Approval: &approvalv1.Approval{ApprovalId: s.id, Status: next.status}}, nil
}

var (
	away   = fault.New(fault.Unavailable, "restarting").GRPCStatus().Err()
	absent = fault.New(fault.NotFound, "no approval").GRPCStatus().Err()
)

// TestDecision: a decision ends the wait when it comes, time ends it otherwise, and a
// service that goes away in the meantime does not (S9.5).
func TestDecision(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	for _, row := range []struct {
		name   string
		s      *service
		status approvalv1.ApprovalStatus // UNSPECIFIED when it was never seen
		reason fault.Reason
		took   time.Duration // at least
		asked  int           // how often, 0 for any number
	}{
		{"decided before", &service{scripts: [][]step{{{status: granted}}}}, granted, "", 0, 1},
		{"decided in the meantime", &service{scripts: [][]step{{{status: pending}, {after: time.Second, status: pending}, {after: time.Second, status: granted}}}}, granted, "", 2 * time.Second, 1},
		{"a status of the future", &service{scripts: [][]step{{{status: 99}}}}, 99, "", 0, 1},
		{"not decided", &service{scripts: [][]step{{{status: pending}}}}, pending, "", limit, 1},
		{"a restart", &service{scripts: [][]step{{{status: pending}, {err: away}}, {{err: away}}, {{status: granted}}}}, granted, "", 0, 3},
		{"streams that end", &service{scripts: [][]step{{{status: pending}, {err: io.EOF}}, {{status: pending}, {err: io.EOF}}, {{status: granted}}}}, granted, "", 0, 3},
		{"a restart that lasts", &service{scripts: [][]step{{{status: pending}, {err: away}}, {{err: away}}}}, pending, "", limit, 0},
		{"never there", &service{scripts: [][]step{{}}, open: away}, 0, fault.Unavailable, limit, 0},
		{"unknown", &service{scripts: [][]step{{{err: absent}}}}, 0, fault.NotFound, 0, 1},
		{"no answer", &service{scripts: [][]step{{}}}, 0, fault.DeadlineExceeded, limit, 1},
		{"not for the caller any more", &service{scripts: [][]step{{{status: pending}, {err: absent}}}}, 0, fault.NotFound, 0, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				a, err := await.Decision(t.Context(), row.s, "apr_1", limit)
				took := time.Since(began)
				if a.GetStatus() != row.status || fault.ReasonOf(err) != row.reason || (a == nil) != (err != nil) {
					t.Errorf("%v, %v", a, err)
				}
				if took < row.took || took > limit || row.took == 0 && took >= limit {
					t.Errorf("took %v", took)
				}
				if row.asked != 0 && row.s.asked != row.asked || row.s.asked > 30 {
					t.Errorf("asked %d times", row.s.asked)
				}
			})
		})
	}
}

// TestDecisionCancelled: the end of the caller is the end of the wait.
func TestDecisionCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a, err := await.Decision(ctx, &service{scripts: [][]step{{{status: pending}}}}, "apr_1", time.Hour)
		if a.GetStatus() != pending || err != nil {
			t.Errorf("%v, %v", a, err)
		}
	})
}

func TestDecided(t *testing.T) {
	t.Parallel()
	if await.Decided(nil) {
		t.Error("what is not known is not decided")
	}
	for number, name := range approvalv1.ApprovalStatus_name {
		status := approvalv1.ApprovalStatus(number)
		want := status != approvalv1.ApprovalStatus_APPROVAL_STATUS_UNSPECIFIED && status != pending
		if await.Decided(&approvalv1.Approval{Status: status}) != want {
			t.Errorf("%s: decided is %v", name, !want)
		}
	}
}
