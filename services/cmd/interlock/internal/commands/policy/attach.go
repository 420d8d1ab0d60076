package policy

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// attachmentFlags name the object whose calls a policy judges.
type attachmentFlags struct {
	Workflow string `xor:"to" help:"Runs of this workflow." placeholder:"NAME"`
	Process  string `xor:"to" help:"Sessions of this process." placeholder:"NAME"`
	Session  string `xor:"to" help:"This session, and all below it." placeholder:"NAME"`
	Role     string `xor:"to" help:"Callers of this role." placeholder:"ROLE"`
}

// Validate refuses flags that name no object: usage would show required ones as if all
// were.
func (f *attachmentFlags) Validate() error {
	if f.Workflow+f.Process+f.Session+f.Role == "" {
		return errors.New("say whose calls it judges: --workflow, --process, --session or --role")
	}
	return nil
}

func (f *attachmentFlags) attachment() *policyv1.Attachment {
	for _, to := range []*policyv1.Attachment{
		{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_WORKFLOW, Id: f.Workflow},
		{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_PROCESS, Id: f.Process},
		{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_SESSION, Id: f.Session},
	} {
		if to.GetId() != "" {
			return to
		}
	}
	return &policyv1.Attachment{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_ROLE, Id: f.Role}
}

// unregistered returns the workflow or the process that a policy is attached to, where there is
// none of that name: it may be a typo, or come later.
func (f *attachmentFlags) unregistered(ctx context.Context, conn grpc.ClientConnInterface) string {
	var err error
	what := ""
	switch {
	case f.Workflow != "":
		what = fmt.Sprintf("workflow %q", f.Workflow)
		_, err = enginev1.NewWorkflowServiceClient(conn).GetWorkflow(ctx, &enginev1.GetWorkflowRequest{Name: f.Workflow})
	case f.Process != "":
		what = fmt.Sprintf("process %q", f.Process)
		_, err = enginev1.NewProcessServiceClient(conn).GetProcess(ctx, &enginev1.GetProcessRequest{Name: f.Process})
	}
	if fault.ReasonOf(err) != fault.NotFound {
		return ""
	}
	return what
}

type attachCommand struct {
	onePolicy
	attachmentFlags
}

func (c *attachCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewPolicyServiceClient(conn).AttachPolicy(ctx, &policyv1.AttachPolicyRequest{
			Name: c.Name, To: c.attachment(),
		})
		if err != nil {
			return err
		}
		if what := c.unregistered(ctx, conn); what != "" {
			fmt.Fprintf(io.Err, "interlock: no %s is registered yet: the policy judges its runs once it is\n", show.Text(what))
		}
		return c.printChanged(io, "attached", resp.GetPolicy())
	})
}

type detachCommand struct {
	onePolicy
	attachmentFlags
}

func (c *detachCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewPolicyServiceClient(conn).DetachPolicy(ctx, &policyv1.DetachPolicyRequest{
			Name: c.Name, From: c.attachment(),
		})
		if err != nil {
			return err
		}
		return c.printChanged(io, "detached", resp.GetPolicy())
	})
}
