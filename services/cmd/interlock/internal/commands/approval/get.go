package approval

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/run"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// recentHistory is how many changes of the run are shown with an approval.
const recentHistory = 10

type getCommand struct{ oneApproval }

func (c *getCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		if err := c.resolve(ctx, conn); err != nil {
			return err
		}
		approval, err := readApproval(ctx, conn, c.ApprovalID)
		if err != nil {
			return err
		}
		return c.print(ctx, io, conn, approval)
	})
}

func readApproval(ctx context.Context, conn grpc.ClientConnInterface, id string) (*jsonview.Approval, error) {
	resp, err := approvalv1.NewApprovalServiceClient(conn).GetApproval(ctx, &approvalv1.GetApprovalRequest{ApprovalId: id})
	if err != nil {
		return nil, err
	}
	view := jsonview.ApprovalOf(resp.GetApproval())
	return &view, nil
}

// approvalView is the JSON of an approval and of the last changes of its run.
type approvalView struct {
	*jsonview.Approval
	History []jsonview.HistoryEntry `json:"history"`
}

// print writes an approval with the last changes of its run. Those help to decide, and
// are not part of the question: when they cannot be read, it says so.
func (c *oneApproval) print(
	ctx context.Context, io console.Streams, conn grpc.ClientConnInterface, approval *jsonview.Approval,
) error {
	view := &approvalView{Approval: approval, History: []jsonview.HistoryEntry{}}
	if approval.RunID != "" {
		history, err := lately(ctx, enginev1.NewRunServiceClient(conn), approval.RunID)
		if err != nil {
			fmt.Fprintf(io.Err, "interlock: the latest steps of run %s cannot be read: %s\n",
				show.Text(approval.RunID), client.Explain(err))
		} else {
			view.History = history
		}
	}
	return c.Print(io.Out, view, func(w *show.Sheet) { view.table(w) })
}

// lately returns the last changes of a run, oldest first.
func lately(ctx context.Context, runs enginev1.RunServiceClient, runID string) ([]jsonview.HistoryEntry, error) {
	current, err := runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: runID})
	if err != nil {
		return nil, err
	}
	after := max(0, current.GetRun().GetVersion()-recentHistory)
	entries, err := run.HistoryAfter(ctx, runs, runID, after)
	if err != nil {
		return nil, err
	}
	return jsonview.HistoryOf(entries[max(0, len(entries)-recentHistory):]), nil
}

// table shows the exact question. Text of other parties is shown as data.
func (view *approvalView) table(w *show.Sheet) {
	a := view.Approval
	t := show.Rows{W: w}
	t.Row("approval", a.ApprovalID)
	t.Word("status", statusOfApproval(a))
	t.Row("asked for", jsonview.AskedFor(a))
	t.Row("run", a.RunID)
	t.Row("asked by", askedBy(&a.Asker))
	t.Row("does", factsText(a.Facts))
	t.Row("message", a.Message)
	t.Row("who decides", deciders(&a.Terms, a.Escalated))
	t.Row("nobody can", a.NobodyCanAnswer)
	for _, c := range a.Terms.Also {
		t.Row("by a term", circleText(&c))
	}
	for i := range a.Votes {
		t.Row("vote", voteText(w.Style, &a.Votes[i]))
	}
	switch {
	case a.Status == "PENDING":
		t.Row("asked again", a.Reason)
	case a.Outcome != "":
		t.Row("outcome", sentence(a.Outcome))
	}
	t.Row("used by", a.UsedBy)
	t.Time("asked at", a.CreatedAt)
	t.Time("until", a.ExpiresAt)
	t.Row("digest", a.Digest)
	section(w, "subject", a.Subject)
	section(w, "data", a.Data)
	if len(a.EditedData) > 0 {
		section(w, "data as edited by "+show.Text(a.EditedBy)+", which is what is decided", a.EditedData)
		fmt.Fprintln(w, "\nchange of the data:")
		show.Operations(w, a.EditPatch)
	}
	if len(view.History) > 0 {
		fmt.Fprintln(w, "\nlately in the run:")
		run.PrintHistory(w, view.History)
	}
}

