// Package people holds the use cases of people and their log-in: load, decide in the pure core (package
// people of pkg), commit, answer. It knows neither gRPC nor a particular store.
package people

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/persontoken"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/people"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/personread"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// KindPerson is the entity of events about people, and the kind of their record.
const KindPerson = "person"

// namespace has the record of people, for all namespaces that they may call in.
const namespace = "default"

// Book is the record of all people: rules over all of them hold in one commit.
var Book = personread.Key

// Change is a change of a person, for an event.
type Change struct {
	// Type is what happened: "created", "updated", "deleted", "invited", "key_added", "key_removed".
	Type   string
	Person *people.Person
	// Key was added or removed; nil for none.
	Key *people.Credential
}

// Announcer turns a change into the event that is committed with it.
type Announcer interface {
	PersonEvent(namespace, actor string, c Change, at time.Time) (store.Event, error)
}

// Code lets the first person register.
type Code interface {
	// Use accepts the code once. Its error says why it is refused.
	Use(code string, now time.Time) error
}

// Site is where people use passkeys.
type Site struct {
	// RPID is the relying party: a host name. Without one there are no passkeys.
	RPID string
	// Origins are those of the pages that may ask for passkeys: "https://HOST:PORT".
	Origins []string
}

// Config has the parts of the use cases.
type Config struct {
	Store    store.Store
	Announce Announcer
	// Key signs the tokens of people; without it no one can log in.
	Key persontoken.Key
	// Names are those of the tokens file; nil for none.
	Names *auth.Tokens
	// Site returns where people use passkeys.
	Site func() Site
	// Code lets the first person register; nil for none.
	Code Code
	// Clock is time.Now outside of tests.
	Clock func() time.Time
	Log   *slog.Logger
}

// App is the use cases of people.
type App struct {
	cfg   Config
	wrong *wrong
	// hashing has a slot for each passphrase that is hashed: each takes much memory.
	hashing chan struct{}
}

// New makes the use cases.
func New(cfg Config) *App {
	if cfg.Site == nil {
		cfg.Site = func() Site { return Site{} }
	}
	return &App{cfg: cfg, wrong: newWrong(), hashing: make(chan struct{}, 2)}
}

func (a *App) now() time.Time { return a.cfg.Clock().UTC().Truncate(time.Millisecond) }

// load reads all people, and the version of their record.
func (a *App) load(ctx context.Context) (*people.Book, int64, error) {
	record, err := a.cfg.Store.Get(ctx, Book)
	if errors.Is(err, store.ErrNotFound) {
		return &people.Book{}, store.Absent, nil
	}
	if err != nil {
		return nil, 0, fault.From(err)
	}
	book := &people.Book{}
	if err := json.Unmarshal(record.Data, book); err != nil {
		return nil, 0, fault.From(fmt.Errorf("decode people: %w", err))
	}
	return book, record.Version, nil
}

// maxBook bounds the record of all people, in bytes.
const maxBook = 4 << 20

// commit stores all people after a change, with its event. It counts once under a name, if that is not empty.
func (a *App) commit(ctx context.Context, book *people.Book, version int64, actor string, c *Change, once string) (replayed bool, err error) {
	now := a.now()
	var batch store.Batch
	if c != nil {
		// Versions of the record only grow, so that those of a person do, who is deleted and added again.
		c.Person.Version = version + 1
		for _, in := range announcedIn(c.Person) {
			event, err := a.cfg.Announce.PersonEvent(in, actor, *c, now)
			if err != nil {
				return false, fault.From(err)
			}
			batch.Events = append(batch.Events, event)
		}
	}
	data, err := json.Marshal(book)
	if err != nil {
		return false, fault.From(fmt.Errorf("encode people: %w", err))
	}
	if len(data) > maxBook {
		return false, fault.New(fault.LimitReached, "the people and their keys would take more than %d MiB; remove some", maxBook>>20)
	}
	batch.Puts = []store.Put{{Key: Book, Expect: version, Data: data}}
	if once != "" {
		batch.Idempotency = &store.Idempotency{Owner: Book, Name: once, Digest: once, TTL: 2 * challengeLife}
	}
	result, err := a.cfg.Store.Commit(ctx, batch)
	if err != nil {
		return false, retry.Fault(err)
	}
	return result.Replayed, nil
}

// announcedIn returns the namespaces in which a change of a person is announced: each of the person's own, so that no other
// tenant learns of them. Those who may call in all are announced in the default one.
func announcedIn(p *people.Person) []string {
	if slices.Contains(p.Namespaces, string(auth.AllNamespaces)) || len(p.Namespaces) == 0 {
		return []string{namespace}
	}
	return p.Namespaces
}

// Any reports whether there is a person.
func (a *App) Any(ctx context.Context) (bool, error) {
	book, _, err := a.load(ctx)
	return err == nil && len(book.People) > 0, err
}

// ByIdentity returns the person who has a name elsewhere, such as "slack:T01/U02". NOT_FOUND for none.
func (a *App) ByIdentity(ctx context.Context, identity string) (*people.Person, error) {
	book, _, err := a.load(ctx)
	if err != nil {
		return nil, err
	}
	p := book.ByIdentity(identity)
	if p == nil {
		return nil, fault.New(fault.NotFound, "no person has the identity %q; add it with `interlock person identity add NAME %[1]s`", identity)
	}
	return p, nil
}

// Get returns a person; an empty name means the caller.
func (a *App) Get(ctx context.Context, caller auth.Principal, name string) (*people.Person, error) {
	book, _, err := a.load(ctx)
	if err != nil {
		return nil, err
	}
	return find(book, caller, name)
}

