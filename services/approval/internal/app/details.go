package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Details help a person to decide on one approval. No decision depends on them: parts that
// cannot be found are missing.
type Details struct {
	// Unlocks has the effect of a grant; nil when that is not known.
	Unlocks *Unlocks
	// Previous is the newest approval before that was granted for the same; nil for none.
	Previous *Record
	// Command is the command line of a call of a shell; nil for other calls.
	Command *toolcall.Line
}

// Unlocks is the effect of a grant: the state in which a run then is, and its tools.
type Unlocks struct {
	State           string
	ToolsRestricted bool
	AllowedTools    []string
	Instructions    string
}

// MayDecide reports that the caller's vote on an approval would be accepted now, and in a
// sentence why not. It is the core's own judgement.
func (a *App) MayDecide(caller Caller, r *Record) (may bool, why string) {
	who := caller.Principal
	if who.Role == auth.Relay {
		return a.relayMay(r.at(a.now()))
	}
	if err := bound(who); err != nil {
		return false, fault.From(err).Message
	}
	may, why = r.MayDecide(approver(who), a.now())
	if may && !auth.Allowed("/interlock.approval.v1.ApprovalService/DecideApproval", who.Role) {
		return false, "the role " + document.Quote(string(who.Role)) + " decides no approvals, regardless of the terms"
	}
	return may, why
}

// Unanswerable returns why no registered people could grant an approval that waits now, where only they decide. It is empty
// when they could, and when that is not known: no decision depends on it.
func (a *App) Unanswerable(ctx context.Context, r *Record) string {
	if r.Standing() != consent.Pending || !r.Terms.Presence && !r.Terms.Distinct {
		return ""
	}
	people, err := a.voters.Voters(ctx, r.Namespace)
	if err != nil {
		a.missing(ctx, r, "who can answer", err)
		return ""
	}
	return r.Terms.Unanswerable(r.Asker, people)
}

// detailTime is how long a reader waits for details.
const detailTime = 2 * time.Second

// Details returns those of an approval.
func (a *App) Details(ctx context.Context, r *Record) (d Details) {
	ctx, cancel := context.WithTimeout(ctx, detailTime)
	defer cancel()
	why := r.Because()
	var m *workflow.Machine
	if a.definitions != nil && why.Workflow != "" && why.WorkflowVersion > 0 {
		var err error
		if m, err = a.definitions.Machine(ctx, r.Namespace, why.Workflow, why.WorkflowVersion); err != nil {
			a.missing(ctx, r, "what it unlocks", err)
		}
	}
	if m != nil {
		d.Unlocks = r.unlocks(m, why.State)
	}
	if r.Action.Kind == consent.ToolCall {
		d.Command = r.command(m, &why)
	}
	var err error
	if d.Previous, err = a.previous(ctx, r); err != nil {
		a.missing(ctx, r, "what was granted before", err)
	}
	return d
}

func (a *App) missing(ctx context.Context, r *Record, what string, err error) {
	a.log.LogAttrs(ctx, slog.LevelDebug, "a part of an approval cannot be shown", slog.String("approval_id", r.ID), slog.String("part", what), slog.Any("cause", err))
}

// unlocks returns the rules of the state to which a grant leads: a call stays where it
// is.
func (r *Record) unlocks(m *workflow.Machine, state string) *Unlocks {
	if r.Action.Kind != consent.ToolCall {
		state = r.subject("to")
	}
	view := m.State(state)
	if !view.Known() {
		return nil
	}
	return &Unlocks{State: state, ToolsRestricted: view.ToolsRestricted, AllowedTools: view.AllowedTools, Instructions: view.Instructions}
}

// command returns the command line that the data has, as the state judges it where that is
// known.
func (r *Record) command(m *workflow.Machine, why *Why) *toolcall.Line {
	data := r.Bound().Data
	if data.IsZero() {
		return nil
	}
	call := toolcall.Call{Tool: r.subject("tool"), Input: data.AppendJSON(nil)}
	if m == nil {
		return toolcall.ReadLine(call)
	}
	run := &workflow.Run{
		ID: r.RunID, Workflow: why.Workflow, WorkflowVersion: why.WorkflowVersion, Status: workflow.Running, Lane: workflow.Lane{State: why.State},
	}
	at := run.At("")
	return toolcall.Explain(m, &at, call).Line
}

// previous returns the newest approval before one that was granted for the same; nil for
// none.
func (a *App) previous(ctx context.Context, r *Record) (*Record, error) {
	page, err := a.store.List(ctx, store.Query{
		Namespace: r.Namespace, Kind: KindApproval, Labels: map[string]string{labelGranted: r.topic()}, Descending: true, After: r.ID, Limit: 1,
	})
	if err != nil || len(page.Records) == 0 {
		return nil, err
	}
	return decode(page.Records[0])
}
