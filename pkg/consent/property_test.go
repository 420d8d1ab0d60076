package consent_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
)

// people are all who try to decide: approvers, fallback approvers, the asker under other
// letter case and roles, sessions of its tree, other agents, and no one.
var people = []consent.Approver{
	{Name: "alice", Role: "approver"},
	{Name: "Alice", Role: "approver"},
	{Name: "bob", Role: "approver"},
	{Name: "carol", Role: "approver", SessionID: "ses_9", RootSession: "ses_9"},
	{Name: "dora", Role: "observer"},
	{Name: "olga", Role: "operator"},
	{Name: "agent-7", Role: "agent", SessionID: "ses_child", RootSession: "ses_root"},
	{Name: "agent-7", Role: "approver"},
	{Name: "Agent-7", Role: "operator"},
	{Name: "eve", Role: "approver", SessionID: "ses_sister", RootSession: "ses_root"},
	{Name: "eve", Role: "approver", SessionID: "ses_child"},
	{Name: "agent-8", Role: "agent", SessionID: "ses_8", RootSession: "ses_8"},
	{Name: "", Role: "approver"},
	{Name: "mallory", Role: ""},
}

// human reports that a person may have a say at all, written again in the plainest way
// (S9.3).
func human(p consent.Approver) bool {
	return p.Name != "" && p.Role != "" && p.Role != "agent" && strings.ToLower(p.Name) != "agent-7" &&
		p.RootSession != "ses_root" && p.SessionID != "ses_child"
}

// circle draws whom the terms name.
func circle(t *rapid.T) consent.Approvers {
	return consent.Approvers{
		Roles: rapid.SliceOfN(rapid.SampledFrom([]string{"approver", "operator", "agent"}), 0, 2).Draw(t, "roles"),
		Names: rapid.SliceOfN(rapid.SampledFrom([]string{"alice", "dora", "agent-7", "agent-8", "mallory"}), 0, 2).Draw(t, "names"),
	}
}

func terms(t *rapid.T) consent.Terms {
	terms := consent.Terms{
		Required:      rapid.IntRange(0, 3).Draw(t, "required"),
		DenyThreshold: rapid.IntRange(0, 3).Draw(t, "deny"),
		Eligible:      circle(t),
		TTL:           10 * time.Minute,
	}
	if rapid.Bool().Draw(t, "escalates") {
		terms.Escalation = consent.Escalation{After: 5 * time.Minute, To: circle(t)}
	}
	return terms
}

var datas = []string{"", `{}`, `{"env": "prod"}`, `{"env": "staging"}`, `[1]`}

func drawData(t *rapid.T) document.Value {
	text := rapid.SampledFrom(datas).Draw(t, "data")
	if text == "" {
		return document.Value{}
	}
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	return v
}

// court is one approval under random commands, and its invariants.
type court struct {
	t       *rapid.T
	at      *consent.Approval
	now     time.Time
	said    []string // names, in lower case, that have voted
	yes, no int
	finals  int
	uses    int
	seen    map[string]bool // digests that were bound
}

// TestNoConsentWithoutPeople: for any commands, in any order, an approval is granted only
// by enough eligible people, each counted once, who are not the asker's; its decision is
// final, and it is used at most once, as agreed (S9.3, S9.4); a call in time (S7.6).
func TestNoConsentWithoutPeople(t *testing.T) {
	t.Parallel()
	reached := map[consent.Status]int{}
	randtest.Check(t, func(t *rapid.T) {
		req := consent.Request{
			ID:       "apr_1",
			Action:   consent.Action{Kind: rapid.SampledFrom([]consent.Kind{consent.ToolCall, consent.Transition}).Draw(t, "kind"), Subject: document.StringValue("subject"), Data: drawData(t)},
			Editable: rapid.Bool().Draw(t, "editable"),
			Asker:    consent.Asker{Principal: "agent-7", SessionID: "ses_child", RootSession: "ses_root"},
			Terms:    terms(t),
		}
		out, err := consent.Open(req, noon)
		if err != nil {
			return // it could not be granted
		}
		c := &court{t: t, at: out.Approval, now: noon, seen: map[string]bool{out.Approval.Digest: true}}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			c.step()
		}
		reached[c.at.Status]++
	})
	for _, status := range []consent.Status{consent.Pending, consent.Granted, consent.Rejected, consent.Expired, consent.Cancelled} {
		if reached[status] == 0 {
			t.Errorf("the properties are too tame: %v", reached)
		}
	}
}

