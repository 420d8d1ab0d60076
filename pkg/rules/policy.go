// Package rules is the pure core of policies (S7): what a policy says, and
// which capabilities its patterns match. Values in, values out: it must never
// read a clock, a store or a file, and any doubt in it denies.
package rules

// Policy is who may call what, and how often (seed 003).
type Policy struct {
	// Role is the agent's role that the policy is for.
	Role string
	// Name is optional, for people.
	Name string
	// DefaultDeny denies what no rule matches; otherwise it is allowed (S7.2).
	DefaultDeny bool
	// Allow, Ask and Deny in the order written. Deny goes first, then Ask, then
	// Allow.
	Allow, Ask, Deny []Rule
	// SessionBudget is the most that a session may cost, nil for no limit (S7.5).
	SessionBudget *MicroUSD
	// Email limits email tools, nil for no limit (S7.7).
	Email *EmailLimits
}

// Rule is one capability pattern and the limits of what it matches.
type Rule struct {
	Capability string
	Rate       *RateLimit   // nil: none
	Budget     *BudgetLimit // nil: none
}

// RateLimit admits at most MaxCalls in any window of that many seconds (S7.4).
type RateLimit struct {
	MaxCalls      int64
	WindowSeconds int64
}

// BudgetLimit denies once Max is spent in the period (S7.5).
type BudgetLimit struct {
	Max    MicroUSD
	Period Period
}

// Period is a stretch of UTC time at whose start a budget is fresh.
type Period string

// Periods.
const (
	Hourly  Period = "hourly"
	Daily   Period = "daily"
	Monthly Period = "monthly"
)

// EmailLimits are a session's limits on email tools (S7.7).
type EmailLimits struct {
	// MaxPerSession is the number of emails; Limited is false when none was given.
	MaxPerSession int64
	Limited       bool
	// AllowedFrom and AllowedTo are addresses or patterns as *@example.com. Nil
	// means any, empty means none.
	AllowedFrom, AllowedTo []string
}
