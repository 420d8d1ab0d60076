package apply

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
)

// trial is the shadow of a set, compared with a plan.
type trial struct {
	*jsonview.SetShadow
	// same says that the plan has exactly the changes that wait.
	same bool
	// left is the time until it can be applied; 0 when it is over.
	left time.Duration
	// judged counts the calls that were decided meanwhile, at most mostJudged.
	judged int
	// differences are the calls that a shadow would have decided otherwise, by object and decision.
	differences []difference
	accept      string
	accepted    bool
}

// difference is a group of calls that a shadow would have decided otherwise.
type difference struct {
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Recorded string `json:"recorded"`
	Shadow   string `json:"shadow"`
	Calls    int    `json:"calls"`
	// Examples are the first calls of the group.
	Examples []example `json:"examples"`
}

// example is a call that a shadow would have decided otherwise.
type example struct {
	Time    time.Time `json:"time"`
	Run     string    `json:"run_id,omitzero"`
	CallID  string    `json:"call_id"`
	Tool    string    `json:"tool"`
	Message string    `json:"message,omitzero"`
}

const (
	mostJudged   = 100_000
	mostExamples = 3
)

// waiting returns the items that a shadow of the plan would have.
func (p *plan) waiting() (all []*item) {
	for _, i := range p.items {
		if i.action == add || i.action == change || i.action == remove && !i.remote.noContent && !i.remote.retired {
			all = append(all, i)
		}
	}
	return all
}

// waitsIn reports that a shadow has the change of an item.
func (i *item) waitsIn(s *jsonview.SetShadow) bool {
	at := slices.IndexFunc(s.Objects, func(o jsonview.ShadowedObject) bool { return object{o.Kind, o.Name} == i.object })
	if at < 0 || s.Objects[at].LiveVersion != i.remote.live {
		return false
	}
	o := s.Objects[at]
	if i.action == remove {
		return o.Version == 0
	}
	return o.Version != 0 && i.local.same(o.Digest) && o.OwnsAttachments == i.attach && (!i.attach || sameAttachments(o.Attachments, i.local.attach))
}

// compare returns how the shadow of a set stands to a plan; nil for no shadow.
func compare(s *jsonview.SetShadow, p *plan, now time.Time) *trial {
	if s == nil {
		return nil
	}
	t := &trial{SetShadow: s, left: max(0, s.Until.Sub(now))}
	waiting := p.waiting()
	t.same = len(waiting) == len(s.Objects) && !slices.ContainsFunc(waiting, func(i *item) bool { return !i.waitsIn(s) })
	return t
}

// rollout returns how the plan becomes live: a set whose shadow has another content begins a new one, which is implied.
func (p *plan) rollout(shadow time.Duration, now bool) (how rollout, implied bool) {
	switch {
	case len(p.waiting()) == 0:
		return rollout{now: now}, false
	case shadow == 0 && !now && p.trial != nil && !p.trial.same:
		return rollout{shadow: p.trial.lasts()}, true
	}
	return rollout{shadow, now}, false
}

// waits reports that the changes of the plan are shadows that are not over.
func (p *plan) waits() bool { return p.trial != nil && p.trial.same && p.trial.left > 0 }

// differs reports that the shadow has decided calls otherwise, and that this is not accepted.
func (p *plan) differs() bool {
	return p.trial != nil && p.trial.same && len(p.trial.differences) > 0 && !p.trial.accepted
}

// unjudged reports that no call has tried the shadow, and that this is not accepted.
func (p *plan) unjudged() bool {
	return p.trial != nil && p.trial.same && p.trial.idle() && !p.trial.accepted
}

// idle reports that the shadow is over and no call was decided meanwhile, though it has changes that calls are judged by.
func (t *trial) idle() bool {
	return t.left == 0 && t.judged == 0 && slices.ContainsFunc(t.Objects, func(o jsonview.ShadowedObject) bool { return o.Judged })
}

// lasts returns how long the shadow was to last.
func (t *trial) lasts() time.Duration { return t.Until.Sub(t.StartedAt) }

