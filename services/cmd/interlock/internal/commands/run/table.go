package run

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// toolsText describes which tools a run allows: by the run that its session drives instead, by its status,
// and by its state (S2.9, S6.2).
func toolsText(r *jsonview.Run) string {
	if r.SupersededBy != "" {
		return "only Interlock's own: its session drives run " + r.SupersededBy
	}
	lax := r.Enforcement == string(workflow.WhileRunning)
	switch r.Status {
	case "RUNNING", "AWAITING_APPROVAL":
		return restrictedText(r.AllowedTools)
	case "PAUSED", "FAILED":
		if lax {
			return "all: enforcement is off"
		}
	case "COMPLETED":
		if r.Enforcement != string(workflow.Always) {
			return "all: enforcement is off"
		}
	}
	if r.Status == "FAILED" && r.Enforcement == string(workflow.UntilSuccess) {
		return "only tools that read"
	}
	return "only Interlock's own"
}

// printRun writes one run.
func printRun(p show.Printer, out io.Writer, run *enginev1.Run) error {
	view := jsonview.RunOf(run)
	return p.Print(out, view, func(w *show.Sheet) {
		t := runRows{show.Rows{W: w}}
		t.Row("run", view.RunID)
		t.Row("workflow", fmt.Sprintf("%s (version %d)", view.Workflow, view.WorkflowVersion))
		t.Word("status", view.Status)
		for _, h := range view.Holds {
			t.Row("held", heldText(&h))
		}
		t.Row("state", view.State)
		t.standing(&view)
		t.Row("instructions", view.Instructions)
		t.Row("tools", toolsText(&view))
		t.Row("tools denied", strings.Join(view.DisallowedTools, ", "))
		if view.AllowedCommands != nil {
			t.Row("commands", restrictedText(view.AllowedCommands))
		}
		for _, e := range view.LegalEvents {
			text := e.Event + " -> " + strings.Join(e.Targets, " | ") + guardsText(e.Guards)
			if e.RequiresApproval {
				text += ", with approval"
			}
			if e.Frozen {
				text += ", frozen"
			}
			t.Row("event", text)
		}
		for _, e := range view.Evidence {
			text := e.Name + ": " + e.Missing
			if e.Held {
				text = e.Name + ": held since " + t.W.Time(*e.Since) + onTree(e.Tree)
			}
			t.Row("evidence", text)
		}
		t.times(&view)
		if h := view.Halt; h != nil {
			t.Row("halted", fmt.Sprintf("%s, by %s: %s (interlock halt --lift %s)", h.Scope, h.CreatedBy, h.Reason, h.HaltID))
		}
		if f := view.Freeze; f != nil {
			t.Row("freeze", fmt.Sprintf("until %s by %s: %s", t.W.Time(f.Until), f.CreatedBy, f.Reason))
		}
		t.Row("policies", strings.Join(view.Policies, ", "))
		t.limits(&view)
		t.Row("context", string(view.Context))
		t.Row("session", view.SessionID)
		t.Row("schedule", view.Schedule)
		t.Row("workspace", cmp.Or(view.Workspace, noWorkspace(&view)))
		t.Row("version", fmt.Sprint(view.Version))
	})
}

// noWorkspace says what a run without a workspace cannot have; empty where its workflow asks for no evidence.
func noWorkspace(view *jsonview.Run) string {
	if len(view.Evidence) == 0 {
		return ""
	}
	return "none, so no command counts as evidence: the caller that starts the run names its folder"
}

// onTree names the files that evidence is bound to, shortened.
func onTree(digest string) string {
	const shown = 12
	digest = digest[strings.LastIndexByte(digest, ':')+1:]
	if digest == "" {
		return ""
	}
	return ", on tree " + digest[:min(shown, len(digest))]
}

// runRows writes the rows of a run.
type runRows struct{ show.Rows }

// standing describes the run's branches, its interrupts and its waits.
func (t runRows) standing(view *jsonview.Run) {
	if view.Branch != "" {
		over := ""
		if view.BranchOver {
			over = " (over)"
		}
		t.Row("branch", view.Branch+over)
	}
	if i := view.Interrupt; i != nil {
		t.Row("interrupt", i.Name+", $return leads to "+i.ReturnTo)
	}
	t.fork(view.Fork, "")
	t.approval(view)
	if c := view.Child; c != nil {
		t.Row("waits for", c.RunID+" of "+c.Workflow+", invoked by "+c.Event)
	}
	t.Row("invoked by", view.ParentRunID)
}

// times writes what time will bring about.
func (t runRows) times(view *jsonview.Run) {
	for _, d := range view.Dues {
		text := d.Kind
		if d.Event != "" {
			text = d.Event
		}
		if d.Branch != "" {
			text += " in branch " + d.Branch
		}
		if len(d.Targets) > 0 {
			text += " -> " + strings.Join(d.Targets, " | ")
		}
		if d.Holds {
			text += " holds the run"
		}
		if d.StoppedBy == "" {
			text += " at " + t.W.Time(d.At)
		} else {
			text += fmt.Sprintf(", %s left: its clock stands still (%s)", workflow.ShortDuration(time.Duration(d.LeftSeconds)*time.Second), d.StoppedBy)
		}
		if d.Blocked {
			text += ", blocked by its guards or a freeze"
		}
		t.Row("due", text)
	}
	if !view.LastActivity.IsZero() {
		t.Row("last progress", t.W.Time(view.LastActivity))
	}
}

