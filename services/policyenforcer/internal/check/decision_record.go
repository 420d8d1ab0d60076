package check

import (
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/redact"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// told returns a decision with its secrets masked, for others than the caller: messages quote inputs.
func (c *Service) told(d *Decision) *Decision {
	if d.Message == "" && len(d.Shadows) == 0 {
		return d
	}
	told := *d
	told.Message = c.Masks.Text(d.Message)
	if len(d.Shadows) > 0 {
		told.Shadows = make([]ledger.Shadow, len(d.Shadows))
		for i, sh := range d.Shadows {
			sh.Message = c.Masks.Text(sh.Message)
			told.Shadows[i] = sh
		}
	}
	return &told
}

// decisionRecord returns the record of a decision in the log.
func decisionRecord(q *question, s *runs.Snapshot, d *Decision, masks redact.Masks) *ledger.Decision {
	rec := &ledger.Decision{
		Principal: q.caller.Principal.Name, SessionID: s.Run.SessionID,
		RunID: s.Run.ID, RunVersion: s.Run.Version, Workflow: s.Run.Workflow, WorkflowVersion: s.Run.WorkflowVersion,
		State: s.Run.State, Branch: s.Run.Branch, CallID: d.CallID, Tool: d.Tool, Capability: d.Capability,
		Decision: d.Verdict.Decision, Code: d.Verdict.Code, Message: d.Message, InputDigest: d.InputDigest,
		ApprovalID: d.ApprovalID, LeaseID: d.LeaseID, Shadows: d.Shadows,
	}
	if d.Verdict.Decision != toolcall.Ask && d.Verdict.Code != toolcall.CodeCallerDenied { // which have no repeats
		rec.Kept = ledger.KeptOf(&d.Verdict, s.Run.Entry, ledger.SpendsOf(d.combined.Spends))
		rec.Kept.Gives, rec.Kept.Edits, rec.Kept.Voids = d.observed.Gives, d.observed.edits, d.observed.Voids
	}
	rec.JailLevel = q.offered
	if j := d.Jail; j != nil && d.Verdict.Decision == toolcall.Allow {
		rec.JailLevel, rec.JailDigest = j.Level, j.Digest
		rec.Kept.Profile, rec.Kept.Line, rec.Kept.Allowed, rec.Kept.Reads = j.Profile, j.Line, j.Allowed, j.Reads
	}
	if d.By != nil {
		rec.Policy, rec.PolicyVersion, rec.Rule = d.By.Policy, d.By.Version, d.By.Pointer()
	}
	if s.Unbound {
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
