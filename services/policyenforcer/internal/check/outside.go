package check

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// consultPoints asks the decision points of rules about a call that would not be denied, all of them within the time of the slowest. It
// returns the denial by the first that does not agree (S21.19). A check asks each once about a state: a retry uses its answer.
func (c *Service) consultPoints(ctx context.Context, r Ruling) Ruling {
	ctx, cancel := context.WithTimeout(ctx, rules.LongestTimeout)
	defer cancel()
	for {
		denied, next := r.withAnswers(r.Combined)
		if next != nil {
			r.outside[r.inquiry(next)] = c.consultPoint(ctx, r, next)
			continue
		}
		if denied.Decision == r.Combined.Decision {
			return r
		}
		return r.withoutLease().follow(denied)
	}
}

// withAnswers returns a verdict with the answers that decision points have given in this check: the denial by the first that does not
// agree. Otherwise next is the first rule whose point was not asked; nil for none.
func (a Attempt) withAnswers(c rules.Combined) (_ rules.Combined, next *rules.Source) {
	for _, by := range c.Outside() {
		switch answer, known := a.outside[a.inquiry(by)]; {
		case !known:
			return c, by
		case answer.why != "":
			return c.Unanswered(by, answer.why), nil
		case !answer.agrees:
			return c.Refused(by), nil
		}
	}
	return c, nil
}

// inquiry identifies a question of one check: the call is the same, and the run may move.
type inquiry struct {
	rules.Point
	workflow, state string
}

func (a Attempt) inquiry(by *rules.Source) inquiry {
	return inquiry{*by.Point, a.At.Run.Workflow, a.At.Run.State}
}

// said is the answer of a decision point; why says what came in place of one.
type said struct {
	by     *rules.Source // one that asks
	agrees bool
	why    string
}

func (s said) String() string {
	switch {
	case s.why != "":
		return "no answer: " + s.why
	case s.agrees:
		return "yes"
	default:
		return "no"
	}
}

// answers describes the answers of decision points about the call in its state, for the log.
func (a Attempt) answers() []document.Value {
	var all []document.Value
	for q, answer := range a.outside {
		if q == (inquiry{q.Point, a.At.Run.Workflow, a.At.Run.State}) {
			all = append(all, document.StringValue(answer.by.Policy+" "+answer.by.Pointer()+": "+answer.String()))
		}
	}
	slices.SortFunc(all, func(x, y document.Value) int { return cmp.Compare(x.Str(), y.Str()) })
	return all
}

// consultPoint asks the decision point of one rule.
func (c *Service) consultPoint(ctx context.Context, r Ruling, by *rules.Source) said {
	if c.Points == nil {
		return said{by: by, why: "this server asks none"}
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
		return said{by: by, why: err.Error()}
	}
	return said{by: by, agrees: agrees}
}

// notingUnasked returns the ruling of a dry run, which says that it has not asked decision points: the call may still be denied.
func (r Ruling) notingUnasked() Ruling {
	_, next := r.withAnswers(r.Combined)
	r.Decision.Message = noting(r.Decision.Message, next)
	return r
}

// notAsked says that a decision without the answer of a decision point may be another one.
func notAsked(by *rules.Source) string {
	return "The decision point of rule " + by.Pointer() + " of policy " + document.Quote(by.Policy) + " was not asked about it; it may deny the call."
}
