package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// walk carries steps out until there is nothing to do, and describes them. busy says whether the last run of the
// schedule runs: with it, each start makes the schedule busy.
func walk(r *Rules, p Progress, now time.Time, busy bool) (string, Progress) {
	var did []string
	for {
		step := r.Decide(p, now, busy)
		p = step.Progress
		at := step.At.Format("02 15:04")
		switch step.Act {
		case End:
			return strings.Join(append(did, "end"), ", "), p
		case Wait:
			return strings.Join(append(did, "wait "+step.At.Format("02 15:04:05")), ", "), p
		case Miss:
			did = append(did, fmt.Sprintf("miss %d from %s to %s", step.Count, step.First.Format("02 15:04"), at))
		case Start:
			did, busy = append(did, "start "+at), true
		case Skip:
			did = append(did, "skip "+at)
		case Queue:
			did = append(did, "queue "+at)
		}
		if len(did) == 5 {
			return strings.Join(append(did, "..."), ", "), p
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cron    string
		until   string
		missed  Missed
		overlap Overlap
		handled string
		queued  string
		now     string
		busy    bool
		want    string
	}{
		"not yet":        {cron: "0 7 * * *", handled: "2026-01-01T07:00:00Z", now: "2026-01-02T06:59:59Z", want: "wait 02 07:00:00"},
		"on time":        {cron: "0 7 * * *", handled: "2026-01-01T07:00:00Z", now: "2026-01-02T07:00:00Z", want: "start 02 07:00, wait 03 07:00:00"},
		"a minute late":  {cron: "0 7 * * *", handled: "2026-01-01T07:00:00Z", now: "2026-01-02T07:01:00Z", want: "start 02 07:00, wait 03 07:00:00"},
		"missed":         {cron: "0 7 * * *", handled: "2026-01-01T07:00:00Z", now: "2026-01-02T07:01:01Z", want: "miss 1 from 02 07:00 to 02 07:00, wait 03 07:00:00"},
		"several missed": {cron: "0 7 * * *", handled: "2026-01-01T07:00:00Z", now: "2026-01-05T12:00:00Z", want: "miss 4 from 02 07:00 to 05 07:00, wait 06 07:00:00"},
		"several missed, and one on time": {
			cron: "0 7 * * *", handled: "2026-01-01T07:00:00Z", now: "2026-01-05T07:00:10Z",
			want: "miss 3 from 02 07:00 to 04 07:00, start 05 07:00, wait 06 07:00:00",
		},
		"one for all that were missed": {
			cron: "0 7 * * *", missed: MissedOnce, handled: "2026-01-01T07:00:00Z", now: "2026-01-05T12:00:00Z",
			want: "miss 3 from 02 07:00 to 04 07:00, start 05 07:00, wait 06 07:00:00",
		},
		"all that were missed, the oldest first": {
			cron: "0 7 * * *", missed: MissedAll, overlap: OverlapAllow, handled: "2026-01-02T07:00:00Z", now: "2026-01-05T12:00:00Z",
			want: "start 03 07:00, start 04 07:00, start 05 07:00, wait 06 07:00:00",
		},
		"a hundred of those that were missed": {
			cron: "* * * * *", missed: MissedAll, overlap: OverlapAllow, handled: "2026-01-01T00:00:00Z", now: "2026-01-01T03:00:30Z",
			want: "miss 80 from 01 00:01 to 01 01:20, start 01 01:21, start 01 01:22, start 01 01:23, start 01 01:24, ...",
		},
		"more than one step counts": {
			cron: "* * * * *", missed: MissedAll, overlap: OverlapAllow, handled: "2026-01-01T00:00:00Z", now: "2026-01-08T00:00:30Z",
			want: "miss 9900 from 01 00:01 to 07 21:00, miss 80 from 07 21:01 to 07 22:20, start 07 22:21, start 07 22:22, start 07 22:23, ...",
		},
		"a year is counted in several steps": {
			cron: "* * * * *", handled: "2026-01-01T00:00:00Z", now: "2026-01-15T00:05:30Z",
			want: "miss 9900 from 01 00:01 to 07 21:00, miss 9900 from 07 21:01 to 14 18:00, miss 364 from 14 18:01 to 15 00:04, start 15 00:05, wait 15 00:06:00",
		},
		"the clock goes back":    {cron: "0 7 * * *", handled: "2026-01-05T07:00:00Z", now: "2026-01-02T07:00:00Z", want: "wait 06 07:00:00"},
		"the end":                {cron: "0 7 * * *", until: "2026-01-02T07:00:00Z", handled: "2026-01-01T07:00:00Z", now: "2026-01-02T07:00:00Z", want: "start 02 07:00, end"},
		"after the end":          {cron: "0 7 * * *", until: "2026-01-02T06:00:00Z", handled: "2026-01-01T07:00:00Z", now: "2026-01-02T07:00:00Z", want: "end"},
		"the last one runs":      {cron: "0 7 * * *", handled: "2026-01-01T07:00:00Z", now: "2026-01-02T07:00:00Z", busy: true, want: "skip 02 07:00, wait 03 07:00:00"},
		"side by side":           {cron: "0 7 * * *", overlap: OverlapAllow, handled: "2026-01-01T07:00:00Z", now: "2026-01-02T07:00:00Z", busy: true, want: "start 02 07:00, wait 03 07:00:00"},
		"behind the last one":    {cron: "0 7 * * *", overlap: OverlapQueue, handled: "2026-01-01T07:00:00Z", now: "2026-01-02T07:00:00Z", busy: true, want: "queue 02 07:00, wait 02 07:00:05"},
		"one is queued, no more": {cron: "0 7 * * *", overlap: OverlapQueue, handled: "2026-01-02T07:00:00Z", queued: "2026-01-02T07:00:00Z", now: "2026-01-03T07:00:00Z", busy: true, want: "skip 03 07:00, wait 03 07:00:05"},
		"the queued one's turn":  {cron: "0 7 * * *", overlap: OverlapQueue, handled: "2026-01-02T07:00:00Z", queued: "2026-01-02T07:00:00Z", now: "2026-01-02T09:00:00Z", want: "start 02 07:00, wait 03 07:00:00"},
		"the next is before a look": {
			cron: "0 7 * * *", overlap: OverlapQueue, handled: "2026-01-02T07:00:00Z", queued: "2026-01-02T07:00:00Z", now: "2026-01-03T06:59:58Z", busy: true,
			want: "wait 03 07:00:00",
		},
		"the queued one's turn after the end": {
			cron: "0 7 * * *", until: "2026-01-02T08:00:00Z", overlap: OverlapQueue, handled: "2026-01-02T07:00:00Z", queued: "2026-01-02T07:00:00Z", now: "2026-01-04T00:00:00Z",
			want: "start 02 07:00, end",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Progress{Handled: moment(t, tc.handled)}
			if tc.queued != "" {
				p.Queued = moment(t, tc.queued)
			}
			all := times(t, tc.cron, "")
			if tc.until != "" {
				all.until = moment(t, tc.until)
			}
			rules := &Rules{Times: all, Missed: tc.missed, Overlap: tc.overlap}
			got, after := walk(rules, p, moment(t, tc.now), tc.busy)
			if got != tc.want {
				t.Errorf("the steps are\n%s, want\n%s", got, tc.want)
			}
			if again, _ := walk(rules, after, moment(t, tc.handled), true); strings.Contains(again, "start") {
				t.Errorf("after the clock went back: %s", again)
			}
		})
	}
}
