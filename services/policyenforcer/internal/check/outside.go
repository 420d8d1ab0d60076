package check

import (
	"context"
	"log/slog"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// agreed asks the decision points of rules about a call that would not be denied. It returns the denial by the first that does not
// agree (S21.19). A check asks each once: a retry uses its answer.
func (c *Service) agreed(ctx context.Context, r Ruling) Ruling {
	for _, by := range r.Combined.Outside() {
		answer, known := r.outside[*by.Point]
		if !known {
			answer = c.askPoint(ctx, r, by)
			r.outside[*by.Point] = answer
		}
		switch {
		case answer.why != "":
			return r.withoutLease().settle(r.Combined.Unanswered(by, answer.why))
		case !answer.agrees:
			return r.withoutLease().settle(r.Combined.Refused(by))
		}
	}
	return r
}

// said is the answer of a decision point; why says what came in place of one.
type said struct {
	agrees bool
	why    string
}

func (c *Service) askPoint(ctx context.Context, r Ruling, by *rules.Source) said {
	if c.Points == nil {
		return said{why: "this server asks none"}
	}
	q := &enforcer.Question{
		Principal: r.Caller.Principal.Name, Role: string(r.Caller.Principal.Role), Namespace: r.Caller.Namespace, Session: r.At.Run.SessionID,
		Tool: r.Req.Tool, Capability: r.Decision.Capability, Input: r.Req.Input,
	}
	if !r.At.Unbound {
		q.RunID, q.Workflow, q.State = r.At.Run.ID, r.At.Run.Workflow, r.At.Run.State
	}
	agrees, err := c.Points.Ask(ctx, by.Point, q)
	if err != nil {
		c.Log.LogAttrs(ctx, slog.LevelWarn, "a decision point gave no answer, so the call is denied",
			slog.String("policy", by.Policy), slog.String("rule", by.Pointer()), slog.String("tool", r.Req.Tool), slog.Any("cause", err))
		return said{why: err.Error()}
	}
	return said{agrees: agrees}
}

// unasked returns the ruling of a dry run, which says that it has not asked decision points: the call may still be denied.
func (r Ruling) unasked() Ruling {
	for _, by := range r.Combined.Outside() {
		r.Decision.Message = strings.TrimSpace(r.Decision.Message + " The decision point of rule " + by.Pointer() + " of policy " + document.Quote(by.Policy) +
			" was not asked in this dry run; it may deny the call.")
	}
	return r
}
