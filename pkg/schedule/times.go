// Package schedule is the pure core of schedules (S25.20): the times of a schedule, and its next step at a
// moment. It takes the time as an argument.
package schedule

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/interlock-run/interlock/pkg/document"
)

// Times are the nominal times of a schedule.
type Times struct {
	// cron matches local times, which are written as times of UTC: the zone is applied by first.
	cron  cron.Schedule
	zone  *time.Location
	until time.Time
}

// maxCron is the most bytes of a cron expression.
const maxCron = 256

// fieldForm is the form of a field. The parser ignores some parts of other texts.
var fieldForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:(\*|\?|[0-9]{1,2}|[a-z]{3})(-([0-9]{1,2}|[a-z]{3}))?(/[0-9]{1,2})?(,(\*|\?|[0-9]{1,2}|[a-z]{3})(-([0-9]{1,2}|[a-z]{3}))?(/[0-9]{1,2})?)*)$`)
})

// mostSteps are the longest steps that come twice in each field.
var mostSteps = [...]int{59, 23, 30, 11, 6}

// longStep returns the first step of a field that is longer than most; empty for none.
func longStep(field string, most int) string {
	for part := range strings.SplitSeq(field, ",") {
		_, step, _ := strings.Cut(part, "/")
		if n, err := strconv.Atoi(step); err == nil && n > most {
			return step
		}
	}
	return ""
}

const howCron = `write five fields, "minute hour day month weekday" such as "0 7 * * mon-fri" or "*/15 * * * *", or @hourly, @daily, @weekly, @monthly or @yearly`

// ParseTimes reads a cron expression of five fields, or one of the words, in a zone of the IANA database; empty for
// UTC. There are no times after until; zero for no end.
func ParseTimes(expression, zone string, until time.Time) (*Times, error) {
	location, err := parseZone(zone)
	if err != nil {
		return nil, err
	}
	parsed, err := parseCron(expression)
	if err != nil {
		return nil, err
	}
	return &Times{cron: parsed, zone: location, until: until}, nil
}

func parseZone(zone string) (*time.Location, error) {
	if zone == "" {
		return time.UTC, nil
	}
	location, err := time.LoadLocation(zone)
	if err != nil || !named(zone) {
		return nil, &Problem{"zone", fmt.Sprintf("%s is not a zone of the IANA database; write one such as Europe/Berlin, America/New_York or UTC", document.Quote(zone))}
	}
	return location, nil
}

// named reports whether a zone goes by its name in the database. Other files of it are the zone of the machine, which may differ
// between replicas, copies of zones, and zones that count leap seconds.
func named(zone string) bool {
	lower := strings.ToLower(zone)
	switch lower {
	case "local", "localtime", "posixrules", "factory":
		return false
	}
	return path.Clean(zone) == zone && !strings.HasPrefix(lower, "posix/") && !strings.HasPrefix(lower, "right/")
}

// leapYear begins the search for a first time: all that ever comes does in the five years after it.
var leapYear = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)

func parseCron(expression string) (cron.Schedule, error) {
	bad := func(format string, args ...any) (cron.Schedule, error) {
		return nil, &Problem{"cron", fmt.Sprintf(format, args...)}
	}
	fields := strings.Fields(expression)
	switch {
	case len(expression) > maxCron:
		return bad("the expression has %d bytes, of at most %d", len(expression), maxCron)
	case len(fields) == 2 && fields[0] == "@every":
		return bad("%s has no times of the day; write a step such as \"*/15 * * * *\"", document.Quote(expression))
	case len(fields) == 1 && strings.HasPrefix(fields[0], "@"):
		fields[0] = strings.ToLower(fields[0])
	case len(fields) != 5:
		return bad("%s has %d fields; %s", document.Quote(expression), len(fields), howCron)
	default:
		for i, field := range fields {
			if step := longStep(field, mostSteps[i]); step != "" {
				return bad("a step of %s in the field %s comes once; write the one value, or a step of at most %d", step, document.Quote(field), mostSteps[i])
			}
			if !fieldForm().MatchString(field) || strings.HasPrefix(field, "*-") || strings.Contains(field, ",*-") {
				return bad("the field %s of %s is not one; %s", document.Quote(field), document.Quote(expression), howCron)
			}
		}
	}
	parsed, err := cron.ParseStandard(strings.Join(fields, " "))
	if err != nil {
		return bad("%s: %v; %s", document.Quote(expression), err, howCron)
	}
	if spec, ok := parsed.(*cron.SpecSchedule); ok {
		spec.Location = time.UTC
	}
	if parsed.Next(leapYear).IsZero() {
		return bad("%s never comes: no month has such a day", document.Quote(expression))
	}
	return parsed, nil
}

// Problem is a field of a schedule that is not valid.
type Problem struct{ Field, Message string }

// Error implements error.
func (p *Problem) Error() string { return p.Field + ": " + p.Message }

// Next returns the first time after a moment; ok is false if there is none.
func (t *Times) Next(after time.Time) (at time.Time, ok bool) {
	clock := after.In(t.zone)
	local := time.Date(clock.Year(), clock.Month(), clock.Day(), clock.Hour(), clock.Minute(), clock.Second(), 0, time.UTC)
	for local = t.cron.Next(local); !local.IsZero(); local = t.cron.Next(local) {
		if at = t.first(local); at.After(after) {
			return at, t.until.IsZero() || !at.After(t.until)
		}
	}
	return time.Time{}, false
}

// List returns the next times after a moment, at most so many.
func (t *Times) List(after time.Time, most int) (all []time.Time) {
	for at, ok := t.Next(after); ok && len(all) < most; at, ok = t.Next(at) {
		all = append(all, at)
	}
	return all
}

// Zone returns the zone.
func (t *Times) Zone() *time.Location { return t.zone }

// widest is more than the clock of any zone is apart from UTC.
const widest = 48 * time.Hour

// first returns the first moment at which the clock of the zone has come to a local time: that of a time which comes
// twice is the first, and that of a time which is skipped is the moment after the gap.
func (t *Times) first(local time.Time) time.Time {
	from := local.Add(-widest)
	for {
		_, offset := from.In(t.zone).Zone()
		_, end := from.In(t.zone).ZoneBounds()
		at := local.Add(-time.Duration(offset) * time.Second)
		if at.Before(from) {
			at = from
		}
		if end.IsZero() || at.Before(end) {
			return at.UTC()
		}
		from = end
	}
}