func (c *court) step() {
	c.now = c.now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, 4 * time.Minute}).Draw(c.t, "later"))
	switch rapid.IntRange(0, 11).Draw(c.t, "what") {
	case 0:
		c.take(c.at.Tick(c.now))
	case 1:
		digest := rapid.SampledFrom([]string{c.at.Digest, c.at.Action.Digest(), "other", ""}).Draw(c.t, "digest")
		c.use(digest)
	case 2:
		if rapid.IntRange(0, 5).Draw(c.t, "cancels") == 0 {
			c.take(c.at.Cancel("engine", "over", c.now))
		}
	case 3:
		if rapid.IntRange(0, 5).Draw(c.t, "voids") == 0 {
			c.take(c.at.Void("over", c.now))
		}
	default:
		c.vote()
	}
}

func (c *court) vote() {
	who := rapid.SampledFrom(people).Draw(c.t, "who")
	d := consent.Decision{
		Approve: rapid.IntRange(0, 3).Draw(c.t, "approve") > 0,
		Digest:  rapid.SampledFrom([]string{"", c.at.Digest, c.at.Action.Digest()}).Draw(c.t, "seen"),
	}
	if rapid.IntRange(0, 3).Draw(c.t, "edits") == 0 {
		d.Data = drawData(c.t)
	}
	before := c.at
	out := before.Decide(who, d, c.now)
	if !out.Changed {
		c.take(out)
		return
	}
	name := strings.ToLower(who.Name)
	named := slices.Contains(before.Terms.Eligible.Names, who.Name) || slices.Contains(before.Terms.Eligible.Roles, who.Role)
	if late := before.Terms.Escalation; late.After > 0 && !c.now.Before(noon.Add(late.After)) {
		named = named || slices.Contains(late.To.Names, who.Name) || slices.Contains(late.To.Roles, who.Role)
	}
	if !human(who) || !named || slices.Contains(c.said, name) || before.Status != consent.Pending || !c.now.Before(before.ExpiresAt) {
		c.t.Fatalf("%+v has voted on %+v", who, before)
	}
	c.said = append(c.said, name)
	switch {
	case !d.Approve:
		c.no++
	case out.Approval.Digest != before.Digest:
		if !before.Editable || c.yes > 0 || d.Data.Kind() != document.Object {
			c.t.Fatalf("%+v has edited %+v to %s", who, before, d.Data)
		}
		c.yes++
	default:
		c.yes++
	}
	c.seen[out.Approval.Digest] = true
	c.take(out)
	want := consent.Pending
	switch {
	case d.Approve && c.yes >= before.Terms.Required:
		want = consent.Granted
	case !d.Approve && c.no >= before.Terms.DenyThreshold:
		want = consent.Rejected
	}
	if c.at.Status != want {
		c.t.Fatalf("%d approve, %d reject: %s of %+v", c.yes, c.no, c.at.Status, before.Terms)
	}
}

func (c *court) use(digest string) {
	before := c.at
	out := before.Consume(digest, c.now)
	if out.Changed {
		c.uses++
		if c.uses > 1 || before.Status != consent.Granted || digest != before.Digest || digest != before.Bound().Digest() {
			c.t.Fatalf("%s is used for %s, the %d. time", before.Outcome(), digest, c.uses)
		}
		if before.Action.Kind == consent.ToolCall && !c.now.Before(before.DecidedAt.Add(10*time.Minute)) {
			c.t.Fatalf("%s is used at %s", before.Outcome(), c.now)
		}
	}
	c.take(out)
}

