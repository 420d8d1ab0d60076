package sharedread

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// shelf is a state-store in which a session may share a state.
type shelf struct {
	statev1.SessionServiceClient
	statev1.StateServiceClient
	session, state error
	id             string
	parts          []*statev1.Part
}

func (s shelf) GetSession(context.Context, *statev1.GetSessionRequest, ...grpc.CallOption) (*statev1.GetSessionResponse, error) {
	return &statev1.GetSessionResponse{Session: &statev1.Session{WorkflowStateId: s.id}}, s.session
}

func (s shelf) GetState(context.Context, *statev1.GetStateRequest, ...grpc.CallOption) (*statev1.GetStateResponse, error) {
	return &statev1.GetStateResponse{State: &statev1.State{StateId: s.id, Version: 7}, Parts: s.parts}, s.state
}

// S18.5: the basis of a decision is read whole, or is an error; a session without a state
// has none.
func TestShared(t *testing.T) {
	t.Parallel()
	gone, down := fault.New(fault.NotFound, "gone"), fault.New(fault.Unavailable, "down")
	both := []*statev1.Part{{Pointer: "/a", Found: true, Value: []byte(`3`)}, {Pointer: "/b"}}
	for name, tt := range map[string]struct {
		shelf
		id, fails string
	}{
		"a state":             {shelf{id: "wfstate_1", parts: both}, "wfstate_1", ""},
		"no session":          {shelf{session: gone}, "", ""},
		"no state":            {shelf{}, "", ""},
		"deleted just now":    {shelf{id: "wfstate_1", state: gone}, "", ""},
		"sessions are down":   {shelf{session: down}, "", "down"},
		"states are down":     {shelf{id: "wfstate_1", state: down}, "", "down"},
		"less than was asked": {shelf{id: "wfstate_1", parts: both[:1]}, "", "1 of 2 values"},
		"no JSON":             {shelf{id: "wfstate_1", parts: []*statev1.Part{{Pointer: "/a", Found: true, Value: []byte(`{`)}, both[1]}}, "", "read /a"},
	} {
		reads, err := NewShared(tt.shelf, tt.shelf).Reads(t.Context(), "blue", "s", []string{"/a", "/b"})
		switch {
		case tt.fails != "":
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || reads.StateID != tt.id:
			t.Errorf("%s: %+v, %v", name, reads, err)
		case tt.id != "" && (reads.Version != 7 || len(reads.Values) != 2 || reads.Values[0].Shown != "3" || reads.Values[1].Digest != ""):
			t.Errorf("%s: %+v", name, reads)
		}
	}
}
