package condition_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
)

// readWindows reads the field of a policy, and its problems.
func readWindows(t *testing.T, text string) (*condition.Windows, string) {
	t.Helper()
	v, problem := document.Parse([]byte(`{"windows": `+text+`}`), document.Limits{})
	if problem != nil {
		t.Fatalf("%s: %v", text, problem)
	}
	var report document.Report
	w := condition.ReadWindows(document.Fields{Report: &report, Value: v})
	var all []string
	for _, p := range report.Problems() {
		all = append(all, p.Message)
	}
	return w, strings.Join(all, "; ")
}

// TestWindows judges instants in and near windows: yes, no, and edges that clocks show twice or never, which are inside
// for restrictions and outside for allowances (S21.5).
func TestWindows(t *testing.T) {
	t.Parallel()
	const (
		work   = `{"zone": "Europe/Berlin", "days": ["mon-thu"], "from": "09:00", "to": "16:00"}`
		night  = `{"zone": "Europe/Berlin", "days": ["fri"], "from": "22:00", "to": "06:00"}`
		gap    = `{"zone": "Europe/Berlin", "from": "02:30", "to": "05:00"}`
		inGap  = `{"zone": "Europe/Berlin", "from": "02:10", "to": "02:40"}`
		toGap  = `{"zone": "Europe/Berlin", "from": "01:00", "to": "02:30"}`
		whole  = `{"zone": "Europe/Berlin", "days": ["sun"]}`
		freeze = `{"from": "2026-12-18T00:00:00Z", "until": "2027-01-04T00:00:00+01:00"}`
		since  = `{"from": "2026-12-18T00:00:00Z"}`
		until  = `{"until": "2026-12-18T00:00:00Z"}`
		india  = `{"zone": "Asia/Kolkata", "from": "09:00", "to": "09:01"}`
		lord   = `{"zone": "Australia/Lord_Howe", "from": "01:45", "to": "03:00"}`
		apia   = `{"zone": "Pacific/Apia", "days": ["fri"]}`
		utc    = `{"zone": "UTC", "from": "00:00", "to": "24:00"}`
		around = `{"zone": "UTC", "days": ["sat-mon"], "from": "12:00", "to": "11:59"}`
		kiri   = `{"zone": "Pacific/Kiritimati", "days": ["mon"]}`
		pago   = `{"zone": "Pacific/Pago_Pago", "days": ["mon"]}`
	)
	for _, row := range []struct {
		window, now      string
		restricts, allow condition.Truth
	}{
		{work, "2026-11-30T08:00:00Z", yes, yes}, // Monday 09:00 in Berlin
		{work, "2026-11-30T07:59:59.999999999Z", no, no},
		{work, "2026-11-30T14:59:59.999999999Z", yes, yes},
		{work, "2026-11-30T15:00:00Z", no, no},
		{work, "2026-12-04T10:00:00Z", no, no}, // Friday
		{work, "2026-07-06T07:00:00Z", yes, yes},
		{work, "2026-07-06T06:59:59Z", no, no}, // summer time
		{work, "2026-07-06T14:00:00Z", no, no},
		{work, "2026-11-30T09:00:00+01:00", yes, yes},
		{work, "2026-11-30T23:00:00+14:00", yes, yes}, // Monday in the zone of the instant and of the window
		{night, "2026-12-04T21:00:00Z", yes, yes},
		{night, "2026-12-05T04:59:59Z", yes, yes}, // Saturday, of Friday's window
		{night, "2026-12-05T05:00:00Z", no, no},
		{night, "2026-12-05T21:30:00Z", no, no},
		{night, "2026-12-04T04:00:00Z", no, no}, // Friday morning belongs to Thursday
		{night, "2026-12-04T20:59:59Z", no, no},
		{gap, "2026-03-29T00:59:00Z", yes, no}, // 01:59; 02:00 to 03:00 are skipped
		{gap, "2026-03-29T00:30:00Z", yes, no},
		{gap, "2026-03-29T00:29:59Z", no, no},
		{gap, "2026-03-29T01:00:00Z", yes, no}, // 03:00
		{gap, "2026-03-29T01:29:59Z", yes, no},
		{gap, "2026-03-29T01:30:00Z", yes, yes},
		{gap, "2026-03-29T02:59:59Z", yes, yes},
		{gap, "2026-03-29T03:00:00Z", no, no},
		{gap, "2026-10-25T00:30:00Z", yes, no}, // 02:30, the first time
		{gap, "2026-10-25T00:29:59Z", no, no},
		{gap, "2026-10-25T01:29:59Z", yes, no}, // 02:29:59, the second time
		{gap, "2026-10-25T01:30:00Z", yes, yes},
		{gap, "2026-10-25T03:59:59Z", yes, yes},
		{gap, "2026-10-25T04:00:00Z", no, no},
		{inGap, "2026-03-29T00:45:00Z", yes, no},
		{inGap, "2026-03-29T01:20:00Z", yes, no},
		{inGap, "2026-03-29T01:45:00Z", no, no},
		{inGap, "2026-10-25T00:20:00Z", yes, no},
		{inGap, "2026-10-25T01:20:00Z", yes, no},
		{inGap, "2026-10-25T01:45:00Z", no, no},
		{toGap, "2026-03-29T00:29:00Z", yes, yes},
		{toGap, "2026-03-29T00:30:00Z", yes, no},
		{toGap, "2026-03-29T01:29:59Z", yes, no},
		{toGap, "2026-03-29T01:30:00Z", no, no},
		{toGap, "2026-10-25T00:29:59Z", yes, yes},
		{toGap, "2026-10-25T01:29:59Z", yes, no},
		{toGap, "2026-10-25T01:30:00Z", no, no},
		{whole, "2026-11-28T23:00:00Z", yes, yes}, // midnight in Berlin
		{whole, "2026-11-28T22:59:59Z", no, no},
		{whole, "2026-11-29T22:59:59Z", yes, yes},
		{whole, "2026-11-29T23:00:00Z", no, no},
		{whole, "2026-10-25T22:59:59Z", yes, yes}, // a day of 25 hours
		{whole, "2026-03-29T21:59:59Z", yes, yes}, // a day of 23 hours
		{whole, "2026-03-29T22:00:00Z", no, no},
		{freeze, "2026-12-17T23:59:59.999999999Z", no, no},
		{freeze, "2026-12-18T00:00:00Z", yes, yes},
		{freeze, "2027-01-03T22:59:59Z", yes, yes},
		{freeze, "2027-01-03T23:00:00Z", no, no},
		{freeze, "2026-12-18T00:30:00+01:00", no, no},
		{since, "9999-01-01T00:00:00Z", yes, yes},
		{since, "2026-12-17T00:00:00Z", no, no},
		{until, "1970-01-01T00:00:00Z", yes, yes},
		{until, "2026-12-18T00:00:00Z", no, no},
		{india, "2026-11-30T03:30:00Z", yes, yes},
		{india, "2026-11-30T03:31:00Z", no, no},
		{lord, "2026-04-04T14:45:00Z", yes, no}, // 01:45, which comes twice: clocks go back by 30 minutes
		{lord, "2026-04-04T15:15:00Z", yes, yes},
		{lord, "2026-04-04T14:44:59Z", no, no},
		{apia, "2011-12-30T09:00:00Z", yes, no}, // Thursday, and the hours of the Friday that is skipped
		{apia, "2011-12-30T11:00:00Z", no, no},
		{apia, "2012-01-05T11:00:00Z", yes, yes},
		{utc, "2026-06-30T23:59:60Z", yes, yes},
		{utc, "2026-01-01T00:00:00Z", yes, yes},
		{around, "2026-12-01T11:58:00Z", yes, yes}, // Tuesday, of Monday's window
		{around, "2026-12-01T12:00:00Z", no, no},
		{around, "2026-11-28T11:59:00Z", no, no}, // Saturday before noon
		{around, "2026-11-29T11:59:00Z", no, no}, // the minute between Saturday's and Sunday's
		{kiri, "2026-11-29T10:00:00Z", yes, yes},
		{kiri, "2026-11-30T10:00:00Z", no, no},
		{pago, "2026-11-30T10:59:59Z", no, no},
		{pago, "2026-12-01T10:59:59Z", yes, yes},
	} {
		w, problems := readWindows(t, `{"work": `+row.window+`}`)
		now, err := time.Parse(time.RFC3339, strings.Replace(row.now, ":60Z", ":59Z", 1))
		if err != nil || problems != "" {
			t.Fatal(row.now, err, problems)
		}
		facets := map[condition.Facet]condition.Set{condition.Time: w.At(now)}
		what := fmt.Sprintf(`{"now": %q}`, row.now)
		judgeAll(t, []on{
			{`{"time": "work"}`, what, row.restricts, row.allow},
			{`{"time": {"within": ["freeze", "work"]}}`, what, row.restricts, row.allow},
			{`{"time": {"neq": "work"}}`, what, row.allow.Not(), row.restricts.Not()},
			{`{"not": {"time": ["work"]}}`, what, row.allow.Not(), row.restricts.Not()},
			{`{"time": "freeze"}`, what, no, no},
		}, facets)
	}
}

