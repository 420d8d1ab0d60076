package policy

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/exception"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type usageCommand struct {
	onePolicy
	Principal string `help:"Whose usage, for limits per principal." placeholder:"NAME"`
	Session   string `help:"Whose usage, for limits per session." placeholder:"NAME"`
	Human     string `help:"Whose usage, for limits per human: the name of a person, or the issuer, # and the name there." placeholder:"NAME"`
}

func (c *usageCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewPolicyServiceClient(conn).GetPolicyUsage(ctx, &policyv1.GetPolicyUsageRequest{
			Name: c.Name, Principal: c.Principal, SessionId: c.Session, Human: c.Human,
		})
		if err != nil {
			return err
		}
		all := make([]jsonview.Usage, len(resp.GetUsages()))
		for i, u := range resp.GetUsages() {
			all[i] = jsonview.UsageOf(u)
		}
		const columns = "CAPABILITY\tUSED\tOF\tCOUNTED FOR\tIN\tRESETS"
		for _, e := range resp.GetExceptions() {
			view := jsonview.ExceptionOf(e)
			fmt.Fprintf(io.Err, "interlock: exception %s from rule %s for %s until %s: %s\n", show.Text(view.ExceptionID), show.Text(view.Rule),
				show.Text(exception.Scope(&view)), view.Until.Format(time.RFC3339), show.Text(view.Reason))
		}
		return show.Table(c.Printer, io.Out, columns, all, func(u *jsonview.Usage) []any {
			used, most := usageText(u)
			return []any{orDash(u.Capability), used, most, countedFor(u), usagePeriod(u), resetText(u)}
		})
	})
}

// usageText returns the count of a limit, and its bound.
func usageText(u *jsonview.Usage) (used, most string) {
	if u.Measure == string(rules.Money) {
		return u.UsedUSD + " USD", u.MaxUSD + " USD"
	}
	if u.Measure == string(rules.Amounts) { // in millionths
		return units(u.Used), units(u.Max)
	}
	return fmt.Sprint(u.Used), show.Counted(int(u.Max), u.Measure[:max(0, len(u.Measure)-1)])
}

// units returns millionths as a number.
func units(millionths int64) string {
	return strconv.FormatFloat(float64(millionths)/1e6, 'f', -1, 64)
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

func resetText(u *jsonview.Usage) any {
	if u.ResetsAt.IsZero() {
		return "-"
	}
	return u.ResetsAt
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
