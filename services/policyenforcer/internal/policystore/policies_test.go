package policystore_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// denies is a policy that denies one capability.
func denies(capability string) string {
	name := strings.TrimPrefix(capability, "tool:")
	return `{"role":"agent","meta":{"tools":["` + name + `"]},"deny":[{"capability":"` + capability + `"}]}`
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
			{"shadow", "tool:a", false, state{2, 2, 0}, "put"}, // the live version is not its own shadow
			{"shadow", "tool:c", true, state{4, 2, 4}, "put"},
			{"put", "tool:c", false, state{4, 4, 0}, "put"},
			{"promote 3", "", false, state{3, 3, 0}, "promoted"},
		} {
			var p *policystore.Policy
			var created bool
			var err error
			if number, promote := strings.CutPrefix(step.do, "promote "); promote {
				p, err = r.Promote(r.Context(), enforcertest.Operator, "p", int64(number[0]-'0'), policystore.Expected{})
			} else {
				p, created, _, err = r.Put(r.Context(), enforcertest.Operator, policystore.Put{
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
			if got := r.Events(); !slices.Equal(got, want) {
				r.Errorf("step %d announced %v, want %v", i, got, want)
			}
		}
		_, err := r.Promote(r.Context(), enforcertest.Operator, "p", 5, policystore.Expected{})
		r.Refused(err, fault.NotFound)
		_, err = r.Promote(r.Context(), enforcertest.Operator, "q", 1, policystore.Expected{})
		r.Refused(err, fault.NotFound)
		for number, text := range []string{"bash", "tool:a", "tool:b", "tool:c"} {
			p, err := r.Get(r.Context(), enforcertest.Namespace, "p", int64(number)+1)
			if err != nil || string(p.Definition) != denies(text) || p.CreatedBy != "olga" {
				r.Errorf("version %d: %+v, %v", number+1, p, err)
			}
		}
	})
}

func TestPolicyNames(t *testing.T) {
	t.Parallel()
	r := newRig(enforcertest.New(t, enforcertest.NewSQLite(t)))
	long := strings.Repeat("n", 128)
	for name, reason := range map[string]fault.Reason{
		"p": "", "a.b-c_1": "", "0": "", long: "",
		long + "n": fault.InvalidRequest, "P": fault.InvalidRequest, "process:p": fault.InvalidRequest, "a/b": fault.InvalidRequest,
		"a b": fault.InvalidRequest, "ä": fault.InvalidRequest, "..": fault.InvalidRequest, "": fault.InvalidRequest,
	} {
		p, _, _, err := r.Put(t.Context(), enforcertest.Operator, policystore.Put{Name: name, Definition: []byte(denies("bash"))})
		if fault.ReasonOf(err) != reason || err == nil && p.Name != name {
			t.Errorf("%q: %v", name, err)
		}
	}
	named := []byte(`{"role":"agent","name":"own"}`)
	p, _, _, err := r.Put(t.Context(), enforcertest.Operator, policystore.Put{Definition: named})
	if err != nil || p.Name != "own" {
		t.Errorf("the definition's name: %+v, %v", p, err)
	}
	p, _, _, err = r.Put(t.Context(), enforcertest.Operator, policystore.Put{Name: "other", Definition: named})
	if err != nil || p.Name != "other" {
		t.Errorf("another name: %+v, %v", p, err)
	}
}

// An invalid definition is refused with a place for each problem. A valid one may have warnings.
func TestPolicyProblems(t *testing.T) {
	t.Parallel()
	r := newRig(enforcertest.New(t, enforcertest.NewSQLite(t)))
	_, _, _, err := r.Put(t.Context(), enforcertest.Operator, policystore.Put{
		Name: "p", Definition: []byte(`{"role":"agent","alow":[],"deny":[{"capability":"Bash"}],"allow":[{"capability":"*"}]}`),
	})
	f := r.Refused(err, fault.InvalidDefinition)
	var at []string
	for _, v := range f.Violations {
		at = append(at, v.Pointer)
	}
	slices.Sort(at)
	if want := []string{"/alow", "/deny/0/capability"}; !slices.Equal(at, want) {
		t.Errorf("problems at %v, want %v", at, want)
	}
	_, _, warnings, err := r.Put(t.Context(), enforcertest.Operator, policystore.Put{
		Name: "p", Definition: []byte(`{"role":"agent","allow":[{"capability":"*"}]}`),
	})
	if err != nil || len(warnings) != 1 || warnings[0].Pointer != "/allow/0/capability" {
		t.Errorf("warnings %v, %v", warnings, err)
	}
}

