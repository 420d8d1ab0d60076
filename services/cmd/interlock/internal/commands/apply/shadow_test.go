package apply

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// waitingPlan is a plan that changes policy p from version 1, with a shadow of that.
func waitingPlan() (*plan, *jsonview.SetShadow) {
	file := &local{object: object{kindPolicy, "p"}, digests: []string{"new"}}
	i := &item{object: file.object, action: change, local: file, remote: &remote{live: 1, digest: "old"}}
	s := &jsonview.SetShadow{
		StartedAt: time.Unix(0, 0), Until: time.Unix(3600, 0),
		Objects: []jsonview.ShadowedObject{{Kind: kindPolicy, Name: "p", Version: 2, Digest: "new", LiveVersion: 1, Judged: true}},
	}
	return &plan{set: "gov", items: []*item{i}}, s
}

// A shadow counts for a plan that makes the very same changes on the same live versions; another plan begins anew (S26.10).
func TestCompare(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit  func(*plan, *jsonview.SetShadow)
		after time.Duration
		given time.Duration
		now   bool

		same    bool
		left    time.Duration
		shadow  time.Duration
		implied bool
	}{
		"the same":              {after: time.Minute, same: true, left: 59 * time.Minute},
		"the same, over":        {after: 2 * time.Hour, same: true},
		"the same, asked again": {after: time.Minute, given: time.Hour, same: true, left: 59 * time.Minute, shadow: time.Hour},
		"another content":       {edit: func(p *plan, _ *jsonview.SetShadow) { p.items[0].local.digests = []string{"newer"} }, after: 2 * time.Hour, shadow: time.Hour, implied: true},
		"another live version":  {edit: func(p *plan, _ *jsonview.SetShadow) { p.items[0].remote.live = 3 }, after: 2 * time.Hour, shadow: time.Hour, implied: true},
		"other attachments":     {edit: func(p *plan, _ *jsonview.SetShadow) { p.items[0].attach = true }, after: 2 * time.Hour, shadow: time.Hour, implied: true},
		"more objects": {edit: func(p *plan, _ *jsonview.SetShadow) {
			p.items = append(p.items, &item{object: object{kindPolicy, "q"}, action: add, local: &local{}, remote: &remote{}})
		}, after: 2 * time.Hour, shadow: time.Hour, implied: true},
		"fewer objects": {edit: func(_ *plan, s *jsonview.SetShadow) {
			s.Objects = append(s.Objects, jsonview.ShadowedObject{Kind: kindPolicy, Name: "q"})
		}, after: 2 * time.Hour, shadow: time.Hour, implied: true},
		"another content, now":   {edit: func(p *plan, _ *jsonview.SetShadow) { p.items[0].local.digests = []string{"newer"} }, now: true, left: time.Hour},
		"nothing is to be done":  {edit: func(p *plan, _ *jsonview.SetShadow) { p.items[0].action = keep }, given: time.Hour, left: time.Hour},
		"a removal that is kept": {edit: func(p *plan, _ *jsonview.SetShadow) { p.items[0].action = remove }, after: 2 * time.Hour, shadow: time.Hour, implied: true},
	} {
		p, s := waitingPlan()
		if tt.edit != nil {
			tt.edit(p, s)
		}
		p.trial = compare(s, p, time.Unix(0, 0).Add(tt.after))
		how, implied := p.rollout(tt.given, tt.now)
		if p.trial.same != tt.same || p.trial.left != tt.left || how.shadow != tt.shadow || implied != tt.implied || how.now != tt.now {
			t.Errorf("%s: same %t, left %s, %+v, implied %t", name, p.trial.same, p.trial.left, how, implied)
		}
	}
}

