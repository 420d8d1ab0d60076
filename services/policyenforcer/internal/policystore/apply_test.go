package policystore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// machine stores the next version of a workflow, as the engine does. A staged one is not live.
func (r *rig) machine(name string, staged bool) int64 {
	r.Helper()
	return r.version(ledger.WorkflowOf(enforcertest.Namespace, name), staged)
}

// version stores the next version of a workflow or schema.
func (r *rig) version(key store.Key, staged bool) int64 {
	r.Helper()
	name := key.ID
	latest, err := ledger.LatestDefinition(r.Context(), r.Storage, key)
	if err != nil {
		r.Fatal(err)
	}
	d := map[string]any{"name": name, "digest": fmt.Sprintf("%s-%d", name, latest.Number+1), "created_by": "eve", "role": "operator"}
	if staged {
		d["staged"], d["before"] = true, latest.Own()
	}
	r.stored(key, latest.Number, d)
	return latest.Number + 1
}

// deletion stores the version that deletes a component.
func (r *rig) deletion(key store.Key) {
	r.Helper()
	latest, err := ledger.LatestDefinition(r.Context(), r.Storage, key)
	if err != nil {
		r.Fatal(err)
	}
	r.stored(key, latest.Number, map[string]any{"deleted": true})
}

// stored stores the record of a version.
func (r *rig) stored(key store.Key, after int64, d map[string]any) {
	r.Helper()
	data, _ := json.Marshal(d)
	_, err := r.Storage.Commit(r.Context(), store.Batch{Puts: []store.Put{{
		Key: key, Expect: after, Data: data, History: data,
	}}})
	if err != nil {
		r.Fatal(err)
	}
}

// live returns the live version of a workflow; negative for one that is retired.
func (r *rig) live(name string) int64 {
	r.Helper()
	latest, err := ledger.LatestDefinition(r.Context(), r.Storage, ledger.WorkflowOf(enforcertest.Namespace, name))
	if err != nil {
		r.Fatal(err)
	}
	c, err := catalog.Read(r.Context(), r.Storage, enforcertest.Namespace)
	if err != nil {
		r.Fatal(err)
	}
	place := c.Places[name]
	if place.Retired != nil {
		return -place.LiveOf(latest.Own())
	}
	return place.LiveOf(latest.Own())
}

// staged stores a version of a policy that is not live.
func (r *rig) staged(name, capability string) int64 {
	r.Helper()
	p, _, _, err := r.Put(r.Context(), enforcertest.Operator, policystore.Put{Name: name, Definition: []byte(denies(capability)), Staged: true})
	if err != nil {
		r.Fatal(err)
	}
	return p.Number
}

func flow(name string, expected, version int64) policystore.SetChange {
	return policystore.SetChange{Object: catalog.Object{Kind: catalog.Workflow, Name: name}, Expected: expected, Version: version}
}

func policyChange(name string, expected, version int64, to ...policystore.Attachment) policystore.SetChange {
	return policystore.SetChange{
		Object: catalog.Object{Kind: catalog.Policy, Name: name}, Expected: expected, Version: version, Attached: len(to) > 0, Attachments: to,
	}
}

// apply applies a set, and returns the code of the refusal, empty for none.
func (r *rig) apply(name string, expected int64, changes ...policystore.SetChange) (changed bool, refusal string) {
	r.Helper()
	_, changed, err := r.Apply(r.Context(), enforcertest.Operator, &policystore.Application{Name: name, Expected: expected, Changes: changes})
	if err != nil {
		return false, fault.From(err).Message
	}
	return changed, ""
}

// whole returns the live versions, the attachments and the sets.
func (r *rig) whole(flows ...string) string {
	r.Helper()
	var text []string
	for _, name := range flows {
		text = append(text, fmt.Sprintf("%s=%d", name, r.live(name)))
	}
	all, _, err := r.List(r.Context(), enforcertest.Namespace, "", 100)
	if err != nil {
		r.Fatal(err)
	}
	for _, p := range all {
		text = append(text, fmt.Sprintf("%s=%d%v", p.Name, p.Live, p.Attachments))
	}
	sets, err := r.Sets(r.Context(), enforcertest.Namespace)
	if err != nil {
		r.Fatal(err)
	}
	for name, s := range sets {
		var objects []string
		for o, status := range s.Objects {
			objects = append(objects, fmt.Sprintf("%s:%d", o, status.Version))
		}
		slices.Sort(objects)
		text = append(text, fmt.Sprintf("%s@%d{%s}", name, s.Version, strings.Join(objects, " ")))
	}
	slices.Sort(text)
	return strings.Join(text, " ")
}

