package policystore

import (
	"context"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Effective has the policies that apply to a call in addition to its state, and their shadows.
type Effective struct {
	Index *Index
	// Status is the status of the sessions of the call.
	*runs.Status
	// For is on whose behalf the call is made.
	For enforcer.Behalf
	// Halts are those that the call is judged by, and Halted is the one that it is in the scope of; nil for none.
	Halts  *halts.Index
	Halted *halts.Halt
	Live   []*rules.Set
	// Because has the reason why each policy of Live applies, such as "workflow deploy".
	Because []string
	// Exceptions are those from the rules of policies and shadows that are about the caller; nil for none.
	Exceptions map[*rules.Set][]rules.Exception
	// Shadows are changes of policies that are evaluated and not enforced.
	Shadows []shadowSet
}

// shadowSet is a change of a policy that is evaluated and not enforced.
type shadowSet struct {
	Name string
	// Version is 0 for the removal of the policy.
	Version int64
	// Set is nil where the policy would not apply.
	Set *rules.Set
	// Replaces is the index of the enforced version in Effective.Live, or -1 for none.
	Replaces int
}

// Effective finds the policies that apply to a call: those of its process or workflow and of all that have
// invoked it, those attached to its session or one above, those of the agents that these were started from,
// and those of the caller's role and the caller (S22.10). They apply in any status of the run, unlike the rules of a
// state. A named policy that cannot be read denies.
func (st *Store) Effective(ctx context.Context, caller enforcer.Caller, s *runs.Snapshot, target enforcer.Target, tool string) (*Effective, error) {
	index, err := st.known(ctx, caller.Namespace)
	if err != nil {
		return nil, err
	}
	sessions, err := st.runs.StatusOf(ctx, caller, s, target)
	if err != nil {
		return nil, err
	}
	e, role := &Effective{Index: index, Status: sessions}, string(caller.Principal.Role)
	e.For = enforcer.OnBehalf(sessions.Human.Read(), caller, st.clock())
	if e.Halts, err = st.halts.Known(ctx); err != nil {
		return nil, err
	}
	e.Halted = Over(e.Halts, caller, s, sessions, tool)
	if caller.Principal.Role.Drives() { // who runs agents is subject to their policies
		role = string(auth.Agent)
	}
	if toolcall.Own(tool) {
		return e, nil
	}
	var required []string
	for _, of := range s.All {
		for _, set := range of.Rules {
			if set.For(role) {
				e.Live, e.Because = append(e.Live, set), append(e.Because, string(attachedAs(of))+" "+of.Machine.Name())
			}
		}
		required = append(required, of.Policies...)
	}
	for _, of := range e.Agents {
		required = append(required, of.Policy)
	}
	names, because := e.names(index, caller, s, role, st.clock())
	after := names
	if index.after != nil {
		after, _ = e.names(index.after, caller, s, role, st.clock())
	}
	for i, n := range names {
		if err := st.add(ctx, caller, e, n, role, slices.Contains(required, n), slices.Contains(after, n)); err != nil {
			return nil, err
		}
		if len(e.Because) < len(e.Live) {
			e.Because = append(e.Because, because[i])
		}
	}
	for _, n := range after {
		if !slices.Contains(names, n) {
			st.addAfter(ctx, caller, e, n, role)
		}
	}
	return e, nil
}

// attachedAs returns the kind of attachments of a workflow or process.
func attachedAs(of *enforcer.Definition) AttachmentKind {
	if of.Process {
		return AttachedToProcess
	}
	return AttachedToWorkflow
}

// names returns the policies that apply to a call by an index, each with the first reason.
func (e *Effective) names(index *Index, caller enforcer.Caller, s *runs.Snapshot, role string, now time.Time) (names, because []string) {
	name := func(kind AttachmentKind, id string, more ...string) {
		for _, n := range more {
			if !slices.Contains(names, n) {
				names, because = append(names, n), append(because, reason(kind, id))
			}
		}
	}
	for _, of := range s.All {
		kind := attachedAs(of)
		name(kind, of.Machine.Name(), of.Policies...)
		name(kind, of.Machine.Name(), index.attachedTo(kind, of.Machine.Name())...)
	}
	for _, r := range []string{string(caller.Principal.Role), role} {
		name(AttachedToRole, r, index.attachedTo(AttachedToRole, r)...)
	}
	for _, above := range e.Names {
		name(AttachedToSession, above, index.attachedTo(AttachedToSession, above)...)
	}
	for _, of := range e.Agents {
		if of.Policy != "" {
			name(AttachedToAgent, of.Name, of.Policy)
		}
		name(AttachedToAgent, of.Name, index.attachedTo(AttachedToAgent, of.Name)...)
	}
	index.ofCaller(caller.Principal, e.For.People(), now, name)
	return names, because
}

// add adds a policy by its name, and its shadow, if they apply to callers of a role (S15.9). A required one is named by a
// workflow or an agent, and not only attached. One that does not stay will not apply after the shadow of its set.
func (st *Store) add(ctx context.Context, caller enforcer.Caller, e *Effective, name, role string, required, stays bool) error {
	namespace, replaces := caller.Namespace, -1
	live, isLive := e.Index.live(name)
	shadow, isShadowed := e.Index.shadow(name)
	switch {
	case isLive:
		set, err := st.Set(ctx, namespace, name, live)
		if err != nil {
			return err
		}
		if set.For(role) {
			replaces = len(e.Live)
			e.Live = append(e.Live, set)
			e.except(name, set, caller, st.clock())
		}
	case !isShadowed, required && e.Index.text.Policies[name].Pending:
		replaces = len(e.Live)
		e.Live = append(e.Live, rules.Missing(name))
	}
	waits := e.Index.text.Policies[name].Waits
	switch {
	case waits != nil && waits.Version == 0 && required:
		e.Shadows = append(e.Shadows, shadowSet{name, 0, rules.Missing(name), replaces})
	case waits != nil && (waits.Version == 0 || !stays):
		if replaces >= 0 {
			e.Shadows = append(e.Shadows, shadowSet{name, waits.Version, nil, replaces})
		}
	case isShadowed:
		st.addShadow(ctx, caller, e, shadowSet{name, shadow, nil, replaces}, role)
	}
	return nil
}

// addAfter adds the shadow of a policy that will apply after the shadow of its set.
func (st *Store) addAfter(ctx context.Context, caller enforcer.Caller, e *Effective, name, role string) {
	if waits := e.Index.text.Policies[name].Waits; waits != nil {
		st.addShadow(ctx, caller, e, shadowSet{name, waits.Version, nil, -1}, role)
	}
}

// addShadow adds a version as a shadow, if it applies to callers of a role. One that cannot be read decides no call.
func (st *Store) addShadow(ctx context.Context, caller enforcer.Caller, e *Effective, sh shadowSet, role string) {
	set, err := st.Set(ctx, caller.Namespace, sh.Name, sh.Version)
	if err != nil || !set.For(role) {
		return
	}
	sh.Set = set
	e.Shadows = append(e.Shadows, sh)
	e.except(sh.Name, set, caller, st.clock())
}

// except adds the exceptions from the rules of a policy.
func (e *Effective) except(name string, set *rules.Set, caller enforcer.Caller, now time.Time) {
	about := e.Index.exceptionsOf(name, set, caller.Principal, e.For.People(), e.Status, now)
	if len(about) == 0 {
		return
	}
	if e.Exceptions == nil {
		e.Exceptions = make(map[*rules.Set][]rules.Exception)
	}
	e.Exceptions[set] = about
}

// Root returns the session of a call and its session tree, by which limits are counted. Without a session, both are
// the outermost of the runs that invoke each other.
func (e *Effective) Root(s *runs.Snapshot) (session, root string) {
	if s.Run.SessionID == "" {
		return s.Root.ID, s.Root.ID
	}
	return s.Run.SessionID, e.Account
}

// Call returns a call as policies judge it.
func (e *Effective) Call(caller enforcer.Caller, s *runs.Snapshot, tool string, input []byte, now time.Time) rules.Call {
	session, root := e.Root(s)
	return rules.Call{
		Tool: tool, Shell: toolcall.Shell(s.Machine.State(s.Run.State), tool), Input: input,
		Principal: caller.Principal.Name, Human: e.For.Account(), Session: session, Root: root, Now: now,
	}
}

// Preconditions returns the checks of a decision besides its run: of the policies and sessions that it
// rests on.
func (e *Effective) Preconditions() []store.Check {
	return append([]store.Check{e.Index.Check()}, e.Checks...)
}

// AsksRepeats reports whether a policy in force has rules about calls that repeat an unknown one.
func (e *Effective) AsksRepeats() bool {
	return slices.ContainsFunc(e.Live, (*rules.Set).AsksRepeats)
}
