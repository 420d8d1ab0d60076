// Package exception makes, lists, confirms and ends exceptions from rules of policies.
package exception

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Command is the family of commands on exceptions.
type Command struct {
	Add     addCommand     `cmd:"" help:"Let calls pass one rule of a policy for a while."`
	List    listCommand    `cmd:"" help:"List the exceptions that have not ended."`
	Confirm confirmCommand `cmd:"" help:"Confirm another operator's exception, where the policy demands four eyes."`
	End     endCommand     `cmd:"" help:"End an exception before its time."`
}

type addCommand struct {
	client.Connection
	show.Printer
	Policy    string `arg:"" help:"Name of the policy."`
	Rule      string `arg:"" help:"The rule, as a JSON Pointer into the policy: /deny/1."`
	Principal string `help:"Only calls of this principal." placeholder:"NAME"`
	Human     string `help:"Only calls on behalf of this human." placeholder:"NAME"`
	Group     string `help:"Only calls on behalf of humans of this group." placeholder:"NAME"`
	Session   string `help:"Only calls of this session and all below it." placeholder:"NAME"`
	When      string `help:"Only calls for which this condition is true, e.g. {\"/service\": \"web\"}." placeholder:"CONDITION"`
	Until     string `required:"" help:"Its end, at most 7 days from now: 6h, or 2026-01-31T08:00:00Z." placeholder:"TIME"`
	Reason    string `required:"" help:"Why it is made." placeholder:"TEXT"`
}

func (c *addCommand) Run(ctx context.Context, io console.Streams) error {
	until, err := input.End(c.Until, time.Now())
	if err != nil {
		return err
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewPolicyServiceClient(conn).AddException(ctx, &policyv1.AddExceptionRequest{
			Policy: c.Policy, Rule: c.Rule, Until: timestamppb.New(until), Reason: c.Reason,
			Scope: &policyv1.ExceptionScope{Principal: c.Principal, Human: c.Human, Group: c.Group, SessionId: c.Session, When: []byte(c.When)},
		})
		if err != nil {
			return err
		}
		return table(c.Printer, io, jsonview.ExceptionOf(resp.GetException()))
	})
}

type listCommand struct {
	client.Connection
	show.Printer
	Policy string `help:"Only exceptions from rules of this policy." placeholder:"NAME"`
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewPolicyServiceClient(conn).ListExceptions(ctx, &policyv1.ListExceptionsRequest{Policy: c.Policy})
		if err != nil {
			return err
		}
		return table(c.Printer, io, jsonview.Each(resp.GetExceptions(), jsonview.ExceptionOf)...)
	})
}

// oneException names the exception of a command.
type oneException struct {
	client.Connection
	show.Printer
	ID string `arg:"" name:"exception" help:"Id of the exception."`
}

type confirmCommand struct{ oneException }

func (c *confirmCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewPolicyServiceClient(conn).ConfirmException(ctx, &policyv1.ConfirmExceptionRequest{ExceptionId: c.ID})
		if err != nil {
			return err
		}
		return table(c.Printer, io, jsonview.ExceptionOf(resp.GetException()))
	})
}

type endCommand struct{ oneException }

// ended is the JSON of the end of an exception.
type ended struct {
	ExceptionID string `json:"exception_id"`
	Ended       bool   `json:"ended"`
}

func (c *endCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		if _, err := policyv1.NewPolicyServiceClient(conn).EndException(ctx, &policyv1.EndExceptionRequest{ExceptionId: c.ID}); err != nil {
			return err
		}
		return c.Print(io.Out, ended{c.ID, true}, func(w *show.Sheet) { fmt.Fprintf(w, "ended\t%s\n", show.Text(c.ID)) })
	})
}

func table(p show.Printer, io console.Streams, all ...jsonview.Exception) error {
	return show.Table(p, io.Out, "EXCEPTION\tPOLICY\tRULE\tFOR\tUNTIL\tSTATUS\tBY\tREASON", all, func(e *jsonview.Exception) []any {
		return []any{e.ExceptionID, e.Policy, e.Rule, Scope(e), e.Until, status(e), e.CreatedBy, e.Reason}
	})
}

// status returns whether an exception counts.
func status(e *jsonview.Exception) string {
	if e.Pending {
		return "waits for another operator"
	}
	return "live"
}

// Scope describes the calls that pass.
func Scope(e *jsonview.Exception) string {
	var parts []string
	for _, of := range []struct{ what, name string }{
		{"principal", e.Principal}, {"human", e.Human}, {"group", e.Group}, {"session", e.SessionID}, {"when", string(e.When)},
	} {
		if of.name != "" {
			parts = append(parts, of.what+" "+of.name)
		}
	}
	return strings.Join(parts, ", ")
}
