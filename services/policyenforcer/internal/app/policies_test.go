package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

// denies is a policy that denies one capability.
func denies(capability string) string {
	return `{"role":"agent","deny":[{"capability":"` + capability + `"}]}`
}

// A policy has immutable versions, of which one is live and one may be its shadow.
func TestVersions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		type state struct{ version, live, shadow int64 }
		for i, step := range []struct {
			do      string
			text    string
			created bool
			want    state
			event   string
		}{
			{"put", "bash", true, state{1, 1, 0}, "put"},
			{"put", "bash", false, state{1, 1, 0}, ""},
			{"shadow", "tool:a", true, state{2, 1, 2}, "put"},
			{"shadow", "tool:a", false, state{2, 1, 2}, ""},
			{"put", "tool:b", true, state{3, 3, 2}, "put"},
			{"put", "bash", false, state{1, 1, 2}, "put"}, // an older one again
			{"promote 2", "", false, state{2, 2, 0}, "promoted"},
			{"promote 2", "", false, state{2, 2, 0}, ""},
			{"shadow", "bash", false, state{1, 2, 1}, "put"},
			{"shadow", "tool:a", false, state{2, 2, 0}, "put"}, // what is live is no shadow of itself
			{"shadow", "tool:c", true, state{4, 2, 4}, "put"},
			{"put", "tool:c", false, state{4, 4, 0}, "put"},
			{"promote 3", "", false, state{3, 3, 0}, "promoted"},
		} {
			var p *app.Policy
			var created bool
			var err error
			if number, promote := strings.CutPrefix(step.do, "promote "); promote {
				p, err = r.Promote(r.Context(), operator, "p", int64(number[0]-'0'))
			} else {
				p, created, _, err = r.PutPolicy(r.Context(), operator, app.PutPolicy{
					Name: "p", Definition: []byte(denies(step.text)), Shadow: step.do == "shadow",
				})
			}
			if err != nil {
				r.Fatalf("step %d: %v", i, err)
			}
			if got := (state{p.Number, p.Live, p.Shadow}); got != step.want || created != step.created {
				r.Errorf("step %d, %s %s: %+v, created %t; want %+v, %t", i, step.do, step.text, got, created, step.want, step.created)
			}
			var want []string
			if step.event != "" {
				want = []string{"interlock.default.policy.p." + step.event}
			}
			if got := r.events(); !slices.Equal(got, want) {
				r.Errorf("step %d announced %v, want %v", i, got, want)
			}
		}
		_, err := r.Promote(r.Context(), operator, "p", 5)
		r.refused(err, fault.NotFound)
		_, err = r.Promote(r.Context(), operator, "q", 1)
		r.refused(err, fault.NotFound)
		for number, text := range []string{"bash", "tool:a", "tool:b", "tool:c"} {
			p, err := r.Policy(r.Context(), ns, "p", int64(number)+1)
			if err != nil || string(p.Definition) != denies(text) || p.CreatedBy != "olga" {
				r.Errorf("version %d: %+v, %v", number+1, p, err)
			}
		}
	})
}

func TestPolicyNames(t *testing.T) {
	t.Parallel()
	r := newRig(t, newSQLite(t))
	long := strings.Repeat("n", 128)
	for name, reason := range map[string]fault.Reason{
		"p": "", "a.b-c_1": "", "0": "", long: "",
		long + "n": fault.InvalidRequest, "P": fault.InvalidRequest, "process:p": fault.InvalidRequest, "a/b": fault.InvalidRequest,
		"a b": fault.InvalidRequest, "ä": fault.InvalidRequest, "..": fault.InvalidRequest, "": fault.InvalidRequest,
	} {
		p, _, _, err := r.PutPolicy(t.Context(), operator, app.PutPolicy{Name: name, Definition: []byte(denies("bash"))})
		if fault.ReasonOf(err) != reason || err == nil && p.Name != name {
			t.Errorf("%q: %v", name, err)
		}
	}
	named := []byte(`{"role":"agent","name":"own"}`)
	p, _, _, err := r.PutPolicy(t.Context(), operator, app.PutPolicy{Definition: named})
	if err != nil || p.Name != "own" {
		t.Errorf("the definition's name: %+v, %v", p, err)
	}
	p, _, _, err = r.PutPolicy(t.Context(), operator, app.PutPolicy{Name: "other", Definition: named})
	if err != nil || p.Name != "other" {
		t.Errorf("another name: %+v, %v", p, err)
	}
}

