package app

import (
	"context"
	"errors"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Usage has the counts that one entry of a state has used of its limits (S2.10).
type Usage struct {
	// Iterations counts the allowed tool calls, and ContextBytes the bytes of their
	// results.
	Iterations, ContextBytes int64
	// FilesChanged counts the distinct files changed, where the state limits them.
	FilesChanged int64
}

// Usage returns the counts that the present entry of a view's state has used.
func (vs *Views) Usage(ctx context.Context, namespace string, v *View) (Usage, error) {
	key := runKey(namespace, v.Run.ID)
	counters, err := vs.ports.Store.Counters(ctx, ledger.Entry(key, v.At.Entry))
	if err != nil {
		return Usage{}, fault.From(err)
	}
	used := Usage{Iterations: counters[ledger.Iterations], ContextBytes: counters[ledger.ContextBytes]}
	if v.State().MaxFilesPerState == 0 {
		return used, nil
	}
	record, err := vs.ports.Store.Get(ctx, ledger.FilesOf(key))
	if errors.Is(err, store.ErrNotFound) {
		return used, nil
	}
	if err != nil {
		return Usage{}, fault.From(err)
	}
	files, err := ledger.DecodeFiles(record.Data)
	if err != nil {
		return Usage{}, fault.From(err)
	}
	used.FilesChanged = int64(len(files.Of(v.At.Branch, v.At.Entry).Files))
	return used, nil
}