// take checks a result against the invariants.
func (c *court) take(out consent.Result) {
	before, next := c.at, out.Approval
	stored := fingerprint(c.t, before)
	if (out.Refusal != nil) && (out.Changed || out.Refusal.Code == "" || out.Refusal.Message == "") {
		c.t.Fatalf("refusal %+v of %+v", out.Refusal, out)
	}
	if !out.Changed {
		if next != before || len(out.Events) > 0 {
			c.t.Fatalf("nothing has changed, and %+v became %+v with %+v", before, next, out.Events)
		}
		return
	}
	if next == before || fingerprint(c.t, before) != stored {
		c.t.Fatalf("%+v was written to", before)
	}
	if before.Status.Final() {
		granted := before.Status == consent.Granted
		if !granted || next.Status != consent.Granted && next.Status != consent.Stale || !next.DecidedAt.Equal(before.DecidedAt) ||
			!reflect.DeepEqual(next.Votes, before.Votes) || next.Digest != before.Digest {
			c.t.Fatalf("the final %+v became %+v", before, next)
		}
		if next.Status == consent.Stale && c.uses > 0 {
			c.t.Fatalf("what was used has become stale: %+v", next)
		}
	} else if next.Status.Final() {
		c.finals++
		if next.NextDue() != (time.Time{}) || !next.DecidedAt.Equal(c.now) {
			c.t.Fatalf("%+v is final", next)
		}
	}
	if next.Status == consent.Expired && c.now.Before(next.ExpiresAt) {
		c.t.Fatalf("it has expired too early: %+v", next)
	}
	if c.finals > 1 || next.ID != before.ID || next.Asker != before.Asker || next.Action.Digest() != before.Action.Digest() {
		c.t.Fatalf("%+v became %+v", before, next)
	}
	var read consent.Approval
	if err := json.Unmarshal([]byte(fingerprint(c.t, next)), &read); err != nil || fingerprint(c.t, &read) != fingerprint(c.t, next) ||
		read.Bound().Digest() != next.Digest {
		c.t.Fatalf("%+v is read back as %+v: %v", next, read, err)
	}
	c.at = next
}

func fingerprint(t *rapid.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDueIsDone: Tick does the work that NextDue announces, and brings the approval to
// its end without people (S9.3, S9.5).
func TestDueIsDone(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		out, err := consent.Open(consent.Request{
			ID: "apr_1", Action: consent.Action{Kind: consent.Transition}, Asker: consent.Asker{Principal: "agent-7"}, Terms: terms(t),
		}, noon)
		if err != nil {
			return
		}
		at := out.Approval
		want := []string{consent.EventExpired}
		if at.Terms.Escalation.After > 0 {
			want = []string{consent.EventEscalated, consent.EventExpired}
		}
		var got []string
		for due := at.NextDue(); !due.IsZero(); due = at.NextDue() {
			if early := at.Tick(due.Add(-1)); early.Changed {
				t.Fatalf("%+v does something before %s", at, due)
			}
			out := at.Tick(due)
			if !out.Changed || len(got) > 2 {
				t.Fatalf("%+v does nothing at %s", at, due)
			}
			at = out.Approval
			got = append(got, out.Events[0].Type)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// TestRacingApprovers: in any order of the same people, there is exactly one decision,
// and it is the one that their order makes (S9.4).
func TestRacingApprovers(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		required, deny := rapid.IntRange(1, 3).Draw(t, "required"), rapid.IntRange(1, 3).Draw(t, "deny")
		out, err := consent.Open(consent.Request{
			ID: "apr_1", Action: consent.Action{Kind: consent.Transition}, Asker: consent.Asker{Principal: "agent-7"},
			Terms: consent.Terms{Required: required, DenyThreshold: deny},
		}, noon)
		if err != nil {
			t.Fatal(err)
		}
		at := out.Approval
		decisions, yes, no := 0, 0, 0
		want := consent.Pending
		for _, name := range rapid.Permutation([]string{"a", "b", "c", "d", "e"}).Draw(t, "order") {
			approve := rapid.Bool().Draw(t, name)
			if want == consent.Pending {
				if approve {
					yes++
				} else {
					no++
				}
				switch {
				case yes == required:
					want = consent.Granted
				case no == deny:
					want = consent.Rejected
				}
			}
			out := at.Decide(consent.Approver{Name: name, Role: consent.RoleApprover}, consent.Decision{Approve: approve}, noon)
			for _, e := range out.Events {
				if e.Type == consent.EventGranted || e.Type == consent.EventRejected {
					decisions++
				}
			}
			at = out.Approval
		}
		if at.Status != want || want.Final() != (decisions == 1) {
			t.Fatalf("%s after %d decisions, want %s", at.Status, decisions, want)
		}
	})
}