// shadowOf returns the decision of a shadow of the set in a record of the log; nil for none.
func (t *trial) shadowOf(r *jsonview.DecisionRecord) (kind, name string, s *jsonview.ShadowDecision) {
	for i := range r.Shadows {
		s := &r.Shadows[i]
		for _, o := range t.Objects {
			switch {
			case o.Kind == kindPolicy && o.Name == s.Policy && o.Version == s.PolicyVersion,
				o.Kind != kindPolicy && o.Name == s.Workflow && o.Digest == s.WorkflowDigest:
				return o.Kind, o.Name, s
			}
		}
	}
	return "", "", nil
}

// record adds a record of the log to its group, if a shadow of the set has decided otherwise. Records come newest first.
func (t *trial) record(r *jsonview.DecisionRecord) {
	kind, name, s := t.shadowOf(r)
	if s == nil {
		return
	}
	key := difference{Kind: kind, Name: name, Recorded: decided(r.Decision, r.Code), Shadow: decided(s.Decision, s.Code)}
	at := slices.IndexFunc(t.differences, func(d difference) bool {
		return d.Kind == key.Kind && d.Name == key.Name && d.Recorded == key.Recorded && d.Shadow == key.Shadow
	})
	if at < 0 {
		t.differences = append(t.differences, key)
		at = len(t.differences) - 1
	}
	d := &t.differences[at]
	d.Calls++
	d.Examples = append(d.Examples, example{r.Time, r.RunID, r.CallID, r.Tool, s.Message})
	slices.SortStableFunc(d.Examples, func(a, b example) int { return a.Time.Compare(b.Time) })
	d.Examples = d.Examples[:min(mostExamples, len(d.Examples))]
}

func decided(decision, code string) string { return strings.TrimSpace(decision + " " + code) }

// settle orders the groups, and gives them the digest by which they are accepted: of the shadow, and of the kinds of
// differences. More calls of a kind do not change it. A shadow that no call has tried has a digest, too.
func (t *trial) settle(set string, accept []string) {
	slices.SortFunc(t.differences, func(a, b difference) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name), strings.Compare(a.Recorded, b.Recorded), strings.Compare(a.Shadow, b.Shadow))
	})
	if len(t.differences) == 0 && !t.idle() {
		return
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %d\n", set, t.StartedAt.UnixNano())
	for _, o := range t.Objects {
		fmt.Fprintf(h, "%q %q %q %d\n", o.Kind, o.Name, o.Digest, o.LiveVersion)
	}
	for _, d := range t.differences {
		fmt.Fprintf(h, "%q %q %q %q\n", d.Kind, d.Name, d.Recorded, d.Shadow)
	}
	t.accept = hex.EncodeToString(h.Sum(nil))[:12]
	t.accepted = slices.Contains(accept, t.accept)
}

// differing counts the calls that were decided otherwise.
func (t *trial) differing() (n int) {
	for _, d := range t.differences {
		n += d.Calls
	}
	return n
}

// trial compares the shadow of the set with the plan, and reads the calls that it would have decided otherwise.
func (s *server) trial(ctx context.Context, own *ownership, p *plan, accept []string) (*trial, error) {
	t := compare(own.shadow, p, time.Now())
	if t == nil {
		return nil, nil
	}
	since := listing.Term{Key: "since", Value: t.StartedAt.UTC().Format(time.RFC3339Nano)}
	read := func(limit int, do func(*policyv1.DecisionRecord), terms ...listing.Term) error {
		_, err := client.Collect(limit, func(r *policyv1.DecisionRecord) struct{} { do(r); return struct{}{} }, func(token string, size int32) ([]*policyv1.DecisionRecord, string, error) {
			page, err := s.decisions.ListDecisions(ctx, &policyv1.ListDecisionsRequest{PageSize: size, PageToken: token, Filter: listing.Filter(append(terms, since)...)})
			return page.GetDecisions(), page.GetNextPageToken(), err
		})
		return err
	}
	err := read(client.NoLimit, func(r *policyv1.DecisionRecord) {
		view := jsonview.DecisionRecordOf(r)
		t.record(&view)
	}, listing.Term{Key: "shadowed", Value: "true"})
	if err != nil {
		return nil, err
	}
	if err := read(mostJudged, func(*policyv1.DecisionRecord) { t.judged++ }); err != nil {
		return nil, err
	}
	t.settle(p.set, accept)
	return t, nil
}

