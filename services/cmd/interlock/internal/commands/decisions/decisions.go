// Package decisions reads the log of decisions on tool calls.
package decisions

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// Command lists decisions.
type Command struct {
	client.Connection
	show.Printer
	RunID       string   `name:"run" help:"Only decisions of this run." placeholder:"RUN"`
	Session     string   `help:"Only decisions of this session." placeholder:"ID"`
	Decision    string   `help:"Only ALLOW, ASK or DENY." placeholder:"DECISION"`
	NotDecision []string `help:"No ALLOW, ASK or DENY; several by commas." placeholder:"DECISION"`
	Code        string   `help:"Only decisions for this reason, e.g. TOOL_NOT_ALLOWED." placeholder:"CODE"`
	Tool        string   `help:"Only calls of this tool." placeholder:"NAME"`
	Workflow    string   `help:"Only calls in runs of this workflow." placeholder:"NAME"`
	Policy      string   `help:"Only decisions of this policy." placeholder:"NAME"`
	Principal   string   `help:"Only calls that this principal made." placeholder:"NAME"`
	Since       string   `help:"Only decisions since then: 24h, or 2026-01-31T08:00:00Z." placeholder:"TIME"`
	Before      string   `help:"Only decisions before then: 24h, or 2026-01-31T08:00:00Z." placeholder:"TIME"`
	Limit       int      `help:"Show at most this many; 0 for all." default:"0" placeholder:"N"`
	When        string   `help:"Only calls for which this condition is true by the input that was kept, e.g. {\"/amount\": {\"gt\": 100}}." placeholder:"CONDITION"`
	Shadowed    bool     `help:"Only those that a shadow would have decided otherwise."`
	Refused     bool     `help:"Instead, the last callers that were refused before there was a decision: by their token, role, session or namespace."`
}

// Run prints the decisions that the flags select.
func (c *Command) Run(ctx context.Context, streams console.Streams) error {
	terms, err := c.terms()
	if err != nil {
		return err
	}
	if c.Refused {
		return c.Ask(ctx, streams, func(conn grpc.ClientConnInterface) error { return c.refused(ctx, conn, streams.Out) })
	}
	return c.Ask(ctx, streams, func(conn grpc.ClientConnInterface) error {
		run, err := client.RunID(ctx, conn, c.RunID)
		if err != nil {
			return err
		}
		if run != "" && !strings.HasPrefix(run, typeid.Run+"_") {
			return console.Misusedf("%q does not begin the id of a run; --session %s selects the decisions of a session", run, run)
		}
		req := &policyv1.ListDecisionsRequest{Filter: listing.Filter(append([]listing.Term{{Key: "run_id", Value: run}}, terms...)...)}
		if c.Quiet || c.Output == "jsonl" {
			return c.export(ctx, conn, req, streams.Out)
		}
		all := []jsonview.DecisionRecord{}
		err = c.each(ctx, conn, req, func(r *policyv1.DecisionRecord) error {
			all = append(all, jsonview.DecisionRecordOf(r))
			return nil
		})
		if err != nil {
			return err
		}
		return c.table(streams.Out, all)
	})
}

// terms returns the filter of the flags, but for the run.
func (c *Command) terms() ([]listing.Term, error) {
	decision, err := client.Choice("decision", c.Decision, policyv1.Decision_value, "DECISION_", jsonview.Decisions())
	if err != nil {
		return nil, err
	}
	terms := []listing.Term{
		{Key: "session_id", Value: c.Session},
		{Key: "tool", Value: c.Tool},
		{Key: "code", Value: c.Code},
		{Key: "workflow", Value: c.Workflow},
		{Key: "policy", Value: c.Policy},
		{Key: "principal", Value: c.Principal},
		{Key: "when", Value: c.When},
		{Key: "not_decision", Value: listing.List(c.NotDecision...)},
		{Key: "decision", Value: protomap.Word(policyv1.Decision(decision), "DECISION_")},
	}
	for _, bound := range []struct{ key, given string }{{"since", c.Since}, {"before", c.Before}} {
		if bound.given == "" {
			continue
		}
		at, err := Since(bound.given, time.Now())
		if err != nil {
			return nil, fmt.Errorf("--%s %w", bound.key, err)
		}
		terms = append(terms, listing.Term{Key: bound.key, Value: at.UTC().Format(time.RFC3339Nano)})
	}
	if c.Shadowed {
		terms = append(terms, listing.Term{Key: "shadowed", Value: "true"})
	}
	return terms, nil
}

// Since returns a moment, or how long ago it was.
func Since(text string, now time.Time) (time.Time, error) {
	if ago, err := document.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, console.Misusedf("%q is not a time; write how long ago it was (90m, 24h, 7d), "+
			"or a moment (2026-01-31T08:00:00Z)", text)
	}
	return at, nil
}

