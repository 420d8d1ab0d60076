// Package calls reads the stored data of calls: their decisions, and the open calls and the evidence of their
// families of runs.
package calls

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// ShortDigest is the length of the part of a digest that is stored with the ID of a call. The log has the
// whole digest.
const ShortDigest = 16

// MostHandovers bounds the runs of a session that are followed to find a call.
const MostHandovers = 64

// Store reads decisions and accounts from a store.
type Store struct{ store store.Store }

// New returns the calls in a store.
func New(st store.Store) *Store { return &Store{st} }

// Decided returns the decision on a call that a family keeps, or nil.
func (c *Store) Decided(ctx context.Context, root store.Key, callID string) (*ledger.DecidedCall, error) {
	data, err := idempotency.Answer(ctx, c.store, root, ledger.CallName(callID))
	if data == nil || err != nil {
		return nil, err
	}
	call, err := ledger.DecodeCall(root.ID, data)
	if err != nil {
		return nil, fault.From(err)
	}
	return call, nil
}

// GiveUp prevents a later decision on a call that has none. It returns a conflict if the call has just been
// decided.
func (c *Store) GiveUp(ctx context.Context, root store.Key, callID, digest string) error {
	result, err := c.store.Commit(ctx, store.Batch{Idempotency: &store.Idempotency{
		Owner: root, Name: ledger.CallName(callID), Digest: digest[:min(len(digest), ShortDigest)], Answer: ledger.NotDecided(), TTL: idempotency.TTL,
	}})
	if result.Replayed || errors.As(err, new(*store.ReplayMismatchError)) {
		return &store.ConflictError{Key: root}
	}
	return err
}

// Account holds the open calls and the evidence of a family of runs, and their version. Root is the outermost
// run of the family that has it now.
type Account struct {
	Root    store.Key
	Record  evidence.Record
	Version int64
}

// AccountOf returns the account of a family, or of the one that has taken it over (S14.8).
func (c *Store) AccountOf(ctx context.Context, root store.Key) (*Account, error) {
	for range MostHandovers {
		account, err := c.OwnAccount(ctx, root)
		if err != nil || account.Record.After == "" {
			return account, err
		}
		root = ledger.Run(root.Namespace, account.Record.After)
	}
	return nil, fault.From(fmt.Errorf("run %s is followed by more than %d runs of its session", root.ID, MostHandovers))
}

// OwnAccount returns the account of a family, which another one may have taken over.
func (c *Store) OwnAccount(ctx context.Context, root store.Key) (*Account, error) {
	stored, err := c.store.Get(ctx, ledger.EvidenceOf(root))
	if errors.Is(err, store.ErrNotFound) {
		return &Account{Root: root, Version: store.Absent}, nil
	}
	if err != nil {
		return nil, err
	}
	record, err := ledger.DecodeEvidence(stored.Data)
	if err != nil {
		return nil, fault.From(err)
	}
	return &Account{root, record, stored.Version}, nil
}

// Put adds a new record of the account to a batch, on condition that the account is unchanged.
func (a *Account) Put(record *evidence.Record, batch *store.Batch) error {
	data, err := ledger.EncodeEvidence(record)
	if err != nil {
		return fault.From(err)
	}
	batch.Puts = append(batch.Puts, store.Put{Key: ledger.EvidenceOf(a.Root), Expect: a.Version, Data: data})
	return nil
}

// Check returns the condition that the account is unchanged.
func (a *Account) Check() store.Check {
	return store.Check{Key: ledger.EvidenceOf(a.Root), Version: a.Version}
}

// ChangedFiles has the files that the entries of a run have changed, and the version of the record.
type ChangedFiles struct {
	*ledger.Files
	key     store.Key
	version int64
}

// FilesOf returns the files that the entries of a run have changed.
func (c *Store) FilesOf(ctx context.Context, run store.Key) (*ChangedFiles, error) {
	key := ledger.FilesOf(run)
	record, err := c.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		record, err = store.Record{Version: store.Absent}, nil
	}
	if err != nil {
		return nil, err
	}
	files, err := ledger.DecodeFiles(record.Data)
	if err != nil {
		return nil, fault.From(err)
	}
	return &ChangedFiles{files, key, record.Version}, nil
}

// Put adds the files of an entry to a batch, on condition that the record is unchanged.
func (f *ChangedFiles) Put(branch string, of ledger.FilesOfEntry, batch *store.Batch) error {
	data, err := f.With(branch, of).Encode()
	if err != nil {
		return fault.From(err)
	}
	batch.Puts = append(batch.Puts, store.Put{Key: f.key, Expect: f.version, Data: data})
	return nil
}

// Check returns the condition that the record is unchanged.
func (f *ChangedFiles) Check() store.Check { return store.Check{Key: f.key, Version: f.version} }

// TextDigest returns the digest of a formatted text, in hex.
func TextDigest(format string, args ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, format, args...))
	return hex.EncodeToString(sum[:])
}