var everyone = policystore.Attachment{Kind: policystore.AttachedToEveryone, ID: policystore.Anyone}

// A set is applied as a whole: workflows, policies, attachments, and its record (S26.4, S26.5). Objects that it no longer has are
// retired or deleted, and only by the set that has it (S26.7).
func TestApplySet(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		first, nights := r.machine("release", true), r.staged("nights", "bash")
		if got := r.whole("release"); got != "release=0" {
			t.Fatalf("staged versions are live: %s", got)
		}
		for i, step := range []struct {
			do   func() (bool, string)
			want string
		}{
			{func() (bool, string) {
				return r.apply("gov", 0, flow("release", 0, first), policyChange("nights", 0, nights, everyone))
			}, "gov@1{policy/nights:1 workflow/release:1} nights=1[everyone] release=1"},
			{func() (bool, string) { // again, without a change
				return r.apply("gov", 1, flow("release", 1, 1), policyChange("nights", 1, 1, everyone))
			}, "gov@1{policy/nights:1 workflow/release:1} nights=1[everyone] release=1"},
			{func() (bool, string) { // a newer version, and an older one of a policy again
				return r.apply("gov", 1, flow("release", 1, r.machine("release", true)), policyChange("nights", 1, r.staged("nights", "tool:a")))
			}, "gov@2{policy/nights:2 workflow/release:2} nights=2[everyone] release=2"},
			{
				func() (bool, string) { return r.apply("gov", 2, flow("release", 2, 1), policyChange("nights", 2, 1)) },
				"gov@3{policy/nights:1 workflow/release:1} nights=1[everyone] release=1",
			},
			{
				func() (bool, string) { return r.apply("gov", 3, flow("release", 1, 0), policyChange("nights", 1, 0)) },
				"gov@4{} release=-1",
			},
			{
				func() (bool, string) { return r.apply("gov", 4, flow("release", 1, 2)) },
				"gov@5{workflow/release:2} release=2",
			},
		} {
			if _, refusal := step.do(); refusal != "" {
				t.Fatalf("step %d: %s", i, refusal)
			}
			if got := r.whole("release"); got != step.want {
				t.Errorf("step %d: %s\nwant %s", i, got, step.want)
			}
		}
	})
}

