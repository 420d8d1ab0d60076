package sdk

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// fakeSessions makes sessions by name.
type fakeSessions struct {
	statev1.UnimplementedSessionServiceServer
	way     bumpy
	mu      sync.Mutex
	made    map[string]*statev1.CreateSessionRequest
	stopped log[*statev1.StopSessionRequest]
}

func (s *fakeSessions) CreateSession(ctx context.Context, req *statev1.CreateSessionRequest) (*statev1.CreateSessionResponse, error) {
	return over(ctx, &s.way, func(req *statev1.CreateSessionRequest) (*statev1.CreateSessionResponse, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.made[req.GetSessionId()+"/"+req.GetName()] = req
		return &statev1.CreateSessionResponse{Session: &statev1.Session{
			SessionId: fmt.Sprint("ses_", len(s.made)), Name: req.GetName(), Status: statev1.SessionStatus_SESSION_STATUS_RUNNING,
			StateUpdateStatus: statev1.StateUpdateStatus_STATE_UPDATE_STATUS_NONE, WorkflowStateId: "wfstate_1",
		}}, nil
	}, req)
}

func (s *fakeSessions) StopSession(ctx context.Context, req *statev1.StopSessionRequest) (*statev1.StopSessionResponse, error) {
	s.stopped.add(req)
	return over(ctx, &s.way, func(req *statev1.StopSessionRequest) (*statev1.StopSessionResponse, error) {
		return &statev1.StopSessionResponse{Prompt: "update the state", Session: &statev1.Session{SessionId: "ses_1"}}, nil
	}, req)
}

// A repeat makes no second session, also of one without a name.
func TestCreateSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		sessions := &fakeSessions{made: map[string]*statev1.CreateSessionRequest{}, way: bumpy{ahead: []trouble{lostAnswer, uncertain}}}
		c := New(connect(t, fakes{sessions: sessions}), Options{Session: "root"})
		s, err := c.CreateSession(t.Context(), NewSession{Parent: "root", SkipStateUpdate: true, Labels: map[string]string{"gpu": "yes"}})
		if err != nil || s.ID != "ses_1" || s.Status != "RUNNING" || s.StateUpdate != "NONE" || s.StateID != "wfstate_1" {
			t.Errorf("%+v, %v", s, err)
		}
		if len(sessions.made) != 1 {
			t.Errorf("made %d sessions", len(sessions.made))
		}
		for _, req := range sessions.made {
			if req.GetSession() != "root" || req.GetParent() != "root" || req.GetStateUpdate() != statev1.StateUpdate_STATE_UPDATE_SKIP || req.GetLabels()["gpu"] != "yes" {
				t.Errorf("made as %v", req)
			}
		}
		for _, asked := range []NewSession{{}, {Name: "child"}, {ID: "chosen"}} {
			if _, err := c.CreateSession(t.Context(), asked); err != nil {
				t.Fatal(err)
			}
		}
		if len(sessions.made) != 4 || sessions.made["/child"] == nil || sessions.made["chosen/"] == nil {
			t.Errorf("made %v", sessions.made)
		}
	})
}

func TestStop(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		sessions := &fakeSessions{way: bumpy{ahead: []trouble{lostAnswer}}}
		c := New(connect(t, fakes{sessions: sessions}), Options{})
		if _, err := c.StopSession(t.Context(), StopOptions{}); Reason(err) != fault.SessionRequired {
			t.Errorf("nobody stops: %v", err)
		}
		stopped, err := c.ForSession("s").StopSession(t.Context(), StopOptions{InPlace: true, Error: strings.Repeat("é\xff", 4096)})
		if err != nil || stopped.Prompt != "update the state" || stopped.Session.ID != "ses_1" {
			t.Errorf("%+v, %v", stopped, err)
		}
		heard := sessions.stopped.all()
		if len(heard) != 2 || heard[0].GetIdempotencyKey() == "" || heard[0].GetIdempotencyKey() != heard[1].GetIdempotencyKey() ||
			heard[0].GetSessionId() != "s" || heard[0].GetSession() != "s" || !heard[0].GetInPlace() {
			t.Errorf("stopped as %v", heard)
		}
		if why := heard[0].GetError(); utf8.RuneCountInString(why) != 4096 || !utf8.ValidString(why) {
			t.Errorf("%d characters of the error", utf8.RuneCountInString(why))
		}
	})
}
