// Package approvals leads people to approvals, and waits for their decisions on behalf of calls.
package approvals

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/await"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/wire"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// People decide on the page of an approval. A client that can lead its user to a URL is
// asked to, once for each approval: by a request while the call waits, or in the
// stateless protocol by a result that wants the call again. The link identifies the
// question and never authorises: on the page people log in, and answers to the client
// have no effect.

// Desk leads people to approvals, and waits for their decisions.
type Desk struct {
	service       approvalv1.ApprovalServiceClient // nil: no call waits
	publicURL     string
	progressEvery time.Duration
	ends          context.Context // ends with the server's Drain
	shown         *shown
}

// NewDesk returns a desk. Links are below publicURL, and empty without one. A client that
// waits hears each progressEvery that the wait continues, and no wait is longer than ends.
func NewDesk(ends context.Context, service approvalv1.ApprovalServiceClient, publicURL string, progressEvery time.Duration) *Desk {
	return &Desk{service: service, publicURL: publicURL, progressEvery: progressEvery, ends: ends, shown: newShown()}
}

// ask returns the request to lead the client's user to an approval; nil when the client
// cannot, there is nowhere to lead to, or it has been asked before.
func (d *Desk) ask(c caller.Caller, id string) *sdk.ElicitParams {
	link := d.Link(id)
	if link == "" || c.Call == nil || c.Call.Session == nil {
		return nil
	}
	if can := c.Call.ClientCapabilities(); can == nil || can.Elicitation == nil || can.Elicitation.URL == nil {
		return nil
	}
	if !d.shown.first(shownTo{c.Namespace, c.Binding, id}) {
		return nil
	}
	return &sdk.ElicitParams{
		Mode: "url", URL: link, ElicitationID: id,
		Message: "An agent waits for an approval. The page shows the exact request; sign in there to approve or reject it.",
	}
}

// Invite returns the result that leads the user of a client of the stateless protocol to
// an approval; nil when the call should just wait.
func (d *Desk) Invite(c caller.Caller, id string) *sdk.CallToolResult {
	if c.Call == nil || c.Call.ProtocolVersion() < wire.ProtocolStateless {
		return nil
	}
	ask := d.ask(c, id)
	if ask == nil {
		return nil
	}
	result := reply.NeedsInput()
	result.InputRequests = sdk.InputRequestMap{"approval": ask}
	return &result
}

// showLink leads the user of an older client to an approval while the call waits. end
// must follow, and notifies the client when that is decided.
func (d *Desk) showLink(ctx context.Context, c caller.Caller, id string) (end func(decided bool)) {
	if c.Call == nil || c.Call.ProtocolVersion() >= wire.ProtocolStateless {
		return func(bool) {}
	}
	ask := d.ask(c, id)
	if ask == nil {
		return func(bool) {}
	}
	asking, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Call.Session.Elicit(asking, ask) //nolint:errcheck // the answer of the client has no effect
	}()
	return func(decided bool) {
		cancel()
		<-done
		if decided {
			c.Call.Session.NotifyElicitationComplete(ctx, &sdk.ElicitationCompleteParams{ElicitationID: ask.ElicitationID}) //nolint:errcheck // a courtesy
		}
	}
}

// shownTo is whom an approval was shown to.
type shownTo struct {
	namespace string
	binding   caller.Binding
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

// Waits reports whether there is a service to wait for.
func (d *Desk) Waits() bool { return d.service != nil }

// Await waits for the decision of an approval until limit has passed or the
// server drains. In the meantime it shows the client's user where to decide, and how long
// it has waited. ctx must be outgoing.
func (d *Desk) Await(ctx context.Context, c caller.Caller, id string, limit time.Duration) (*approvalv1.Approval, error) {
	defer clients.Progress(ctx, c.Call, d.progressEvery, limit, "waiting for people to decide approval "+id)()
	decided := d.showLink(ctx, c, id)
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.ends, cancel)()
	approval, err := await.Decision(waiting, d.service, id, limit)
	decided(await.Decided(approval))
	return approval, err
}

// Outcome returns the status of an approval as a sentence of its own.
func Outcome(a *approvalv1.Approval) string {
	text := a.GetOutcome()
	if text == "" {
		text = "approval " + a.GetApprovalId() + " is " + strings.ToLower(jsonview.ApprovalStatus(a.GetStatus()))
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// Link returns the page of an approval, or empty.
func (d *Desk) Link(id string) string { return brief.ApprovalLink(d.publicURL, id) }
