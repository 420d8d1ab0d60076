package app

import (
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

type (
	// Caller is enforcer.Caller.
	Caller = enforcer.Caller
	// Target is enforcer.Target.
	Target = enforcer.Target
	// Runs is enforcer.Runs.
	Runs = enforcer.Runs
	// Definition is enforcer.Definition.
	Definition = enforcer.Definition
	// Interrupted is enforcer.Interrupted.
	Interrupted = enforcer.Interrupted
	// Sessions is enforcer.Sessions.
	Sessions = enforcer.Sessions
	// Shared is enforcer.Shared.
	Shared = enforcer.Shared
	// Approvals is enforcer.Approvals.
	Approvals = enforcer.Approvals
	// Ask is enforcer.Ask.
	Ask = enforcer.Ask
	// Approval is enforcer.Approval.
	Approval = enforcer.Approval
)
