package app_test

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// S23.44: an approval that was asked for before a halt is in its scope by the person who asked, and by the human of its session.
func TestHaltsSeeWhoAskedEarlier(t *testing.T) {
	t.Parallel()
	r := here(t)
	asked := r.ask(func(q *app.Question) { q.Asker.Person, q.Asker.SessionID, q.Asker.RootSession = "pat", "lead", "lead" })
	record := func(key store.Key, data string) store.Put {
		return store.Put{Key: key, Expect: store.Absent, Data: []byte(data)}
	}
	for _, put := range []store.Put{
		record(ledger.SessionRef("default", "lead"), `{"id": "ses_1", "name": "lead", "home": "ses_1"}`),
		record(ledger.SessionOf("default", "ses_1"), `{"id": "ses_1", "name": "lead", "human": {"name": "ann", "groups_known": true, "groups": ["pay"]}}`),
	} {
		if _, err := r.store.Commit(t.Context(), store.Batch{Puts: []store.Put{put}}); err != nil {
			t.Fatal(err)
		}
	}
	keeper := halts.NewKeeper(halts.New(r.store), numbered{}, r.clock.Now)
	by := halts.Caller{Namespace: "default", Principal: auth.Principal{Name: "rita", Role: auth.Root, Root: true}}
	for _, scope := range []halts.Scope{
		{Kind: halts.Session, Name: "lead"},
		{Kind: halts.Person, Name: "pat"},
		{Kind: halts.Human, Name: "ann"},
		{Kind: halts.Group, Name: "pay"},
		{Kind: halts.Namespace},
		{Kind: halts.All},
	} {
		halt, _, err := keeper.Create(t.Context(), by, scope, "why")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Decide(t.Context(), alice, asked.ID, app.Vote{Approve: true}); fault.ReasonOf(err) != fault.Halted {
			t.Errorf("%v: %v", scope, err)
		}
		if _, err := keeper.Lift(t.Context(), by, halt.ID, "mended"); err != nil {
			t.Fatal(err)
		}
	}
	for _, scope := range []halts.Scope{{Kind: halts.Group, Name: "ops"}, {Kind: halts.Human, Name: "bob"}, {Kind: halts.Person, Name: "ann"}} {
		if _, _, err := keeper.Create(t.Context(), by, scope, "why"); err != nil {
			t.Fatal(err)
		}
	}
	r.vote(alice, asked.ID, app.Vote{Approve: true})
}

// numbered makes events of halts that differ.
type numbered struct{}

func (numbered) HaltChanged(_, _ string, c *halts.Change, _ time.Time) (store.Event, error) {
	return store.Event{ID: c.ID + c.Type, Subject: "interlock.halt", Payload: []byte(`{}`)}, nil
}

// An approval in the scope of a halt stays pending: nobody grants it, alone or with others, and it can be rejected (S23.44).
func TestHaltedApprovals(t *testing.T) {
	t.Parallel()
	r := here(t)
	asked, other := r.ask(nil), r.ask(func(q *app.Question) { q.Terms.Required = 2 }).ID
	id := asked.ID
	keeper := halts.NewKeeper(halts.New(r.store), numbered{}, r.clock.Now)
	by := halts.Caller{Namespace: alice.Namespace, Principal: auth.Principal{Name: "olga", Role: auth.Operator}}
	halt, _, err := keeper.Create(t.Context(), by, halts.Scope{Kind: halts.Principal, Name: "agent-7"}, "why")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Decide(t.Context(), alice, id, app.Vote{Approve: true})
	r.refused(err, fault.Halted)
	_, err = r.DecideAll(t.Context(), alice, app.Batch{Approve: true, Items: []app.BatchItem{{ID: id, Digest: asked.Digest}}})
	if fault.ReasonOf(err) != fault.Halted {
		t.Errorf("granted with others: %v", err)
	}
	r.is(id, consent.Pending)
	r.vote(alice, other, app.Vote{Note: "no"})
	r.is(other, consent.Rejected)
	if _, err := keeper.Lift(t.Context(), by, halt.ID, "mended"); err != nil {
		t.Fatal(err)
	}
	if got := r.vote(alice, id, app.Vote{Approve: true}); got.Status != consent.Granted {
		t.Errorf("after the halt it is %s", got.Status)
	}
}