// A plan that is overtaken makes no change, and the refusal names each object (S26.6).
func TestApplyConflicts(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.machine("release", true)
		r.machine("strange", false)
		if _, refusal := r.apply("gov", 0, flow("release", 0, 1), policyChange("nights", 0, r.staged("nights", "bash"))); refusal != "" {
			t.Fatal(refusal)
		}
		next := r.machine("release", true)
		r.staged("nights", "tool:a") // version 2
		before := r.whole("release", "strange")
		for name, step := range map[string]struct {
			set     string
			version int64
			changes []policystore.SetChange
			why     []string
		}{
			"another application": {"gov", 0, []policystore.SetChange{flow("release", 1, next)}, []string{"set gov is at version 1, applied by olga"}},
			"a new name":          {"new", 3, nil, []string{"was never applied"}},
			"live versions":       {"gov", 1, []policystore.SetChange{flow("release", 7, next), policyChange("nights", 9, 2)}, []string{`version 1 of workflow "release" is live, by eve, and the plan expects 7`, `version 1 of policy "nights" is live, by olga`}},
			"another's":           {"other", 0, []policystore.SetChange{flow("release", 1, next)}, []string{`belongs to set gov`}},
			"of no set":           {"gov", 1, []policystore.SetChange{flow("strange", 1, r.machine("strange", true))}, []string{"no set owns it"}},
			"not its own":         {"gov", 1, []policystore.SetChange{flow("strange", 1, 0)}, []string{"not in the record of set gov"}},
			"nothing there":       {"gov", 1, []policystore.SetChange{flow("release", 1, next), flow("none", 0, 1)}, []string{`no workflow "none"`}},
			"no such version":     {"gov", 1, []policystore.SetChange{flow("release", 1, 9)}, []string{"no version 9"}},
			"the wrong kind":      {"gov", 1, []policystore.SetChange{{Object: catalog.Object{Kind: catalog.Process, Name: "release"}, Expected: 1, Version: 2}}, []string{`no process "release"`}},
			"twice":               {"gov", 1, []policystore.SetChange{flow("release", 1, next), flow("release", 1, next)}, []string{"in the set twice"}},
		} {
			_, refusal := r.apply(step.set, step.version, step.changes...)
			for _, why := range step.why {
				if !strings.Contains(refusal, why) {
					t.Errorf("%s: %q, want %q", name, refusal, why)
				}
			}
			if got := r.whole("release", "strange"); got != before {
				t.Errorf("%s: %s\nwant %s", name, got, before)
			}
		}
		// A hotfix beside: it stays, until the set takes the object.
		r.put("nights", denies("tool:hotfix"))
		hotfix := r.machine("release", false)
		if _, refusal := r.apply("gov", 1, flow("release", hotfix, next), policyChange("nights", 3, 2)); !strings.Contains(refusal, `policy "nights" was changed by olga after set gov was applied`) ||
			!strings.Contains(refusal, `workflow "release" was changed by eve`) {
			t.Errorf("a hotfix: %q", refusal)
		}
		take := flow("release", hotfix, next)
		take.Take = true
		if _, refusal := r.apply("other", 0, take); refusal != "" {
			t.Fatal(refusal)
		}
		const want = `gov@1{policy/nights:1} nights=3[] other@1{workflow/release:2} release=2 strange=1`
		if got := r.whole("release", "strange"); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}

// A kill at any commit of an application leaves all as it was, or all as it is to be, and the same application again
// completes it (S26.5).
func TestApplyKilled(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.machine("release", true)
		r.machine("deploy", true)
		nights, email := r.staged("nights", "bash"), r.staged("email", "tool:mail")
		app := &policystore.Application{Name: "gov", Changes: []policystore.SetChange{
			flow("release", 0, 1), flow("deploy", 0, 1), policyChange("nights", 0, nights, everyone), policyChange("email", 0, email),
		}}
		const none, all = "deploy=0 release=0", "deploy=1 email=1[] gov@1{policy/email:1 policy/nights:1 workflow/deploy:1 workflow/release:1} nights=1[everyone] release=1"
		for _, kill := range []storetest.Fault{storetest.Failed, storetest.FailedButApplied} {
			killed := r.replica(r.Faulty(storetest.Nth(1, kill)))
			if _, _, err := killed.Apply(r.Context(), enforcertest.Operator, app); err == nil {
				t.Fatalf("fault %d: no error", kill)
			}
			if got := r.whole("release", "deploy"); got != none && got != all {
				t.Errorf("fault %d: half: %s", kill, got)
			}
		}
		// The second kill came after the commit: the application is complete, and its repeat is refused as overtaken.
		if got := r.whole("release", "deploy"); got != all {
			t.Errorf("%s\nwant %s", got, all)
		}
		if _, refusal := r.apply("gov", 0, app.Changes...); !strings.Contains(refusal, "at version 1") {
			t.Errorf("a repeat: %q", refusal)
		}
	})
}

// Of several appliers of one plan one wins, and its set is whole (S26.5).
func TestAppliersAtOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		const appliers = 6
		var plans [appliers][]policystore.SetChange
		for i := range plans {
			plans[i] = []policystore.SetChange{
				flow("release", 0, r.machine("release", true)), policyChange("nights", 0, r.staged("nights", fmt.Sprintf("tool:t%d", i))),
			}
		}
		won := make(chan int, appliers)
		var all sync.WaitGroup
		for i, replica := range r.replicas(appliers) {
			all.Go(func() {
				_, changed, err := replica.Apply(r.Context(), enforcertest.Operator, &policystore.Application{Name: "gov", Changes: plans[i]})
				switch {
				case err == nil && changed:
					won <- i
				case fault.ReasonOf(err) != fault.VersionConflict:
					t.Errorf("applier %d: %v, %t", i, err, changed)
				}
			})
		}
		all.Wait()
		close(won)
		winner, ok := <-won
		if _, more := <-won; !ok || more {
			t.Fatalf("not one applier has won")
		}
		n := winner + 1
		if got, want := r.whole("release"), fmt.Sprintf("gov@1{policy/nights:%d workflow/release:%d} nights=%d[] release=%d", n, n, n, n); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}

