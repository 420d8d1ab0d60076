package webhook

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/internal/runnotice"
)

// route selects the events of a receiver, and their times. It follows the # of a receiver:
// "workflow=deploy*&kind=transition&quiet=22:00-07:00&zone=Europe/Berlin".
type route struct {
	// Empty lists take all. A workflow and a namespace are patterns with *.
	workflows, namespaces, kinds, roles, people, events []string
	quiet                                               quiet
	remind                                              time.Duration
	// settings are the other words, of the channel.
	settings map[string]string
}

// runPrefix begins the names of events of runs, and kindRun is the kind that selects them.
const (
	runPrefix = "run."
	kindRun   = "run"
)

// Events of approvals that receivers can get.
var approvalEvents = []string{
	consent.EventRequested, consent.EventEscalated, consent.EventRestored, app.EventReminded, consent.EventVoted, consent.EventGranted,
	consent.EventRejected, consent.EventExpired, consent.EventCancelled, consent.EventUsed, consent.EventStale,
}

// allEvents are those of approvals and of runs.
var allEvents = func() []string {
	all := slices.Clone(approvalEvents)
	for _, event := range runnotice.Events() {
		all = append(all, runPrefix+event)
	}
	return all
}()

// chatter is sent to people only if a route names it.
var chatter = []string{consent.EventVoted, consent.EventUsed}

var allKinds = []string{string(consent.Transition), string(consent.ToolCall), string(consent.ProcessStep), kindRun}

// leastRemind keeps a reminder from being a nuisance.
const leastRemind = time.Minute

// parseRoute reads a route. settings are the other words that the channel knows.
func parseRoute(text string, settings ...string) (route, error) {
	words, err := url.ParseQuery(text)
	if err != nil {
		return route{}, errors.New("after the # of a receiver there are words such as workflow=deploy*&kind=transition, each encoded as in the query of a URL")
	}
	r := route{settings: map[string]string{}}
	zone := ""
	for name, values := range words {
		value := strings.Join(values, ",")
		list := strings.Split(value, ",")
		switch name {
		case "workflow":
			r.workflows, err = list, patterns(list)
		case "namespace":
			r.namespaces, err = list, patterns(list)
		case "kind":
			r.kinds, err = list, known(name, list, allKinds)
		case "role":
			r.roles = list
		case "person":
			r.people = list
		case "event":
			r.events, err = list, known(name, list, allEvents)
		case "quiet":
			r.quiet, err = parseQuiet(value)
		case "zone":
			zone = value
		case "remind":
			if r.remind, err = time.ParseDuration(value); err != nil || r.remind < leastRemind {
				err = fmt.Errorf("remind=%s must be a duration from %s, such as 1h", value, leastRemind)
			}
		default:
			if !slices.Contains(settings, name) {
				err = fmt.Errorf("a receiver of this kind has no word %q; it has %s", name, strings.Join(append(slices.Sorted(slices.Values(settings)),
					"workflow", "namespace", "kind", "role", "person", "event", "quiet", "zone", "remind"), ", "))
			}
			r.settings[name] = value
		}
		if err != nil {
			return route{}, err
		}
	}
	if r.runs() && len(r.roles)+len(r.people) > 0 {
		return route{}, errors.New("role= and person= select approvals by who decides them, and no one decides an event of a run: " +
			"use workflow= or namespace=, or give the receiver another route for approvals")
	}
	if zone != "" && !r.quiet.on {
		return route{}, errors.New("zone= is the time zone of quiet=, which is missing")
	}
	if r.quiet.zone, err = time.LoadLocation(zone); err != nil {
		return route{}, fmt.Errorf("zone=%s is no time zone; use one such as Europe/Berlin", zone)
	}
	return r, nil
}

func known(name string, list, all []string) error {
	for _, word := range list {
		if !slices.Contains(all, word) {
			return fmt.Errorf("%s=%s is not known; use %s", name, word, strings.Join(all, ", "))
		}
	}
	return nil
}

func patterns(list []string) error {
	for _, text := range list {
		if _, err := path.Match(text, ""); err != nil || text == "" {
			return fmt.Errorf("%q is no pattern; use a name in which * stands for any text", text)
		}
	}
	return nil
}

func like(list []string, name string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

func among(list []string, names ...string) bool {
	return len(list) == 0 || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(list, name) })
}

// takes reports whether the receiver gets an event; people means that people read it.
func (r *route) takes(a *app.Record, event string, people bool) bool {
	who := a.Asked(a.Escalated)
	switch {
	case len(r.events) > 0 && !slices.Contains(r.events, event), len(r.events) == 0 && people && slices.Contains(chatter, event):
		return false
	case !like(r.workflows, a.Because().Workflow), !like(r.namespaces, a.Namespace), !among(r.kinds, string(a.Action.Kind)):
		return false
	default:
		// With both roles and people, either is enough.
		byRole, byName := len(r.roles) > 0 && among(r.roles, who.Roles...), len(r.people) > 0 && among(r.people, who.Names...)
		return len(r.roles) == 0 && len(r.people) == 0 || byRole || byName
	}
}

// runs reports that the route names events of runs.
func (r *route) runs() bool {
	return slices.Contains(r.kinds, kindRun) || slices.ContainsFunc(r.events, func(event string) bool { return strings.HasPrefix(event, runPrefix) })
}

// takesRun reports whether the receiver gets an event of a run: only by a route that names runs.
func (r *route) takesRun(namespace string, n *runnotice.Notice, people bool) bool {
	switch {
	case !r.runs(), len(r.events) > 0 && !slices.Contains(r.events, runPrefix+n.Event), len(r.events) == 0 && people && (n.Event == runnotice.Completed || n.Event == runnotice.Started):
		return false
	default:
		return like(r.workflows, n.Workflow) && like(r.namespaces, namespace) && among(r.kinds, kindRun)
	}
}

// quiet is a time of each day at which only escalated approvals are sent.
type quiet struct {
	on         bool
	start, end int // minutes of the day
	zone       *time.Location
}

func parseQuiet(text string) (quiet, error) {
	from, to, ok := strings.Cut(text, "-")
	start, err := time.Parse("15:04", from)
	end, err2 := time.Parse("15:04", to)
	if !ok || err != nil || err2 != nil || start.Equal(end) {
		return quiet{}, fmt.Errorf("quiet=%s must be two times of the day, such as 22:00-07:00", text)
	}
	return quiet{on: true, start: start.Hour()*60 + start.Minute(), end: end.Hour()*60 + end.Minute()}, nil
}

// until returns the end of the quiet time that a time is in; zero for none.
func (q quiet) until(now time.Time) time.Time {
	if !q.on {
		return time.Time{}
	}
	local := now.In(q.zone)
	minute := local.Hour()*60 + local.Minute()
	days := 0
	switch {
	case q.start < q.end && q.start <= minute && minute < q.end, q.start > q.end && minute < q.end:
	case q.start > q.end && minute >= q.start:
		days = 1
	default:
		return time.Time{}
	}
	return time.Date(local.Year(), local.Month(), local.Day()+days, q.end/60, q.end%60, 0, 0, q.zone).UTC()
}
