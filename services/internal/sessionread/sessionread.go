// Package sessionread reads the status of a session from the store: whether it has ended, which
// sessions are above it, and which policies come from the agents that they were started from.
// Each answer has the preconditions under which it holds, for the commit that depends on it.
package sessionread

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Place is a session's status, and its place in the tree of sessions.
type Place struct {
	// Names are the session and all above it, the outermost first: by its tree, by the slashes
	// in its name, and by the parent in its token. They hold the names and ids of each, and names
	// that are alike.
	Names []string
	// Above are these without names that are alike.
	Above []string
	// Account names the session tree whose limits and budgets it spends.
	Account string
	// Depth is how many sessions are above it in its tree, and negative where that is not known: it was never created, or
	// has sessions above it by its name or its token alone.
	Depth int
	// Agents are those that these sessions were started from.
	Agents []Agent
	// Lineage has the name of the session and of each above it, the root first.
	Lineage []string
	// Own is the agent that the session itself was started from; its name is empty for none.
	Own Agent
	// Labels are those of the session and of the sessions above it, as far as others than agents have set them. Where several
	// have one, the session's own counts, and then the nearest one.
	Labels map[string]string
	// Human is on whose behalf the session works; nil where that is not known.
	Human *ledger.Human
	// Ended: it has ended, or was deleted. A name in the form of an ID counts as ended if no session has that ID.
	Ended bool
	// Bounds are those of each of these sessions.
	Bounds []session.Bound
	// Narrowed is what these sessions are narrowed to.
	Narrowed []toolcall.Narrowed
	// Checks are the preconditions under which the place holds.
	Checks []store.Check
}

// OutermostName returns the name of the session that has no other above it.
func (p *Place) OutermostName() string { return p.Names[0] }

// Agent is an agent with the name of its policy, which is empty for none.
type Agent struct {
	Name, Policy string
	// Version is the present one; 0 of an agent that is not there.
	Version int64
}

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
	own, err := c.read(ctx, name)
	if err == nil {
		err = c.add(ctx, name, own)
	}
	if err != nil {
		return nil, err
	}
	p := c.place
	p.Ended = own.ended()
	p.Lineage = c.lineage
	p.Depth = -1
	p.Labels = maps.Clone(c.labels) // before names that are alike
	if own.Session != nil {
		p.Human = own.Human
		if i := slices.IndexFunc(p.Agents, func(a Agent) bool { return a.Name == own.Agent }); i >= 0 {
			p.Own = p.Agents[i]
		}
	}
	if own.Session != nil && !own.removed && (own.ParentHome != "") == (own.Depth > 0) && (own.Depth > 0 || parent == "" && session.Above(own.Name) == "") {
		p.Depth = own.Depth
	}
	p.Above = slices.Clone(p.Names)
	// Names that are alike are covered alike, and spend one account.
	first := p.OutermostName()
	for _, n := range slices.Clone(p.Names) {
		before := len(p.Names)
		if err := c.climb(ctx, session.Alike(n)); err != nil {
			return nil, err
		}
		if n == p.OutermostName() && len(p.Names) > before {
			first = p.Names[before]
		}
	}
	p.Account = session.Alike(first)
	return p, nil
}

// Agent reads the present version of an agent, and the name of its policy. One that is not there has the version 0.
func (r *Reader) Agent(ctx context.Context, namespace, name string) (Agent, error) {
	c := &climb{store: r.store, namespace: namespace, place: &Place{}}
	if err := c.agent(ctx, name); err != nil {
		return Agent{}, err
	}
	return c.place.Agents[0], nil
}

// Ended reports that a session has ended or was deleted, with the preconditions of that.
func (r *Reader) Ended(ctx context.Context, namespace, name string) (bool, []store.Check, error) {
	c := &climb{store: r.store, namespace: namespace, place: &Place{}}
	own, err := c.read(ctx, name)
	return own.ended(), c.place.Checks, err
}

// Exists reports that a session was created and not deleted, with the preconditions of that.
func (r *Reader) Exists(ctx context.Context, namespace, name string) (bool, []store.Check, error) {
	c := &climb{store: r.store, namespace: namespace, place: &Place{}}
	own, err := c.read(ctx, name)
	return own.Session != nil && !own.removed, c.place.Checks, err
}

// mostAbove bounds the sessions that are looked up for one: far more than a tree is deep.
const mostAbove = 128

