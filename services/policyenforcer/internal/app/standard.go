package app

import (
	"context"
	"slices"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// standard is what a call is held to in addition to its state: policies, and their shadows.
type standard struct {
	index *policyIndex
	// standing is how the sessions of the call stand.
	*standing
	live []*rules.Set
	// because is what each of live holds for.
	because []string
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
// above, those of the agents that these were started from, and those of the caller's role. They hold whatever the run's status: what a
// state enforces ends with the run, or while it is paused; a policy does not. What is
// named and cannot be had denies.
func (a *App) standardOf(ctx context.Context, caller Caller, s *snapshotOf, target Target, tool string) (*standard, error) {
	index, err := a.knownPolicies(ctx, caller.Namespace)
	if err != nil {
		return nil, err
	}
	sessions, err := a.standingOf(ctx, caller, s, target)
	if err != nil {
		return nil, err
	}
	std, role := &standard{index: index, standing: sessions}, string(caller.Principal.Role)
	if caller.Principal.Role.Drives() { // what runs agents is held to what agents are
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
	for _, of := range s.all {
		kind := AttachedToWorkflow
		if of.Process {
			kind = AttachedToProcess
		}
		for _, set := range of.Rules {
			if set.For(role) {
				std.live, std.because = append(std.live, set), append(std.because, string(kind)+" "+of.Machine.Name())
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
		if err := a.hold(ctx, caller.Namespace, std, n, role); err != nil {
			return nil, err
		}
		if len(std.because) < len(std.live) {
			std.because = append(std.because, because[i])
		}
	}
	return std, nil
}

// hold adds a policy by its name, where it is for callers of a role (S15.9).
func (a *App) hold(ctx context.Context, namespace string, std *standard, name, role string) error {
	replaces := -1
	live, isLive := std.index.live(name)
	shadow, isShadowed := std.index.shadow(name)
	switch {
	case isLive:
		set, err := a.policySet(ctx, namespace, name, live)
		if err != nil {
			return err
		}
		if set.For(role) {
			replaces = len(std.live)
			std.live = append(std.live, set)
		}
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
	if set.For(role) {
		std.shadows = append(std.shadows, shadowSet{name, shadow, set, replaces})
	}
	return nil
}

// root is whose limits per session are spent: the session tree's, or without a
// session the runs' that invoke each other.
func (std *standard) root(s *snapshotOf) (session, root string) {
	if s.run.SessionID == "" {
		return s.root.ID, s.root.ID
	}
	return s.run.SessionID, std.Account
}
