package policy

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/definition"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// onePolicy names the policy of a command.
type onePolicy struct {
	client.Connection
	show.Printer
	Name string `arg:"" help:"Name of the policy."`
}

// printChanged describes how a policy stands after a change.
func (c *onePolicy) printChanged(io console.Streams, what string, policy *policyv1.Policy) error {
	view := jsonview.PolicyOf(policy)
	view.Definition = nil
	return c.Print(io.Out, view, func(w *show.Sheet) {
		fmt.Fprintf(w, "%s\t%s\tlive %s\tshadow %s\tattached to %s\n", what, show.Text(view.Name),
			versionText(view.LiveVersion), versionText(view.ShadowVersion), show.Text(attachedTo(&view)))
	})
}

// standingOf describes the present use of a version.
func standingOf(p *jsonview.Policy) string {
	switch p.Version {
	case p.LiveVersion:
		return "live"
	case p.ShadowVersion:
		return "shadow"
	default:
		return "not in use"
	}
}

// attachedTo lists the objects whose calls a policy judges.
func attachedTo(p *jsonview.Policy) string {
	if len(p.Attachments) == 0 {
		return "-"
	}
	all := make([]string, len(p.Attachments))
	for i, a := range p.Attachments {
		all[i] = a.Kind
		if a.ID != "*" || a.Kind != "everyone" {
			all[i] += " " + a.ID
		}
	}
	return strings.Join(all, ", ")
}

func versionText(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

type putCommand struct {
	client.Connection
	show.Printer
	File string `arg:"" help:"The policy, JSON or YAML by its name." placeholder:"FILE"`
	Name string `help:"Name of the policy; by default the one in the file, or that of the file." placeholder:"NAME"`
	definition.Precondition
	Staged         bool   `help:"Store the version without making it live; promote makes it so."`
	DryRun         bool   `help:"Store nothing, and answer as if it were stored."`
	Shadow         bool   `help:"Judge alongside the live version, without enforcing it."`
	IdempotencyKey string `help:"Makes a repeat of this command answer the first." placeholder:"KEY"`
}

// putView is the JSON of a stored policy. Created is false when the same definition
// was there before.
type putView struct {
	jsonview.Policy
	Created bool `json:"created"`
}

func (c *putCommand) Run(ctx context.Context, io console.Streams) error {
	source, err := input.Definition(c.File, io)
	if err != nil {
		return err
	}
	source.Wanted = "policy"
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewPolicyServiceClient(conn).RegisterPolicy(ctx, &policyv1.RegisterPolicyRequest{
			Name: c.name(source.JSON), Definition: source.JSON, Shadow: c.Shadow, IdempotencyKey: c.IdempotencyKey,
			ExpectedVersion: c.ExpectedVersion, Staged: c.Staged, DryRun: c.DryRun,
		})
		if err != nil {
			return client.InvalidFile(source, "", err, io)
		}
		input.Warn(source, resp.GetWarnings(), io.Err)
		view := putView{jsonview.PolicyOf(resp.GetPolicy()), resp.GetCreated()}
		view.Definition = nil
		return c.Print(io.Out, view, func(w *show.Sheet) {
			verb := "stored"
			switch {
			case !view.Created:
				verb = "unchanged"
			case c.DryRun:
				verb = "would store"
			case c.Staged:
				verb = "staged"
			}
			fmt.Fprintf(w, "%s\t%s\tversion %d\t%s\n", verb, show.Text(view.Name), view.Version, standingOf(&view.Policy))
		})
	})
}

// name returns that of a policy which has none in its file: the file's.
func (c *putCommand) name(source []byte) string {
	v, _ := document.Parse(source, input.Limits)
	if named, _ := v.Get("name"); c.Name != "" || named.Str() != "" || c.File == "-" {
		return c.Name
	}
	file := filepath.Base(c.File)
	return strings.TrimSuffix(file, filepath.Ext(file))
}

type listCommand struct {
	client.Connection
	show.Printer
	Limit int `help:"Show at most this many." default:"1000"`
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		policies := policyv1.NewPolicyServiceClient(conn)
		all, err := client.Collect(c.Limit, jsonview.PolicyOf,
			func(token string, size int32) ([]*policyv1.Policy, string, error) {
				page, err := policies.ListPolicies(ctx, &policyv1.ListPoliciesRequest{PageSize: size, PageToken: token})
				return page.GetPolicies(), page.GetNextPageToken(), err
			})
		if err != nil {
			return err
		}
		const columns = "NAME\tLIVE\tSHADOW\tATTACHED TO\tCREATED\tBY"
		return show.Table(c.Printer, io.Out, columns, all, func(p *jsonview.Policy) []any {
			live, shadow := versionText(p.LiveVersion), versionText(p.ShadowVersion)
			return []any{p.Name, live, shadow, attachedTo(p), p.CreatedAt, p.CreatedBy}
		})
	})
}

type getCommand struct {
	onePolicy
	Version int64 `help:"Version; the live one by default."`
}

func (c *getCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewPolicyServiceClient(conn).GetPolicy(ctx, &policyv1.GetPolicyRequest{
			Name: c.Name, Version: c.Version,
		})
		if err != nil {
			return err
		}
		view := jsonview.PolicyOf(resp.GetPolicy())
		return c.Print(io.Out, view, func(w *show.Sheet) {
			fmt.Fprintf(w, "%s\tversion %d\t%s\t%s\n", show.Text(view.Name), view.Version, standingOf(&view), view.Digest)
			if len(view.Attachments) > 0 {
				fmt.Fprintf(w, "attached to\t%s\n", show.Text(attachedTo(&view)))
			}
			fmt.Fprintln(w, show.Lines(string(view.Definition)))
		})
	})
}

type promoteCommand struct {
	onePolicy
	definition.Precondition
	Version int64 `arg:"" help:"Version to make live."`
}

func (c *promoteCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewPolicyServiceClient(conn).PromotePolicy(ctx, &policyv1.PromotePolicyRequest{
			Name: c.Name, Version: c.Version, ExpectedVersion: c.ExpectedVersion,
		})
		if err != nil {
			return err
		}
		return c.printChanged(io, "promoted", resp.GetPolicy())
	})
}

type deleteCommand struct{ onePolicy }

// deletedPolicy is the JSON of the end of a policy.
type deletedPolicy struct {
	Name    string `json:"name"`
	Deleted bool   `json:"deleted"`
}

func (c *deleteCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		if _, err := policyv1.NewPolicyServiceClient(conn).DeletePolicy(ctx, &policyv1.DeletePolicyRequest{
			Name: c.Name,
		}); err != nil {
			return err
		}
		return c.Print(io.Out, deletedPolicy{c.Name, true}, func(w *show.Sheet) {
			fmt.Fprintf(w, "deleted\t%s\n", show.Text(c.Name))
		})
	})
}
