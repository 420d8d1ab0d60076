package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// attachmentFlags name what a policy judges the calls of.
type attachmentFlags struct {
	Workflow string `required:"" xor:"to" help:"Runs of this workflow." placeholder:"NAME"`
	Process  string `required:"" xor:"to" help:"Sessions of this process." placeholder:"NAME"`
	Session  string `required:"" xor:"to" help:"This session, and all below it." placeholder:"NAME"`
	Role     string `required:"" xor:"to" help:"Callers of this role." placeholder:"ROLE"`
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

type policyAttach struct {
	onePolicy
	attachmentFlags
}

func (c *policyAttach) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewPolicyServiceClient(conn).AttachPolicy(ctx, &policyv1.AttachPolicyRequest{Name: c.Name, To: c.attachment()})
		if err != nil {
			return err
		}
		return c.printChanged(io, "attached", resp.GetPolicy())
	})
}

type policyDetach struct {
	onePolicy
	attachmentFlags
}

func (c *policyDetach) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewPolicyServiceClient(conn).DetachPolicy(ctx, &policyv1.DetachPolicyRequest{Name: c.Name, From: c.attachment()})
		if err != nil {
			return err
		}
		return c.printChanged(io, "detached", resp.GetPolicy())
	})
}

type policyUsage struct {
	onePolicy
	Principal string `help:"Whose usage, for limits per principal." placeholder:"NAME"`
	Session   string `help:"Whose usage, for limits per session." placeholder:"NAME"`
}

func (c *policyUsage) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewPolicyServiceClient(conn).GetPolicyUsage(ctx, &policyv1.GetPolicyUsageRequest{
			Name: c.Name, Principal: c.Principal, SessionId: c.Session,
		})
		if err != nil {
			return err
		}
		all := make([]jsonview.Usage, len(resp.GetUsages()))
		for i, u := range resp.GetUsages() {
			all[i] = jsonview.UsageOf(u)
		}
		return c.Print(io.Out, all, func(w *tabwriter.Writer) {
			fmt.Fprintln(w, "CAPABILITY\tUSED\tOF\tCOUNTED FOR\tIN\tRESETS")
			for i := range all {
				u := &all[i]
				used, most := usageText(u)
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", show.Text(orDash(u.Capability)), used, most, show.Text(countedFor(u)), usagePeriod(u), resetText(u))
			}
		})
	})
}

// usageText is what a limit has counted, and what it admits.
func usageText(u *jsonview.Usage) (used, most string) {
	if u.Measure == string(rules.Money) {
		return u.UsedUSD + " USD", u.MaxUSD + " USD"
	}
	return fmt.Sprint(u.Used), show.Counted(int(u.Max), u.Measure[:max(0, len(u.Measure)-1)])
}

func countedFor(u *jsonview.Usage) string {
	if u.Subject == "" {
		return u.Scope
	}
	return u.Scope + " " + u.Subject
}

func usagePeriod(u *jsonview.Usage) string {
	if u.WindowSeconds > 0 {
		return "any " + (time.Duration(u.WindowSeconds) * time.Second).String()
	}
	return orDash(u.Period)
}

func resetText(u *jsonview.Usage) string {
	if u.ResetsAt.IsZero() {
		return "-"
	}
	return show.Time(u.ResetsAt)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