// export writes an object or an id a line, while the pages come.
func (c *Command) export(
	ctx context.Context, conn grpc.ClientConnInterface, req *policyv1.ListDecisionsRequest, out io.Writer,
) error {
	w := bufio.NewWriter(out)
	err := c.each(ctx, conn, req, func(r *policyv1.DecisionRecord) error {
		if c.Quiet {
			_, err := w.WriteString(show.Text(r.GetCallId()) + "\n")
			return err
		}
		line, err := json.Marshal(jsonview.DecisionRecordOf(r), json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		_, err = w.Write(append(line, '\n'))
		return err
	})
	if flushed := w.Flush(); err == nil {
		err = flushed
	}
	return err
}

// errEnough ends the way through the log.
var errEnough = errors.New("enough")

// each goes through the log until there are as many as wanted.
func (c *Command) each(
	ctx context.Context, conn grpc.ClientConnInterface, req *policyv1.ListDecisionsRequest, do func(*policyv1.DecisionRecord) error,
) error {
	left := c.Limit
	err := Each(ctx, conn, req, func(r *policyv1.DecisionRecord) error {
		if err := do(r); err != nil {
			return err
		}
		if left--; left == 0 {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// Each goes through all pages of the log.
func Each(
	ctx context.Context, conn grpc.ClientConnInterface, req *policyv1.ListDecisionsRequest,
	do func(*policyv1.DecisionRecord) error,
) error {
	decisions := policyv1.NewDecisionServiceClient(conn)
	req.PageSize = 1000
	for {
		page, err := decisions.ListDecisions(ctx, req)
		if err != nil {
			return err
		}
		for _, r := range page.GetDecisions() {
			if err := do(r); err != nil {
				return err
			}
		}
		if req.PageToken = page.GetNextPageToken(); req.GetPageToken() == "" {
			return nil
		}
	}
}

func (c *Command) table(out io.Writer, all []jsonview.DecisionRecord) error {
	columns := "TIME\tRUN\tCALL\tSTATE\tTOOL\tDECISION\tBY\tRULE\tWHAT"
	if c.Shadowed {
		columns += "\tSHADOW"
	}
	return show.Table(c.Printer, out, columns, all, func(r *jsonview.DecisionRecord) []any {
		cells := []any{r.Time, show.ID(r.RunID), r.CallID, r.State, r.Tool, show.Word(Text(r.Decision, r.Code)), r.Principal, ruleText(r), cmp.Or(whatText(r), "-")}
		if c.Shadowed {
			cells = append(cells, shadowText(r.Shadows))
		}
		return cells
	})
}

// mostOfWhat is how many characters of a command line or file the list shows.
const mostOfWhat = 60

// named finds the command that the message of a denial quotes.
var named = regexp.MustCompile(`(?:the command|the assignment in) "((?:[^"\\]|\\.)*)"`)

// whatText describes what a call tried, as far as the log has it: the command line or the file of an input that
// was kept, or else the command that the message of a denial names. Both are masked.
func whatText(r *jsonview.DecisionRecord) string {
	what := show.Argument(r.Input)
	if found := named.FindStringSubmatch(r.Message); what == "" && found != nil && r.Decision == "DENY" {
		what = found[1]
	}
	if runes := []rune(what); len(runes) > mostOfWhat {
		what = string(runes[:mostOfWhat-1]) + "…"
	}
	return what
}

// ruleText names the deciding rule, and the approval by which people have admitted the call.
func ruleText(r *jsonview.DecisionRecord) string {
	text := ruleOf(r)
	if r.ApprovalID != "" && r.Decision == "ALLOW" {
		text += ", approved: " + r.ApprovalID
	}
	return text
}

// ruleOf names the deciding rule.
func ruleOf(r *jsonview.DecisionRecord) string {
	switch {
	case r.Code == string(toolcall.CodeNotEnforced):
		return r.Message
	case r.Policy == "" && r.Rule == "":
		return "the state"
	case r.Policy == "" || strings.Contains(r.Rule, r.Policy):
		return r.Rule
	default:
		return fmt.Sprintf("policy %s version %d, %s", r.Policy, r.PolicyVersion, r.Rule)
	}
}

// shadowText describes the decisions of shadows.
func shadowText(shadows []jsonview.ShadowDecision) string {
	all := make([]string, len(shadows))
	for i, s := range shadows {
		what := fmt.Sprintf("policy %s version %d", s.Policy, s.PolicyVersion)
		if s.Workflow != "" {
			what = "workflow " + s.Workflow
		}
		all[i] = what + ": " + strings.TrimSpace(s.Decision+" "+s.Code)
	}
	return strings.Join(all, "; ")
}

// Text returns a decision with its code, if any.
func Text(decision, code string) string {
	if code == "" {
		return show.Text(decision)
	}
	return show.Text(decision + " " + code)
}
