package sdk

import (
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
)

// HaltScope names the work that a halt stops (S23.40).
type HaltScope struct {
	// Kind is "session", "workflow", "principal", "person", "human", "group", "agent", "namespace" or "all".
	Kind string
	// Name or id; empty for a namespace, which is the client's, and for all.
	Name string
}

// Halt stops all work in its scope, from the answer to its creation until it is lifted.
type Halt struct {
	ID    string
	Scope HaltScope
	// Namespace is empty for a halt of the whole deployment.
	Namespace string
	// Reason is for agents and people.
	Reason    string
	CreatedBy string
	CreatedAt time.Time
	// ByRoot is true when only the role root may lift it.
	ByRoot bool
	// Created is false when the caller had made the same halt before; only of one that was just made.
	Created bool
}

// CreateHalt stops all work in a scope, as an operator: from its answer on no call, transition, start or new
// session passes there.
func (g *haltGroup) CreateHalt(ctx context.Context, scope HaltScope, reason string) (Halt, error) {
	resp, err := retry(ctx, g.halts.CreateHalt, &identityv1.CreateHaltRequest{Scope: scopeTo(scope), Reason: reason})
	halt := haltOf(resp.GetHalt())
	halt.Created = resp.GetCreated()
	return halt, err
}

// LiftHalt ends a halt, as an operator.
func (g *haltGroup) LiftHalt(ctx context.Context, id, reason string) (Halt, error) {
	resp, err := retry(ctx, g.halts.LiftHalt, &identityv1.LiftHaltRequest{Id: id, Reason: reason})
	return haltOf(resp.GetHalt()), err
}

// ListHalts returns the halts that are in force in the namespace, those of everything first.
func (g *haltGroup) ListHalts(ctx context.Context) ([]Halt, error) {
	resp, err := retry(ctx, g.halts.ListHalts, &identityv1.ListHaltsRequest{})
	return each(resp.GetHalts(), haltOf), err
}

const haltKind = "HALT_KIND_"

func scopeTo(s HaltScope) *identityv1.HaltScope {
	kind := identityv1.HaltKind_value[haltKind+strings.ToUpper(s.Kind)]
	return &identityv1.HaltScope{Kind: identityv1.HaltKind(kind), Name: s.Name}
}

func haltOf(h *identityv1.Halt) Halt {
	return Halt{
		ID: h.GetId(), Scope: HaltScope{Kind: strings.ToLower(word(h.GetScope().GetKind(), haltKind)), Name: h.GetScope().GetName()},
		Namespace: h.GetNamespace(), Reason: h.GetReason(), CreatedBy: h.GetCreatedBy(), CreatedAt: timeOf(h.GetCreatedAt()), ByRoot: h.GetByRoot(),
	}
}

// Freeze stops some transitions of workflows until a time (S25.12).
type Freeze struct {
	ID string
	// Workflow is a name of workflows, in which * stands for any text.
	Workflow  string
	Namespace string
	// Reason is for agents and people.
	Reason    string
	CreatedBy string
	CreatedAt time.Time
	// Until is when it ends by itself.
	Until time.Time
	// ByRoot is true when only the role root may lift it.
	ByRoot bool
	// Created is false when the caller had made the same freeze before; only of one that was just made.
	Created bool
}

// CreateFreeze freezes the workflows that a pattern names until a time, as an operator: from its answer on the transitions that
// a freeze stops are refused.
func (g *haltGroup) CreateFreeze(ctx context.Context, workflow string, until time.Time, reason string) (Freeze, error) {
	resp, err := retry(ctx, g.halts.CreateFreeze, &identityv1.CreateFreezeRequest{Workflow: workflow, Until: timestamppb.New(until), Reason: reason})
	freeze := freezeOf(resp.GetFreeze())
	freeze.Created = resp.GetCreated()
	return freeze, err
}

// LiftFreeze ends a freeze before its time, as an operator.
func (g *haltGroup) LiftFreeze(ctx context.Context, id, reason string) (Freeze, error) {
	resp, err := retry(ctx, g.halts.LiftFreeze, &identityv1.LiftFreezeRequest{Id: id, Reason: reason})
	return freezeOf(resp.GetFreeze()), err
}

// ListFreezes returns the freezes that are in force in the namespace.
func (g *haltGroup) ListFreezes(ctx context.Context) ([]Freeze, error) {
	resp, err := retry(ctx, g.halts.ListFreezes, &identityv1.ListFreezesRequest{})
	return each(resp.GetFreezes(), freezeOf), err
}

func freezeOf(f *identityv1.Freeze) Freeze {
	return Freeze{
		ID: f.GetId(), Workflow: f.GetWorkflow(), Namespace: f.GetNamespace(), Reason: f.GetReason(), CreatedBy: f.GetCreatedBy(),
		CreatedAt: timeOf(f.GetCreatedAt()), Until: timeOf(f.GetUntil()), ByRoot: f.GetByRoot(),
	}
}
