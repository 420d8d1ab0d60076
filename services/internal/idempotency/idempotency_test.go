package idempotency

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// answers is a store with no other methods.
type answers struct {
	store.Store
	kept map[string][]byte
	err  error
}

func (a answers) Answer(_ context.Context, _ store.Key, name string) ([]byte, error) {
	stored, ok := a.kept[name]
	switch {
	case a.err != nil:
		return nil, a.err
	case !ok:
		return nil, store.ErrNotFound
	}
	return stored, nil
}

// TestDone: S6.5.
func TestDone(t *testing.T) {
	t.Parallel()
	owner := store.Key{Namespace: "default", Kind: "session", ID: "s"}
	first := Of("k", "stop", "a", "b")
	st := answers{kept: map[string][]byte{"stop k": []byte(first.Digest), "empty": nil}}
	for name, tc := range map[string]struct {
		st   answers
		key  Key
		done bool
		want fault.Reason
	}{
		"no key":               {st, Of("", "stop", "a", "b"), false, ""},
		"first":                {st, Of("k2", "stop", "a", "b"), false, ""},
		"of another request":   {st, Of("k", "resume", "a", "b"), false, ""},
		"repeat":               {st, first, true, ""},
		"with another content": {st, Of("k", "stop", "a", "c"), true, fault.IdempotencyMismatch},
		"parts apart":          {st, Of("k", "stop", "ab"), true, fault.IdempotencyMismatch},
		"kept without content": {st, Key{Name: "empty"}, true, ""},
		"unknown":              {answers{err: store.ErrUnavailable}, first, false, fault.Unavailable},
	} {
		done, err := tc.key.Done(t.Context(), tc.st, owner)
		if done != tc.done || fault.ReasonOf(err) != tc.want {
			t.Errorf("%s: %v, %v", name, done, err)
		}
	}
}

// TestBy: S6.5: no two principals have a key in common.
func TestBy(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, p := range []auth.Principal{
		{Name: "a", Role: auth.Agent},
		{Name: "a", Role: auth.Operator},
		{Name: "b", Role: auth.Agent},
		{Name: "a", Role: auth.Agent, Session: "s"},
		{Name: "a", Role: auth.Agent, Session: "s", Branch: "b"},
	} {
		key := Of("k", "stop", "a").By(p)
		if again := Of("k", "stop", "a").By(p); again != key || names[key.Name] || key.Digest == "" {
			t.Errorf("%+v: %+v, then %+v", p, key, again)
		}
		names[key.Name] = true
		if none := (Key{}).By(p); none != (Key{}) {
			t.Errorf("without a key: %+v", none)
		}
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	st := answers{kept: map[string][]byte{"seven": []byte("7"), "bad": []byte("x")}}
	for name, tc := range map[string]struct {
		number int64
		want   fault.Reason
	}{
		"seven": {7, ""}, "none": {0, ""}, "": {0, ""}, "bad": {0, fault.Internal},
	} {
		number, err := Key{Name: name}.Number(t.Context(), st, store.Key{})
		if number != tc.number || fault.ReasonOf(err) != tc.want {
			t.Errorf("%q: %d, %v", name, number, err)
		}
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	owner := store.Key{Namespace: "default", Kind: "session", ID: "s"}
	key := Key{Name: "stop k", Digest: "d"}
	want := &store.Idempotency{Owner: owner, Name: "stop k", Digest: "d", Answer: []byte("d"), TTL: TTL}
	if diff := cmp.Diff(want, key.Keep(owner)); diff != "" {
		t.Error(diff)
	}
	want.Answer = []byte("7")
	if diff := cmp.Diff(want, key.KeepAnswer(owner, []byte("7"))); diff != "" {
		t.Error(diff)
	}
	want.Answer = []byte("-70")
	if diff := cmp.Diff(want, key.KeepNumber(owner, -70)); diff != "" {
		t.Error(diff)
	}
	if got := (Key{}).Keep(owner); got != nil {
		t.Errorf("without a key it keeps %+v", got)
	}
}
