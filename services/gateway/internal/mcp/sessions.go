package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// sessions are the live sessions of older clients. They are notified when their list of
// tools changes; no decision depends on them.
type sessions struct {
	mu      sync.Mutex
	live    map[*sdk.ServerSession]*session
	servers map[*sdk.Server]int // every server that may have listeners
	closed  bool
	wg      sync.WaitGroup
}

// session has the known facts of one of them.
type session struct {
	srv    *sdk.Server
	caller caller.Caller
	// listed is the state that its list of tools was made for; nil when it has none, or
	// has been notified that it is out of date.
	listed *listing
	// peer is whom servers may ask; nil where they may not.
	peer *upstream.Peer
}

// listing has the facts that a list of tools depends on; no run id means that none was
// loaded.
type listing struct {
	runID, branch, state string
	position             brief.ToolStatus
}

func listedIn(run *enginev1.Run) listing {
	return listing{run.GetRunId(), run.GetBranch(), run.GetState(), brief.ToolStatusOf(run)}
}

func newSessions() *sessions {
	return &sessions{live: map[*sdk.ServerSession]*session{}, servers: map[*sdk.Server]int{}}
}

// add remembers a session until it ends.
func (s *sessions) add(ss *sdk.ServerSession, srv *sdk.Server, c caller.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.live[ss] != nil {
		return
	}
	s.live[ss] = &session{srv: srv, caller: c}
	s.servers[srv]++
	s.wg.Go(func() {
		ss.Wait() //nolint:errcheck // how a session ended does not matter here
		s.mu.Lock()
		peer := s.live[ss].peer
		delete(s.live, ss)
		s.drop(srv)
		s.mu.Unlock()
		if peer != nil {
			peer.Leave()
		}
	})
}

// listen remembers a server without sessions of its own.
func (s *sessions) listen(srv *sdk.Server) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers[srv]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(srv)
	}
}

func (s *sessions) drop(srv *sdk.Server) {
	if s.servers[srv]--; s.servers[srv] <= 0 {
		delete(s.servers, srv)
	}
}

// count counts the sessions, and those that a token has opened.
func (s *sessions) count(token string) (all, own int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.live {
		if one.caller.Token == token {
			own++
		}
	}
	return len(s.live), own
}

// rebind notes the binding that a session's newest request came with.
func (s *sessions) rebind(ss *sdk.ServerSession, c caller.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.live[ss]; have != nil && have.caller.Binding != c.Binding {
		have.caller, have.listed = c, nil
	}
}

// made notes the state that a session's list of tools was made for.
func (s *sessions) made(ss *sdk.ServerSession, now listing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.live[ss]; have != nil {
		have.listed = &now
	}
}

// saw notifies the sessions that work where the caller does, and whose list was made for
// something else than the caller's run was seen to be.
func (s *sessions) saw(c caller.Caller, now listing) {
	s.tell(c, func(have *session) bool {
		switch {
		case have.listed == nil || *have.listed == now:
			return false
		case have.caller.Binding == c.Binding:
			return true
		default:
			return have.listed.runID == now.runID && have.listed.branch == now.branch
		}
	})
}

// moved notifies every session that works where the caller does, or on one of the runs,
// that its tools may have changed.
func (s *sessions) moved(c caller.Caller, runIDs ...string) {
	s.tell(c, func(have *session) bool {
		return have.caller.Binding == c.Binding || slices.ContainsFunc(runIDs, func(id string) bool {
			return id != "" && (have.caller.RunID == id || have.listed != nil && have.listed.runID == id)
		})
	})
}

// tell notifies the sessions of the caller's namespace that are concerned of new tools.
func (s *sessions) tell(c caller.Caller, concerned func(*session) bool) {
	s.mu.Lock()
	var changed []*sdk.Server
	for _, have := range s.live {
		if have.caller.Namespace == c.Namespace && concerned(have) {
			have.listed = nil
			changed = append(changed, have.srv)
		}
	}
	s.mu.Unlock()
	for _, srv := range changed {
		announceAll(srv, upstream.Kinds{Tools: true, Prompts: true, Resources: true})
	}
}

// all notifies every client that listens which lists have changed.
func (s *sessions) all(kinds upstream.Kinds) {
	for _, srv := range s.listening() {
		announceAll(srv, kinds)
	}
}

// updated notifies the clients that watch a resource that it has changed.
func (s *sessions) updated(uri string) {
	for _, srv := range s.listening() {
		srv.ResourceUpdated(context.Background(), &sdk.ResourceUpdatedNotificationParams{URI: uri}) //nolint:errcheck // a courtesy
	}
}

func (s *sessions) listening() []*sdk.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.servers))
}

func (s *sessions) close() {
	s.mu.Lock()
	s.closed = true
	open := make([]*sdk.ServerSession, 0, len(s.live))
	for ss := range s.live {
		open = append(open, ss)
	}
	s.mu.Unlock()
	for _, ss := range open {
		ss.Close() // it is gone either way
	}
	s.wg.Wait()
}

// announceAll announces each kind of list that has changed.
func announceAll(srv *sdk.Server, kinds upstream.Kinds) {
	const name = "interlock-list-changed"
	if kinds.Tools {
		announce(srv)
	}
	if kinds.Prompts {
		srv.AddPrompt(&sdk.Prompt{Name: name}, nil)
	}
	if kinds.Resources {
		srv.AddResource(&sdk.Resource{Name: name, URI: "interlock:list-changed"}, nil)
	}
}

// announce sends notifications/tools/list_changed to the clients of a server. The SDK
// does that when its own list changes, so an invisible tool is put in again.
func announce(srv *sdk.Server) {
	srv.AddTool(&sdk.Tool{Name: "interlock-list-changed", InputSchema: emptySchema}, nil)
}

// emptySchema accepts any object.
var emptySchema = json.RawMessage(`{"type":"object"}`)
