package decisions

import (
	"context"
	"io"
	"strings"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// refused prints the last callers that were refused before a decision.
func (c *Command) refused(ctx context.Context, conn grpc.ClientConnInterface, out io.Writer) error {
	resp, err := policyv1.NewDecisionServiceClient(conn).ListRefusals(ctx, &policyv1.ListRefusalsRequest{})
	if err != nil {
		return err
	}
	all := []jsonview.Refusal{}
	for _, r := range resp.GetRefusals() {
		if c.Principal != "" && r.GetPrincipal() != c.Principal || c.Session != "" && r.GetRefused().GetAskedSessionId() != c.Session {
			continue
		}
		if all = append(all, jsonview.RefusalOf(r)); len(all) == c.Limit {
			break
		}
	}
	const columns = "TIME\tPRINCIPAL\tREASON\tMETHOD\tASKED FOR\tFROM\tMORE"
	return show.Table(c.Printer, out, columns, all, func(r *jsonview.Refusal) []any {
		return []any{r.Time, orDash(r.Principal), r.Reason, r.Method, askedFor(r), orDash(r.From), r.More}
	})
}

// askedFor names the session, run and namespace that a refused call named.
func askedFor(r *jsonview.Refusal) string {
	var parts []string
	for _, of := range []struct{ what, name string }{{"session", r.AskedSessionID}, {"run", r.AskedRunID}, {"namespace", r.AskedNamespace}} {
		if of.name != "" {
			parts = append(parts, of.what+" "+of.name)
		}
	}
	return orDash(strings.Join(parts, ", "))
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
