package policystore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// A replica's index may be old until it is read again, and has its version.
func TestIndexIsCached(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		other := r.replicas(1)[0]
		before, err := other.Index(r.Context(), enforcertest.Namespace)
		if err != nil || before.Version != store.Absent || before.Live("p") != 0 {
			r.Fatalf("%+v, %v", before, err)
		}
		r.put("p", denies("bash"))
		mine, err := r.Index(r.Context(), enforcertest.Namespace)
		if err != nil || mine.Live("p") != 1 || mine.Version != 1 {
			r.Errorf("%+v, %v", mine, err)
		}
		if x, _ := other.Index(r.Context(), enforcertest.Namespace); x != before {
			r.Error("nothing was cached")
		}
		_, err = r.Storage.Commit(r.Context(), store.Batch{Checks: []store.Check{{Key: policystore.IndexKey(enforcertest.Namespace), Version: before.Version}}})
		r.Refused(err, fault.VersionConflict)
		fresh, err := other.Refresh(r.Context(), enforcertest.Namespace)
		if err != nil || fresh.Live("p") != 1 || fresh.Version != 1 {
			r.Errorf("%+v, %v", fresh, err)
		}
		if x, _ := other.Index(r.Context(), enforcertest.Namespace); x != fresh {
			r.Error("the fresh index was not cached")
		}
	})
}

// An index that was read late is not kept in the place of a newer one.
func TestIndexGoesForward(t *testing.T) {
	t.Parallel()
	r := newRig(enforcertest.New(t, enforcertest.NewSQLite(t)))
	r.put("p", denies("bash"))
	old, err := r.Storage.Get(t.Context(), policystore.IndexKey(enforcertest.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	r.put("q", denies("bash"))
	s := &late{Store: r.Storage}
	a := r.replica(s)
	if _, err := a.Refresh(t.Context(), enforcertest.Namespace); err != nil {
		t.Fatal(err)
	}
	s.record = &old
	if x, err := a.Refresh(t.Context(), enforcertest.Namespace); err != nil || x.Live("q") != 0 {
		t.Fatalf("%+v, %v", x, err)
	}
	if x, err := a.Index(t.Context(), enforcertest.Namespace); err != nil || x.Live("q") != 1 {
		t.Errorf("%+v, %v", x, err)
	}
}

// late returns a record as it was.
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

// An invalid policy denies. A failure to read one is an error.
func TestPolicySets(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.put("p", `{"role":"agent","name":"other","deny":[{"capability":"bash"}]}`)
		decide := func(a *policystore.Store, version int64, tool string) rules.Verdict {
			r.Helper()
			set, err := a.Set(r.Context(), enforcertest.Namespace, "p", version)
			if err != nil {
				r.Fatal(err)
			}
			return set.Decide(rules.Call{Tool: tool}, nil)
		}
		if v := decide(r.Store, 1, "Read"); v.Decision != toolcall.Allow {
			r.Errorf("%+v", v)
		}
		if v := decide(r.Store, 1, "Bash"); v.Code != toolcall.CodePolicyDenied || v.By.Policy != "p" || v.By.Version != 1 {
			r.Errorf("%+v by %+v", v, v.By)
		}
		if v := decide(r.Store, 2, "Read"); v.Code != toolcall.CodePolicyUnavailable {
			r.Errorf("a version that is not there: %+v", v)
		}
		r.Tampered(func(x enforcertest.Tampering) {
			all := x.History(policystore.Key(enforcertest.Namespace, "p"))
			all[0].Data = `{"name":"p","definition":"e30="}`
			x.SetHistory(policystore.Key(enforcertest.Namespace, "p"), all)
		})
		if v := decide(r.Store, 1, "Read"); v.Code != toolcall.CodePolicyUnavailable {
			r.Errorf("one that is not valid: %+v", v)
		}
		r.Tampered(func(x enforcertest.Tampering) {
			all := x.History(policystore.Key(enforcertest.Namespace, "p"))
			all[0].Data = `?`
			x.SetHistory(policystore.Key(enforcertest.Namespace, "p"), all)
		})
		if v := decide(r.Store, 1, "Read"); v.Code != toolcall.CodePolicyUnavailable {
			r.Errorf("one that cannot be read: %+v", v)
		}
		if err := r.Storage.Close(); err != nil {
			r.Fatal(err)
		}
		if _, err := r.replica(r.Storage).Set(r.Context(), enforcertest.Namespace, "p", 1); err == nil {
			r.Error("a set without a store")
		}
	})
}

