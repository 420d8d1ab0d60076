package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

const (
	// treeWait bounds how long a transition waits for a digest, and treeGlance how long a read does.
	treeWait   = 15 * time.Second
	treeGlance = 2 * time.Second
	// treeKept is how long a read uses the digest of another read.
	treeKept = time.Second
	// mostTrees bounds how many digests are kept.
	mostTrees = 64
)

// lastTrees are the digests that reads have computed last, by the workspace. A transition never uses one.
type lastTrees struct {
	mu sync.Mutex
	at map[string]seenTree
}

type seenTree struct {
	digest string
	at     time.Time
}

func (l *lastTrees) get(workspace string, now time.Time) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen, known := l.at[workspace]
	return seen.digest, known && now.Sub(seen.at) < treeKept
}

func (l *lastTrees) put(workspace, digest string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == nil || len(l.at) >= mostTrees {
		l.at = map[string]seenTree{}
	}
	l.at[workspace] = seenTree{digest, now}
}

// tree returns the digest of the files of a workspace now; empty when it is not known.
func (vs *Views) tree(ctx context.Context, workspace string, reread bool, wait time.Duration) string {
	if vs.ports.Trees == nil || workspace == "" {
		return ""
	}
	within, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	digest, err := vs.ports.Trees(within, workspace, reread)
	if err != nil {
		vs.ports.Log.LogAttrs(ctx, slog.LevelWarn, "the digest of a workspace's files is not known", slog.String("workspace", workspace), slog.Any("cause", err))
		digest = ""
	}
	return digest
}

// treeFor returns the digest of the files that evidence of a lane is compared with: as observed by the caller,
// or else by the engine. It is empty when there is no comparison, or it is not known.
func (f *family) treeFor(ctx context.Context, at *workflow.View, m *workflow.Machine, record *evidence.Record) string {
	if !record.OfTrees(at.ID, m.Evidence()) {
		return ""
	}
	if f.tree == "" || f.treeOf != "" && f.treeOf != at.Workspace {
		f.tree, f.treeOf = f.app.views.tree(ctx, at.Workspace, m.LeavesRunning(), treeWait), at.Workspace
	}
	return f.tree
}

// See judges the evidence of a view anew, by the files as they are now, where it is bound to files.
func (vs *Views) See(ctx context.Context, namespace string, v *View) error {
	if vs.ports.Trees == nil || len(v.Evidence) == 0 {
		return nil
	}
	record, _, err := vs.evidenceRecord(ctx, ledger.EvidenceOf(runKey(namespace, v.Run.Root())))
	if err != nil || !record.OfTrees(v.At.ID, v.Machine.Evidence()) {
		return err
	}
	tree, known := vs.lastTrees.get(v.At.Workspace, vs.ports.Clock())
	if !known {
		tree = vs.tree(ctx, v.At.Workspace, v.Machine.LeavesRunning(), treeGlance)
		vs.lastTrees.put(v.At.Workspace, tree, vs.ports.Clock())
	}
	return vs.addEvidence(ctx, namespace, v, tree)
}
