package app

// Settings that tests refer to.
const (
	InFlight    = inFlight
	ShortDigest = shortDigest
	StartWithin = startWithin
)

// Full reports whether a limit has no room.
func (l *LimitReason) Full() bool { return l.full() }