// TestWindowsByTheClock compares windows with what a clock on the wall shows: an instant that is surely in a window has such a
// time, and one with such a time may be in it. Days without a change of the clock leave no doubt (S21.5).
func TestWindowsByTheClock(t *testing.T) {
	t.Parallel()
	names := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Kiritimati", "America/St_Johns", "Africa/Casablanca"}
	r := randtest.New(t, 11)
	inside, doubtful := 0, 0
	for range randtest.Size(600, 20_000) {
		zone, err := time.LoadLocation(zones[r.IntN(len(zones))])
		if err != nil {
			t.Fatal(err)
		}
		first, last := r.IntN(7), r.IntN(7)
		from, to := r.IntN(24*60), r.IntN(24*60)
		if from == to {
			to = 24 * 60
		}
		text := fmt.Sprintf(`{"w": {"zone": %q, "days": ["%s-%s"], "from": "%02d:%02d", "to": "%02d:%02d"}}`, zone, names[first], names[last], from/60, from%60, to/60, to%60)
		w, problems := readWindows(t, text)
		if problems != "" {
			t.Fatal(text, problems)
		}
		day := func(d time.Weekday) bool { return (int(d)-first+7)%7 <= (last-first+7)%7 }
		for i := range 20 {
			now := time.Unix(1_577_836_800+r.Int64N(10*365*24*3600), r.Int64N(1e9)).In(zone) // from 2020 on
			if _, change := now.ZoneBounds(); i%2 == 0 && !change.IsZero() {
				now = change.Add(time.Duration(r.Int64N(int64(8*time.Hour)) - int64(4*time.Hour))).In(zone)
			}
			minute, today := now.Hour()*60+now.Minute(), now.Weekday()
			shown := minute >= from && minute < to && day(today)
			if to <= from {
				shown = minute >= from && day(today) || minute < to && day((today+6)%7)
			}
			set := w.At(now)
			maybe := len(set.Values) > 0
			surely := maybe && !set.Values[0].Unsure
			_, before := now.AddDate(0, 0, -3).Zone()
			_, after := now.AddDate(0, 0, 3).Zone()
			if surely && !shown || shown && !maybe || before == after && surely != maybe {
				t.Errorf("%s at %v: surely %v, maybe %v, the clock says %v", text, now, surely, maybe, shown)
			}
			if maybe {
				inside++
			}
			if maybe && !surely {
				doubtful++
			}
		}
	}
	if inside < 300 || doubtful == 0 {
		t.Errorf("%d instants were inside, %d in doubt", inside, doubtful)
	}
}

