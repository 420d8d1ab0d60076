// Package sessionread reads the status of a session from the store: whether it has ended, which
// sessions are above it, and which policies come from the agents that they were started from.
// Each answer has the preconditions under which it holds, for the commit that depends on it.
package sessionread

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Place is a session's status, and its place in the tree of sessions.
type Place struct {
	// Names are the session and all above it, the outermost first: by its tree, by the slashes
	// in its name, and by the parent in its token. They hold the names and ids of each, and names
	// that are alike.
	Names []string
	// Account names the session tree whose limits and budgets it spends.
	Account string
	// Depth is how many sessions are above it in its tree, and negative where that is not known: it was never created, or
	// has sessions above it by its name or its token alone.
	Depth int
	// Agents are those that these sessions were started from.
	Agents []Agent
	// Ended: it has ended, or was deleted. A name in the form of an ID counts as ended if no session has that ID.
	Ended bool
	// Checks are the preconditions under which the place holds.
	Checks []store.Check
}

// Outermost returns the name of the session that has no other above it.
func (p *Place) Outermost() string { return p.Names[0] }

// Agent is an agent with the name of its policy; empty for none.
type Agent struct{ Name, Policy string }

// Reader reads sessions from a store.
type Reader struct{ store store.Store }

// New makes a reader.
func New(st store.Store) *Reader { return &Reader{st} }

// Place reads the present place of a session. parent is the one in the caller's token, or empty.
func (r *Reader) Place(ctx context.Context, namespace, name, parent string) (*Place, error) {
	c := &climb{store: r.store, namespace: namespace, place: &Place{}}
	if parent != "" {
		if err := c.climb(ctx, parent); err != nil {
			return nil, err
		}
	}
	own, err := c.own(ctx, name)
	if err == nil {
		err = c.add(ctx, name, own)
	}
	if err != nil {
		return nil, err
	}
	p := c.place
	p.Ended = own.ended()
	p.Depth = -1
	if own.Session != nil && !own.removed && (own.ParentHome != "") == (own.Depth > 0) && (own.Depth > 0 || parent == "" && session.Above(own.Name) == "") {
		p.Depth = own.Depth
	}
	// Names that are alike are covered alike, and spend one account.
	first := p.Outermost()
	for _, n := range slices.Clone(p.Names) {
		before := len(p.Names)
		if err := c.climb(ctx, session.Alike(n)); err != nil {
			return nil, err
		}
		if n == p.Outermost() && len(p.Names) > before {
			first = p.Names[before]
		}
	}
	p.Account = session.Alike(first)
	return p, nil
}

// Ended reports that a session has ended or was deleted, with the preconditions of that.
func (r *Reader) Ended(ctx context.Context, namespace, name string) (bool, []store.Check, error) {
	c := &climb{store: r.store, namespace: namespace, place: &Place{}}
	own, err := c.own(ctx, name)
	return own.ended(), c.place.Checks, err
}

// mostAbove bounds the sessions that are looked up for one: far more than a tree is deep.
const mostAbove = 128

// climb collects the place of a session on the way up its tree.
type climb struct {
	store     store.Store
	namespace string
	place     *Place
	steps     int
}

// found is a session as the store has it.
type found struct {
	*ledger.Session // nil of one that was never created
	removed         bool
}

// ended reports that no call may act for the session.
func (f found) ended() bool {
	return f.removed || f.Session != nil && f.Status == string(session.Ended)
}

// climb adds a session by its name or id, after all that are above it.
func (c *climb) climb(ctx context.Context, name string) error {
	if slices.Contains(c.place.Names, name) {
		return nil
	}
	at, _, err := c.named(ctx, name)
	if err != nil {
		return err
	}
	return c.add(ctx, name, at)
}

