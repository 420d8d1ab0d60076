package check

import (
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// noJail is said where the deployment demands a jail.
const noJail = "command lines run in a jail here (--jail required), and this call has none; `interlock doctor` says what the machine of the agent lacks"

// callIn is a call as its state is asked about it.
func (c *Service) callIn(s *runs.Snapshot, req Request) toolcall.Call {
	return toolcall.Call{Tool: req.Tool, Input: req.Input, Folder: req.Folder, Places: c.Places, Jail: c.offered(s, req)}
}

// offered is the level of the jail that a caller has for a line, as far as it counts here.
func (c *Service) offered(s *runs.Snapshot, req Request) jail.Level {
	if c.Jails == enforcer.JailsOff || s.Unbound || !toolcall.Shell(s.Machine.State(s.Run.State), req.Tool) {
		return jail.None
	}
	return req.Jail
}

// needsJail reports a line that would be allowed by its state without a jail.
func needsJail(s *runs.Snapshot, req Request, v *toolcall.Verdict) bool {
	return !s.Unbound && v.Decision == toolcall.Allow && v.Jail == nil && v.Code != toolcall.CodeNotEnforced &&
		!toolcall.Own(req.Tool) && toolcall.Shell(s.Machine.State(s.Run.State), req.Tool) && !toolcall.OnlyOwn(toolcall.Call{Input: req.Input})
}

// confine makes of the profile of an allowed line what is stored with its call. Where there is no one line, there is no jail
// that could hold it.
func (d *Decision) confine(q *question, s *runs.Snapshot) {
	d.Jail = nil
	p := d.combined.State.Jail
	if p == nil || d.Verdict.Decision == toolcall.Deny {
		return
	}
	line, ok := toolcall.LineOf(toolcall.Call{Tool: q.req.Tool, Input: q.req.Input})
	if !ok {
		d.denyByState(toolcall.JailRequired(d.Tool, "its input has no command line that could run in a jail"))
		return
	}
	d.Jail = &ledger.Jail{
		Level: p.Level, Digest: p.Digest(), Profile: p.JSON(), Line: ledger.LineDigest([]byte(line)), Allowed: q.now,
		Reads: toolcall.ProvedToRead(s.Machine, s.Machines(), line),
	}
}
