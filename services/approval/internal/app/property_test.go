package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// people are all who try to decide: approvers, the asker under other letter case and
// roles, and who is asked later.
var people = []app.Caller{
	alice, bob, carol, olga,
	as("Alice", auth.Approver), as("agent-7", auth.Approver), as("AGENT-7", auth.Operator), as("agent-8", auth.Agent),
}

// life is one approval under commands that come to two replicas in any order, with
// others in the middle of them.
type life struct {
	*rapid.T
	rig      *rig
	replicas []*app.App
	id       string
	digests  []string
	depth    int
}

// TestLifeOfAnApproval: whatever is asked of an approval, on whatever replica and in
// the middle of whatever else, it is decided at most once and by enough people who
// are not its asker, it is used at most once, and all of that is announced (S9.3,
// S9.4).
func TestLifeOfAnApproval(t *testing.T) {
	t.Parallel()
	reached := map[consent.Status]int{}
	r := here(t)
	randtest.Check(t, func(rt *rapid.T) {
		asked := r.ask(func(q *app.Question) {
			q.Terms = consent.Terms{
				Required: rapid.IntRange(1, 2).Draw(rt, "required"), DenyThreshold: rapid.IntRange(1, 2).Draw(rt, "deny"), TTL: 10 * time.Minute,
				Escalation: consent.Escalation{After: 5 * time.Minute, To: consent.Approvers{Roles: []string{"operator"}}},
			}
		})
		l := &life{T: rt, rig: r, replicas: []*app.App{r.App, r.replica(r.open())}, id: asked.ID, digests: []string{"", asked.Digest}}
		for range rapid.IntRange(4, 16).Draw(rt, "commands") {
			l.command()
		}
		reached[l.check()]++
	})
	for _, want := range []consent.Status{consent.Pending, consent.Granted, consent.Rejected, consent.Expired, consent.Cancelled, consent.Stale, consent.Used} {
		if reached[want] == 0 {
			t.Errorf("no approval has become %s: %v", want, reached)
		}
	}
}

// command draws one, and whether another one comes just before its commit.
func (l *life) command() {
	on := l.replicas[rapid.IntRange(0, 1).Draw(l.T, "replica")]
	if l.depth == 0 && rapid.IntRange(0, 2).Draw(l.T, "interrupted") == 0 {
		on = l.rig.before(app.KindApproval, func() {
			l.depth++
			l.command()
			l.depth--
		})
	}
	ctx := l.rig.Context()
	seen := rapid.SampledFrom(l.digests).Draw(l.T, "digest")
	switch rapid.SampledFrom([]string{"vote", "vote", "vote", "vote", "use", "use", "void", "cancel", "sweep", "later", "later"}).Draw(l.T, "command") {
	case "vote":
		by := rapid.SampledFrom(people).Draw(l.T, "by")
		v := app.Vote{Approve: rapid.IntRange(0, 3).Draw(l.T, "approve") > 0, Digest: seen, Key: rapid.SampledFrom([]string{"", "k"}).Draw(l.T, "key")}
		if v.Approve && rapid.IntRange(0, 4).Draw(l.T, "edits") == 0 {
			v.Edited = []byte(`{"build":1}`)
		}
		if got, err := on.Decide(ctx, by, l.id, v); err == nil {
			l.digests = append(l.digests, got.Digest)
		}
	case "use":
		usedBy := rapid.SampledFrom([]string{"call_1", "call_2"}).Draw(l.T, "used by")
		got, err := on.Consume(ctx, engine, l.id, seen, usedBy, "")
		if err == nil && (got.UsedBy != usedBy || got.Digest != seen || got.Standing() != consent.Used) {
			l.Fatalf("%s uses it for %s, and it is %+v", usedBy, seen, got)
		}
	case "void":
		_, _ = on.Void(ctx, engine, l.id, "over")
	case "cancel":
		if rapid.IntRange(0, 2).Draw(l.T, "cancels") == 0 {
			_, _ = on.Cancel(ctx, engine, l.id, "over")
		}
	case "sweep":
		on.SweepOnce(ctx)
	case "later":
		l.rig.clock.Advance(rapid.SampledFrom([]time.Duration{time.Minute, 5 * time.Minute, 6 * time.Minute}).Draw(l.T, "by"))
	}
}

// check holds what became of it against what was announced.
func (l *life) check() consent.Status {
	got, err := l.replicas[0].Get(l.rig.Context(), olga, l.id)
	if err != nil {
		l.Fatal(err)
	}
	counts := map[string]int{}
	decisions := 0
	var last int64
	l.rig.seen.mu.Lock()
	defer l.rig.seen.mu.Unlock()
	for _, ev := range l.rig.seen.events {
		if ev.GetEntityId() != l.id {
			continue
		}
		if ev.GetVersion() < last {
			l.Fatalf("version %d is announced after %d", ev.GetVersion(), last)
		}
		last = ev.GetVersion()
		counts[ev.GetType()]++
		switch ev.GetType() {
		case consent.EventGranted, consent.EventRejected, consent.EventExpired, consent.EventCancelled:
			decisions++
		}
	}
	yes, no, names := 0, 0, map[string]bool{}
	for _, v := range got.Votes {
		names[strings.ToLower(v.Name)] = true
		if v.Approve {
			yes++
		} else {
			no++
		}
	}
	approved := got.Status == consent.Granted || got.Status == consent.Stale
	unnoted := got.Status == consent.Expired && counts[consent.EventExpired] == 0
	what := fmt.Sprintf("%s with the votes %+v, announced %v", got.Standing(), got.Votes, counts)
	switch {
	case names["agent-7"] || names["agent-8"] || len(names) != len(got.Votes):
		l.Fatalf("who may not has voted: %s", what)
	case decisions > 1 || !unnoted && got.Status.Final() != (decisions == 1):
		l.Fatalf("there were %d decisions: %s", decisions, what)
	case approved != (yes >= got.Terms.Required) || (got.Status == consent.Rejected) != (no >= got.Terms.DenyThreshold):
		l.Fatalf("the votes do not make it: %s", what)
	case counts[consent.EventVoted] != len(got.Votes) || counts[consent.EventUsed]+counts[consent.EventStale] > 1:
		l.Fatalf("what was announced is not so: %s", what)
	case (counts[consent.EventUsed] == 1) != (got.Standing() == consent.Used) || (counts[consent.EventStale] == 1) != (got.Status == consent.Stale):
		l.Fatalf("it was used otherwise: %s", what)
	case got.Digest != got.Bound().Digest() || (got.UsedBy != "") != (got.Standing() == consent.Used):
		l.Fatalf("it is bound to something else: %s", what)
	}
	return got.Standing()
}
