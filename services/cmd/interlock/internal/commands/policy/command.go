// Package policy stores policies, attaches them, and tries them on recorded calls.
package policy

// Command is the family of commands on policies.
type Command struct {
	Put            putCommand            `cmd:"" help:"Store a policy as its next version, live at once or as a shadow."`
	List           listCommand           `cmd:"" help:"List policies."`
	Get            getCommand            `cmd:"" help:"Show a policy."`
	Promote        promoteCommand        `cmd:"" help:"Make a version live: a shadow, or an older one again."`
	Delete         deleteCommand         `cmd:"" help:"Remove a policy without attachments."`
	Attach         attachCommand         `cmd:"" help:"Judge the calls of workflows, sessions, agents, callers, people, groups or everyone by a policy."`
	Detach         detachCommand         `cmd:"" help:"End that."`
	Usage          usageCommand          `cmd:"" help:"Show the counts of the limits of a policy. Name whose: limits per session, principal or human show only with it."`
	Simulate       simulateCommand       `cmd:"" help:"Replay recorded calls against a policy, and show its different decisions."`
	Import         importCommand         `cmd:"" help:"Translate a policy of Claude Code, Intercept or Cedar."`
	ShadowWorkflow shadowWorkflowCommand `cmd:"" help:"Judge calls by another definition of a workflow alongside the live one, without enforcing it."`
}
