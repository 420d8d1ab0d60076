package halts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// Bounds of halts: every decision reads them.
const (
	maxHalts = 1024
	// maxEach bounds those of a namespace, and those of the whole deployment.
	maxEach = 64
)

// Announcer creates the event of a change.
type Announcer interface {
	HaltChanged(namespace, actor string, c *Change, at time.Time) (store.Event, error)
}

// Change is the event of a halt or a freeze that was created or lifted.
type Change struct {
	// Type is created or lifted.
	Type string
	Halt
	// Reason of the change: that of the halt, or why it is lifted.
	Reason string
	// Revision counts the changes.
	Revision int64
}

// Keeper creates and lifts halts.
type Keeper struct {
	*Reader
	announce Announcer
	clock    func() time.Time
}

// NewKeeper returns a keeper of the halts that a reader reads.
func NewKeeper(r *Reader, announce Announcer, clock func() time.Time) *Keeper {
	return &Keeper{r, announce, clock}
}

// Caller is who asks, and where.
type Caller struct {
	Namespace string
	Principal auth.Principal
}

// List returns the halts that hold in a namespace now.
func (k *Keeper) List(ctx context.Context, namespace string) ([]Halt, error) {
	x, err := k.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	return x.In(namespace), nil
}

// Create puts a halt in force. The same halt by the same caller is created once: created is false for a repeat.
func (k *Keeper) Create(ctx context.Context, caller Caller, scope Scope, reason string) (_ *Halt, created bool, err error) {
	if err := scope.validate(); err != nil {
		return nil, false, err
	}
	if err := validReason(reason); err != nil {
		return nil, false, err
	}
	h := Halt{
		ID: typeid.New(typeid.Halt), Scope: scope, Namespace: caller.Namespace, Reason: reason,
		By: caller.Principal.Name, At: k.clock().UTC(), ByRoot: caller.Principal.Root,
	}
	if scope.Kind == All {
		if h.Namespace = ""; !caller.Principal.Root {
			return nil, false, fault.New(fault.PermissionDenied, "only the role root halts the whole deployment; halt the namespace: --namespace %s", caller.Namespace)
		}
	}
	err = k.change(ctx, caller, func(t *text) (*Change, error) {
		same := func(o Halt) bool {
			return o.Scope == h.Scope && o.Namespace == h.Namespace && o.Reason == h.Reason && o.By == h.By && o.ByRoot == h.ByRoot
		}
		if i := slices.IndexFunc(t.Halts, same); i >= 0 {
			h, created = t.Halts[i], false
			return nil, nil
		}
		if err := room(t.Halts, h.Namespace, "halts"); err != nil {
			return nil, err
		}
		t.Halts, created = append(t.Halts, h), true
		return &Change{Type: "created", Halt: h, Reason: reason}, nil
	})
	if err != nil {
		return nil, false, err
	}
	return &h, created, nil
}

// room returns an error if a namespace has too many halts, or freezes.
func room(all []Halt, namespace, what string) error {
	each := 0
	for _, h := range all {
		if h.Namespace == namespace {
			each++
		}
	}
	if each >= maxEach || namespace != "" && len(all) >= maxHalts {
		return fault.New(fault.LimitReached, "there are %d %s here, of at most %d, and %d in the deployment, of at most %d; give one a wider scope, or lift some",
			each, what, maxEach, len(all), maxHalts)
	}
	return nil
}

// Lift ends a halt of the caller's namespace, or one of the whole deployment.
func (k *Keeper) Lift(ctx context.Context, caller Caller, id, reason string) (*Halt, error) {
	if err := validReason(reason); err != nil {
		return nil, err
	}
	var lifted Halt
	err := k.change(ctx, caller, func(t *text) (_ *Change, err error) {
		if t.Halts, lifted, err = without(t.Halts, caller, "halt", id); err != nil {
			return nil, err
		}
		t.lift(lifted, k.clock())
		return &Change{Type: "lifted", Halt: lifted, Reason: reason}, nil
	})
	if err != nil {
		return nil, err
	}
	return &lifted, nil
}

// without returns halts, or freezes, without the one that a caller lifts.
func without(all []Halt, caller Caller, what, id string) (rest []Halt, lifted Halt, err error) {
	i := slices.IndexFunc(all, func(h Halt) bool {
		return h.ID == id && (h.Namespace == caller.Namespace || h.Namespace == "")
	})
	switch {
	case i < 0:
		return nil, lifted, fault.New(fault.NotFound, "no %s %s is in force in namespace %s", what, document.Quote(id), caller.Namespace)
	case all[i].ByRoot && !caller.Principal.Root:
		return nil, lifted, fault.New(fault.PermissionDenied, "%s %s was made by the role root, and only that role lifts it", what, id)
	}
	return slices.Delete(slices.Clone(all), i, i+1), all[i], nil
}

// Bounds of the halts that were lifted: as long as any lease lasts, and as many as a decision reads at once.
const (
	liftedFor  = 24 * time.Hour
	mostLifted = 256
)

// lift keeps a halt among those that were lifted. With too many of them, those of its namespace count as one of the
// whole namespace.
func (t *text) lift(h Halt, now time.Time) {
	t.Lifted = slices.DeleteFunc(slices.Clone(t.Lifted), func(o Halt) bool { return o.At.Before(now.Add(-liftedFor)) })
	if len(t.Lifted) >= mostLifted {
		t.Lifted = slices.DeleteFunc(t.Lifted, func(o Halt) bool { return o.Namespace == h.Namespace })
		if h.Scope = (Scope{Kind: Namespace}); h.Namespace == "" {
			h.Kind = All
		}
		h.At = now // those that go are older
	}
	h.Reason, h.By = "", ""
	t.Lifted = append(t.Lifted, h)
}

func validReason(reason string) error {
	if !auth.ValidName(reason) && len(reason) <= 256 || len(reason) > 1024 {
		return fault.New(fault.InvalidRequest, "say why, in one line of 1 to 1024 bytes: agents and people read the reason").
			Violate("/reason", "FORMAT", "not one line of text")
	}
	return nil
}

// change commits an edit of the halts with its event.
func (k *Keeper) change(ctx context.Context, caller Caller, edit func(*text) (*Change, error)) error {
	return retry.Run(ctx, "the halts", func() error {
		x, err := k.Refresh(ctx)
		if err != nil {
			return err
		}
		next := x.text
		next.Halts, next.Freezes = slices.Clone(next.Halts), inForce(next.Freezes, k.clock())
		change, err := edit(&next)
		if err != nil || change == nil {
			return err
		}
		next.Revision++
		change.Revision = next.Revision
		event, err := k.announce.HaltChanged(caller.Namespace, caller.Principal.Name, change, k.clock().UTC())
		if err != nil {
			return fault.From(err)
		}
		event.Key = key // changes keep their order
		data, err := json.Marshal(next)
		if err != nil {
			return fault.From(fmt.Errorf("encode the halts: %w", err))
		}
		result, err := k.store.Commit(ctx, store.Batch{Puts: []store.Put{{Key: key, Expect: x.version, Data: data}}, Events: []store.Event{event}})
		if err != nil {
			return retry.Fault(err)
		}
		k.cache(&Index{version: result.Versions[0], text: next})
		return nil
	})
}
