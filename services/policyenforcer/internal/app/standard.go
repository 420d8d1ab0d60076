package app

import (
	"context"
	"slices"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Sessions is the state-store as the enforcer sees it.
type Sessions interface {
	// Lineage names a session and all above it, the root's name first. A session that is
	// not registered is its own root.
	Lineage(ctx context.Context, namespace, session string) ([]string, error)
}

// standard is what a call is held to in addition to its state: policies, and their shadows.
type standard struct {
	index *policyIndex
	// lineage of the session, the root first; nil when there is none, or when no
	// policy asks for it.
	lineage []string
	live    []*rules.Set
	// shadows are policies that are judged alongside others: replaces is the index in
	// live of the one that a shadow would take the place of, -1 for none.
	shadows []shadowSet
}

type shadowSet struct {
	name     string
	version  int64
	set      *rules.Set
	replaces int
}

// standardOf finds the policies that hold for a call: those of its process or
// workflow and of all that have invoked it, those attached to its session or one
// above, and those of the caller's role. They hold whatever the run's status: what a
// state enforces ends with the run, or while it is paused; a policy does not. What is
// named and cannot be had denies.
func (a *App) standardOf(ctx context.Context, caller Caller, s *snapshotOf, tool string) (*standard, error) {
	index, err := a.knownPolicies(ctx, caller.Namespace)
	if err != nil {
		return nil, err
	}
	std := &standard{index: index}
	if toolcall.Own(tool) {
		return std, nil
	}
	var names []string
	name := func(more ...string) {
		for _, n := range more {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	for _, of := range s.all {
		std.live = append(std.live, of.Rules...)
		name(of.Policies...)
		kind := AttachedToWorkflow
		if of.Process {
			kind = AttachedToProcess
		}
		name(index.attachedTo(kind, of.Machine.Name())...)
	}
	name(index.attachedTo(AttachedToRole, string(caller.Principal.Role))...)
	if caller.Principal.Role.Drives() { // what runs agents is held to what agents are
		name(index.attachedTo(AttachedToRole, string(auth.Agent))...)
	}
	session := s.run.SessionID
	if session != "" && (len(std.live) > 0 || len(names) > 0 || index.sessionsAttached()) {
		if std.lineage, err = a.Sessions.Lineage(ctx, caller.Namespace, session); err != nil {
			return nil, err
		}
		for _, above := range std.lineage {
			name(index.attachedTo(AttachedToSession, above)...)
		}
	}
	for _, n := range names {
		if err := a.hold(ctx, caller.Namespace, std, n); err != nil {
			return nil, err
		}
	}
	return std, nil
}

// hold adds a policy by its name.
func (a *App) hold(ctx context.Context, namespace string, std *standard, name string) error {
	replaces := -1
	live, isLive := std.index.live(name)
	shadow, isShadowed := std.index.shadow(name)
	switch {
	case isLive:
		set, err := a.policySet(ctx, namespace, name, live)
		if err != nil {
			return err
		}
		replaces = len(std.live)
		std.live = append(std.live, set)
	case !isShadowed:
		std.live = append(std.live, rules.Missing(name))
	}
	if !isShadowed {
		return nil
	}
	set, err := a.policySet(ctx, namespace, name, shadow)
	if err != nil {
		return nil // a shadow is never enforced, nor is its absence
	}
	std.shadows = append(std.shadows, shadowSet{name, shadow, set, replaces})
	return nil
}

// root is whose limits per session are spent: the session tree's, or without a
// session the runs' that invoke each other.
func (std *standard) root(s *snapshotOf) (session, root string) {
	switch {
	case s.run.SessionID == "":
		return s.root.ID, s.root.ID
	case len(std.lineage) > 0:
		return s.run.SessionID, std.lineage[0]
	default:
		return s.run.SessionID, s.run.SessionID
	}
}
