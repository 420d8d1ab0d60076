package policy

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// attachmentFlags name the objects whose calls a policy judges.
type attachmentFlags struct {
	Workflow  []string `help:"Runs of this workflow; may be repeated, as all of these." sep:"none" placeholder:"NAME"`
	Process   []string `help:"Sessions of this process." sep:"none" placeholder:"NAME"`
	Session   []string `help:"This session, and all below it." sep:"none" placeholder:"NAME"`
	Agent     []string `help:"Sessions that were started from this agent, and all below them." sep:"none" placeholder:"NAME"`
	Role      []string `help:"Callers of this role." sep:"none" placeholder:"ROLE"`
	Principal []string `help:"This caller." sep:"none" placeholder:"NAME"`
	Human     []string `help:"Calls on behalf of this person, and those whose human is not known." sep:"none" placeholder:"NAME"`
	Group     []string `help:"Calls on behalf of people of this group, and those whose groups are not known." sep:"none" placeholder:"NAME"`
	Everyone  bool     `help:"Every call in the namespace."`
}

// Validate refuses flags that name no object: usage would show required ones as if all
// were.
func (f *attachmentFlags) Validate() error {
	if len(f.attachments()) == 0 {
		return errors.New("say whose calls it judges: --workflow, --process, --session, --agent, --role, --principal, --human, --group or --everyone")
	}
	return nil
}

func (f *attachmentFlags) attachments() []*policyv1.Attachment {
	var all []*policyv1.Attachment
	for _, of := range []struct {
		kind  policyv1.AttachmentKind
		names []string
	}{
		{policyv1.AttachmentKind_ATTACHMENT_KIND_WORKFLOW, f.Workflow},
		{policyv1.AttachmentKind_ATTACHMENT_KIND_PROCESS, f.Process},
		{policyv1.AttachmentKind_ATTACHMENT_KIND_SESSION, f.Session},
		{policyv1.AttachmentKind_ATTACHMENT_KIND_AGENT, f.Agent},
		{policyv1.AttachmentKind_ATTACHMENT_KIND_ROLE, f.Role},
		{policyv1.AttachmentKind_ATTACHMENT_KIND_PRINCIPAL, f.Principal},
		{policyv1.AttachmentKind_ATTACHMENT_KIND_HUMAN, f.Human},
		{policyv1.AttachmentKind_ATTACHMENT_KIND_GROUP, f.Group},
	} {
		for _, name := range of.names {
			all = append(all, &policyv1.Attachment{Kind: of.kind, Id: name})
		}
	}
	if f.Everyone {
		all = append(all, &policyv1.Attachment{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_EVERYONE})
	}
	return all
}

// unregistered returns the workflows, processes and agents that a policy is attached to and that do not
// exist: each may be a typo, or come later.
func unregistered(ctx context.Context, conn grpc.ClientConnInterface, all []*policyv1.Attachment) (missing []string) {
	for _, to := range all {
		var err error
		what := ""
		switch to.GetKind() {
		case policyv1.AttachmentKind_ATTACHMENT_KIND_WORKFLOW:
			what = "workflow"
			_, err = enginev1.NewWorkflowServiceClient(conn).GetWorkflow(ctx, &enginev1.GetWorkflowRequest{Name: to.GetId()})
		case policyv1.AttachmentKind_ATTACHMENT_KIND_PROCESS:
			what = "process"
			_, err = enginev1.NewProcessServiceClient(conn).GetProcess(ctx, &enginev1.GetProcessRequest{Name: to.GetId()})
		case policyv1.AttachmentKind_ATTACHMENT_KIND_AGENT:
			what = "agent"
			_, err = statev1.NewAgentServiceClient(conn).GetAgent(ctx, &statev1.GetAgentRequest{Name: to.GetId()})
		default:
		}
		if fault.ReasonOf(err) == fault.NotFound {
			missing = append(missing, fmt.Sprintf("%s %q", what, to.GetId()))
		}
	}
	return missing
}

type attachCommand struct {
	onePolicy
	attachmentFlags
}

func (c *attachCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewPolicyServiceClient(conn).AttachPolicy(ctx, &policyv1.AttachPolicyRequest{
			Name: c.Name, To: c.attachments(),
		})
		if err != nil {
			return err
		}
		for _, what := range unregistered(ctx, conn, c.attachments()) {
			fmt.Fprintf(io.Err, "interlock: no %s is registered yet: the policy judges its calls once it is\n", show.Text(what))
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
			Name: c.Name, From: c.attachments(),
		})
		if err != nil {
			return err
		}
		return c.printChanged(io, "detached", resp.GetPolicy())
	})
}