// approval reports the transition that waits for humans, or of the outcome of the
// last one that did.
func (t runRows) approval(view *jsonview.Run) {
	if a := view.PendingApproval; a != nil {
		t.Row("approval", a.ApprovalID+" for "+a.Event+" -> "+a.To+", asked by "+a.AskedBy+" at "+t.W.Time(a.Since))
		t.Row("asked", a.Message)
		if view.Status == "HELD" {
			t.Row("decided", "decisions take effect when the run continues; `interlock approval get "+a.ApprovalID+"` shows whether they have")
		}
	}
	if a := view.LastApproval; a != nil {
		text := a.ApprovalID + " for " + a.Event + " -> " + a.To + " is " + a.Outcome
		if a.DecidedBy != "" {
			text += " by " + a.DecidedBy
		}
		if a.Note != "" {
			text += ": " + a.Note
		}
		t.Row("last approval", text)
	}
}

// fork writes a fork and, below it, its branches.
func (t runRows) fork(f *jsonview.Fork, indent string) {
	if f == nil {
		return
	}
	joins := "join " + f.Join
	for _, to := range [][2]string{{"complete", f.OnComplete}, {"fail", f.OnFail}} {
		if to[1] != "" {
			joins += ", on " + to[0] + " -> " + to[1]
		}
	}
	t.Row(indent+"fork", f.Event+" in "+f.State+" ("+joins+")")
	for i := range f.Branches {
		b := &f.Branches[i]
		text := b.Name + "  " + b.Status + "  " + b.State
		if b.Status == "ACTIVE" {
			text += " (done at " + b.Terminal + ")"
		}
		switch {
		case b.SessionID != "":
			text += "  session " + b.SessionID
		case b.Name == f.Current:
			text += "  current"
		}
		t.Row(indent+"- branch", text)
		t.fork(b.Fork, indent+"  ")
	}
}

// limits describes the limits of the state, and how much of them is used.
func (t runRows) limits(view *jsonview.Run) {
	t.Row("tool calls", used(view.Iterations, view.MaxIterations)+" in this state")
	if view.MaxFilesPerState > 0 {
		t.Row("files changed", used(view.FilesChanged, view.MaxFilesPerState)+" in this state")
	}
	if view.MaxEditLines > 0 {
		t.Row("lines", fmt.Sprintf("at most %d in an edit", view.MaxEditLines))
	}
	if view.ContextBudgetBytes > 0 {
		t.Row("result bytes", used(view.ContextBytes, view.ContextBudgetBytes)+" in this state")
	}
	t.Row("variables hidden", strings.Join(view.BlockedEnv, ", "))
	for _, name := range slices.Sorted(maps.Keys(view.EnvOverrides)) {
		t.Row("variable set", name+"="+view.EnvOverrides[name])
	}
}

func used(n, limit int64) string {
	if limit == 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d of %d", n, limit)
}

// restrictedText returns a list; nil is no restriction.
func restrictedText(list *[]string) string {
	switch {
	case list == nil:
		return "all"
	case len(*list) == 0:
		return "none"
	default:
		return strings.Join(*list, ", ")
	}
}

func guardsText(guards []string) string {
	if len(guards) == 0 {
		return ""
	}
	return " (guard " + strings.Join(guards, ", ") + ")"
}

// whereabouts returns a run's state in a line: in a fork, that of each branch too.
func whereabouts(view *jsonview.Run) string {
	text := view.State
	if view.Branch != "" {
		text = view.Branch + ":" + text
	}
	if view.Interrupt != nil {
		text += " (interrupt " + view.Interrupt.Name + ")"
	}
	if view.Child != nil {
		text += " (waits for " + view.Child.RunID + ")"
	}
	if view.PendingApproval != nil {
		text += " (waits for approval " + view.PendingApproval.ApprovalID + ")"
	}
	if view.Fork != nil {
		text += "  [" + strings.Join(branchStates(view.Fork, ""), ", ") + "]"
	}
	return text
}

func branchStates(f *jsonview.Fork, outer string) []string {
	var all []string
	for i := range f.Branches {
		b := &f.Branches[i]
		all = append(all, outer+b.Name+" "+b.Status+" "+b.State)
		if b.Fork != nil {
			all = append(all, branchStates(b.Fork, outer+b.Name+"/")...)
		}
	}
	return all
}

// heldText describes the hold of a run.
func heldText(h *jsonview.Hold) string {
	if h.Cause == "session_end" {
		return "its session has ended"
	}
	if h.Cause == "stale" {
		return h.Reason
	}
	text := "by operator " + h.By
	if h.Reason != "" {
		text += ": " + h.Reason
	}
	return text
}
