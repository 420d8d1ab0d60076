package mcp

import (
	"context"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// People decide on the page of an approval. A client that can lead its user to a URL is
// asked to, once for each approval: by a request while the call waits, or in the
// stateless protocol by a result that wants the call again. The link identifies the
// question and never authorises: on the page people log in, and answers to the client
// have no effect.

// ask returns the request to lead the client's user to an approval; nil when the client
// cannot, there is nowhere to lead to, or it has been asked before.
func (s *Server) ask(c caller, id string) *sdk.ElicitParams {
	link := s.link(id)
	if link == "" || c.call == nil || c.call.Session == nil {
		return nil
	}
	if can := c.call.ClientCapabilities(); can == nil || can.Elicitation == nil || can.Elicitation.URL == nil {
		return nil
	}
	if !s.shown.first(shownTo{c.Namespace, c.Binding, id}) {
		return nil
	}
	return &sdk.ElicitParams{
		Mode: "url", URL: link, ElicitationID: id,
		Message: "An agent waits for an approval. The page shows the exact request; sign in there to approve or reject it.",
	}
}

// invite returns the result that leads the user of a client of the stateless protocol to
// an approval; nil when the call should just wait.
func (s *Server) invite(c caller, id string) *sdk.CallToolResult {
	if c.call == nil || c.call.ProtocolVersion() < protocolStateless {
		return nil
	}
	ask := s.ask(c, id)
	if ask == nil {
		return nil
	}
	result := needsInput()
	result.InputRequests = sdk.InputRequestMap{"approval": ask}
	return &result
}

// showLink leads the user of an older client to an approval while the call waits. end
// must follow, and notifies the client when that is decided.
func (s *Server) showLink(ctx context.Context, c caller, id string) (end func(decided bool)) {
	if c.call == nil || c.call.ProtocolVersion() >= protocolStateless {
		return func(bool) {}
	}
	ask := s.ask(c, id)
	if ask == nil {
		return func(bool) {}
	}
	asking, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.call.Session.Elicit(asking, ask) //nolint:errcheck // the answer of the client has no effect
	}()
	return func(decided bool) {
		cancel()
		<-done
		if decided {
			c.call.Session.NotifyElicitationComplete(ctx, &sdk.ElicitationCompleteParams{ElicitationID: ask.ElicitationID}) //nolint:errcheck // a courtesy
		}
	}
}

// shownTo is whom an approval was shown to.
type shownTo struct {
	namespace string
	binding   Binding
	approval  string
}

// shown remembers to whom approvals were shown, the newest maxShown of them.
type shown struct {
	mu    sync.Mutex
	known map[shownTo]bool
	order []shownTo
}

const maxShown = 4096

func newShown() *shown { return &shown{known: map[shownTo]bool{}} }

// first reports whether this is new, and remembers it.
func (s *shown) first(to shownTo) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[to] {
		return false
	}
	if len(s.order) == maxShown {
		delete(s.known, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
	s.known[to], s.order = true, append(s.order, to)
	return true
}
