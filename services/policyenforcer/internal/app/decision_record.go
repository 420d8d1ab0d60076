package app

import (
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

func decisionsKey(namespace, root string) store.Key {
	return ledger.Decisions(store.Key{Namespace: namespace, ID: root})
}

// logged appends a record to the log, as part of the commit that the decision is. The
// root is that of the run.
func logged(namespace, root string, rec *ledger.Decision) store.Append {
	return store.Append{Key: decisionsKey(namespace, root), Entry: rec.Encode()}
}

// told is a decision as others than the caller are told of it: messages quote what was
// called.
func (a *App) told(d *Decision) *Decision {
	if d.Message == "" && len(d.Shadows) == 0 {
		return d
	}
	told := *d
	told.Message = a.Masks.Text(d.Message)
	if len(d.Shadows) > 0 {
		told.Shadows = make([]ledger.Shadow, len(d.Shadows))
		for i, sh := range d.Shadows {
			sh.Message = a.Masks.Text(sh.Message)
			told.Shadows[i] = sh
		}
	}
	return &told
}

// decisionRecord is what the log keeps of a decision.
func decisionRecord(q *question, s *snapshotOf, d *Decision, masks Masks) *ledger.Decision {
	rec := &ledger.Decision{
		Principal: q.caller.Principal.Name, SessionID: s.run.SessionID,
		RunID: s.run.ID, RunVersion: s.run.Version, Workflow: s.run.Workflow, WorkflowVersion: s.run.WorkflowVersion,
		State: s.run.State, Branch: s.run.Branch, CallID: d.CallID, Tool: d.Tool, Capability: d.Capability,
		Decision: d.Verdict.Decision, Code: d.Verdict.Code, Message: d.Message, InputDigest: d.InputDigest,
		ApprovalID: d.ApprovalID, LeaseID: d.LeaseID, Shadows: d.Shadows,
	}
	if d.Verdict.Decision != toolcall.Ask { // what is asked has no repeats
		rec.Kept = ledger.KeptOf(&d.Verdict, s.run.Entry, ledger.SpendsOf(d.combined.Spends))
		rec.Kept.Gives, rec.Kept.Edits, rec.Kept.Voids = d.observed.Gives, d.observed.edits, d.observed.Voids
	}
	if d.By != nil {
		rec.Policy, rec.PolicyVersion, rec.Rule = d.By.Policy, d.By.Version, d.By.Pointer()
	}
	if s.unbound {
		rec.RunID, rec.RunVersion, rec.Workflow, rec.State = "", 0, "", ""
	}
	if d.EstimatedCost > 0 {
		rec.EstimatedCostUSD = d.EstimatedCost.String()
	}
	if s.Machine.Meta().CaptureOutput && d.Verdict.Code != toolcall.CodeInvalidInput {
		rec.Input = masks.Input(q.req.Input)
	}
	return rec
}