// The index is read with every change, so there is an end to it.
func TestPoliciesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(enforcertest.New(t, enforcertest.NewSQLite(t)))
	seed := func(text any) {
		t.Helper()
		data, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Storage.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: policystore.IndexKey(enforcertest.Namespace), Expect: store.AnyVersion, Data: data}}}); err != nil {
			t.Fatal(err)
		}
	}
	type policy struct {
		Live        int64                    `json:"live"`
		Attachments []policystore.Attachment `json:"attachments"`
	}
	r.put("p", denies("bash"))
	full := map[string]policy{"p": {Live: 1}}
	for i := len(full); i < policystore.MaxPolicies; i++ {
		full[fmt.Sprintf("p%d", i)] = policy{Live: 1}
	}
	seed(map[string]any{"policies": full})
	_, _, _, err := r.Put(t.Context(), enforcertest.Operator, policystore.Put{Name: "one-more", Definition: []byte(denies("bash"))})
	r.Refused(err, fault.LimitReached)
	if _, err := r.Storage.Get(t.Context(), policystore.Key(enforcertest.Namespace, "one-more")); err == nil {
		t.Error("it has left a version")
	}
	r.put("p", denies("tool:a")) // changes of a policy do not count as another

	to := make([]policystore.Attachment, 10_000)
	for i := range to {
		to[i] = policystore.Attachment{Kind: policystore.AttachedToSession, ID: fmt.Sprint(i)}
	}
	seed(map[string]any{"policies": map[string]policy{"p": {Live: 1, Attachments: to}}})
	_, err = r.Attach(t.Context(), enforcertest.Operator, "p", policystore.Attachment{Kind: policystore.AttachedToRole, ID: "agent"})
	r.Refused(err, fault.LimitReached)

	for i := range to[:2100] {
		to[i].ID = fmt.Sprintf("%0500d", i)
	}
	seed(map[string]any{"policies": map[string]policy{"p": {Live: 1, Attachments: to[:2000]}}})
	for i := 2000; ; i++ {
		if _, err = r.Attach(t.Context(), enforcertest.Operator, "p", to[i]); err != nil {
			break
		}
	}
	r.Refused(err, fault.LimitReached)
	if x, err := r.Refresh(t.Context(), enforcertest.Namespace); err != nil || len(x.AttachedTo(policystore.AttachedToSession, to[0].ID)) != 1 {
		t.Errorf("%v", err)
	}
}

const shadowed = `{"id":"w","initial":"work","states":{"work":{"allowed_tools":[],"on":{"DONE":"done"}},"done":{"type":"final"}}}`

func TestWorkflowShadows(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		digest, err := r.ShadowWorkflow(r.Context(), enforcertest.Operator, "w", []byte(shadowed))
		if err != nil || len(digest) != 64 {
			r.Fatalf("%q, %v", digest, err)
		}
		again, err := r.ShadowWorkflow(r.Context(), enforcertest.Operator, "", []byte(" "+shadowed))
		if err != nil || again != digest {
			r.Errorf("%q, %v", again, err)
		}
		x, err := r.replicas(1)[0].Index(r.Context(), enforcertest.Namespace)
		if err != nil || shadowOf(x, "w") != digest || shadowOf(x, "v") != "" {
			r.Errorf("%+v, %v", x, err)
		}
		if err := r.ShadowJudges(r.Context(), enforcertest.Namespace, "w", digest); err != nil {
			r.Error(err)
		}
		r.Refused(r.ShadowJudges(r.Context(), enforcertest.Namespace, "w", strings.Repeat("0", 64)), fault.NotFound)
		_, err = r.ShadowWorkflow(r.Context(), enforcertest.Operator, "v", []byte(shadowed))
		r.Refused(err, fault.InvalidRequest)
		_, err = r.ShadowWorkflow(r.Context(), enforcertest.Operator, "w", []byte(`{"id":"w"}`))
		if f := r.Refused(err, fault.InvalidDefinition); len(f.Violations) == 0 {
			r.Error("no violations")
		}
		_, err = r.ShadowWorkflow(r.Context(), enforcertest.Operator, "", nil)
		r.Refused(err, fault.InvalidRequest)
		for range 2 {
			if digest, err := r.ShadowWorkflow(r.Context(), enforcertest.Operator, "w", nil); err != nil || digest != "" {
				r.Errorf("%q, %v", digest, err)
			}
		}
		if x, err = r.Refresh(r.Context(), enforcertest.Namespace); err != nil || shadowOf(x, "w") != "" {
			r.Errorf("%+v, %v", x, err)
		}
		if got, want := r.Events(), []string{"interlock.default.policy.w.shadowed", "interlock.default.policy.w.unshadowed"}; !slices.Equal(got, want) {
			r.Errorf("announced %v", got)
		}
	})
}

func shadowOf(x *policystore.Index, workflow string) string {
	digest, _ := x.WorkflowShadow(workflow)
	return digest
}
