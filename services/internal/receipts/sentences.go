package receipts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Sentences returns the claims of the receipt, for people: only checked ones.
func (c *Checked) Sentences() []string {
	p := &c.Statement.Predicate
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	first, last := (*jsonview.HistoryEntry)(nil), c.last()
	if len(c.history) > 0 {
		first = &c.history[0]
	}
	if first != nil && last != nil {
		say("Run %s of workflow %q was started at %s by %s, and is %s in state %q since %s.", p.RunID, p.Workflow, clock(first.Time), first.Actor,
			p.Status, p.State, clock(last.Time))
	}
	for i := range c.history {
		e := &c.history[i]
		switch {
		case e.ToolResult != nil:
			if text := gave(e); text != "" {
				all = append(all, text)
			}
			continue
		case e.Type == workflow.EventForced:
			say("At %s %s forced it from %q to %q, past guards and approvals.", clock(e.Time), e.Actor, e.From, e.To)
			continue
		case e.Type == workflow.EventMigrated && i > 0:
			say("At %s %s moved it from version %d to version %d.", clock(e.Time), e.Actor, c.history[i-1].WorkflowVersion, e.WorkflowVersion)
			continue
		case e.Type != workflow.EventTransitioned || e.ApprovalID == "" && len(e.Guards) == 0:
			continue
		}
		text := fmt.Sprintf("At %s it went from %q to %q by %s", clock(e.Time), e.From, e.To, e.Event)
		if names := passed(e); names != "" {
			text += ", after " + names
		}
		if people := c.people(e.ApprovalID); people != "" {
			text += ", approved by " + people
		}
		all = append(all, text+".")
	}
	for i := range c.approvals {
		all = append(all, c.signers(&c.approvals[i])...)
	}
	allowed := 0
	for _, n := range c.allowed {
		allowed += n
	}
	say("%s allowed, and %d refused or asked about.", plural(allowed, "call was", "calls were"), c.denied)
	if c.open > 0 {
		say("%s allowed because enforcement was off (NOT_ENFORCED): the run had ended, or its agent had paused it.", plural(c.open, "of these calls was", "of these calls were"))
	}
	for _, t := range p.Policies {
		if t.Set != nil {
			say("Version %d of policy %s is of %s.", t.Version, t.Name, t.Set)
		}
	}
	for _, d := range p.Definitions {
		if d.Set != nil {
			say("Version %d of %s is of %s.", d.Version, d.Name, d.Set)
		}
		for _, proved := range c.Proved[d.Version] {
			switch proved.Verdict {
			case verify.Proved:
				say("Version %d keeps %q, regardless of the agent's actions (proved, %d states).", d.Version, proved.Name, proved.States)
			case verify.ProvedRunning:
				say("Version %d keeps %q while it is running (proved, %d states).", d.Version, proved.Name, proved.States)
			}
		}
	}
	if c.Conformance.Open[conform.OpenSource] > 0 {
		say("Its guards ask who has sent a value, and an operator may have done so, which is not recorded: the proof is about agents alone.")
	}
	for _, w := range c.Cosigned {
		say("Witness %s has seen this log at %s.", w.Witness, w.At.Format(time.RFC3339))
	}
	return all
}

// gave describes which evidence a jail has witnessed, and on which files.
func gave(e *jsonview.HistoryEntry) string {
	r := e.ToolResult
	if r.Witness == "" || len(r.Evidence) == 0 {
		return ""
	}
	on := ""
	if r.Tree != "" {
		on = " on " + r.Tree
	}
	return fmt.Sprintf("At %s a jail has witnessed %s%s (call %q, witness %s).", clock(e.Time), strings.Join(r.Evidence, ", "), on, r.CallID, r.Witness)
}

func passed(e *jsonview.HistoryEntry) string {
	var names []string
	for i := range e.Guards {
		if e.Guards[i].Passed {
			names = append(names, e.Guards[i].Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "guard " + strings.Join(names, ", ") + " had passed"
}

// people names all who have agreed.
func (c *Checked) people(id string) string {
	at := slices.IndexFunc(c.approvals, func(a jsonview.Approval) bool { return a.ApprovalID == id })
	if at < 0 {
		return ""
	}
	var names []string
	for _, v := range c.approvals[at].Votes {
		if v.Approve {
			names = append(names, v.By)
		}
	}
	return strings.Join(names, " and ")
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