// Differences are those of the set's own shadows; the digest that accepts them is about their kinds, and another kind needs
// another one.
func TestDifferences(t *testing.T) {
	t.Parallel()
	record := func(at int64, code string, version int64) *jsonview.DecisionRecord {
		return &jsonview.DecisionRecord{
			Time: time.Unix(at, 0), Decision: "ALLOW", Tool: "Edit",
			Shadows: []jsonview.ShadowDecision{{Policy: "p", PolicyVersion: version, Decision: "DENY", Code: code}},
		}
	}
	accept := func(accepted []string, records ...*jsonview.DecisionRecord) *trial {
		p, s := waitingPlan()
		p.trial = compare(s, p, time.Unix(7200, 0))
		for _, r := range records {
			p.trial.record(r)
		}
		p.trial.judged = 7
		p.trial.settle("gov", accepted)
		if got := p.differs(); got != (p.trial.accept != "" && !p.trial.accepted) {
			t.Errorf("differs: %t with %+v", got, p.trial)
		}
		return p.trial
	}
	if none := accept(nil, record(1, "POLICY_DENIED", 7)); none.differing() != 0 || none.accept != "" {
		t.Errorf("a shadow of somebody else: %+v", none)
	}
	one := accept(nil, record(5, "POLICY_DENIED", 2))
	more := accept([]string{one.accept}, record(9, "POLICY_DENIED", 2), record(7, "POLICY_DENIED", 2), record(5, "POLICY_DENIED", 2), record(3, "POLICY_DENIED", 2))
	if !more.accepted || more.differing() != 4 || len(more.differences[0].Examples) != mostExamples || more.differences[0].Examples[0].Time != time.Unix(3, 0) {
		t.Errorf("more calls of a kind: %+v", more)
	}
	if other := accept([]string{one.accept}, record(5, "POLICY_DENIED", 2), record(6, "RATE_LIMITED", 2)); other.accepted || len(other.differences) != 2 {
		t.Errorf("another kind: %+v", other)
	}
}

// A shadow that is over is accepted where no call was made that could differ.
func TestIdleShadow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit   func(*trial)
		wanted bool
	}{
		"no call":              {func(*trial) {}, true},
		"a call":               {func(t *trial) { t.judged = 1 }, false},
		"not over":             {func(t *trial) { t.left = time.Minute }, false},
		"nothing to be judged": {func(t *trial) { t.Objects[0].Judged = false }, false},
	} {
		p, s := waitingPlan()
		p.trial = compare(s, p, time.Unix(7200, 0))
		tt.edit(p.trial)
		p.trial.settle("gov", nil)
		if p.unjudged() != tt.wanted || p.trial.accept != "" != tt.wanted {
			t.Errorf("%s: unjudged %t, accepted by %q", name, p.unjudged(), p.trial.accept)
		}
		p.trial.settle("gov", []string{p.trial.accept})
		if p.unjudged() {
			t.Errorf("%s: it is not accepted by its digest", name)
		}
	}
}

// A schema loosens where a caller may write what it could not.
func TestWritable(t *testing.T) {
	t.Parallel()
	list := func(pointer string, writers ...string) jsonview.MayWrite {
		return jsonview.MayWrite{Pointer: pointer, Writers: writers}
	}
	for name, tt := range map[string]struct {
		before, after []jsonview.MayWrite
		want          int
	}{
		"the same":      {[]jsonview.MayWrite{list("/a", "role:agent")}, []jsonview.MayWrite{list("/a", "role:agent")}, 0},
		"one more":      {[]jsonview.MayWrite{list("/a", "role:agent")}, []jsonview.MayWrite{list("/a", "role:agent", "session:b", "session:c")}, 2},
		"one less":      {[]jsonview.MayWrite{list("/a", "role:agent", "session:b")}, []jsonview.MayWrite{list("/a", "role:agent")}, 0},
		"another":       {[]jsonview.MayWrite{list("/a")}, []jsonview.MayWrite{list("/a", "role:agent")}, 1},
		"no list":       {[]jsonview.MayWrite{list("/a", "role:agent"), list("/b")}, []jsonview.MayWrite{list("/b")}, 1},
		"a new list":    {nil, []jsonview.MayWrite{list("/a", "role:agent")}, 0},
		"another place": {[]jsonview.MayWrite{list("/a", "role:agent")}, []jsonview.MayWrite{list("/b", "role:agent")}, 1},
	} {
		if got := writable(tt.before, tt.after); len(got) != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
