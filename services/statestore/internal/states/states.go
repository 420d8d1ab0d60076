package states

import (
	"context"
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"

	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/statestore/internal/schemas"
)

// States loads shared states and their history.
type States struct {
	ports   *ports.Ports
	schemas *schemas.Schemas
	members *member.Members
	names   *member.Names
	rights  *member.Rights
	cache   *snapshot.Sized[store.Key, *State]
	authors *snapshot.Cache[store.Key, *authors]
}

// New returns the states of a store.
func New(p *ports.Ports, schemas *schemas.Schemas, members *member.Members, names *member.Names, rights *member.Rights) *States {
	ss := &States{
		ports: p, schemas: schemas, members: members, names: names, rights: rights,
		cache:   snapshot.NewSized[store.Key, *State](p.Config.CacheBytes),
		authors: snapshot.New[store.Key, *authors](authorsKept),
	}
	p.Store.Gate().OnTurn(ss.cache.Clear)
	p.Store.Gate().OnTurn(ss.authors.Clear)
	return ss
}

// Cache returns the cache of documents in memory.
func (ss *States) Cache() snapshot.Use { return ss.cache.Use("states") }

// loadAttempts is how often a state is read that changes while it is read.
const loadAttempts = 8

// Load reads a state.
func (ss *States) Load(ctx context.Context, key store.Key) (*State, error) {
	var lost error
	for range loadAttempts {
		record, err := ss.ports.Store.Get(ctx, key)
		if ports.NotFound(err) {
			ss.cache.Drop(key)
			return nil, fault.New(fault.NotFound, "there is no state %q", ports.Clip(key.ID))
		}
		if err != nil {
			return nil, fault.From(err)
		}
		cached, ok := ss.cache.Get(key)
		if ok && cached.Version == record.Version {
			return cached, nil
		}
		st, err := decodeState(record)
		if err != nil {
			return nil, err
		}
		if lost, err = ss.readDocument(ctx, st, cached); err != nil {
			return nil, err
		}
		if lost == nil {
			ss.Remember(st)
			return st, nil
		}
	}
	return nil, fault.From(lost)
}

// readDocument completes a state by the changes that lead to it: from an earlier
// version that is known, nil for none, or from the last whole document. The first error
// says that entries are missing: they were dropped since, or are lost.
func (ss *States) readDocument(ctx context.Context, st, known *State) (lost, err error) {
	after, data := st.Base-1, document.NullValue()
	if known != nil && known.Version >= st.Base && known.Version < st.Version {
		after, data = known.Version, known.Data
	}
	changes, lost, err := ss.stretch(ctx, st.Key, after, st.Version)
	if lost != nil || err != nil {
		return lost, err
	}
	st.Data, err = follow(data, changes)
	if err != nil {
		return nil, fault.From(fmt.Errorf("state %s: %w", st.Key.ID, err))
	}
	return nil, nil
}

// treeWeight is how much memory a document takes, by the byte of its JSON.
const treeWeight = 4

// Remember caches a state, unless a newer version is cached.
func (ss *States) Remember(st *State) {
	ss.cache.Put(st.Key, st, treeWeight*st.Bytes+512, func(old *State) bool { return old.Version > st.Version })
}

// Drop forgets a state that is deleted.
func (ss *States) Drop(key store.Key) { ss.cache.Drop(key) }

// Cached returns a state that may be old: a caller that decides on it lets
// the commit check its version.
func (ss *States) Cached(ctx context.Context, key store.Key) (*State, error) {
	if st, ok := ss.cache.Get(key); ok {
		return st, nil
	}
	return ss.Load(ctx, key)
}

// On does something with the state that a request is about. Where the session
// says which, and none is there, the session that acts may be an old one: then it is
// done once more with that as it is now.
func (ss *States) On(ctx context.Context, caller ports.Caller, id string, do func(acting *member.Member, key store.Key) error) error {
	acting, err := ss.rights.Actor(ctx, caller)
	if err != nil {
		return err
	}
	attempt := func(acting *member.Member) error {
		key, err := ss.stateOf(caller, acting, id)
		if err != nil {
			return err
		}
		return do(acting, key)
	}
	err = attempt(acting)
	if id != "" || acting == nil || fault.ReasonOf(err) != fault.NotFound {
		return err
	}
	now, failed := ss.members.Load(ctx, acting.Key)
	if failed != nil || now.StateID == acting.StateID {
		return err
	}
	return attempt(now)
}

// stateOf returns the key of the state that a request is about: the one that it
// names, or that of the session that acts.
func (ss *States) stateOf(caller ports.Caller, acting *member.Member, id string) (store.Key, error) {
	switch {
	case id != "":
		return ports.StateKey(caller.Namespace, id), nil
	case acting == nil:
		return store.Key{}, fault.New(fault.InvalidRequest, "name the state: give its id, or a session that shares it")
	case acting.StateID == "":
		return store.Key{}, fault.New(fault.NotFound, "session %q shares no workflow state; its root creates one with state_create (POST /v1/states)", ports.Clip(acting.Name))
	default:
		return ports.StateKey(caller.Namespace, acting.StateID), nil
	}
}

// mayRead refuses a session that may not read a state (S10.9). Present grants count.
func (ss *States) mayRead(ctx context.Context, acting *member.Member, st *State) error {
	if acting == nil || acting.SameTree(st.RootID) {
		return nil
	}
	fresh, err := ss.members.Load(ctx, acting.Key)
	if err != nil {
		return err
	}
	if fresh.MayRead(st.RootID, st.Key.ID) {
		return nil
	}
	return Foreign(acting, st)
}

// Forgotten returns the version through which history is dropped when a state goes from
// one version to another, 0 for none: whole stretches, so that the rest begins with a
// whole document.
func (ss *States) Forgotten(from, to int64) int64 {
	keep := ss.ports.Config.HistoryVersions
	boundary := func(version int64) int64 {
		if keep <= 0 || version <= keep {
			return 0
		}
		return (version - keep) / snapshotEvery * snapshotEvery
	}
	if through := boundary(to); through > boundary(from) {
		return through
	}
	return 0
}
