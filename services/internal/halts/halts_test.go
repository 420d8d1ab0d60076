package halts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/services/internal/halts"
)

type announcer struct{}

func (announcer) HaltChanged(namespace, _ string, c *halts.Change, _ time.Time) (store.Event, error) {
	return store.Event{ID: fmt.Sprint(c.ID, c.Type), Key: store.Key{Namespace: namespace, Kind: "halt", ID: c.ID}, Subject: "interlock." + namespace + ".halt." + c.Type, Payload: []byte(`{}`)}, nil
}

func open(t *testing.T) store.Store {
	t.Helper()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: t.TempDir() + "/store.db"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

func caller(namespace string, root bool) halts.Caller {
	return halts.Caller{Namespace: namespace, Principal: auth.Principal{Name: "olga", Role: auth.Operator, Root: root}}
}

// Each kind of halt stops calls in its scope and its namespace, and those in doubt (S23.40).
func TestScopes(t *testing.T) {
	t.Parallel()
	amir := auth.Principal{Name: "amir", Person: "Ann", Human: &auth.Human{Name: "bob", Groups: []string{"pay"}, GroupsKnown: true}}
	unknown := auth.Principal{Name: "x", Human: &auth.Human{Name: "y"}}
	for _, tc := range []struct {
		scope halts.Scope
		in    bool
		of    halts.Subject
	}{
		{halts.Scope{Kind: halts.Session, Name: "Top"}, true, halts.Subject{Sessions: []string{"top", "top/a"}}},
		{halts.Scope{Kind: halts.Session, Name: "top"}, false, halts.Subject{Sessions: []string{"toper"}}},
		{halts.Scope{Kind: halts.Workflow, Name: "ship"}, true, halts.Subject{Workflows: []string{"test", "ship"}}},
		{halts.Scope{Kind: halts.Workflow, Name: "ship"}, false, halts.Subject{Workflows: []string{"test"}}},
		{halts.Scope{Kind: halts.Principal, Name: "AMIR"}, true, halts.Subject{Principal: amir}},
		{halts.Scope{Kind: halts.Principal, Name: "bob"}, false, halts.Subject{Principal: amir}},
		{halts.Scope{Kind: halts.Person, Name: "ann"}, true, halts.Subject{Principal: amir}},
		{halts.Scope{Kind: halts.Human, Name: "bob"}, true, halts.Subject{Principal: amir}},
		{halts.Scope{Kind: halts.Human, Name: "ann"}, true, halts.Subject{Principal: amir}},
		{halts.Scope{Kind: halts.Human, Name: "eve"}, false, halts.Subject{Principal: amir}},
		{halts.Scope{Kind: halts.Group, Name: "pay"}, true, halts.Subject{Principal: amir}},
		{halts.Scope{Kind: halts.Group, Name: "ops"}, false, halts.Subject{Principal: amir}},
		{halts.Scope{Kind: halts.Group, Name: "ops"}, true, halts.Subject{Principal: unknown}},
		{halts.Scope{Kind: halts.Group, Name: "ops"}, false, halts.Subject{}},
		{halts.Scope{Kind: halts.Agent, Name: "sum"}, true, halts.Subject{Agents: []string{"sum"}}},
		{halts.Scope{Kind: halts.Agent, Name: "sum"}, false, halts.Subject{}},
		{halts.Scope{Kind: halts.Namespace}, true, halts.Subject{}},
	} {
		k := halts.NewKeeper(halts.New(open(t)), announcer{}, time.Now)
		if _, created, err := k.Create(t.Context(), caller("a", false), tc.scope, "why"); err != nil || !created {
			t.Fatalf("%v: created %v, %v", tc.scope, created, err)
		}
		x, err := k.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, namespace := range []string{"a", "b"} {
			tc.of.Namespace = namespace
			if h := x.Over(&tc.of); (h != nil) != (tc.in && namespace == "a") {
				t.Errorf("%v in namespace %s: %v", tc.scope, namespace, h)
			}
		}
	}
}

// Only root halts everything and lifts the halts of root; others learn why they may not (S23.45).
func TestRights(t *testing.T) {
	t.Parallel()
	k := halts.NewKeeper(halts.New(open(t)), announcer{}, time.Now)
	refused := func(err error, want fault.Reason) {
		t.Helper()
		if fault.ReasonOf(err) != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	_, _, err := k.Create(t.Context(), caller("a", false), halts.Scope{Kind: halts.All}, "why")
	refused(err, fault.PermissionDenied)
	for _, bad := range []halts.Scope{{}, {Kind: "planet", Name: "x"}, {Kind: halts.Session}, {Kind: halts.Namespace, Name: "b"}} {
		_, _, err := k.Create(t.Context(), caller("a", true), bad, "why")
		refused(err, fault.InvalidRequest)
	}
	_, _, err = k.Create(t.Context(), caller("a", true), halts.Scope{Kind: halts.Namespace}, "")
	refused(err, fault.InvalidRequest)
	for _, scope := range []halts.Scope{{Kind: halts.All}, {Kind: halts.Namespace}} {
		h, _, err := k.Create(t.Context(), caller("a", true), scope, "why")
		if err != nil {
			t.Fatal(err)
		}
		again, created, err := k.Create(t.Context(), caller("a", true), scope, "why")
		if err != nil || created || again.ID != h.ID {
			t.Errorf("the same halt again is %v, created %v, %v", again, created, err)
		}
		_, err = k.Lift(t.Context(), caller("a", false), h.ID, "mended")
		refused(err, fault.PermissionDenied)
		if scope.Kind == halts.Namespace {
			_, err = k.Lift(t.Context(), caller("b", true), h.ID, "mended")
			refused(err, fault.NotFound)
		}
		if _, err := k.Lift(t.Context(), caller("a", true), h.ID, "mended"); err != nil {
			t.Error(err)
		}
	}
}

// A decision by the halts before is not committed after a halt was answered, and other processes read the halt (S23.41).
func TestHaltsAreConditions(t *testing.T) {
	t.Parallel()
	st := open(t)
	k, other := halts.NewKeeper(halts.New(st), announcer{}, time.Now), halts.New(st)
	before, err := other.Known(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h, _, err := k.Create(t.Context(), caller("a", false), halts.Scope{Kind: halts.Namespace}, "why")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Commit(t.Context(), store.Batch{Checks: []store.Check{before.Check()}}); err == nil {
		t.Error("a decision by the halts before is committed")
	}
	if now, err := other.Refresh(t.Context()); err != nil || now.Over(&halts.Subject{Namespace: "a"}) == nil {
		t.Errorf("the halt is not read: %v, %v", now, err)
	}
	if _, err := k.Lift(t.Context(), caller("a", false), h.ID, "mended"); err != nil {
		t.Fatal(err)
	}
	if now, err := other.Refresh(t.Context()); err != nil || now.Over(&halts.Subject{Namespace: "a"}) != nil {
		t.Errorf("it is still halted: %v, %v", now, err)
	}
}

// A freeze covers the workflows that its pattern names, and those that they invoke, in its namespace, until it ends or is lifted
// (S25.12).
func TestFreezes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 18, 0, 0, 0, 0, time.UTC)
	k := halts.NewKeeper(halts.New(open(t)), announcer{}, func() time.Time { return now })
	add := func(pattern string, until time.Duration) *halts.Halt {
		t.Helper()
		h, created, err := k.CreateFreeze(t.Context(), caller("a", false), pattern, now.Add(until), "end of the year")
		if err != nil || !created {
			t.Fatalf("%s: created %v, %v", pattern, created, err)
		}
		return h
	}
	short, long := add("Deploy*", time.Hour), add("*-prod-*", 2*time.Hour)
	if _, created, err := k.CreateFreeze(t.Context(), caller("a", false), "Deploy*", now.Add(time.Hour), "end of the year"); err != nil || created {
		t.Errorf("the same freeze again: created %v, %v", created, err)
	}
	of := func(namespace string, workflows ...string) string {
		t.Helper()
		x, err := k.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if h := x.FreezeOf(namespace, workflows, now); h != nil {
			return h.ID
		}
		return ""
	}
	for _, c := range []struct {
		namespace, workflow, want string
	}{
		{"a", "deploy", short.ID},
		{"a", "DEPLOY-web", short.ID},
		{"a", "redeploy", ""},
		{"a", "web-prod-1", long.ID},
		{"a", "-prod-", long.ID},
		{"a", "-prod", ""},
		{"a", "deploy-prod-1", long.ID},
		{"b", "deploy", ""},
	} {
		if got := of(c.namespace, c.workflow); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.workflow, c.namespace, got, c.want)
		}
	}
	if of("a", "tests", "deploy") != short.ID {
		t.Error("a run that a frozen workflow has invoked is not frozen")
	}
	x, _ := k.Refresh(t.Context())
	if h := x.Over(&halts.Subject{Namespace: "a", Workflows: []string{"deploy"}}); h != nil {
		t.Errorf("a freeze halts all work: %v", h)
	}
	now = short.Until // it ends by itself
	if of("a", "deploy") != "" || of("a", "x-prod-1") == "" {
		t.Error("at its end a freeze does not end, or another one does")
	}
	if all, err := k.ListFreezes(t.Context(), "a"); err != nil || len(all) != 1 || all[0].ID != long.ID {
		t.Errorf("listed: %v, %v", all, err)
	}
	if _, err := k.LiftFreeze(t.Context(), caller("b", false), long.ID, "done"); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("lifted from another namespace: %v", err)
	}
	if _, err := k.LiftFreeze(t.Context(), caller("a", false), long.ID, "done"); err != nil || of("a", "x-prod-1") != "" {
		t.Errorf("lifted: %v", err)
	}
	root := caller("a", true)
	h, _, err := k.CreateFreeze(t.Context(), root, "*", now.Add(time.Hour), "root's")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.LiftFreeze(t.Context(), caller("a", false), h.ID, "mine"); fault.ReasonOf(err) != fault.PermissionDenied {
		t.Errorf("an operator lifts what root has frozen: %v", err)
	}
	for name, c := range map[string]struct {
		pattern, reason string
		until           time.Duration
	}{
		"no pattern": {"", "why", time.Hour}, "no reason": {"x", "", time.Hour}, "over": {"x", "why", 0}, "too long": {"x", "why", 367 * 24 * time.Hour},
	} {
		if _, _, err := k.CreateFreeze(t.Context(), root, c.pattern, now.Add(c.until), c.reason); fault.ReasonOf(err) != fault.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A freeze counts from its answer on, and no commit on the halts before it passes (S25.12).
func TestFreezesAreConditions(t *testing.T) {
	t.Parallel()
	st := open(t)
	k, other := halts.NewKeeper(halts.New(st), announcer{}, time.Now), halts.New(st)
	before, err := other.Known(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.CreateFreeze(t.Context(), caller("a", false), "ship", time.Now().Add(time.Hour), "why"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Commit(t.Context(), store.Batch{Checks: []store.Check{before.Check()}}); err == nil {
		t.Error("a decision from before the freeze is committed")
	}
	if x, err := other.Refresh(t.Context()); err != nil || x.FreezeOf("a", []string{"ship"}, time.Now()) == nil {
		t.Errorf("there is no freeze: %v", err)
	}
}
