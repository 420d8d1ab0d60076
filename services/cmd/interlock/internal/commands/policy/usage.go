package policy

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type usageCommand struct {
	onePolicy
	Principal string `help:"Whose usage, for limits per principal." placeholder:"NAME"`
	Session   string `help:"Whose usage, for limits per session." placeholder:"NAME"`
}

func (c *usageCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
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
		const columns = "CAPABILITY\tUSED\tOF\tCOUNTED FOR\tIN\tRESETS"
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
