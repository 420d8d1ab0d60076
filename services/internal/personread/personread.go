// Package personread reads the people of a deployment from the store, and ties callers to them who log in at an
// OpenID Connect issuer (S24.4).
package personread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/people"
	"github.com/interlock-run/interlock/pkg/store"
)

// Key is that of the record of all people.
var Key = store.Key{Namespace: "default", Kind: "person", ID: "people"}

// fresh is how long a reading counts: a change of people counts for such callers after that.
const fresh = time.Second

// Reader reads people. It is safe for concurrent use.
type Reader struct {
	store store.Store
	now   func() time.Time

	mu   sync.Mutex
	read time.Time
	book *people.Book
}

// New returns a reader of the people in a store.
func New(st store.Store) *Reader {
	r := &Reader{store: st, now: time.Now}
	st.Gate().OnTurn(r.forget)
	return r
}

func (r *Reader) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.book = nil
}

// People returns all people, at most a second old. They must not be changed.
func (r *Reader) People(ctx context.Context) (*people.Book, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if r.book != nil && now.Sub(r.read) < fresh && !now.Before(r.read) {
		return r.book, nil
	}
	book := &people.Book{}
	record, err := r.store.Get(ctx, Key)
	if err == nil {
		err = json.Unmarshal(record.Data, book)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("read people: %w", err)
	}
	r.book, r.read = book, now
	return book, nil
}

// Voters returns the people who may vote in a namespace.
func (r *Reader) Voters(ctx context.Context, namespace string) ([]consent.Registered, error) {
	book, err := r.People(ctx)
	if err != nil {
		return nil, err
	}
	var all []consent.Registered
	for _, p := range book.Sorted() {
		if !p.Scope().Has(namespace) {
			continue
		}
		v := consent.Registered{Name: p.Name, Present: slices.ContainsFunc(p.Credentials, signs)}
		for _, role := range p.Roles {
			v.Roles = append(v.Roles, string(role))
		}
		if p.Has(auth.Root) && !p.Has(auth.Operator) {
			v.Roles = append(v.Roles, string(auth.Operator))
		}
		all = append(all, v)
	}
	return all, nil
}

// signs reports that a key signs decisions, and shows that the person is there.
func signs(c people.Credential) bool {
	return c.Kind == people.Passkey || c.Kind == people.SSHKey && c.Presence == auth.ByTouch
}

// Bind returns an authenticator that knows the person of a caller from an issuer by their identity: votes, halts and
// records are the person's then. A registered person has the rights that both the issuer and the register give.
func (r *Reader) Bind(outer auth.Authenticator) auth.Authenticator {
	if outer == nil {
		return nil
	}
	return bound{r, outer}
}

type bound struct {
	reader *Reader
	auth.Authenticator
}

var _ auth.Humans = bound{}

// Human implements auth.Humans.
func (b bound) Human(ctx context.Context, token string) (*auth.Human, error) {
	return auth.HumanOf(ctx, b.Authenticator, token)
}

// Authenticate implements auth.Authenticator. In doubt about the person, it denies.
func (b bound) Authenticate(ctx context.Context, token string) (auth.Principal, error) {
	p, err := b.Authenticator.Authenticate(ctx, token)
	if err != nil || p.Kind != auth.OIDC || p.Presence == "" || p.Human == nil || p.Human.Subject == "" {
		return p, err
	}
	book, err := b.reader.People(ctx)
	if err != nil {
		return auth.Principal{}, err
	}
	person := book.ByIdentity(Identity(p.Human))
	if person == nil {
		return p, nil
	}
	if !person.Has(p.Title()) {
		return auth.Principal{}, auth.Refused("its issuer gives %s the role %s, which is not registered for this person; an operator gives it: interlock person change %[1]s --role %[2]s", person.Name, p.Title())
	}
	if p.Namespaces = both(p.Namespaces, person.Scope()); p.Namespaces == "" {
		return auth.Principal{}, auth.Refused("its issuer gives %s none of the namespaces that are registered for this person", person.Name)
	}
	p.Person = person.Name
	return p, nil
}

// Identity returns the name by which people are registered who log in at an issuer.
func Identity(h *auth.Human) string { return "oidc:" + h.Issuer + "/" + h.Subject }

// both returns the namespaces that are in two sets; the first may be empty for each.
func both(a, b auth.Namespaces) auth.Namespaces {
	switch {
	case a == "" || a == auth.AllNamespaces:
		return b
	case b == auth.AllNamespaces:
		return a
	}
	return auth.NamespacesOf(slices.DeleteFunc(a.List(), func(n string) bool { return !b.Has(n) })...)
}
