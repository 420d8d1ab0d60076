package consent

// Types of events about an approval.
const (
	EventRequested = "requested"
	// EventEscalated announces it again, to the fallback approvers.
	EventEscalated = "escalated"
	// EventRestored announces it again, because the decision may be lost.
	EventRestored  = "restored"
	EventVoted     = "voted"
	EventGranted   = "granted"
	EventRejected  = "rejected"
	EventExpired   = "expired"
	EventCancelled = "cancelled"
	EventUsed      = "used"
	EventStale     = "stale"
)

// Event is one fact to announce. It holds no part of the action's data.
type Event struct {
	Type string
	// Vote of an approver.
	Vote *Vote
	// Eligible are the people who are asked now.
	Eligible Approvers
	// Reason that it was cancelled, has become stale or is announced again for, and By whom.
	Reason string
	By     string
}

// Result is the outcome of a command.
type Result struct {
	// Approval is the next one; the same as before when there is no change.
	Approval *Approval
	Changed  bool
	// Events to announce, in order.
	Events []Event
	// Refusal is set when the command was refused.
	Refusal *Refusal
}

func (a *Approval) begin() *Result { return &Result{Approval: a.clone(), Changed: true} }

func (r *Result) announce(e Event) { r.Events = append(r.Events, e) }

// unchanged returns the result of a command without effect.
func unchanged(a *Approval) Result { return Result{Approval: a} }