// A definition that is not valid is refused with a place for each problem, and what
// is odd about one that is comes back as warnings.
func TestPolicyProblems(t *testing.T) {
	t.Parallel()
	r := newRig(t, newSQLite(t))
	_, _, _, err := r.PutPolicy(t.Context(), operator, app.PutPolicy{
		Name: "p", Definition: []byte(`{"role":"agent","alow":[],"deny":[{"capability":"Bash"}],"allow":[{"capability":"*"}]}`),
	})
	f := r.refused(err, fault.InvalidDefinition)
	var at []string
	for _, v := range f.Violations {
		at = append(at, v.Pointer)
	}
	slices.Sort(at)
	if want := []string{"/alow", "/deny/0/capability"}; !slices.Equal(at, want) {
		t.Errorf("problems at %v, want %v", at, want)
	}
	_, _, warnings, err := r.PutPolicy(t.Context(), operator, app.PutPolicy{
		Name: "p", Definition: []byte(`{"role":"agent","allow":[{"capability":"*"}]}`),
	})
	if err != nil || len(warnings) != 1 || warnings[0].Pointer != "/allow/0/capability" {
		t.Errorf("warnings %v, %v", warnings, err)
	}
}

// S6.5: a put with its key again changes nothing, whatever has happened since.
func TestPutIsMadeOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		put := func(text, key string, shadow bool) (*app.Policy, bool, error) {
			p, created, _, err := r.PutPolicy(r.Context(), operator, app.PutPolicy{
				Name: "p", Definition: []byte(denies(text)), IdempotencyKey: key, Shadow: shadow,
			})
			return p, created, err
		}
		for _, step := range []struct {
			text, key string
			live      int64
		}{{"bash", "k1", 1}, {"tool:a", "k2", 2}, {"bash", "k1", 2}, {"bash", "k3", 1}, {"tool:a", "k2", 1}, {"bash", "k3", 1}} {
			p, created, err := put(step.text, step.key, false)
			if err != nil || p.Live != step.live || created != (step.key != "k3") {
				r.Fatalf("%+v: %+v, created %t, %v", step, p, created, err)
			}
		}
		_, _, err := put("tool:b", "k1", false)
		r.refused(err, fault.IdempotencyMismatch)
		_, _, err = put("bash", "k1", true)
		r.refused(err, fault.IdempotencyMismatch)
	})
}

