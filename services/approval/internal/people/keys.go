package people

import (
	"context"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/people"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// Keys returns the passkeys and SSH keys of a person; none for a person who is not known.
func (a *App) Keys(ctx context.Context, person string) ([]people.Credential, error) {
	book, _, err := a.load(ctx)
	if err != nil || book.People[person] == nil {
		return nil, err
	}
	var keys []people.Credential
	for _, c := range book.People[person].Credentials {
		if c.Kind != people.Passphrase {
			keys = append(keys, c)
		}
	}
	return keys, nil
}

// Counted notes the counter of a key after a signature. It refuses one that does not grow: of two
// signatures with one counter, one is a copy's.
func (a *App) Counted(ctx context.Context, person, id string, count uint32) error {
	_, err := retry.Do(ctx, "the people", func() (struct{}, error) {
		book, version, err := a.load(ctx)
		if err != nil {
			return struct{}{}, err
		}
		p := book.People[person]
		if p == nil || p.Credential(id) == nil {
			return struct{}{}, fault.New(fault.PermissionDenied, "the key was removed; sign with another one")
		}
		c := p.Credential(id)
		if count <= c.SignCount {
			return struct{}{}, fault.New(fault.PermissionDenied, "the key counts %d signatures, and has counted %d before: it may have been copied; remove it and register another", count, c.SignCount)
		}
		c.SignCount, c.LastUsedAt = count, a.now()
		_, err = a.commit(ctx, book, version, person, nil, "")
		return struct{}{}, err
	})
	return err
}
