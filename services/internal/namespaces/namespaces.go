// Package namespaces keeps the names of the namespaces that something was written in, for those who may call in all of
// them. No decision depends on it.
package namespaces

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// most bounds the names that are kept: the record stays below a megabyte.
const most = 10_000

// key is that of the one record.
var key = store.Key{Namespace: "default", Kind: "namespaces", ID: "all"}

// Book has the names. It is safe for concurrent use.
type Book struct {
	store store.Store
	log   *slog.Logger
	known sync.Map // of names that the record has
}

// New returns a book in a store.
func New(st store.Store, log *slog.Logger) *Book { return &Book{store: st, log: log} }

// reads begin the names of methods that write nothing.
var reads = []string{"Get", "List", "Watch", "Validate", "Plan", "WhoAmI", "Simulate", "Verify", "Check", "BeginLogin", "FinishLogin", "RenewLogin"}

// Used notes that a method has succeeded in a namespace. A failure is logged, and the next call notes it.
func (b *Book) Used(ctx context.Context, method, namespace string) {
	name := method[strings.LastIndexByte(method, '/')+1:]
	if _, known := b.known.Load(namespace); known || slices.ContainsFunc(reads, func(r string) bool { return strings.HasPrefix(name, r) }) {
		return
	}
	if err := b.note(ctx, namespace); err != nil {
		b.log.Warn("a namespace is missing in the list of namespaces", "namespace", namespace, "error", err)
		return
	}
	b.known.Store(namespace, true)
}

// note adds a name to the record, in which the names are sorted.
func (b *Book) note(ctx context.Context, namespace string) error {
	return retry.Run(ctx, "the list of namespaces", func() error {
		names, version, err := b.read(ctx)
		if err != nil {
			return err
		}
		at, found := slices.BinarySearch(names, namespace)
		if found || len(names) >= most {
			return nil
		}
		data, err := json.Marshal(slices.Insert(names, at, namespace))
		if err != nil {
			return fault.From(fmt.Errorf("encode the list of namespaces: %w", err))
		}
		_, err = b.store.Commit(ctx, store.Batch{Puts: []store.Put{{Key: key, Expect: version, Data: data}}})
		return retry.Fault(err)
	})
}

// List returns the namespaces that a principal may call in, sorted; for one that may call in all, those that something was
// written in, and the default one.
func (b *Book) List(ctx context.Context, p auth.Principal) (names []string, all bool, err error) {
	if names = p.NamespaceList(); !slices.Contains(names, string(auth.AllNamespaces)) {
		return names, false, nil
	}
	if names, _, err = b.read(ctx); err != nil {
		return nil, true, err
	}
	if at, found := slices.BinarySearch(names, key.Namespace); !found {
		names = slices.Insert(names, at, key.Namespace)
	}
	return names, true, nil
}

func (b *Book) read(ctx context.Context) (names []string, version int64, err error) {
	record, err := b.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, store.Absent, nil
	}
	if err != nil {
		return nil, 0, fault.From(err)
	}
	if err := json.Unmarshal(record.Data, &names); err != nil {
		return nil, 0, fault.From(fmt.Errorf("decode the list of namespaces: %w", err))
	}
	return names, record.Version, nil
}