// A put that got stuck after its version goes on when it is repeated.
func TestPutRollsForward(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.put("other", denies("bash"))
		for n, f := range []storetest.Fault{storetest.Failed, storetest.FailedButApplied, storetest.Uncertain} {
			for _, kind := range []string{"policy", "policy_index"} {
				name := fmt.Sprintf("%s.%d", kind, n)
				a := r.faulty(func(_ int, batch *store.Batch) storetest.Fault {
					if puts(batch, kind) {
						return f
					}
					return storetest.Healthy
				})
				req := app.PutPolicy{Name: name, Definition: []byte(denies("bash")), IdempotencyKey: "k"}
				if _, _, _, err := a.PutPolicy(r.Context(), operator, req); err == nil {
					r.Fatalf("%s: no error", name)
				}
				if x, err := a.Index(r.Context(), ns); err != nil || x.Live(name) != 0 {
					r.Errorf("%s: what failed is cached: %v", name, err)
				}
				p, _, _, err := r.PutPolicy(r.Context(), operator, req)
				if err != nil || p.Number != 1 || p.Live != 1 {
					r.Errorf("%s: %+v, %v", name, p, err)
				}
			}
		}
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.put("p", denies("bash"))
		to := app.Attachment{Kind: app.AttachedToWorkflow, ID: "w"}
		if _, err := r.Attach(r.Context(), operator, "p", to); err != nil {
			r.Fatal(err)
		}
		f := r.refused(r.DeletePolicy(r.Context(), operator, "p"), fault.FailedPrecondition)
		if !strings.Contains(f.Message, `workflow "w"`) {
			r.Errorf("it does not say what to detach: %s", f.Message)
		}
		if _, err := r.Detach(r.Context(), operator, "p", to); err != nil {
			r.Fatal(err)
		}
		if err := r.DeletePolicy(r.Context(), operator, "p"); err != nil {
			r.Fatal(err)
		}
		r.refused(r.DeletePolicy(r.Context(), operator, "p"), fault.NotFound)
		_, err := r.Policy(r.Context(), ns, "p", 0)
		r.refused(err, fault.NotFound)
		_, err = r.Promote(r.Context(), operator, "p", 1)
		r.refused(err, fault.NotFound)
		_, err = r.Attach(r.Context(), operator, "p", to)
		r.refused(err, fault.NotFound)
		if p, err := r.Policy(r.Context(), ns, "p", 1); err != nil || p.Live != 0 {
			r.Errorf("its version: %+v, %v", p, err)
		}
		if p := r.put("p", denies("tool:a")); p.Number != 2 || p.Live != 2 {
			r.Errorf("put again: %+v", p)
		}
		want := []string{"put", "attached", "detached", "deleted", "put"}
		for i, subject := range r.events() {
			if subject != "interlock.default.policy.p."+want[i] {
				r.Errorf("event %d is %s, want %s", i, subject, want[i])
			}
		}
	})
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.put("b", denies("bash"))
		r.put("a", denies("bash"))
		attach := func(name string, kind app.AttachmentKind, id string) error {
			_, err := r.Attach(r.Context(), operator, name, app.Attachment{Kind: kind, ID: id})
			return err
		}
		x, err := r.Refresh(r.Context(), ns)
		if err != nil || x.SessionsAttached() {
			r.Fatalf("%t, %v", x.SessionsAttached(), err)
		}
		for _, ok := range []error{
			attach("b", app.AttachedToRole, "agent"), attach("a", app.AttachedToRole, "agent"), attach("a", app.AttachedToRole, "agent"),
			attach("a", app.AttachedToSession, "s"), attach("a", app.AttachedToWorkflow, "w"), attach("b", app.AttachedToProcess, "w"),
		} {
			if ok != nil {
				r.Fatal(ok)
			}
		}
		r.refused(attach("c", app.AttachedToRole, "agent"), fault.NotFound)
		r.refused(attach("a", app.AttachedToRole, "service"), fault.InvalidRequest)
		r.refused(attach("a", "", "x"), fault.InvalidRequest)
		r.refused(attach("a", app.AttachedToWorkflow, ""), fault.InvalidRequest)
		r.refused(attach("a", app.AttachedToWorkflow, strings.Repeat("w", 513)), fault.InvalidRequest)
		if x, err = r.Refresh(r.Context(), ns); err != nil {
			r.Fatal(err)
		}
		for _, c := range []struct {
			kind app.AttachmentKind
			id   string
			want []string
		}{
			{app.AttachedToRole, "agent", []string{"a", "b"}},
			{app.AttachedToRole, "operator", nil},
			{app.AttachedToWorkflow, "w", []string{"a"}},
			{app.AttachedToProcess, "w", []string{"b"}},
			{app.AttachedToSession, "s", []string{"a"}},
			{app.AttachedToSession, "w", nil},
		} {
			if got := x.AttachedTo(c.kind, c.id); !slices.Equal(got, c.want) {
				r.Errorf("%s %s has %v, want %v", c.kind, c.id, got, c.want)
			}
		}
		if !x.SessionsAttached() {
			r.Error("no session is attached")
		}
		if n := len(r.events()); n != 7 {
			r.Errorf("%d events, want 7: what was attached is attached once", n)
		}
		_, err = r.Detach(r.Context(), operator, "a", app.Attachment{Kind: app.AttachedToSession, ID: "t"})
		r.refused(err, fault.NotFound)
		p, err := r.Detach(r.Context(), operator, "a", app.Attachment{Kind: app.AttachedToSession, ID: "s"})
		if err != nil || len(p.Attachments) != 2 {
			r.Errorf("%+v, %v", p, err)
		}
	})
}