// racing registers a version of a workflow just before a commit.
type racing struct {
	store.Store
	before func()
}

func (s *racing) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	if race := s.before; race != nil {
		s.before = nil
		race()
	}
	return s.Store.Commit(ctx, batch)
}

// A hotfix that is registered at the moment of the commit is not lost: the application is refused (S26.1, S26.6).
func TestHotfixAtTheCommit(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.machine("release", true)
		if _, refusal := r.apply("gov", 0, flow("release", 0, 1)); refusal != "" {
			t.Fatal(refusal)
		}
		next, live := r.machine("release", true), r.live("release")
		var hotfix int64
		race := &racing{Store: r.Storage, before: func() { hotfix = r.machine("release", false) }}
		sets, err := r.Sets(r.Context(), enforcertest.Namespace)
		if err != nil {
			t.Fatal(err)
		}
		take := flow("release", live, next)
		take.Take = true
		_, _, err = r.replica(race).Apply(r.Context(), enforcertest.Operator, &policystore.Application{Name: "gov", Expected: sets["gov"].Version, Changes: []policystore.SetChange{take}})
		if fault.ReasonOf(err) != fault.VersionConflict {
			t.Errorf("applied: %v", err)
		}
		if got := r.live("release"); got != hotfix {
			t.Errorf("version %d is live, want the hotfix %d", got, hotfix)
		}
	})
}

// A dry run judges the same, and makes no change (S26.5).
func TestApplyDryRun(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.machine("release", true)
		app := &policystore.Application{Name: "gov", Changes: []policystore.SetChange{flow("release", 0, 1)}, DryRun: true}
		if _, changed, err := r.Apply(r.Context(), enforcertest.Operator, app); err != nil || !changed {
			t.Errorf("%t, %v", changed, err)
		}
		if got := r.whole("release"); got != "release=0" {
			t.Errorf("changed: %s", got)
		}
		app.Changes[0].Expected = 4
		if _, _, err := r.Apply(r.Context(), enforcertest.Operator, app); fault.ReasonOf(err) != fault.VersionConflict {
			t.Errorf("a conflict: %v", err)
		}
	})
}

// A policy is stored and promoted only on the live version that the caller names (S26.3).
func TestPolicyPreconditions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		first := r.put("p", denies("bash"))
		for name, tt := range map[string]struct {
			policystore.Expected
			ok bool
		}{
			"version": {policystore.Expected{Version: 1}, true}, "another version": {policystore.Expected{Version: 2}, false},
			"digest": {policystore.Expected{Digest: first.Digest}, true}, "another digest": {policystore.Expected{Digest: "00"}, false},
			"any": {policystore.Expected{}, true},
		} {
			_, _, _, err := r.Put(r.Context(), enforcertest.Operator, policystore.Put{Name: "p", Definition: []byte(denies("tool:x")), DryRun: true, Expected: tt.Expected})
			if (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), "stored by olga") {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := r.Promote(r.Context(), enforcertest.Operator, "p", 1, tt.Expected); (err == nil) != tt.ok {
				t.Errorf("promote, %s: %v", name, err)
			}
		}
		if p, err := r.Get(r.Context(), enforcertest.Namespace, "p", 0); err != nil || p.Number != 1 {
			t.Errorf("a dry run has stored %+v, %v", p, err)
		}
		if _, _, _, err := r.Put(r.Context(), enforcertest.Operator, policystore.Put{Name: "q", Definition: []byte(denies("bash")), Expected: policystore.Expected{Version: 1}}); fault.ReasonOf(err) != fault.VersionConflict {
			t.Errorf("a policy that is not there: %v", err)
		}
	})
}