// printTrial prints the shadow of a set.
func printTrial(say func(string, ...any), p *plan, t *trial) {
	state := "was over at "
	if t.left > 0 {
		state = "lasts another " + duration(t.left) + ", until "
	}
	say("shadow     of %s, since %s, by %s; %s%s", show.Counted(len(t.Objects), "object"), t.StartedAt.Format(time.RFC3339), show.Text(t.StartedBy), state, t.Until.Format(time.RFC3339))
	for _, o := range t.Objects {
		if !o.Judged {
			say("  %-9s %s  is not judged: %s", show.Text(o.Kind), show.Text(o.Name), notJudged(o))
		}
	}
	if !t.same {
		if len(p.waiting()) > 0 {
			say("  The folder has another content by now: an application begins a new shadow of %s; --now applies it without one.", duration(t.lasts()))
		} else {
			say("  The folder is as the server: an application ends the shadow.")
		}
		return
	}
	calls := show.Counted(t.judged, "call")
	if t.judged >= mostJudged {
		calls = "at least " + calls
	}
	if t.idle() {
		say("  No call was made meanwhile, so nothing has tried these changes.")
	} else {
		say("  %d of %s would have been decided otherwise", t.differing(), calls)
	}
	for _, d := range t.differences {
		say("    %s", show.Text(fmt.Sprintf("%-9s %s  %s -> %s  %s", d.Kind, d.Name, d.Recorded, d.Shadow, show.Counted(d.Calls, "call"))))
		for _, e := range d.Examples {
			say("      %s", show.Text(strings.TrimSpace(fmt.Sprintf("%s  %s  %s  %s", e.Time.Format(time.RFC3339), e.Run, e.Tool, e.Message))))
		}
	}
	switch {
	case t.accepted:
		say("    accepted")
	case t.accept != "":
		say("    accept with --accept %s", t.accept)
	}
}

// notJudged says why no call is judged by a change that waits.
func notJudged(o jsonview.ShadowedObject) string {
	switch {
	case o.Kind == kindSchema:
		return "a schema decides no calls"
	case o.Kind == kindComponent:
		return "a component decides no calls"
	case o.Version == 0:
		return "no new run starts, and no call of another is decided otherwise"
	case o.LiveVersion == 0:
		return "it is new, so it has no calls"
	}
	return "it has the content that is live"
}

// duration returns a time to wait in words, rounded up.
func duration(d time.Duration) string {
	unit := time.Second
	if d > time.Hour {
		unit = time.Minute
	}
	d = (d + unit - 1).Truncate(unit)
	if d > 0 && d%(24*time.Hour) == 0 {
		return show.Counted(int(d/(24*time.Hour)), "day")
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// trialView is the JSON of the shadow of a set.
type trialView struct {
	jsonview.SetShadow
	Same        bool         `json:"same"`
	LeftSeconds int64        `json:"left_seconds"`
	Calls       int          `json:"calls"`
	Differences []difference `json:"differences"`
	Accept      string       `json:"accept,omitzero"`
	Accepted    bool         `json:"accepted,omitzero"`
}

func trialViewOf(t *trial) *trialView {
	if t == nil {
		return nil
	}
	v := &trialView{
		SetShadow: *t.SetShadow, Same: t.same, LeftSeconds: int64((t.left + time.Second - 1) / time.Second), Calls: t.judged,
		Differences: t.differences, Accept: t.accept, Accepted: t.accepted,
	}
	if v.Differences == nil {
		v.Differences = []difference{}
	}
	return v
}
