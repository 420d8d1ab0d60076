// Package clients has the connected clients: the sessions of older ones, which are notified
// when their lists change, the servers that check headers, and messages about progress.
package clients

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

// Set has the live sessions of older clients. They are notified when their list of
// tools changes; no decision depends on them.
type Set struct {
	mu      sync.Mutex
	live    map[*sdk.ServerSession]*session
	servers map[*sdk.Server]int // every server that may have listeners
	closed  bool
	wg      sync.WaitGroup
}

// session has the known facts of one of them.
type session struct {
	srv    *sdk.Server
	client caller.Identity // by its newest request
	// listed is the state that its list of tools was made for; nil when it has none, or
	// has been notified that it is out of date.
	listed *Listing
	// Peer is whom servers may ask; nil where they may not.
	peer *upstream.Peer
}

// Listing has the facts that a list of tools depends on; no run id means that none was
// loaded.
type Listing struct {
	RunID, Branch, State string
	Status               brief.ToolStatus
}

// ListingOf returns the facts that a list of tools depends on, in a run.
func ListingOf(run *enginev1.Run) Listing {
	return Listing{run.GetRunId(), run.GetBranch(), run.GetState(), brief.ToolStatusOf(run)}
}

// NewSet returns an empty set.
func NewSet() *Set {
	return &Set{live: map[*sdk.ServerSession]*session{}, servers: map[*sdk.Server]int{}}
}

// Add remembers a session until it ends.
func (s *Set) Add(ss *sdk.ServerSession, srv *sdk.Server, c caller.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.live[ss] != nil {
		return
	}
	s.live[ss] = &session{srv: srv, client: c.Identity}
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

// Listen remembers a server without sessions of its own.
func (s *Set) Listen(srv *sdk.Server) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers[srv]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(srv)
	}
}

func (s *Set) drop(srv *sdk.Server) {
	if s.servers[srv]--; s.servers[srv] <= 0 {
		delete(s.servers, srv)
	}
}

// Count counts the sessions, and those that a token has opened.
func (s *Set) Count(token string) (all, own int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.live {
		if one.client.Token == token {
			own++
		}
	}
	return len(s.live), own
}

// Rebind notes the binding that a session's newest request came with.
func (s *Set) Rebind(ss *sdk.ServerSession, c caller.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.live[ss]; have != nil && have.client.Binding != c.Binding {
		have.client, have.listed = c.Identity, nil
	}
}

// SetListing notes the state that a session's list of tools was made for.
func (s *Set) SetListing(ss *sdk.ServerSession, now Listing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.live[ss]; have != nil {
		have.listed = &now
	}
}

// NotifyRun notifies the sessions that work where the caller does, and whose list was made for
// something else than the caller's run was seen to be.
func (s *Set) NotifyRun(c caller.Caller, now Listing) {
	s.notify(c, func(have *session) bool {
		switch {
		case have.listed == nil || *have.listed == now:
			return false
		case have.client.Binding == c.Binding:
			return true
		default:
			return have.listed.RunID == now.RunID && have.listed.Branch == now.Branch
		}
	})
}

// NotifyMoved notifies every session that works where the caller does, or on one of the runs,
// that its tools may have changed.
func (s *Set) NotifyMoved(c caller.Caller, runIDs ...string) {
	s.notify(c, func(have *session) bool {
		return have.client.Binding == c.Binding || slices.ContainsFunc(runIDs, func(id string) bool {
			return id != "" && (have.client.RunID == id || have.listed != nil && have.listed.RunID == id)
		})
	})
}

// notify notifies the sessions of the caller's namespace that are concerned of new tools.
func (s *Set) notify(c caller.Caller, concerned func(*session) bool) {
	s.mu.Lock()
	var changed []*sdk.Server
	for _, have := range s.live {
		if have.client.Namespace == c.Namespace && concerned(have) {
			have.listed = nil
			changed = append(changed, have.srv)
		}
	}
	s.mu.Unlock()
	for _, srv := range changed {
		announceAll(srv, upstream.Kinds{Tools: true, Prompts: true, Resources: true})
	}
}

// NotifyLists notifies every client that listens which lists have changed.
func (s *Set) NotifyLists(kinds upstream.Kinds) {
	for _, srv := range s.openServers() {
		announceAll(srv, kinds)
	}
}

// NotifyResource notifies the clients that watch a resource that it has changed.
func (s *Set) NotifyResource(uri string) {
	for _, srv := range s.openServers() {
		srv.ResourceUpdated(context.Background(), &sdk.ResourceUpdatedNotificationParams{URI: uri}) //nolint:errcheck // a courtesy
	}
}

func (s *Set) openServers() []*sdk.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.servers))
}

// Close ends all sessions, and waits until they have ended.
func (s *Set) Close() {
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
	srv.AddTool(&sdk.Tool{Name: "interlock-list-changed", InputSchema: EmptySchema}, nil)
}

// EmptySchema accepts any object.
var EmptySchema = json.RawMessage(`{"type":"object"}`)

// SetPeer gives a session the peer that was made for it.
func (s *Set) SetPeer(ss *sdk.ServerSession, peer *upstream.Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.live[ss]; have != nil && peer != nil {
		have.peer = peer
	}
}

// Peer returns the client that servers may ask in a session; nil if there is none.
func (s *Set) Peer(ss *sdk.ServerSession) *upstream.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.live[ss]; have != nil {
		return have.peer
	}
	return nil
}
