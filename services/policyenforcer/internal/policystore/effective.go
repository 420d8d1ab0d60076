package policystore

import (
	"context"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Effective has the policies that apply to a call in addition to its state, and their shadows.
type Effective struct {
	Index *Index
	// Status is the status of the sessions of the call.
	*runs.Status
	Live []*rules.Set
	// Because has the reason why each policy of Live applies, such as "workflow deploy".
	Because []string
	// Shadows are policies that are evaluated and not enforced.
	Shadows []shadowSet
}

// shadowSet is a version of a policy that is evaluated and not enforced.
type shadowSet struct {
	Name    string
	Version int64
	Set     *rules.Set
	// Replaces is the index of the enforced version in Effective.Live, or -1 for none.
	Replaces int
}

// Effective finds the policies that apply to a call: those of its process or workflow and of all that have
// invoked it, those attached to its session or one above, those of the agents that these were started from,
// and those of the caller's role. They apply in any status of the run, unlike the rules of a state. A named
// policy that cannot be read denies.
func (st *Store) Effective(ctx context.Context, caller enforcer.Caller, s *runs.Snapshot, target enforcer.Target, tool string) (*Effective, error) {
	index, err := st.known(ctx, caller.Namespace)
	if err != nil {
		return nil, err
	}
	sessions, err := st.runs.StatusOf(ctx, caller, s, target)
	if err != nil {
		return nil, err
	}
	std, role := &Effective{Index: index, Status: sessions}, string(caller.Principal.Role)
	if caller.Principal.Role.Drives() { // who runs agents is subject to their policies
		role = string(auth.Agent)
	}
	if toolcall.Own(tool) {
		return std, nil
	}
	var names, because []string
	name := func(kind AttachmentKind, id string, more ...string) {
		for _, n := range more {
			if !slices.Contains(names, n) {
				names, because = append(names, n), append(because, string(kind)+" "+id)
			}
		}
	}
	for _, of := range s.All {
		kind := AttachedToWorkflow
		if of.Process {
			kind = AttachedToProcess
		}
		for _, set := range of.Rules {
			if set.For(role) {
				std.Live, std.Because = append(std.Live, set), append(std.Because, string(kind)+" "+of.Machine.Name())
			}
		}
		name(kind, of.Machine.Name(), of.Policies...)
		name(kind, of.Machine.Name(), index.attachedTo(kind, of.Machine.Name())...)
	}
	for _, r := range []string{string(caller.Principal.Role), role} {
		name(AttachedToRole, r, index.attachedTo(AttachedToRole, r)...)
	}
	for _, above := range std.Names {
		name(AttachedToSession, above, index.attachedTo(AttachedToSession, above)...)
	}
	for _, of := range std.Agents {
		if of.Policy != "" {
			name("agent", of.Name, of.Policy)
		}
	}
	for i, n := range names {
		if err := st.add(ctx, caller.Namespace, std, n, role); err != nil {
			return nil, err
		}
		if len(std.Because) < len(std.Live) {
			std.Because = append(std.Because, because[i])
		}
	}
	return std, nil
}

// add adds a policy by its name, and its shadow, if they apply to callers of a role (S15.9).
func (st *Store) add(ctx context.Context, namespace string, std *Effective, name, role string) error {
	replaces := -1
	live, isLive := std.Index.live(name)
	shadow, isShadowed := std.Index.shadow(name)
	switch {
	case isLive:
		set, err := st.Set(ctx, namespace, name, live)
		if err != nil {
			return err
		}
		if set.For(role) {
			replaces = len(std.Live)
			std.Live = append(std.Live, set)
		}
	case !isShadowed:
		std.Live = append(std.Live, rules.Missing(name))
	}
	if !isShadowed {
		return nil
	}
	set, err := st.Set(ctx, namespace, name, shadow)
	if err != nil {
		return nil // a shadow that cannot be read denies no call
	}
	if set.For(role) {
		std.Shadows = append(std.Shadows, shadowSet{name, shadow, set, replaces})
	}
	return nil
}

// Root returns the session of a call and its session tree, by which limits are counted. Without a session, both are
// the outermost of the runs that invoke each other.
func (std *Effective) Root(s *runs.Snapshot) (session, root string) {
	if s.Run.SessionID == "" {
		return s.Root.ID, s.Root.ID
	}
	return s.Run.SessionID, std.Account
}

// Call returns a call as policies judge it.
func (std *Effective) Call(caller enforcer.Caller, s *runs.Snapshot, tool string, input []byte, now time.Time) rules.Call {
	session, root := std.Root(s)
	return rules.Call{
		Tool: tool, Shell: toolcall.Shell(s.Machine.State(s.Run.State), tool), Input: input,
		Principal: caller.Principal.Name, Session: session, Root: root, Now: now,
	}
}

// Preconditions returns the checks of a decision besides its run: of the policies and sessions that it
// rests on.
func (std *Effective) Preconditions() []store.Check {
	return append([]store.Check{std.Index.Check()}, std.Checks...)
}

// AsksRepeats reports whether a policy in force has rules about calls that repeat an unknown one.
func (std *Effective) AsksRepeats() bool {
	return slices.ContainsFunc(std.Live, (*rules.Set).AsksRepeats)
}
