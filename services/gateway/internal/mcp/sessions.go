package mcp

import (
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessions are the live sessions of older clients. They are told when their list
// of tools changes; nothing is decided by them.
type sessions struct {
	mu      sync.Mutex
	live    map[*sdk.ServerSession]*session
	servers map[*sdk.Server]int // every server that may have listeners
	closed  bool
	wg      sync.WaitGroup
}

// session is what is known of one of them.
type session struct {
	srv    *sdk.Server
	caller caller
	runID  string // the run it was last seen to work on
	state  string // the state that run was last seen in
}

func newSessions() *sessions {
	return &sessions{live: map[*sdk.ServerSession]*session{}, servers: map[*sdk.Server]int{}}
}

// add remembers a session until it ends.
func (s *sessions) add(ss *sdk.ServerSession, srv *sdk.Server, c caller) {
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
		defer s.mu.Unlock()
		delete(s.live, ss)
		s.drop(srv)
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

func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live)
}

// rebind notes the binding that a session's newest request came with.
func (s *sessions) rebind(ss *sdk.ServerSession, c caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.live[ss]; have != nil && have.caller.Binding != c.Binding {
		have.caller, have.runID, have.state = c, "", ""
	}
}

// listed notes what a session's list of tools was made for.
func (s *sessions) listed(ss *sdk.ServerSession, runID, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.live[ss]; have != nil {
		have.runID, have.state = runID, state
	}
}

// moved tells every session that works on the caller's run that its tools may
// have changed. Unless forced, those that knew the state already are left alone.
func (s *sessions) moved(c caller, runID, state string, force bool) {
	s.mu.Lock()
	var changed []*sdk.Server
	for _, have := range s.live {
		same := have.caller.Namespace == c.Namespace &&
			(have.caller.Binding == c.Binding && c.Bound() || runID != "" && (have.runID == runID || have.caller.RunID == runID))
		if !same || !force && have.runID == runID && have.state == state {
			continue
		}
		have.runID, have.state = runID, state
		changed = append(changed, have.srv)
	}
	s.mu.Unlock()
	for _, srv := range changed {
		announce(srv)
	}
}

// all tells every client that listens.
func (s *sessions) all() {
	s.mu.Lock()
	servers := make([]*sdk.Server, 0, len(s.servers))
	for srv := range s.servers {
		servers = append(servers, srv)
	}
	s.mu.Unlock()
	for _, srv := range servers {
		announce(srv)
	}
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

// announce sends notifications/tools/list_changed to the clients of a server. The
// SDK does that when its own list changes, so a tool that nobody sees is put in
// again.
func announce(srv *sdk.Server) {
	srv.AddTool(&sdk.Tool{Name: "interlock-list-changed", InputSchema: emptySchema}, nil)
}
