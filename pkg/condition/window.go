package condition

import (
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// Windows are named spans of time, which the facet time is compared with. They are immutable and
// safe for concurrent use. Nil has none.
type Windows struct {
	text  document.Value
	all   []window
	names []string
}

// mostWindows is how many windows one policy may have.
const mostWindows = 64

// window is a span that recurs on days of the week, or one between two instants.
type window struct {
	name document.Value
	zone *time.Location // nil for one between instants
	days [7]bool
	// from and to are minutes after midnight. The window ends on the next day when to is not after
	// from.
	from, to int
	// since and until are its instants; a zero one is open.
	since, until time.Time
}

// Names returns the names of the windows, in the order written.
func (w *Windows) Names() []string {
	if w == nil {
		return nil
	}
	return slices.Clone(w.names)
}

// Value returns the windows as they were written.
func (w *Windows) Value() document.Value {
	if w == nil {
		return document.Value{}
	}
	return w.text
}

// At returns the windows that an instant is in, as the facet time. Near an edge whose local time is
// skipped or comes twice, it is not sure.
func (w *Windows) At(now time.Time) Set {
	if now.IsZero() {
		return Unknown("the time is not known")
	}
	set := Set{Known: true}
	if w == nil {
		return set
	}
	for i := range w.all {
		if surely, maybe := w.all[i].holds(now); maybe {
			set.Values = append(set.Values, Element{Value: w.all[i].name, Unsure: !surely})
		}
	}
	return set
}

// Open reports that an instant is in a window, without a doubt.
func (w *Windows) Open(name string, now time.Time) bool {
	one := w.named(name)
	if one == nil || now.IsZero() {
		return false
	}
	surely, _ := one.holds(now)
	return surely
}

// Opens returns when a window opens next, in its own zone, to the minute; zero where it does not within 8 days of now, or
// at all.
func (w *Windows) Opens(name string, now time.Time) time.Time {
	one := w.named(name)
	switch {
	case one == nil:
		return time.Time{}
	case one.zone == nil:
		if now.Before(one.since) {
			return one.since
		}
		return time.Time{}
	}
	year, month, day := now.In(one.zone).Date()
	for ahead := range 9 {
		midnight := time.Date(year, month, day+ahead, 0, 0, 0, 0, time.UTC)
		if _, opens := one.instants(midnight, one.from); one.days[midnight.Weekday()] && opens.After(now) {
			return opens.In(one.zone)
		}
	}
	return time.Time{}
}

func (w *Windows) named(name string) *window {
	if w == nil {
		return nil
	}
	if i := slices.Index(w.names, name); i >= 0 {
		return &w.all[i]
	}
	return nil
}

// holds returns whether the instant is surely in the window, and whether it may be.
func (w *window) holds(now time.Time) (surely, maybe bool) {
	if w.zone == nil {
		inside := !now.Before(w.since) && (w.until.IsZero() || now.Before(w.until))
		return inside, inside
	}
	year, month, day := now.In(w.zone).Date()
	for ahead := -1; ahead <= 1; ahead++ {
		midnight := time.Date(year, month, day+ahead, 0, 0, 0, 0, time.UTC)
		if !w.days[midnight.Weekday()] {
			continue
		}
		end := w.to
		if end <= w.from {
			end += 24 * 60
		}
		first, last := w.instants(midnight, w.from)
		firstEnd, lastEnd := w.instants(midnight, end)
		surely = surely || !now.Before(last) && now.Before(firstEnd)
		maybe = maybe || !now.Before(first) && now.Before(lastEnd)
	}
	return surely, maybe
}

// instants returns the first and the last instant that a local time can mean. They differ when a
// change of the clock skips it or lets it come twice.
func (w *window) instants(midnight time.Time, minutes int) (first, last time.Time) {
	local := midnight.Add(time.Duration(minutes) * time.Minute) // as if it were UTC
	first = w.withOffset(local, local.Add(-24*time.Hour))
	last = w.withOffset(local, local.Add(24*time.Hour))
	isFirst, isLast := w.shows(first, local), w.shows(last, local)
	switch {
	case isFirst && !isLast:
		last = first
	case isLast && !isFirst:
		first = last
	case last.Before(first):
		first, last = last, first
	}
	return first, last
}

// withOffset returns the instant of a local time by the offset that holds at another instant.
func (w *window) withOffset(local, at time.Time) time.Time {
	_, offset := at.In(w.zone).Zone()
	return local.Add(-time.Duration(offset) * time.Second)
}

// shows reports that clocks show a local time at an instant.
func (w *window) shows(instant, local time.Time) bool {
	_, offset := instant.In(w.zone).Zone()
	return instant.Add(time.Duration(offset) * time.Second).Equal(local)
}

// ReadWindows reads the field "windows" of a policy and reports its problems. It returns nil when
// there is no such field.
func ReadWindows(f document.Fields) *Windows {
	if !f.Has("windows") {
		return nil
	}
	named, ok := f.Object("windows")
	if !ok {
		return nil
	}
	w := &Windows{text: named.Value}
	if n := named.Value.Len(); n > mostWindows {
		f.Report.Errorf(named.At, document.CodeTooMany, "there are %d windows, the limit is %d", n, mostWindows)
		return nil
	}
	for name, v := range named.Value.Members() {
		at := named.At.Key(name)
		if !f.Report.CheckName(name, at, document.NameRule{What: "window"}) {
			continue
		}
		if fields, ok := f.Report.Object(v, at, "a window"); ok {
			w.names = append(w.names, name)
			one := readWindow(fields)
			one.name = document.StringValue(name)
			w.all = append(w.all, one)
		}
	}
	return w
}

func readWindow(f document.Fields) window {
	f.Known("a window", "zone", "days", "from", "to", "until")
	from, _ := f.Value.Get("from")
	if f.Has("until") || strings.Contains(from.Str(), "T") {
		return readSpan(f)
	}
	w := window{zone: readZone(f), days: readDays(f), to: 24 * 60}
	if f.Has("from") != f.Has("to") {
		f.Require("from", "to")
		return w
	}
	if !f.Has("from") {
		if !f.Has("days") {
			f.Report.Errorf(f.At, document.CodeEmpty, "the window has no edge; write \"days\", or \"from\" and \"to\"")
		}
		return w
	}
	w.from, w.to = readClock(f, "from"), readClock(f, "to")
	switch w.from {
	case 24 * 60:
		f.Report.Errorf(f.At.Key("from"), document.CodeRange, "a window begins before 24:00; write 00:00")
	case w.to:
		f.Report.Errorf(f.At.Key("to"), document.CodeRange, "the window ends when it begins; write another time, or leave out both for whole days")
	}
	return w
}

// readSpan reads a window between two instants.
func readSpan(f document.Fields) window {
	w := window{since: readInstant(f, "from"), until: readInstant(f, "until")}
	for _, name := range []string{"zone", "days", "to"} {
		if f.Has(name) {
			f.Report.Errorf(f.At.Key(name), document.CodeConflict,
				"a window between two instants has no %q; write \"from\" and \"until\" alone, or hours such as 09:00 in \"from\" and \"to\"", name)
		}
	}
	if !w.since.IsZero() && !w.until.IsZero() && !w.since.Before(w.until) {
		f.Report.Errorf(f.At.Key("until"), document.CodeRange, "the window ends before it begins; swap the two")
	}
	return w
}

func readInstant(f document.Fields, name string) time.Time {
	text, ok := f.Str(name)
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		f.Report.Errorf(f.At.Key(name), document.CodeRange, "%s is not an instant; write it with its offset, such as 2026-12-18T00:00:00Z", document.Quote(text))
	}
	return t
}