// section writes a JSON document under its name.
func section(w io.Writer, name string, text jsontext.Value) {
	if len(text) > 0 {
		fmt.Fprintf(w, "\n%s:\n%s\n", name, show.Indented(text))
	}
}

func askedBy(by *jsonview.Asker) string {
	text := by.Principal
	if by.SessionID != "" {
		text += ", session " + by.SessionID
	}
	if by.RootSessionID != "" && by.RootSessionID != by.SessionID {
		text += " of the tree of " + by.RootSessionID
	}
	return text
}

// deciders describes who decides, and how many it takes.
func deciders(t *jsonview.Terms, escalated bool) string {
	text := approversText(&t.Eligible)
	if t.EscalateTo != nil && escalated {
		text += ", " + approversText(t.EscalateTo)
	}
	text += fmt.Sprintf("; %s, or %s",
		show.Counted(int(max(t.Required, 1)), "approval"), show.Counted(int(max(t.DenyThreshold, 1)), "rejection"))
	if t.EscalateTo != nil && !escalated {
		text += fmt.Sprintf("; after %s also %s",
			time.Duration(t.EscalateAfterSeconds)*time.Second, approversText(t.EscalateTo))
	}
	switch {
	case t.Presence:
		text += "; each signed by a person who is there"
	case t.DistinctPeople:
		text += "; registered people only"
	}
	return text
}

// circleText describes a further circle that must agree.
func circleText(c *jsonview.Circle) string {
	text := c.Term + ": " + show.Counted(int(c.Required), "approval")
	if c.Eligible != nil {
		text += " of " + approversText(c.Eligible)
	}
	return text
}

// factsText describes what a call does: the files and hosts, and every other facet that has values.
func factsText(facts jsontext.Value) string {
	var all map[string]struct {
		Known  bool             `json:"known"`
		Values []jsontext.Value `json:"values"`
	}
	if len(facts) == 0 || json.Unmarshal(facts, &all) != nil {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		family, _, _ := strings.Cut(name, ".")
		always := name == "reads" || name == "writes" || name == "host"
		of := all[name]
		if slices.Contains([]string{"caller", "human", "agent", "session", "state", "workflow", "files"}, family) || len(of.Values) == 0 && !always {
			continue
		}
		texts := make([]string, 0, len(of.Values)+1)
		for _, v := range of.Values {
			texts = append(texts, factText(v))
		}
		if !of.Known {
			texts = append(texts, "not all known")
		}
		if len(of.Values) == 0 {
			texts = []string{"-"}
			if !of.Known {
				texts = []string{"not known"}
			}
		}
		parts = append(parts, name+": "+strings.Join(texts, ", "))
	}
	return strings.Join(parts, "; ")
}

// factText returns a value of a facet: a text, a number, or an object that has it with other readings.
func factText(v jsontext.Value) string {
	var text string
	var marked struct {
		Value jsontext.Value `json:"value"`
		Below bool           `json:"below"`
	}
	switch {
	case json.Unmarshal(v, &text) == nil:
		return text
	case json.Unmarshal(v, &marked) == nil && len(marked.Value) > 0:
		if text = factText(marked.Value); marked.Below {
			text += " and all below"
		}
		return text
	default:
		return string(v)
	}
}

func approversText(a *jsonview.Approvers) string {
	names := make([]string, 0, len(a.Roles)+len(a.Names))
	for _, role := range a.Roles {
		names = append(names, "role "+role)
	}
	names = append(names, a.Names...)
	if len(names) == 0 {
		return "role approver"
	}
	return strings.Join(names, ", ")
}

func voteText(s show.Style, v *jsonview.Vote) string {
	text := v.By + " (" + v.Role + ") has rejected it at "
	if v.Approve {
		text = v.By + " (" + v.Role + ") has approved it at "
	}
	text += s.Time(v.Time)
	if v.Note != "" {
		text += ": " + v.Note
	}
	return text
}
