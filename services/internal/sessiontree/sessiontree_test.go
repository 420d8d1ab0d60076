package sessiontree

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// sessions is a state-store with a tree of two in one namespace.
type sessions struct {
	statev1.SessionServiceClient
	err   error
	asked *int
}

func (s sessions) GetSession(ctx context.Context, req *statev1.GetSessionRequest, _ ...grpc.CallOption) (*statev1.GetSessionResponse, error) {
	*s.asked++
	md, _ := metadata.FromOutgoingContext(ctx)
	switch {
	case s.err != nil:
		return nil, s.err
	case !slices.Contains(md.Get("interlock-namespace"), "blue"):
	case req.GetSessionId() == "child" || req.GetSessionId() == "ses_2":
		return &statev1.GetSessionResponse{Session: &statev1.Session{
			SessionId: "ses_2", Name: "child", RootSessionId: "ses_1", ParentSessionId: "ses_1",
		}}, nil
	case req.GetSessionId() == "ses_1":
		return &statev1.GetSessionResponse{Session: &statev1.Session{SessionId: "ses_1", Name: "root", RootSessionId: "ses_1"}}, nil
	}
	return nil, fault.New(fault.NotFound, "no such session")
}

// S9.3: who is of one tree with a session. One that is not registered is a tree of its
// own; one that cannot be looked up is an error.
func TestLineage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err                      error
		namespace, session, root string
		lineage                  []string
	}{
		{nil, "blue", "child", "ses_1", []string{"root", "ses_1", "child", "ses_2"}},
		{nil, "blue", "unknown", "unknown", []string{"unknown"}},
		{nil, "red", "child", "child", []string{"child"}},
		{fault.New(fault.Unavailable, "away"), "blue", "child", "", nil},
	} {
		s := New(sessions{err: tt.err, asked: new(int)}, time.Now)
		root, err := s.Root(t.Context(), tt.namespace, tt.session)
		if root != tt.root || (err != nil) != (tt.err != nil) {
			t.Errorf("the root of %s in %s: %q, %v", tt.session, tt.namespace, root, err)
		}
		names, err := s.Lineage(t.Context(), tt.namespace, tt.session, false)
		if !slices.Equal(names, tt.lineage) || (err != nil) != (tt.err != nil) {
			t.Errorf("the lineage of %s in %s: %q, %v", tt.session, tt.namespace, names, err)
		}
	}
}

// A registered session's place never changes, so it is asked for once; that a session is
// not registered is believed for a moment, but never where its root decides.
func TestLineageIsRemembered(t *testing.T) {
	t.Parallel()
	now, asked := time.Unix(0, 0), 0
	s := New(sessions{asked: &asked}, func() time.Time { return now })
	count := func(what string, want int, ask func() error) {
		t.Helper()
		asked = 0
		if err := ask(); err != nil || asked != want {
			t.Errorf("%s: asked %d times, want %d (%v)", what, asked, want, err)
		}
	}
	lineageOf := func(session string, fresh bool) func() error {
		return func() error { _, err := s.Lineage(t.Context(), "blue", session, fresh); return err }
	}
	lineage := func(session string) func() error { return lineageOf(session, false) }
	root := func() error { _, err := s.Root(t.Context(), "blue", "unknown"); return err }
	count("first", 2, lineage("child"))
	count("again", 0, lineage("child"))
	count("unknown", 1, lineage("unknown"))
	count("unknown again", 0, lineage("unknown"))
	count("unknown, fresh", 1, lineageOf("unknown", true))
	count("child, fresh", 0, lineageOf("child", true))
	count("its root", 1, root)
	now = now.Add(unregistered)
	count("later", 1, lineage("unknown"))
}
