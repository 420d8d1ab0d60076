// Package names prints the words of completion: names and ids that a server knows.
package names

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

const (
	// patience bounds how long a key press waits for a server.
	patience = 300 * time.Millisecond
	// most is how many names are offered, the newest.
	most = 200
)

// Command prints the names of a kind of things, one a line. It stays silent where there is
// no answer in time: someone is typing.
type Command struct {
	client.Connection
	Kind string `arg:"" help:"What is listed." enum:"run,approval,session,state,workflow,policy,process"`
}

// Kinds are the kinds that have names.
var Kinds = []string{"run", "approval", "session", "state", "workflow", "policy", "process"}

// Run never fails.
func (c *Command) Run(ctx context.Context, io console.Streams) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) error {
		names, err := list(ctx, conn, c.Kind)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			fmt.Fprintln(io.Out, show.Text(name))
		}
		return err
	})
	return nil
}

func list(ctx context.Context, conn grpc.ClientConnInterface, kind string) ([]string, error) {
	switch kind {
	case "run":
		page, err := enginev1.NewRunServiceClient(conn).ListRuns(ctx, &enginev1.ListRunsRequest{PageSize: most})
		return each(page.GetRuns(), (*enginev1.Run).GetRunId), err
	case "approval":
		page, err := approvalv1.NewApprovalServiceClient(conn).ListApprovals(ctx, &approvalv1.ListApprovalsRequest{PageSize: most})
		return each(page.GetApprovals(), (*approvalv1.Approval).GetApprovalId), err
	case "session":
		page, err := statev1.NewSessionServiceClient(conn).ListSessions(ctx, &statev1.ListSessionsRequest{PageSize: most})
		return each(page.GetSessions(), (*statev1.Session).GetName), err
	case "state":
		page, err := statev1.NewStateServiceClient(conn).ListStates(ctx, &statev1.ListStatesRequest{PageSize: most})
		return each(page.GetStates(), (*statev1.State).GetStateId), err
	case "workflow":
		page, err := enginev1.NewWorkflowServiceClient(conn).ListWorkflows(ctx, &enginev1.ListWorkflowsRequest{PageSize: most})
		return each(page.GetWorkflows(), (*enginev1.Workflow).GetName), err
	case "policy":
		page, err := policyv1.NewPolicyServiceClient(conn).ListPolicies(ctx, &policyv1.ListPoliciesRequest{PageSize: most})
		return each(page.GetPolicies(), (*policyv1.Policy).GetName), err
	default:
		page, err := enginev1.NewProcessServiceClient(conn).ListProcesses(ctx, &enginev1.ListProcessesRequest{PageSize: most})
		return each(page.GetProcesses(), (*enginev1.Process).GetName), err
	}
}

func each[M any](all []M, name func(M) string) []string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = name(one)
	}
	return names
}
