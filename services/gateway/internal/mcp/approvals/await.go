package approvals

import (
	"context"
	"strings"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/await"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

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