// Changes that are made at once at several replicas are all there, each in an order
// with the others.
func TestPoliciesAreChangedAtOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		const each = 12
		replicas := r.replicas(2)
		r.put("p", denies("bash"))
		var group sync.WaitGroup
		for i, a := range replicas {
			group.Go(func() {
				for n := range each {
					to := app.Attachment{Kind: app.AttachedToSession, ID: fmt.Sprintf("s %d %d", i, n)}
					if _, err := a.Attach(r.Context(), operator, "p", to); err != nil {
						r.Error(err)
					}
				}
			})
			group.Go(func() {
				for n := range each {
					_, created, _, err := a.PutPolicy(r.Context(), operator, app.PutPolicy{Name: "q", Definition: []byte(denies(fmt.Sprintf("tool:%d_%d", i, n)))})
					if err != nil || !created {
						r.Errorf("created %t, %v", created, err)
					}
				}
			})
		}
		group.Wait()
		p, err := r.Policy(r.Context(), ns, "p", 0)
		if err != nil || len(p.Attachments) != 2*each {
			r.Errorf("%d attachments, want %d; %v", len(p.Attachments), 2*each, err)
		}
		texts := map[string]bool{}
		for version := range int64(2 * each) {
			q, err := r.Policy(r.Context(), ns, "q", version+1)
			if err != nil || q.Number != version+1 {
				r.Fatalf("version %d: %+v, %v", version+1, q, err)
			}
			texts[string(q.Definition)] = true
		}
		if len(texts) != 2*each {
			r.Errorf("%d different versions, want %d", len(texts), 2*each)
		}
		if n := len(r.events()); n != 1+4*each {
			r.Errorf("%d events, want %d", n, 1+4*each)
		}
	})
}

// A replica's index may be old until it is read anew; its version says of what time.
func TestIndexIsCached(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		other := r.replicas(1)[0]
		before, err := other.Index(r.Context(), ns)
		if err != nil || before.Version != store.Absent || before.Live("p") != 0 {
			r.Fatalf("%+v, %v", before, err)
		}
		r.put("p", denies("bash"))
		mine, err := r.Index(r.Context(), ns)
		if err != nil || mine.Live("p") != 1 || mine.Version != 1 {
			r.Errorf("%+v, %v", mine, err)
		}
		if x, _ := other.Index(r.Context(), ns); x != before {
			r.Error("nothing was cached")
		}
		_, err = r.store.Commit(r.Context(), store.Batch{Checks: []store.Check{{Key: app.IndexKey(ns), Version: before.Version}}})
		r.refused(err, fault.VersionConflict)
		fresh, err := other.Refresh(r.Context(), ns)
		if err != nil || fresh.Live("p") != 1 || fresh.Version != 1 {
			r.Errorf("%+v, %v", fresh, err)
		}
		if x, _ := other.Index(r.Context(), ns); x != fresh {
			r.Error("the fresh index was not cached")
		}
	})
}