// TestNoTime: a time that is not known is in doubt, and a policy without windows has none.
func TestNoTime(t *testing.T) {
	t.Parallel()
	w, _ := readWindows(t, `{"work": {"zone": "UTC", "days": ["mon"]}}`)
	for _, c := range []string{`{"time": "work"}`, `{"time": {"neq": "work"}}`, `{"not": {"time": "work"}}`} {
		judgeAll(t, []on{{c, `{}`, doubt, doubt}}, map[condition.Facet]condition.Set{condition.Time: w.At(time.Time{})})
	}
	var none *condition.Windows
	if s := none.At(time.Unix(0, 0)); !s.Known || len(s.Values) > 0 || none.Names() != nil || !none.Value().IsZero() {
		t.Errorf("%+v", s)
	}
	if names := w.Names(); len(names) != 1 || names[0] != "work" || w.Value().Len() != 1 {
		t.Errorf("%v", names)
	}
}

// TestWindowProblems: each problem of a window names the fix.
func TestWindowProblems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"zone": "Europe/Berlim", "days": ["mon"]}`:                        "write one of the IANA names, such as Europe/Berlin",
		`{"zone": "", "days": ["mon"]}`:                                     "write one of the IANA names",
		`{"zone": "Local", "days": ["mon"]}`:                                "write one of the IANA names",
		`{"zone": "../../etc/passwd", "days": ["mon"]}`:                     "write one of the IANA names",
		`{"days": ["mon"]}`:                                                 `"zone" is missing; add it`,
		`{"zone": "UTC"}`:                                                   `write "days", or "from" and "to"`,
		`{"zone": "UTC", "from": "09:00"}`:                                  `"to" is missing; add it`,
		`{"zone": "UTC", "to": "09:00"}`:                                    `"from" is missing; add it`,
		`{"zone": "UTC", "from": "9:00", "to": "10:00"}`:                    "such as 09:00",
		`{"zone": "UTC", "from": "09:00:00", "to": "10:00"}`:                "such as 09:00",
		`{"zone": "UTC", "from": "25:00", "to": "10:00"}`:                   "such as 09:00",
		`{"zone": "UTC", "from": "24:00", "to": "10:00"}`:                   "write 00:00",
		`{"zone": "UTC", "from": "09:00", "to": "09:00"}`:                   "write another time",
		`{"zone": "UTC", "days": ["monday"]}`:                               "write mon, tue",
		`{"zone": "UTC", "days": ["Mon"]}`:                                  "write mon, tue",
		`{"zone": "UTC", "days": ["mon-xyz"]}`:                              "or a range such as mon-thu",
		`{"zone": "UTC", "days": []}`:                                       "name some, or leave it out",
		`{"from": "2026-12-18T00:00:00Z", "until": "2026-12-18T00:00:00Z"}`: "swap the two",
		`{"from": "2026-12-18T00:00:00", "until": "2026-12-19T00:00:00Z"}`:  "write it with its offset",
		`{"until": "2026-12-18"}`:                                           "write it with its offset",
		`{"until": "2026-13-18T00:00:00Z"}`:                                 "write it with its offset",
		`{"until": "2026-12-18T00:00:00Z", "zone": "UTC"}`:                  `write "from" and "until" alone`,
		`{"until": "2026-12-18T00:00:00Z", "days": ["mon"]}`:                `write "from" and "until" alone`,
		`{"from": "2026-12-18T00:00:00Z", "to": "10:00"}`:                   `write "from" and "until" alone`,
		`{"zone": "UTC", "days": ["mon"], "form": "09:00"}`:                 "form",
		`"work"`:                       "object",
		`{"zone": 1, "days": ["mon"]}`: "string",
		`{"zone": "UTC", "days": ["mon","tue","wed","thu","fri","sat","sun","mon-sun"]}`: "7",
	} {
		if _, problems := readWindows(t, `{"w": `+text+`}`); !strings.Contains(problems, want) {
			t.Errorf("%s: %q does not have %q", text, problems, want)
		}
	}
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprintf(`"w%d": {"zone": "UTC", "days": ["mon"]}`, i)
	}
	for text, want := range map[string]string{`[]`: "object", `{` + strings.Join(many, ",") + `}`: "the limit is 64", `{"": {"zone": "UTC", "days": ["mon"]}}`: "window"} {
		if _, problems := readWindows(t, text); !strings.Contains(problems, want) {
			t.Errorf("%.40s: %q does not have %q", text, problems, want)
		}
	}
}