// S6.5: a repeated put with its key changes no policy, even after other changes.
func TestPutIsMadeOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		put := func(text, key string, shadow bool) (*policystore.Policy, bool, error) {
			p, created, _, err := r.Put(r.Context(), enforcertest.Operator, policystore.Put{
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
		r.Refused(err, fault.IdempotencyMismatch)
		_, _, err = put("bash", "k1", true)
		r.Refused(err, fault.IdempotencyMismatch)
	})
}

// A put that got stuck after its version continues when it is repeated.
func TestPutRollsForward(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.put("other", denies("bash"))
		for n, f := range []storetest.Fault{storetest.Failed, storetest.FailedButApplied, storetest.Uncertain} {
			for _, kind := range []string{"policy", "policy_index"} {
				name := fmt.Sprintf("%s.%d", kind, n)
				a := r.replica(r.Faulty(func(_ int, batch *store.Batch) storetest.Fault {
					if enforcertest.Puts(batch, kind) {
						return f
					}
					return storetest.Healthy
				}))
				req := policystore.Put{Name: name, Definition: []byte(denies("bash")), IdempotencyKey: "k"}
				if _, _, _, err := a.Put(r.Context(), enforcertest.Operator, req); err == nil {
					r.Fatalf("%s: no error", name)
				}
				if x, err := a.Index(r.Context(), enforcertest.Namespace); err != nil || x.Live(name) != 0 {
					r.Errorf("%s: what failed is cached: %v", name, err)
				}
				p, _, _, err := r.Put(r.Context(), enforcertest.Operator, req)
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
		to := policystore.Attachment{Kind: policystore.AttachedToWorkflow, ID: "w"}
		if _, err := r.Attach(r.Context(), enforcertest.Operator, "p", to); err != nil {
			r.Fatal(err)
		}
		f := r.Refused(r.Delete(r.Context(), enforcertest.Operator, "p"), fault.FailedPrecondition)
		if !strings.Contains(f.Message, `workflow "w"`) {
			r.Errorf("it does not say what to detach: %s", f.Message)
		}
		if _, err := r.Detach(r.Context(), enforcertest.Operator, "p", to); err != nil {
			r.Fatal(err)
		}
		if err := r.Delete(r.Context(), enforcertest.Operator, "p"); err != nil {
			r.Fatal(err)
		}
		r.Refused(r.Delete(r.Context(), enforcertest.Operator, "p"), fault.NotFound)
		_, err := r.Get(r.Context(), enforcertest.Namespace, "p", 0)
		r.Refused(err, fault.NotFound)
		_, err = r.Promote(r.Context(), enforcertest.Operator, "p", 1, policystore.Expected{})
		r.Refused(err, fault.NotFound)
		_, err = r.Attach(r.Context(), enforcertest.Operator, "p", to)
		r.Refused(err, fault.NotFound)
		if p, err := r.Get(r.Context(), enforcertest.Namespace, "p", 1); err != nil || p.Live != 0 {
			r.Errorf("its version: %+v, %v", p, err)
		}
		if p := r.put("p", denies("tool:a")); p.Number != 2 || p.Live != 2 {
			r.Errorf("put again: %+v", p)
		}
		want := []string{"put", "attached", "detached", "deleted", "put"}
		for i, subject := range r.Events() {
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
		attach := func(name string, kind policystore.AttachmentKind, id string) error {
			_, err := r.Attach(r.Context(), enforcertest.Operator, name, policystore.Attachment{Kind: kind, ID: id})
			return err
		}
		x, err := r.Refresh(r.Context(), enforcertest.Namespace)
		if err != nil || x.SessionsAttached() {
			r.Fatalf("%t, %v", x.SessionsAttached(), err)
		}
		for _, ok := range []error{
			attach("b", policystore.AttachedToRole, "agent"), attach("a", policystore.AttachedToRole, "agent"), attach("a", policystore.AttachedToRole, "agent"),
			attach("a", policystore.AttachedToSession, "s"), attach("a", policystore.AttachedToWorkflow, "w"), attach("b", policystore.AttachedToProcess, "w"),
		} {
			if ok != nil {
				r.Fatal(ok)
			}
		}
		r.Refused(attach("c", policystore.AttachedToRole, "agent"), fault.NotFound)
		r.Refused(attach("a", policystore.AttachedToRole, "service"), fault.InvalidRequest)
		r.Refused(attach("a", "", "x"), fault.InvalidRequest)
		r.Refused(attach("a", policystore.AttachedToWorkflow, ""), fault.InvalidRequest)
		r.Refused(attach("a", policystore.AttachedToWorkflow, strings.Repeat("w", 513)), fault.InvalidRequest)
		if x, err = r.Refresh(r.Context(), enforcertest.Namespace); err != nil {
			r.Fatal(err)
		}
		for _, c := range []struct {
			kind policystore.AttachmentKind
			id   string
			want []string
		}{
			{policystore.AttachedToRole, "agent", []string{"a", "b"}},
			{policystore.AttachedToRole, "operator", nil},
			{policystore.AttachedToWorkflow, "w", []string{"a"}},
			{policystore.AttachedToProcess, "w", []string{"b"}},
			{policystore.AttachedToSession, "s", []string{"a"}},
			{policystore.AttachedToSession, "w", nil},
		} {
			if got := x.AttachedTo(c.kind, c.id); !slices.Equal(got, c.want) {
				r.Errorf("%s %s has %v, want %v", c.kind, c.id, got, c.want)
			}
		}
		if !x.SessionsAttached() {
			r.Error("no session is attached")
		}
		if n := len(r.Events()); n != 7 {
			r.Errorf("%d events, want 7: what was attached is attached once", n)
		}
		_, err = r.Detach(r.Context(), enforcertest.Operator, "a", policystore.Attachment{Kind: policystore.AttachedToSession, ID: "t"})
		r.Refused(err, fault.NotFound)
		p, err := r.Detach(r.Context(), enforcertest.Operator, "a", policystore.Attachment{Kind: policystore.AttachedToSession, ID: "s"})
		if err != nil || len(p.Attachments) != 2 {
			r.Errorf("%+v, %v", p, err)
		}
	})
}

// S22.10: several attachments are made and ended in one commit, all or none, with an event each.
func TestSeveralAttachments(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.put("p", denies("bash"))
		to := func(kind policystore.AttachmentKind, id string) policystore.Attachment {
			return policystore.Attachment{Kind: kind, ID: id}
		}
		all := []policystore.Attachment{
			to(policystore.AttachedToPrincipal, "ci"), to(policystore.AttachedToHuman, "ann"), to(policystore.AttachedToGroup, "support"),
			to(policystore.AttachedToAgent, "sum"), to(policystore.AttachedToEveryone, ""),
		}
		for _, wrong := range []policystore.Attachment{
			to(policystore.AttachedToRole, "king"), to(policystore.AttachedToEveryone, "ann"), to(policystore.AttachedToGroup, ""), to("team", "x"),
		} {
			_, err := r.Attach(r.Context(), enforcertest.Operator, "p", append(slices.Clone(all), wrong)...)
			f := r.Refused(err, fault.InvalidRequest)
			if len(f.Violations) != 1 || !strings.HasPrefix(f.Violations[0].Pointer, "/to/5/") {
				r.Errorf("%s: %+v", wrong, f.Violations)
			}
		}
		before, err := r.Refresh(r.Context(), enforcertest.Namespace)
		if err != nil || len(r.Events()) != 1 {
			r.Fatalf("%v, %v", r.Events(), err)
		}
		p, err := r.Attach(r.Context(), enforcertest.Operator, "p", all...)
		if err != nil || len(p.Attachments) != len(all) || p.Attachments[4].ID != policystore.Anyone {
			r.Fatalf("%+v, %v", p, err)
		}
		if p, err = r.Attach(r.Context(), enforcertest.Operator, "p", to(policystore.AttachedToEveryone, "*")); err != nil || len(p.Attachments) != len(all) {
			r.Errorf("everyone again: %+v, %v", p, err)
		}
		x, err := r.Refresh(r.Context(), enforcertest.Namespace)
		if err != nil || x.Version != before.Version+1 || len(r.Events()) != len(all) {
			r.Errorf("version %d after %d, %v", x.Version, before.Version, err)
		}
		_, err = r.Detach(r.Context(), enforcertest.Operator, "p", all[0], to(policystore.AttachedToHuman, "bob"))
		r.Refused(err, fault.NotFound)
		if p, err = r.Detach(r.Context(), enforcertest.Operator, "p", all[0], all[4]); err != nil || !slices.Equal(p.Attachments, all[1:4]) {
			r.Errorf("%+v, %v", p, err)
		}
	})
}

