package app

import (
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Jails says whether command lines run in jails.
type Jails string

// The values of Jails.
const (
	// JailsAuto uses the jail that a caller has.
	JailsAuto Jails = "auto"
	// JailsRequired denies a line that a state judges and that would run without a jail.
	JailsRequired Jails = "required"
	// JailsOff uses none: what demands one is denied.
	JailsOff Jails = "off"
)

// noJail is said where the deployment demands a jail.
const noJail = "command lines run in a jail here (--jail required), and this call has none; `interlock doctor` names the part that the agent's machine lacks"

// callIn is a call as its state is asked about it.
func (a *App) callIn(s *runs.Snapshot, req Check) toolcall.Call {
	return toolcall.Call{Tool: req.Tool, Input: req.Input, Folder: req.Folder, Places: a.Places, Jail: a.offered(s, req)}
}

// offered is the level of the jail that a caller has for a line, as far as it counts here.
func (a *App) offered(s *runs.Snapshot, req Check) jail.Level {
	if a.Jails == JailsOff || s.Unbound || !toolcall.Shell(s.Machine.State(s.Run.State), req.Tool) {
		return jail.None
	}
	return req.Jail
}

// needsJail reports a line that would be allowed by its state without a jail.
func needsJail(s *runs.Snapshot, req Check, v *toolcall.Verdict) bool {
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
