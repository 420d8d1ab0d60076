package decisions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/whoami"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
)

// One is the family of commands on one decision.
type One struct {
	Get getCommand `cmd:"" aliases:"show" help:"Show the decision on a call, and with --explain why it was made."`
}

type getCommand struct {
	client.Connection
	show.Printer
	RunID    string `arg:"" name:"run" help:"Id of the run that the call was judged by, or its beginning; @last for the newest. - for a call without a run."`
	CallID   string `arg:"" name:"call" help:"Id of the call; @last for the newest of the run."`
	Session  string `help:"With - for the run: the session that made the call." placeholder:"ID"`
	Sequence int64  `help:"The record's place, as lists have it: finds old records of long runs." placeholder:"N"`
	Explain  bool   `help:"Explain the decision, and how the call would have been allowed. Limits are as they are now."`
}

// decisionDetail is the JSON of a decision and of why it was made.
type decisionDetail struct {
	jsonview.DecisionRecord
	Explanation *jsonview.Explanation `json:"explanation,omitzero"`
	// Votes are those of people on its approval; nil where the caller may not read them.
	Votes []jsonview.Vote `json:"votes,omitempty"`
}

// votesOn returns the votes of people on an approval; nil for none, and where they cannot be read.
func votesOn(ctx context.Context, conn grpc.ClientConnInterface, approvalID string) []jsonview.Vote {
	if approvalID == "" {
		return nil
	}
	resp, err := approvalv1.NewApprovalServiceClient(conn).GetApproval(ctx, &approvalv1.GetApprovalRequest{ApprovalId: approvalID})
	if err != nil {
		return nil
	}
	return jsonview.ApprovalOf(resp.GetApproval()).Votes
}

// Run prints the decision.
func (c *getCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) (err error) {
		req := &policyv1.GetDecisionRequest{SessionId: c.Session, CallId: c.CallID, Sequence: c.Sequence, Explain: c.Explain}
		if c.RunID != "-" {
			if req.RunId, err = client.RunID(ctx, conn, c.RunID); err != nil {
				return err
			}
		}
		if req.CallId == client.Last {
			if req.CallId, err = newestCall(ctx, conn, req); err != nil {
				return err
			}
		}
		resp, err := policyv1.NewDecisionServiceClient(conn).GetDecision(ctx, req)
		if err != nil {
			return err
		}
		view := decisionDetail{jsonview.DecisionRecordOf(resp.GetDecision()), jsonview.ExplanationOf(resp.GetExplanation()), nil}
		view.Votes = votesOn(ctx, conn, view.ApprovalID)
		return c.Print(io.Out, view, func(w *show.Sheet) { view.table(w) })
	})
}

// newestCall returns the id of the newest call in the log of a run, or of a session where no run is named.
func newestCall(ctx context.Context, conn grpc.ClientConnInterface, of *policyv1.GetDecisionRequest) (string, error) {
	newest := ""
	err := Each(ctx, conn, &policyv1.ListDecisionsRequest{Filter: listing.Filter(
		listing.Term{Key: "run_id", Value: of.GetRunId()}, listing.Term{Key: "session_id", Value: of.GetSessionId()},
	)}, func(r *policyv1.DecisionRecord) error {
		newest = r.GetCallId()
		return errEnough
	})
	switch {
	case newest != "":
		return newest, nil
	case err != nil:
		return "", err
	default:
		return "", fmt.Errorf("%s: the log has no call of this run yet", client.Last)
	}
}

func (d *decisionDetail) table(w *show.Sheet) {
	r := &d.DecisionRecord
	t := show.Rows{W: w}
	t.Row("call", r.CallID)
	t.Word("decision", Text(r.Decision, r.Code))
	t.Row("message", r.Message)
	t.Row("by", ruleText(r))
	t.Row("tool", r.Tool)
	t.Row("principal", r.Principal)
	if id := r.Identity; id != nil {
		t.Row("role", id.Role)
		t.Row("token", id.Token)
		t.Row("via", id.Via)
		t.Row("person", id.Person)
		t.Row("human", whoami.HumanText(id.Human))
		for _, name := range slices.Sorted(maps.Keys(id.Attributes)) {
			t.Row("  "+name, id.Attributes[name])
		}
		if id.Agent != "" {
			t.Row("agent", fmt.Sprintf("%s version %d", id.Agent, id.AgentVersion))
		}
		if len(id.Lineage) > 1 {
			t.Row("lineage", strings.Join(id.Lineage, " > "))
		}
	}
	t.Row("session", r.SessionID)
	t.Row("run", r.RunID)
	t.Row("workflow", fmt.Sprintf("%s version %d", r.Workflow, r.WorkflowVersion))
	t.Row("state", r.State)
	t.Row("branch", r.Branch)
	t.Row("approval", r.ApprovalID)
	for _, v := range d.Votes {
		verb := "rejected by"
		if v.Approve {
			verb = "approved by"
		}
		t.Row(verb, fmt.Sprintf("%s (%s)", v.By, v.Role))
	}
	t.Row("lease", r.LeaseID)
	t.Time("time", r.Time)
	t.Row("place", fmt.Sprintf("%d in the log of %s", r.Sequence, r.Partition))
	if len(r.Input) > 0 {
		fmt.Fprintf(w, "\ninput:\n%s\n", show.Indented(r.Input))
	}
	if d.Explanation != nil {
		show.Explanation(w, d.Explanation)
	}
}