func readZone(f document.Fields) *time.Location {
	f.Require("zone")
	name, ok := f.Str("zone")
	if !ok {
		return time.UTC
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		f.Report.Errorf(f.At.Key("zone"), document.CodeEnum, "%s is not a time zone; write one of the IANA names, such as Europe/Berlin or UTC", document.Quote(name))
		return time.UTC
	}
	return zone
}

// readClock reads hours and minutes as minutes after midnight.
func readClock(f document.Fields, name string) int {
	text, ok := f.Str(name)
	if !ok {
		return 0
	}
	if text == "24:00" {
		return 24 * 60
	}
	t, err := time.Parse("15:04", text)
	if err != nil || len(text) != len("15:04") {
		f.Report.Errorf(f.At.Key(name), document.CodeRange, "%s is not a time of day; write hours and minutes, such as 09:00", document.Quote(text))
		return 0
	}
	return t.Hour()*60 + t.Minute()
}

var dayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// readDays reads days and ranges of days; without any, all.
func readDays(f document.Fields) (days [7]bool) {
	if !f.Has("days") {
		return [7]bool{true, true, true, true, true, true, true}
	}
	items, _ := f.Strings("days", 7)
	if list, _ := f.Value.Get("days"); list.Kind() == document.Array && list.Len() == 0 {
		f.Report.Errorf(f.At.Key("days"), document.CodeEmpty, "the list of days is empty; name some, or leave it out for every day")
	}
	for _, item := range items {
		first, last, ranged := strings.Cut(item.Text, "-")
		if !ranged {
			last = first
		}
		from, to := slices.Index(dayNames, first), slices.Index(dayNames, last)
		if from < 0 || to < 0 {
			f.Report.Errorf(item.At, document.CodeEnum, "%s is not a day; write mon, tue, wed, thu, fri, sat, sun, or a range such as mon-thu", document.Quote(item.Text))
			continue
		}
		for day := from; ; day = (day + 1) % len(dayNames) {
			days[day] = true
			if day == to {
				break
			}
		}
	}
	return days
}