// climb collects the place of a session on the way up its tree.
type climb struct {
	store     store.Store
	namespace string
	place     *Place
	lineage   []string
	steps     int
	labels    map[string]string
	// bounded are the ids of the sessions whose bounds were added.
	bounded []string
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
	at, err := c.read(ctx, name)
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
			parent, err := c.home(ctx, home, true)
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
	c.lineage = append(c.lineage, names[0])
	for _, n := range names {
		if n != "" && !slices.Contains(c.place.Names, n) {
			c.place.Names = append(c.place.Names, n)
		}
	}
	if at.Session == nil {
		return nil
	}
	c.bound(at)
	if at.Agent == "" {
		return nil
	}
	return c.agent(ctx, at.Agent)
}

// bound adds the bounds of a session.
func (c *climb) bound(at found) {
	if slices.ContainsFunc(c.bounded, func(id string) bool { return id == at.ID }) {
		return
	}
	c.bounded = append(c.bounded, at.ID)
	if at.LabelsCount && len(at.Labels) > 0 {
		if c.labels == nil {
			c.labels = map[string]string{}
		}
		maps.Copy(c.labels, at.Labels)
	}
	c.place.Bounds = append(c.place.Bounds, session.Bound{Session: at.Name, Bounds: at.Bounds})
	if at.Only != nil {
		c.place.Narrowed = append(c.place.Narrowed, narrowed("session "+document.Quote(at.Name), at.Only))
	}
}

// narrowed reads stored entries. Those that cannot be read allow no call.
func narrowed(of string, only []byte) toolcall.Narrowed {
	entries, _, _ := workflow.ReadNarrowing(only)
	return toolcall.Narrowed{Of: of, Only: entries}
}

// Standing returns what narrows the calls of a principal in addition to Narrowed, if it has a token of this
// session. The error says that its token was revoked (S22.21).
func (p *Place) Standing(caller auth.Principal) ([]toolcall.Narrowed, error) {
	if caller.Kind != auth.OfSession {
		return nil, nil
	}
	only, why := session.StandingOf(p.Bounds, session.Holder{
		ID: caller.TokenID, IssuedAt: caller.IssuedAt, Session: caller.Session, Branch: caller.Branch, Expires: caller.Expires,
	}, sessiontoken.Listed)
	if why != "" {
		return nil, fault.New(fault.Unauthenticated, "the token is refused: %s; ask for another", why)
	}
	var all []toolcall.Narrowed
	for _, entries := range only {
		all = append(all, narrowed("the token "+document.Quote(caller.TokenID), entries))
	}
	return all, nil
}

// decides are the methods that look for revoked tokens themselves: the commits of their decisions rest on that.
var decides = []string{
	"/interlock.policy.v1.PolicyEnforcerService/CheckToolCall", "/interlock.policy.v1.PolicyEnforcerService/CheckToolCalls",
}

// Standing refuses a caller whose session token was revoked (S22.21).
func (r *Reader) Standing(ctx context.Context, method string, caller auth.Principal) error {
	if slices.Contains(decides, method) {
		return nil
	}
	_, err := r.Counts(ctx, caller)
	return err
}

// Counts refuses a caller whose session token was revoked, and returns the preconditions under which it counts (S22.36).
func (r *Reader) Counts(ctx context.Context, caller auth.Principal) ([]store.Check, error) {
	if caller.Kind != auth.OfSession {
		return nil, nil
	}
	place, err := r.Place(ctx, caller.Namespace, caller.Session, caller.Parent)
	if err == nil {
		_, err = place.Standing(caller)
	}
	if err != nil {
		return nil, err
	}
	return place.Checks, nil
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
		agent.Version = record.Version
		if agent.Policy, err = ledger.ReadAgentPolicy(record); err != nil {
			return fault.From(err)
		}
	}
	c.place.Agents = append(c.place.Agents, agent)
	return nil
}

// read finds a session as it is now. Its record is a precondition: that has its status and its bounds.
func (c *climb) read(ctx context.Context, name string) (found, error) {
	at, ref, err := c.named(ctx, name)
	switch {
	case err != nil, at.Session == nil:
		return at, err
	case ref.Version == store.Absent:
		return c.home(ctx, name, true)
	}
	record, err := c.get(ctx, ledger.SessionOf(c.namespace, at.Home), true)
	if err != nil || record.Version != store.Absent {
		return decoded(record, err)
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
	at, err := decoded(ref, nil)
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
	return decoded(record, err)
}

// decoded returns the session of a record.
func decoded(record store.Record, err error) (found, error) {
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
