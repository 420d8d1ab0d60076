package rules

import "time"

// Bounds are the first moment of the period that now is in and the first after
// it, in UTC. Zero for a period that there is none of.
func (p Period) Bounds(now time.Time) (start, end time.Time) {
	now = now.UTC()
	year, month, day := now.Date()
	switch p {
	case Hourly:
		start = time.Date(year, month, day, now.Hour(), 0, 0, 0, time.UTC)
		return start, start.Add(time.Hour)
	case Daily:
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC), time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
	case Monthly:
		return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC), time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
	default:
		return time.Time{}, time.Time{}
	}
}

// format is how a period's start is written in the name of its counter.
func (p Period) format() string {
	switch p {
	case Hourly:
		return "2006-01-02T15"
	case Daily:
		return "2006-01-02"
	default:
		return "2006-01"
	}
}

// noun is the period in a sentence.
func (p Period) noun() string {
	switch p {
	case Hourly:
		return "hour"
	case Daily:
		return "day"
	default:
		return "month"
	}
}
