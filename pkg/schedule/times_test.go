package schedule

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // for machines without time zones
)

func times(t *testing.T, cron, zone string) *Times {
	t.Helper()
	all, err := ParseTimes(cron, zone, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestNext(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cron, zone, after, until string
		want                     string // the next times as the clock of the zone shows them
	}{
		"each working day":             {"0 7 * * mon-fri", "Europe/Berlin", "2026-11-27T12:00:00Z", "", "Mon 30 07:00 +0100, Tue 01 07:00 +0100, Wed 02 07:00 +0100"},
		"names in any case, and lists": {"5,35 8-9 * JAN,jul Sat,SUN", "", "2026-01-01T00:00:00Z", "", "Sat 03 08:05 +0000, Sat 03 08:35 +0000, Sat 03 09:05 +0000"},
		"steps":                        {"*/20 */12 * * *", "UTC", "2026-01-01T00:00:00Z", "", "Thu 01 00:20 +0000, Thu 01 00:40 +0000, Thu 01 12:00 +0000"},
		"either day":                   {"0 0 13 * fri", "", "2026-02-01T00:00:00Z", "", "Fri 06 00:00 +0000, Fri 13 00:00 +0000, Fri 20 00:00 +0000"},
		"a word":                       {"@daily", "Asia/Kolkata", "2026-01-01T00:00:00Z", "", "Fri 02 00:00 +0530, Sat 03 00:00 +0530, Sun 04 00:00 +0530"},
		"a word in upper case":         {"@HOURLY", "", "2026-01-01T00:30:00Z", "", "Thu 01 01:00 +0000, Thu 01 02:00 +0000, Thu 01 03:00 +0000"},
		"only leap years":              {"0 0 29 2 *", "", "2026-01-01T00:00:00Z", "", "Tue 29 00:00 +0000, Sun 29 00:00 +0000, Fri 29 00:00 +0000"},
		"until, which counts":          {"0 7 * * *", "", "2026-01-01T00:00:00Z", "2026-01-02T07:00:00Z", "Thu 01 07:00 +0000, Fri 02 07:00 +0000"},

		"Berlin, skipped":                              {"30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", "", "Sat 28 02:30 +0100, Sun 29 03:00 +0200, Mon 30 02:30 +0200"},
		"Berlin, several skipped are one":              {"*/30 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "", "Sun 29 03:00 +0200, Sun 29 03:30 +0200, Mon 30 02:00 +0200"},
		"Berlin, twice":                                {"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "", "Sun 25 02:30 +0200, Mon 26 02:30 +0100, Tue 27 02:30 +0100"},
		"Berlin, the end of the hour that comes twice": {"0 3 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "", "Sun 25 03:00 +0100, Mon 26 03:00 +0100, Tue 27 03:00 +0100"},
		"Berlin, from the second hour":                 {"*/30 * * * *", "Europe/Berlin", "2026-10-25T01:15:00Z", "", "Sun 25 03:00 +0100, Sun 25 03:30 +0100, Sun 25 04:00 +0100"},
		"Berlin, through both hours":                   {"*/30 * * * *", "Europe/Berlin", "2026-10-24T23:59:00Z", "", "Sun 25 02:00 +0200, Sun 25 02:30 +0200, Sun 25 03:00 +0100"},
		"New York, skipped":                            {"15 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", "", "Sun 08 03:00 -0400, Mon 09 02:15 -0400, Tue 10 02:15 -0400"},
		"New York, twice":                              {"30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", "", "Sun 01 01:30 -0400, Mon 02 01:30 -0500, Tue 03 01:30 -0500"},
		"Lord Howe, half an hour is skipped":           {"10 2 * * *", "Australia/Lord_Howe", "2026-10-02T18:00:00Z", "", "Sun 04 02:30 +1100, Mon 05 02:10 +1100, Tue 06 02:10 +1100"},
		"Lord Howe, after the skipped half":            {"40 2 * * *", "Australia/Lord_Howe", "2026-10-02T18:00:00Z", "", "Sun 04 02:40 +1100, Mon 05 02:40 +1100, Tue 06 02:40 +1100"},
		"Lord Howe, half an hour twice":                {"45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", "", "Sun 05 01:45 +1100, Mon 06 01:45 +1030, Tue 07 01:45 +1030"},
		"Apia, a day is skipped":                       {"0 7 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", "", "Thu 29 07:00 -1000, Sat 31 00:00 +1400, Sat 31 07:00 +1400"},
		"Apia, the skipped day alone":                  {"0 7 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "", "Sat 31 00:00 +1400, Sun 30 07:00 +1400, Mon 30 07:00 +1400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var until time.Time
			if tc.until != "" {
				until = moment(t, tc.until)
			}
			all, err := ParseTimes(tc.cron, tc.zone, until)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			at, ok := all.Next(moment(t, tc.after))
			for ; ok && len(got) < 3; at, ok = all.Next(at) {
				got = append(got, at.In(all.Zone()).Format("Mon 02 15:04 -0700"))
			}
			if text := strings.Join(got, ", "); text != tc.want {
				t.Errorf("the times are\n%s, want\n%s", text, tc.want)
			}
		})
	}
}

// Times that are asked for from any moment are those of one walk: none comes twice, and none is left out (S25.21).
func TestTimesAreOneSequence(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "UTC"} {
		for _, cron := range []string{"*/10 * * * *", "30 2 * * *", "15,45 1-3 * * *", "0 0 * * *"} {
			t.Run(zone+" "+cron, func(t *testing.T) {
				t.Parallel()
				all := times(t, cron, zone)
				from, to := moment(t, "2011-12-27T00:00:00Z"), moment(t, "2012-04-03T00:00:00Z")
				var walk []time.Time
				for at, _ := all.Next(from); at.Before(to); at, _ = all.Next(at) {
					if n := len(walk); n > 0 && !at.After(walk[n-1]) {
						t.Fatalf("%s follows %s", at, walk[n-1])
					}
					walk = append(walk, at)
				}
				next := 0
				for at := from; at.Before(to.Add(-48 * time.Hour)); at = at.Add(7 * time.Minute) {
					for !walk[next].After(at) {
						next++
					}
					if got, _ := all.Next(at); !got.Equal(walk[next]) {
						t.Fatalf("after %s comes %s, and on the walk %s", at, got, walk[next])
					}
				}
			})
		}
	}
}

func TestParseTimesRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cron, zone string
		field      string
		want       string
	}{
		"none":                         {"", "", "cron", "has 0 fields; write five fields"},
		"six fields":                   {"0 0 7 * * *", "", "cron", "has 6 fields; write five fields"},
		"a minute too far":             {"60 7 * * *", "", "cron", "above maximum (59)"},
		"an unknown name":              {"0 7 * * xyz", "", "cron", "xyz"},
		"a range back":                 {"0 7 * * fri-mon", "", "cron", "beyond end of range"},
		"a step of nothing":            {"*/0 * * * *", "", "cron", "positive"},
		"a comma alone":                {", * * * *", "", "cron", "is not one"},
		"a star with an end":           {"*-5 * * * *", "", "cron", "is not one"},
		"a star with an end in a list": {"1,*-5 * * * *", "", "cron", "is not one"},
		"a zone in it":                 {"TZ=UTC 0 7 * * *", "", "cron", "6 fields"},
		"a zone in it, five fields":    {"TZ= 7 * * *", "", "cron", "is not one"},
		"an interval":                  {"@every 5m", "", "cron", "no times of the day"},
		"an unknown word":              {"@reboot", "", "cron", "@reboot"},
		"a step that comes once":       {"1,*/99 * * * *", "", "cron", "a step of 99"},
		"a step of months":             {"0 0 1 */12 *", "", "cron", "at most 11"},
		"a day that never comes":       {"0 0 31 2 *", "", "cron", "never comes"},
		"long":                         {strings.Repeat("1,", 200) + "1 * * * *", "", "cron", "of at most 256"},
		"no zone":                      {"@daily", "Berlin", "zone", "Europe/Berlin"},
		"the machine's zone":           {"@daily", "Local", "zone", "IANA"},
		"the machine's file":           {"@daily", "localtime", "zone", "IANA"},
		"the machine's file, by a dot": {"@daily", "./localtime", "zone", "IANA"},
		"the machine's rules":          {"@daily", "posixrules", "zone", "IANA"},
		"leap seconds":                 {"@daily", "right/Europe/Berlin", "zone", "IANA"},
		"a copy":                       {"@daily", "posix/UTC", "zone", "IANA"},
		"a zone by a dot":              {"@daily", "./Europe/Berlin", "zone", "IANA"},
		"no zone yet":                  {"@daily", "Factory", "zone", "IANA"},
		"a path":                       {"@daily", "../etc/passwd", "zone", "IANA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseTimes(tc.cron, tc.zone, time.Time{})
			var problem *Problem
			if !errors.As(err, &problem) || problem.Field != tc.field || !strings.Contains(problem.Message, tc.want) {
				t.Errorf("the error is %v, want %q of %s", err, tc.want, tc.field)
			}
		})
	}
}

func FuzzParseTimes(f *testing.F) {
	for _, seed := range []string{"0 7 * * mon-fri", "@daily", "TZ=0", "*/5,1-3 ? 1/2 jan 0", "@every 1s", "99 99 99 99 99"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		all, err := ParseTimes(expression, "Europe/Berlin", time.Time{})
		if err != nil {
			return
		}
		from := time.Date(2026, 10, 24, 23, 59, 0, 0, time.UTC)
		if at, ok := all.Next(from); ok && !at.After(from) {
			t.Errorf("after %s comes %s", from, at)
		}
	})
}
