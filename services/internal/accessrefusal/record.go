package accessrefusal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// unknown is the entity of callers without a principal.
const unknown = "unknown"

// Kept is how many refusals a namespace keeps.
const Kept = 100

// recentKey returns the key of the last refusals of a namespace.
func recentKey(namespace string) store.Key {
	return store.Key{Namespace: namespace, Kind: "refusals", ID: "recent"}
}

// recent is the stored form of the last refusals, oldest first: each a policyv1.Refusal.
type recent struct {
	Refusals [][]byte `json:"refusals"`
}

// Commit announces a refusal by an event in a store, and keeps it among the last of its namespace.
func Commit(ctx context.Context, st store.Store, refusal *policyv1.ReportRefusalRequest) error {
	event := eventOf(refusal, time.Now())
	encoded, err := bus.Encode(event)
	if err != nil {
		return err
	}
	encoded.Key = recentKey(event.GetNamespace()) // the one shard that is written
	_, err = retry.Do(ctx, "the list of refusals", func() (store.Result, error) {
		all, version, err := read(ctx, st, event.GetNamespace())
		if err != nil {
			return store.Result{}, err
		}
		all = keep(all, &policyv1.Refusal{Time: event.GetTime(), Principal: refusal.GetPrincipal(), Refused: refusal.GetRefused()})
		data, err := encode(all)
		if err != nil {
			return store.Result{}, err
		}
		return st.Commit(ctx, store.Batch{
			Puts: []store.Put{{Key: recentKey(event.GetNamespace()), Expect: version, Data: data}}, Events: []store.Event{encoded},
		})
	})
	return err
}

// List returns the last refusals of a namespace, the newest first.
func List(ctx context.Context, st store.Store, namespace string) ([]*policyv1.Refusal, error) {
	all, _, err := read(ctx, st, namespace)
	slices.Reverse(all)
	return all, err
}

// keep adds a refusal. Over the bound the oldest of the principal with the most refusals goes, so that a caller that
// probes pushes out its own.
func keep(all []*policyv1.Refusal, one *policyv1.Refusal) []*policyv1.Refusal {
	all = append(all, one)
	if len(all) <= Kept {
		return all
	}
	counts := make(map[string]int)
	loudest := ""
	for _, r := range all {
		if counts[r.GetPrincipal()]++; counts[r.GetPrincipal()] > counts[loudest] {
			loudest = r.GetPrincipal()
		}
	}
	at := slices.IndexFunc(all, func(r *policyv1.Refusal) bool { return r.GetPrincipal() == loudest })
	return slices.Delete(all, at, at+1)
}

// read returns the last refusals, oldest first, and the version of their record.
func read(ctx context.Context, st store.Store, namespace string) ([]*policyv1.Refusal, int64, error) {
	record, err := st.Get(ctx, recentKey(namespace))
	if errors.Is(err, store.ErrNotFound) {
		return nil, store.Absent, nil
	}
	if err != nil {
		return nil, 0, err
	}
	var text recent
	if err := json.Unmarshal(record.Data, &text); err != nil {
		return nil, 0, fmt.Errorf("decode refusals: %w", err)
	}
	all := make([]*policyv1.Refusal, len(text.Refusals))
	for i, data := range text.Refusals {
		all[i] = &policyv1.Refusal{}
		if err := proto.Unmarshal(data, all[i]); err != nil {
			return nil, 0, fmt.Errorf("decode refusal: %w", err)
		}
	}
	return all, record.Version, nil
}

func encode(all []*policyv1.Refusal) ([]byte, error) {
	text := recent{Refusals: make([][]byte, len(all))}
	for i, r := range all {
		data, err := proto.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("encode refusal: %w", err)
		}
		text.Refusals[i] = data
	}
	data, err := json.Marshal(text)
	if err != nil {
		return nil, fmt.Errorf("encode refusals: %w", err)
	}
	return data, nil
}

func eventOf(refusal *policyv1.ReportRefusalRequest, at time.Time) *eventv1.Event {
	namespace := refusal.GetNamespace()
	if !rpc.ValidNamespace(namespace) {
		namespace = rpc.DefaultNamespace
	}
	event := &eventv1.Event{
		Namespace: namespace, Entity: "call", EntityId: cmp.Or(refusal.GetPrincipal(), unknown), Type: "refused",
		Time: timestamppb.New(at), Actor: refusal.GetPrincipal(), Payload: &eventv1.Event_CallRefused{CallRefused: refusal.GetRefused()},
	}
	event.Id = bus.EventID(event) + "." + typeid.New(typeid.Event) // many refusals of a principal have no version
	return event
}