// find returns a person whom the caller may see.
func find(book *people.Book, caller auth.Principal, name string) (*people.Person, error) {
	if name == "" {
		if name = caller.Person; name == "" {
			return nil, fault.New(fault.InvalidRequest, "you have not logged in as a person; name one")
		}
	}
	if caller.Role == auth.Observer && name != caller.Person {
		return nil, fault.New(fault.PermissionDenied, "an observer sees no other people; an operator or approver does")
	}
	p := book.People[name]
	if p == nil || p.Name != caller.Person && !people.Covers(caller, p.Namespaces) {
		return nil, fault.New(fault.NotFound, "there is no person %q", name)
	}
	return p, nil
}

// List returns a page of the people whom the caller may see, by name, and where the next one begins after.
func (a *App) List(ctx context.Context, caller auth.Principal, after string, limit int) (found []*people.Person, next string, err error) {
	book, _, err := a.load(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, p := range book.Sorted() {
		switch {
		case p.Name <= after || !people.Covers(caller, p.Namespaces):
		case len(found) == limit:
			return found, found[limit-1].Name, nil
		default:
			found = append(found, p)
		}
	}
	return found, "", nil
}

// change applies a change to all people and commits it, again from the start when another was faster.
func (a *App) change(ctx context.Context, caller auth.Principal, once string, apply func(*people.Book) (Change, error)) (*people.Person, error) {
	return retry.Do(ctx, "the people", func() (*people.Person, error) {
		book, version, err := a.load(ctx)
		if err != nil {
			return nil, err
		}
		c, err := apply(book)
		if err != nil {
			return nil, err
		}
		replayed, err := a.commit(ctx, book, version, caller.Name, &c, once)
		if err == nil && replayed {
			err = errUsed()
		}
		return c.Person, err
	})
}

// Create adds a person.
func (a *App) Create(ctx context.Context, caller auth.Principal, s people.Spec) (*people.Person, error) {
	if err := people.MayOperate(caller, s); err != nil {
		return nil, err
	}
	if err := persontoken.CheckName(s.Name, a.cfg.Names); err != nil {
		return nil, fault.New(fault.NameTaken, "%v", err)
	}
	return a.change(ctx, caller, "", func(book *people.Book) (Change, error) {
		p, err := book.Create(s, a.now())
		return Change{Type: "created", Person: p}, err
	})
}

// Update replaces the registered part of a person.
func (a *App) Update(ctx context.Context, caller auth.Principal, s people.Spec, expected int64) (*people.Person, error) {
	return a.change(ctx, caller, "", func(book *people.Book) (Change, error) {
		p, err := a.operate(book, caller, s.Name, expected, s)
		if err != nil {
			return Change{}, err
		}
		return Change{Type: "updated", Person: p}, book.Update(p, s, a.now())
	})
}

// operate returns a person whom the caller may change.
func (a *App) operate(book *people.Book, caller auth.Principal, name string, expected int64, after ...people.Spec) (*people.Person, error) {
	p, err := find(book, caller, name)
	if err != nil {
		return nil, err
	}
	if err := people.MayOperate(caller, append(after, p.Spec)...); err != nil {
		return nil, err
	}
	if expected != 0 && p.Version != expected {
		return nil, fault.New(fault.VersionConflict, "person %s is at version %d, not %d; read it again", p.Name, p.Version, expected)
	}
	return p, nil
}

// Delete removes a person.
func (a *App) Delete(ctx context.Context, caller auth.Principal, name string, expected int64) error {
	_, err := a.change(ctx, caller, "", func(book *people.Book) (Change, error) {
		p, err := a.operate(book, caller, name, expected)
		if err != nil {
			return Change{}, err
		}
		return Change{Type: "deleted", Person: p}, book.Delete(p)
	})
	return err
}

// Invite returns a code by which a person registers a key once.
func (a *App) Invite(ctx context.Context, caller auth.Principal, name string) (code string, p *people.Person, err error) {
	code = newCode()
	p, err = a.change(ctx, caller, "", func(book *people.Book) (Change, error) {
		p, err := a.operate(book, caller, name, 0)
		if err != nil {
			return Change{}, err
		}
		book.Invite(p, code, a.now())
		return Change{Type: "invited", Person: p}, nil
	})
	return code, p, err
}

// AddKey gives a person a key.
func (a *App) AddKey(ctx context.Context, caller auth.Principal, name string, k NewKey) (*people.Person, error) {
	// A key that takes much work to make is made for those alone who may add it.
	p, err := a.Get(ctx, caller, name)
	if err != nil {
		return nil, err
	}
	if err := people.MayAddKey(caller, p, k.kind()); err != nil {
		return nil, err
	}
	c, err := a.newKey(ctx, k)
	if err != nil {
		return nil, err
	}
	return a.change(ctx, caller, k.once(), func(book *people.Book) (Change, error) {
		p, err := find(book, caller, name)
		if err != nil {
			return Change{}, err
		}
		if err := people.MayAddKey(caller, p, c.Kind); err != nil {
			return Change{}, err
		}
		if err := book.Add(p, c, a.now()); err != nil {
			return Change{}, err
		}
		return Change{Type: "key_added", Person: p, Key: p.Credential(c.ID)}, nil
	})
}

// RemoveKey takes a key from a person.
func (a *App) RemoveKey(ctx context.Context, caller auth.Principal, name, id string) (*people.Person, error) {
	return a.change(ctx, caller, "", func(book *people.Book) (Change, error) {
		p, err := find(book, caller, name)
		if err != nil {
			return Change{}, err
		}
		if err := people.MayRemoveKey(caller, p); err != nil {
			return Change{}, err
		}
		gone, err := book.Remove(p, id, a.now())
		return Change{Type: "key_removed", Person: p, Key: &gone}, err
	})
}
