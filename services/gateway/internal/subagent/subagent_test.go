package subagent_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/subagent"
)

// store knows sessions by name, and records what it is asked.
type store struct {
	statev1.SessionServiceClient
	known  map[string]*statev1.Session
	failed map[string]error // by name
	asked  []proto.Message
}

func (s *store) GetSession(_ context.Context, in *statev1.GetSessionRequest, _ ...grpc.CallOption) (*statev1.GetSessionResponse, error) {
	s.asked = append(s.asked, in)
	if err := s.failed[in.GetSessionId()]; err != nil {
		return nil, err
	}
	if session := s.known[in.GetSessionId()]; session != nil {
		return &statev1.GetSessionResponse{Session: session}, nil
	}
	return nil, fault.New(fault.NotFound, "there is no session %q", in.GetSessionId()).GRPCStatus().Err()
}

func (s *store) CreateSession(_ context.Context, in *statev1.CreateSessionRequest, _ ...grpc.CallOption) (*statev1.CreateSessionResponse, error) {
	s.asked = append(s.asked, in)
	if err := s.failed["create"]; err != nil {
		return nil, err
	}
	return &statev1.CreateSessionResponse{Session: &statev1.Session{Name: in.GetName()}, Created: true}, nil
}

// TestJoin: a subagent is a child of its agent's session where that shares a state
// (S11.1), and nobody's where it does not.
func TestJoin(t *testing.T) {
	t.Parallel()
	agent := &statev1.Session{Name: "main", WorkflowStateId: "wfstate_1"}
	child := &statev1.Session{Name: "main/a1", WorkflowStateId: "wfstate_1", Status: statev1.SessionStatus_SESSION_STATUS_ENDED}
	refused := func(reason fault.Reason) error { return fault.New(reason, "no").GRPCStatus().Err() }
	getAgent := &statev1.GetSessionRequest{SessionId: "main"}
	getChild := &statev1.GetSessionRequest{SessionId: "main/a1", Session: "main"}
	create := &statev1.CreateSessionRequest{Name: "main/a1", Parent: "main", Session: "main"}
	for name, tc := range map[string]struct {
		known  []*statev1.Session
		failed map[string]error
		want   *statev1.Session
		reason fault.Reason
		asked  []proto.Message
	}{
		"agent not known":       {asked: []proto.Message{getAgent}},
		"agent without a state": {known: []*statev1.Session{{Name: "main"}}, asked: []proto.Message{getAgent}},
		"new":                   {known: []*statev1.Session{agent}, want: &statev1.Session{Name: "main/a1"}, asked: []proto.Message{getAgent, getChild, create}},
		"known":                 {known: []*statev1.Session{agent, child}, want: child, asked: []proto.Message{getAgent, getChild}},
		"store down": {
			failed: map[string]error{"main": refused(fault.Unavailable)}, reason: fault.Unavailable, asked: []proto.Message{getAgent},
		},
		"store down later": {
			known: []*statev1.Session{agent}, failed: map[string]error{"main/a1": refused(fault.Unavailable)},
			reason: fault.Unavailable, asked: []proto.Message{getAgent, getChild},
		},
		"of another tree": {
			known: []*statev1.Session{agent}, failed: map[string]error{"main/a1": refused(fault.PermissionDenied)},
			reason: fault.PermissionDenied, asked: []proto.Message{getAgent, getChild},
		},
		"too deep": {
			known: []*statev1.Session{agent}, failed: map[string]error{"create": refused(fault.FailedPrecondition)},
			reason: fault.FailedPrecondition, asked: []proto.Message{getAgent, getChild, create},
		},
	} {
		s := &store{known: map[string]*statev1.Session{}, failed: tc.failed}
		for _, session := range tc.known {
			s.known[session.GetName()] = session
		}
		got, err := subagent.Join(t.Context(), s, "main", "a1")
		if fault.ReasonOf(err) != tc.reason {
			t.Errorf("%s: error %v, want %q", name, err, tc.reason)
		}
		if diff := cmp.Diff(tc.want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.asked, s.asked, protocmp.Transform()); diff != "" {
			t.Errorf("%s asks (-want +got):\n%s", name, diff)
		}
	}
}

// TestJoinByID: it is one session, whatever the agent's is called by.
func TestJoinByID(t *testing.T) {
	t.Parallel()
	s := &store{known: map[string]*statev1.Session{"ses_1": {SessionId: "ses_1", Name: "main", WorkflowStateId: "wfstate_1"}}}
	got, err := subagent.Join(t.Context(), s, "ses_1", "a1")
	if err != nil || got.GetName() != "main/a1" {
		t.Errorf("%v, %v", got, err)
	}
	want := &statev1.CreateSessionRequest{Name: "main/a1", Parent: "ses_1", Session: "ses_1"}
	if diff := cmp.Diff(want, s.asked[len(s.asked)-1], protocmp.Transform()); diff != "" {
		t.Errorf("asks (-want +got):\n%s", diff)
	}
}