// An index that was read late is not kept in the place of a newer one.
func TestIndexGoesForward(t *testing.T) {
	t.Parallel()
	r := newRig(t, newSQLite(t))
	r.put("p", denies("bash"))
	old, err := r.store.Get(t.Context(), app.IndexKey(ns))
	if err != nil {
		t.Fatal(err)
	}
	r.put("q", denies("bash"))
	s := &late{Store: r.store}
	a := r.replica(s)
	if _, err := a.Refresh(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	s.record = &old
	if x, err := a.Refresh(t.Context(), ns); err != nil || x.Live("q") != 0 {
		t.Fatalf("%+v, %v", x, err)
	}
	if x, err := a.Index(t.Context(), ns); err != nil || x.Live("q") != 1 {
		t.Errorf("%+v, %v", x, err)
	}
}

// late answers a record as it was.
type late struct {
	store.Store
	record *store.Record
}

func (l *late) Get(ctx context.Context, key store.Key) (store.Record, error) {
	if l.record != nil {
		return *l.record, nil
	}
	return l.Store.Get(ctx, key)
}

// What cannot be judged by denies, and what cannot be read now is an error.
func TestPolicySets(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.put("p", `{"role":"agent","name":"other","deny":[{"capability":"bash"}]}`)
		decide := func(a *app.App, version int64, tool string) rules.Verdict {
			r.Helper()
			set, err := a.PolicySet(r.Context(), ns, "p", version)
			if err != nil {
				r.Fatal(err)
			}
			return set.Decide(rules.Call{Tool: tool}, nil)
		}
		if v := decide(r.App, 1, "Read"); v.Decision != toolcall.Allow {
			r.Errorf("%+v", v)
		}
		if v := decide(r.App, 1, "Bash"); v.Code != toolcall.CodePolicyDenied || v.By.Policy != "p" || v.By.Version != 1 {
			r.Errorf("%+v by %+v", v, v.By)
		}
		if v := decide(r.App, 2, "Read"); v.Code != toolcall.CodePolicyUnavailable {
			r.Errorf("a version that is not there: %+v", v)
		}
		r.tampered(func(x tampering) {
			all := x.history(app.PolicyKey(ns, "p"))
			all[0].data = `{"name":"p","definition":"e30="}`
			x.setHistory(app.PolicyKey(ns, "p"), all)
		})
		if v := decide(r.App, 1, "Read"); v.Code != toolcall.CodePolicyUnavailable {
			r.Errorf("one that is not valid: %+v", v)
		}
		r.tampered(func(x tampering) {
			all := x.history(app.PolicyKey(ns, "p"))
			all[0].data = `?`
			x.setHistory(app.PolicyKey(ns, "p"), all)
		})
		if v := decide(r.App, 1, "Read"); v.Code != toolcall.CodePolicyUnavailable {
			r.Errorf("one that can not be read: %+v", v)
		}
		if err := r.store.Close(); err != nil {
			r.Fatal(err)
		}
		if _, err := r.replica(r.store).PolicySet(r.Context(), ns, "p", 1); err == nil {
			r.Error("a set without a store")
		}
	})
}

func TestListPolicies(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		want := []string{"a", "b", "c", "d", "e"}
		for _, name := range []string{"c", "a", "e", "b"} {
			r.put(name, denies("bash"))
		}
		if _, _, _, err := r.PutPolicy(r.Context(), operator, app.PutPolicy{Name: "d", Definition: []byte(denies("bash")), Shadow: true}); err != nil {
			r.Fatal(err)
		}
		_, err := r.Policy(r.Context(), ns, "d", 0)
		r.refused(err, fault.NotFound)
		for _, limit := range []int{1, 2, 5, 100} {
			var got []string
			for after := ""; ; {
				page, next, err := r.Policies(r.Context(), ns, after, limit)
				if err != nil || len(page) > limit {
					r.Fatalf("%d policies of %d, %v", len(page), limit, err)
				}
				for _, p := range page {
					got = append(got, p.Name)
				}
				if after = next; after == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				r.Errorf("by %d: %v", limit, got)
			}
		}
	})
}

