package mcp

import (
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/wire"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Servers ask clients: for their roots, to sample a model, for input of the user; and they
// send messages for logs. On stdio they ask the one client that there is. Over HTTP, clients
// of the older protocols have sessions of their own with servers that are reached by a URL; a
// server that is one process for many clients can ask none of them. In the stateless protocol
// servers do not ask: their results name their needs.

// identify returns the sender of a request, with the peer that servers may ask on its connection.
func (s *Server) identify(req sdk.Request, face face) caller.Caller {
	c := caller.Of(req, face.fixed)
	c.Peer = s.meet(face, req, c)
	return c
}

// meet returns the peer that servers may ask on the connection of a request, and sets the
// client's capabilities when those are known.
func (s *Server) meet(face face, req sdk.Request, c caller.Caller) *upstream.Peer {
	ss, ok := req.GetSession().(*sdk.ServerSession)
	if !ok || face.process {
		return nil
	}
	first, initializes := req.(*sdk.ServerRequest[*sdk.InitializeParams])
	peer := s.peer
	switch {
	case peer != nil:
	case initializes:
		peer = upstream.NewPeer(s.life.calls, s.cfg.CallTimeout)
		if c.Bound() {
			peer.Owner = ownerOf(c)
		}
	default:
		peer = s.sessions.Peer(ss)
	}
	if peer == nil {
		return nil
	}
	if _, ready := req.(*sdk.InitializedRequest); ready {
		peer.Ready()
	}
	speaks, ok := req.(interface{ ProtocolVersion() string })
	switch {
	case initializes:
		peer.Meet(ss, first.Params.Capabilities)
	case ok && speaks.ProtocolVersion() >= wire.ProtocolStateless:
		peer.Meet(ss, nil) // it cannot be asked
	}
	return peer
}

// ownerOf names the session or the run that a caller works on, and the token that it has.
func ownerOf(c caller.Caller) string {
	return fmt.Sprintf("%q %q %q %q", caller.TokenDigest(c.Token), c.Namespace, c.SessionID, c.RunID)
}