// S22.10, S22.11: a policy judges the callers that it is attached to, and those of which that is in doubt.
func TestPoliciesOfCallers(t *testing.T) {
	t.Parallel()
	r := newRig(enforcertest.New(t, enforcertest.NewSQLite(t)))
	for name, to := range map[string]policystore.Attachment{
		"principal": {Kind: policystore.AttachedToPrincipal, ID: "ci"}, "human": {Kind: policystore.AttachedToHuman, ID: "ann"},
		"group": {Kind: policystore.AttachedToGroup, ID: "support"}, "everyone": {Kind: policystore.AttachedToEveryone},
	} {
		r.put(name, denies("bash"))
		if _, err := r.Attach(t.Context(), enforcertest.Operator, name, to); err != nil {
			t.Fatal(err)
		}
	}
	x, err := r.Refresh(t.Context(), enforcertest.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	now := r.Clock.Now()
	const anyHuman, anyGroup = "human, who is not known", "group, since the human's groups are not known"
	for name, c := range map[string]struct {
		caller auth.Principal
		want   map[string]string
	}{
		"another principal, for bob": {auth.Principal{Name: "cd", Human: &auth.Human{Name: "bob", Source: auth.Issuer, GroupsKnown: true}}, nil},
		"the principal, in capitals": {auth.Principal{Name: "CI", Human: &auth.Human{Name: "bob", Source: auth.Gateway, GroupsKnown: true}}, map[string]string{"principal": "principal CI"}},
		"for ann":                    {auth.Principal{Human: &auth.Human{Name: "Ann", Source: auth.Registered, GroupsKnown: true}}, map[string]string{"human": "human Ann"}},
		"for a member": {
			auth.Principal{Human: &auth.Human{Name: "bob", Source: auth.Issuer, Groups: []string{"dev", "Support"}, GroupsKnown: true}},
			map[string]string{"group": "group Support"},
		},
		"groups are not known": {
			auth.Principal{Human: &auth.Human{Name: "bob", Source: auth.Issuer, Groups: []string{"dev"}}}, map[string]string{"group": anyGroup},
		},
		"nobody is known": {auth.Principal{Name: "cd"}, map[string]string{"human": anyHuman, "group": anyGroup}},
		"a claim": {
			auth.Principal{Human: &auth.Human{Name: "bob", Source: auth.Claimed, GroupsKnown: true}}, map[string]string{"human": anyHuman, "group": anyGroup},
		},
		"expired": {
			auth.Principal{Human: &auth.Human{Name: "bob", Source: auth.Issuer, GroupsKnown: true, Expires: now}}, map[string]string{"human": anyHuman, "group": anyGroup},
		},
		"not yet expired": {auth.Principal{Human: &auth.Human{Name: "bob", Source: auth.Issuer, GroupsKnown: true, Expires: now.Add(1)}}, nil},
		"their own call":  {auth.Principal{Name: "x", Person: "ann"}, map[string]string{"human": "human ann", "group": anyGroup}},
	} {
		if c.want == nil {
			c.want = map[string]string{}
		}
		c.want["everyone"] = "everyone"
		if got := x.OfCaller(c.caller, now); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
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
					to := policystore.Attachment{Kind: policystore.AttachedToSession, ID: fmt.Sprintf("s %d %d", i, n)}
					if _, err := a.Attach(r.Context(), enforcertest.Operator, "p", to); err != nil {
						r.Error(err)
					}
				}
			})
			group.Go(func() {
				for n := range each {
					_, created, _, err := a.Put(r.Context(), enforcertest.Operator, policystore.Put{Name: "q", Definition: []byte(denies(fmt.Sprintf("tool:%d_%d", i, n)))})
					if err != nil || !created {
						r.Errorf("created %t, %v", created, err)
					}
				}
			})
		}
		group.Wait()
		p, err := r.Get(r.Context(), enforcertest.Namespace, "p", 0)
		if err != nil || len(p.Attachments) != 2*each {
			r.Errorf("%d attachments, want %d; %v", len(p.Attachments), 2*each, err)
		}
		texts := map[string]bool{}
		for version := range int64(2 * each) {
			q, err := r.Get(r.Context(), enforcertest.Namespace, "q", version+1)
			if err != nil || q.Number != version+1 {
				r.Fatalf("version %d: %+v, %v", version+1, q, err)
			}
			texts[string(q.Definition)] = true
		}
		if len(texts) != 2*each {
			r.Errorf("%d different versions, want %d", len(texts), 2*each)
		}
		if n := len(r.Events()); n != 1+4*each {
			r.Errorf("%d events, want %d", n, 1+4*each)
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
		if _, _, _, err := r.Put(r.Context(), enforcertest.Operator, policystore.Put{Name: "d", Definition: []byte(denies("bash")), Shadow: true}); err != nil {
			r.Fatal(err)
		}
		_, err := r.Get(r.Context(), enforcertest.Namespace, "d", 0)
		r.Refused(err, fault.NotFound)
		for _, limit := range []int{1, 2, 5, 100} {
			var got []string
			for after := ""; ; {
				page, next, err := r.List(r.Context(), enforcertest.Namespace, after, limit)
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