// The index is read with every change, so there is an end to it.
func TestPoliciesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, newSQLite(t))
	seed := func(text any) {
		t.Helper()
		data, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: app.IndexKey(ns), Expect: store.AnyVersion, Data: data}}}); err != nil {
			t.Fatal(err)
		}
	}
	type policy struct {
		Live        int64            `json:"live"`
		Attachments []app.Attachment `json:"attachments"`
	}
	r.put("p", denies("bash"))
	full := map[string]policy{"p": {Live: 1}}
	for i := len(full); i < app.MaxPolicies; i++ {
		full[fmt.Sprintf("p%d", i)] = policy{Live: 1}
	}
	seed(map[string]any{"policies": full})
	_, _, _, err := r.PutPolicy(t.Context(), operator, app.PutPolicy{Name: "one-more", Definition: []byte(denies("bash"))})
	r.refused(err, fault.LimitReached)
	if _, err := r.store.Get(t.Context(), app.PolicyKey(ns, "one-more")); err == nil {
		t.Error("it has left a version")
	}
	r.put("p", denies("tool:a")) // changes of what is there are no more of it

	to := make([]app.Attachment, 10_000)
	for i := range to {
		to[i] = app.Attachment{Kind: app.AttachedToSession, ID: fmt.Sprint(i)}
	}
	seed(map[string]any{"policies": map[string]policy{"p": {Live: 1, Attachments: to}}})
	_, err = r.Attach(t.Context(), operator, "p", app.Attachment{Kind: app.AttachedToRole, ID: "agent"})
	r.refused(err, fault.LimitReached)

	for i := range to[:2100] {
		to[i].ID = fmt.Sprintf("%0500d", i)
	}
	seed(map[string]any{"policies": map[string]policy{"p": {Live: 1, Attachments: to[:2000]}}})
	for i := 2000; ; i++ {
		if _, err = r.Attach(t.Context(), operator, "p", to[i]); err != nil {
			break
		}
	}
	r.refused(err, fault.LimitReached)
	if x, err := r.Refresh(t.Context(), ns); err != nil || len(x.AttachedTo(app.AttachedToSession, to[0].ID)) != 1 {
		t.Errorf("%v", err)
	}
}

const shadowed = `{"id":"w","initial":"work","states":{"work":{"allowed_tools":[],"on":{"DONE":"done"}},"done":{"type":"final"}}}`

func TestWorkflowShadows(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		digest, err := r.ShadowWorkflow(r.Context(), operator, "w", []byte(shadowed))
		if err != nil || len(digest) != 64 {
			r.Fatalf("%q, %v", digest, err)
		}
		again, err := r.ShadowWorkflow(r.Context(), operator, "", []byte(" "+shadowed))
		if err != nil || again != digest {
			r.Errorf("%q, %v", again, err)
		}
		x, err := r.replicas(1)[0].Index(r.Context(), ns)
		if err != nil || x.WorkflowShadow("w") != digest || x.WorkflowShadow("v") != "" {
			r.Errorf("%+v, %v", x, err)
		}
		if err := r.ShadowJudges(r.Context(), ns, "w", digest); err != nil {
			r.Error(err)
		}
		r.refused(r.ShadowJudges(r.Context(), ns, "w", strings.Repeat("0", 64)), fault.NotFound)
		_, err = r.ShadowWorkflow(r.Context(), operator, "v", []byte(shadowed))
		r.refused(err, fault.InvalidRequest)
		_, err = r.ShadowWorkflow(r.Context(), operator, "w", []byte(`{"id":"w"}`))
		if f := r.refused(err, fault.InvalidDefinition); len(f.Violations) == 0 {
			r.Error("no violations")
		}
		_, err = r.ShadowWorkflow(r.Context(), operator, "", nil)
		r.refused(err, fault.InvalidRequest)
		for range 2 {
			if digest, err := r.ShadowWorkflow(r.Context(), operator, "w", nil); err != nil || digest != "" {
				r.Errorf("%q, %v", digest, err)
			}
		}
		if x, err = r.Refresh(r.Context(), ns); err != nil || x.WorkflowShadow("w") != "" {
			r.Errorf("%+v, %v", x, err)
		}
		if got, want := r.events(), []string{"interlock.default.policy.w.shadowed", "interlock.default.policy.w.unshadowed"}; !slices.Equal(got, want) {
			r.Errorf("announced %v", got)
		}
	})
}
