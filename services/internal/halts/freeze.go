package halts

import (
	"context"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Bounds of a freeze: the longest time that it lasts, and the bytes of its pattern.
const (
	mostFreeze  = 366 * 24 * time.Hour
	mostPattern = 256
)

// Freezes reports whether a namespace has a freeze in force, for which the workflows of a run must be read.
func (x *Index) Freezes(namespace string, now time.Time) bool {
	return slices.ContainsFunc(x.text.Freezes, func(h Halt) bool { return h.Namespace == namespace && now.Before(h.Until) })
}

// FreezeOf returns the freeze that a run is under, by its workflow and those of the runs that have invoked it; nil for none.
// Of several it is the one that ends last.
func (x *Index) FreezeOf(namespace string, workflows []string, now time.Time) *Halt {
	var last *Halt
	for i := range x.text.Freezes {
		h := &x.text.Freezes[i]
		stops := h.Namespace == namespace && now.Before(h.Until) &&
			slices.ContainsFunc(workflows, func(name string) bool { return workflow.FreezeCovers(h.Name, name) })
		if stops && (last == nil || h.Until.After(last.Until)) {
			last = h
		}
	}
	return last
}

// Freeze returns a freeze as the machine of a run knows it; nil for none.
func (h *Halt) Freeze() *workflow.Freeze {
	if h == nil {
		return nil
	}
	return &workflow.Freeze{ID: h.ID, Reason: h.Reason, By: h.By, Until: h.Until}
}

// inForce returns the freezes that have not ended.
func inForce(freezes []Halt, now time.Time) []Halt {
	return slices.DeleteFunc(slices.Clone(freezes), func(h Halt) bool { return !now.Before(h.Until) })
}

// ListFreezes returns the freezes that hold in a namespace now.
func (k *Keeper) ListFreezes(ctx context.Context, namespace string) ([]Halt, error) {
	x, err := k.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(inForce(x.text.Freezes, k.clock()), func(h Halt) bool { return h.Namespace != namespace }), nil
}

// CreateFreeze puts a freeze of the workflows that a pattern covers in force. The same freeze by the same caller is created
// once: created is false for a repeat.
func (k *Keeper) CreateFreeze(ctx context.Context, caller Caller, pattern string, until time.Time, reason string) (_ *Halt, created bool, err error) {
	now := k.clock().UTC()
	h := Halt{
		ID: typeid.New(typeid.Freeze), Scope: Scope{Kind: Workflow, Name: pattern}, Namespace: caller.Namespace, Reason: reason,
		By: caller.Principal.Name, At: now, ByRoot: caller.Principal.Root, Until: until.UTC(),
	}
	if err := h.validateFreeze(now); err != nil {
		return nil, false, err
	}
	err = k.change(ctx, caller, func(t *text) (*Change, error) {
		same := func(o Halt) bool {
			return o.Name == h.Name && o.Namespace == h.Namespace && o.Reason == h.Reason && o.By == h.By && o.ByRoot == h.ByRoot && o.Until.Equal(h.Until)
		}
		if i := slices.IndexFunc(t.Freezes, same); i >= 0 {
			h, created = t.Freezes[i], false
			return nil, nil
		}
		if err := room(t.Freezes, h.Namespace, "freezes"); err != nil {
			return nil, err
		}
		t.Freezes, created = append(t.Freezes, h), true
		return &Change{Type: "created", Halt: h, Reason: reason}, nil
	})
	if err != nil {
		return nil, false, err
	}
	return &h, created, nil
}

// validateFreeze returns an error for a freeze that could not be, or would have no effect.
func (h *Halt) validateFreeze(now time.Time) error {
	switch {
	case h.Name == "" || len(h.Name) > mostPattern:
		return fault.New(fault.InvalidRequest, "name the workflows in 1 to %d bytes; * stands for any text: \"deploy*\", or \"*\" for all", mostPattern).
			Violate("/workflow", "RANGE", "too short or too long")
	case !h.Until.After(now):
		return fault.New(fault.InvalidRequest, "the freeze would have ended at %s; give an end that is to come", h.Until.Format(time.RFC3339)).
			Violate("/until", "RANGE", "is over")
	case h.Until.After(now.Add(mostFreeze)):
		return fault.New(fault.InvalidRequest, "a freeze lasts for at most 366 days; give an earlier end, and freeze again then").
			Violate("/until", "RANGE", "too late")
	}
	return validReason(h.Reason)
}

// LiftFreeze ends a freeze of the caller's namespace.
func (k *Keeper) LiftFreeze(ctx context.Context, caller Caller, id, reason string) (*Halt, error) {
	if err := validReason(reason); err != nil {
		return nil, err
	}
	var lifted Halt
	err := k.change(ctx, caller, func(t *text) (_ *Change, err error) {
		if t.Freezes, lifted, err = without(t.Freezes, caller, "freeze", id); err != nil {
			return nil, err
		}
		return &Change{Type: "lifted", Halt: lifted, Reason: reason}, nil
	})
	if err != nil {
		return nil, err
	}
	return &lifted, nil
}
