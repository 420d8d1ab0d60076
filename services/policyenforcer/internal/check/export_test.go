package check

// Settings that tests refer to.
const (
	DecisionGrace = decisionGrace
)

// Full reports whether a limit has no room.
func (l *LimitReason) Full() bool { return l.full() }

// ActiveAgain is activeAgain.
var ActiveAgain = activeAgain