// add adds a session that was found, after all that are above it.
func (c *climb) add(ctx context.Context, name string, at found) error {
	if c.steps++; c.steps > mostAbove {
		return fault.New(fault.InvalidRequest, "the session has more than %d sessions above it; use a name with fewer slashes", mostAbove)
	}
	names := []string{name}
	if at.Session != nil {
		names = []string{at.Name, at.ID, name}
		if home := at.ParentHome; home != "" {
			parent, err := c.home(ctx, home, false)
			if err == nil && !slices.Contains(c.place.Names, parent.ID) {
				err = c.add(ctx, parent.Name, parent)
			}
			if err != nil {
				return err
			}
		}
	}
	for _, n := range names {
		if above := session.Above(n); above != "" {
			if err := c.climb(ctx, above); err != nil {
				return err
			}
		}
	}
	for _, n := range names {
		if n != "" && !slices.Contains(c.place.Names, n) {
			c.place.Names = append(c.place.Names, n)
		}
	}
	if at.Session == nil || at.Agent == "" {
		return nil
	}
	return c.agent(ctx, at.Agent)
}

// agent adds the agent that a session was started from.
func (c *climb) agent(ctx context.Context, name string) error {
	if slices.ContainsFunc(c.place.Agents, func(a Agent) bool { return a.Name == name }) {
		return nil
	}
	record, err := c.get(ctx, ledger.AgentOf(c.namespace, name), true)
	if err != nil {
		return err
	}
	agent := Agent{Name: name}
	if record.Version != store.Absent {
		if agent.Policy, err = ledger.ReadAgentPolicy(record); err != nil {
			return fault.From(err)
		}
	}
	c.place.Agents = append(c.place.Agents, agent)
	return nil
}

// own finds the session whose place is read. In contrast to those above it, its status is a precondition too.
func (c *climb) own(ctx context.Context, name string) (found, error) {
	at, ref, err := c.named(ctx, name)
	switch {
	case err != nil, at.Session == nil:
		return at, err
	case ref.Version == store.Absent:
		return c.home(ctx, name, true)
	}
	record, err := c.get(ctx, ledger.SessionOf(c.namespace, at.Home), true)
	if err != nil || record.Version != store.Absent {
		return read(record, err)
	}
	c.check(ref) // it is being created, or was deleted
	return at, nil
}

// named finds a session by its name or ID. For a name it reads the record of the name, which has the place of the
// session, but not its present status.
func (c *climb) named(ctx context.Context, name string) (found, store.Record, error) {
	if strings.HasPrefix(name, typeid.Session+"_") {
		at, err := c.home(ctx, name, false)
		return at, store.Record{Version: store.Absent}, err
	}
	ref, err := c.get(ctx, ledger.SessionRef(c.namespace, name), false)
	if err != nil {
		return found{}, ref, err
	}
	if ref.Version == store.Absent {
		c.check(ref)
		return found{}, ref, nil
	}
	at, err := read(ref, nil)
	if err == nil {
		at.removed = at.Deleted
	}
	return at, ref, err
}

// home finds a session by its home, the ID under which it is stored. Only the server creates such IDs, so one
// without a record was deleted, or never existed.
func (c *climb) home(ctx context.Context, home string, check bool) (found, error) {
	record, err := c.get(ctx, ledger.SessionOf(c.namespace, home), check)
	if err == nil && record.Version == store.Absent {
		c.check(record)
		return found{&ledger.Session{ID: home, Name: home}, true}, nil
	}
	return read(record, err)
}

func read(record store.Record, err error) (found, error) {
	if err != nil {
		return found{}, err
	}
	s, err := ledger.ReadSession(record)
	if err != nil {
		return found{}, fault.From(err)
	}
	return found{Session: s}, nil
}

// get reads a record, and makes its version a precondition if that is asked for.
func (c *climb) get(ctx context.Context, key store.Key, check bool) (store.Record, error) {
	record, err := c.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		record, err = store.Record{Key: key, Version: store.Absent}, nil
	}
	if err == nil && check {
		c.check(record)
	}
	return record, err
}

func (c *climb) check(record store.Record) {
	check := store.Check{Key: record.Key, Version: record.Version}
	if !slices.Contains(c.place.Checks, check) {
		c.place.Checks = append(c.place.Checks, check)
	}
}
