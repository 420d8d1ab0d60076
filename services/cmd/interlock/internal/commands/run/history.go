package run

import (
	"context"
	"fmt"
	"strings"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type historyCommand struct {
	One
	After int64 `help:"Only changes after this version of the run." placeholder:"N"`
}

func (c *historyCommand) Run(ctx context.Context, io console.Streams) error {
	var views []jsonview.HistoryEntry
	err := c.call(ctx, io, func(runs enginev1.RunServiceClient) error {
		entries, err := HistoryAfter(ctx, runs, c.RunID, c.After)
		views = jsonview.HistoryOf(entries)
		return err
	})
	if err != nil {
		return err
	}
	return c.Print(io.Out, views, func(w *show.Sheet) { PrintHistory(w, views) })
}

// HistoryAfter returns all that came after a version of a run, oldest first.
func HistoryAfter(
	ctx context.Context, runs enginev1.RunServiceClient, runID string, after int64,
) ([]*enginev1.HistoryEntry, error) {
	var entries []*enginev1.HistoryEntry
	next := &enginev1.GetRunHistoryRequest{RunId: runID, AfterVersion: after, PageSize: 1000}
	for more := true; more; more = next.GetAfterVersion() > 0 || next.GetAfterResult() > 0 {
		page, err := runs.GetRunHistory(ctx, next)
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetEntries() {
			// Tool results are numbered separately: earlier ones come too.
			if e.GetRunVersion() >= after {
				entries = append(entries, e)
			}
		}
		next.AfterVersion, next.AfterResult = page.GetNextAfterVersion(), page.GetNextAfterResult()
	}
	return entries, nil
}

// PrintHistory writes changes of a run as a table.
func PrintHistory(w *show.Sheet, views []jsonview.HistoryEntry) {
	fmt.Fprintln(w, "VERSION\tTIME\tACTOR\tCHANGE\tEVENT\tFROM\tTO\tDETAILS")
	for i := range views {
		h := &views[i]
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", h.RunVersion, w.Time(h.Time),
			show.Text(h.Actor), show.Text(h.Type), show.Text(h.Event), show.Text(h.From), show.Text(h.To), show.Text(details(h)))
	}
}

// details returns the text of a line of history in addition to its columns.
func details(h *jsonview.HistoryEntry) string {
	var all []string
	add := func(format string, value string) {
		if value != "" {
			all = append(all, fmt.Sprintf(format, value))
		}
	}
	add("%s", h.Rationale)
	add("%s", h.Reason)
	if h.SafeNext {
		all = append(all, "by safe_next")
	}
	if h.Warned {
		all = append(all, "warning")
	}
	add("branch %s", h.Branch)
	if h.Branch != "" { // of the run itself, run get shows it
		add("given to session %s", h.SessionID)
	}
	if !strings.Contains(h.Reason, h.ApprovalID) {
		add("approval %s", h.ApprovalID)
	}
	add("interrupt %s", h.Interrupt)
	add("by %s", strings.Join(h.Files, ", "))
	if !strings.Contains(h.Reason, h.ChildRunID) {
		add("run %s", h.ChildRunID)
	}
	for i := range h.Joins {
		all = append(all, joinText(&h.Joins[i]))
	}
	if r := h.ToolResult; r != nil {
		all = append(all, resultText(r))
	}
	return strings.Join(all, "; ")
}

func joinText(j *jsonview.Join) string {
	outcome := "failed"
	if j.Succeeded {
		outcome = "succeeded"
	}
	branches := make([]string, len(j.Branches))
	for i, b := range j.Branches {
		branches[i] = b.Name + " " + b.Status
	}
	text := fmt.Sprintf("fork %s %s -> %s (%s)", j.Event, outcome, j.To, strings.Join(branches, ", "))
	if len(j.Conflicts) > 0 {
		text += ", conflicts: " + strings.Join(j.Conflicts, ", ")
	}
	return text
}

func resultText(r *jsonview.ToolResult) string {
	outcome := "failed"
	if r.OK {
		outcome = "ok"
	}
	text := fmt.Sprintf("%s %s, call %s", r.Tool, outcome, r.CallID)
	if r.Truncated {
		text += ", output cut"
	}
	if len(r.Evidence) > 0 {
		text += ", gives evidence " + strings.Join(r.Evidence, ", ")
	}
	return text
}
