package redisstore

import (
	"errors"

	"github.com/interlock-run/interlock/pkg/store"
)

// valid refuses batches without a meaning, and keys that Redis does not take.
func valid(b *store.Batch) error {
	if err := b.Validate(); err != nil {
		return err
	}
	var errs error
	for key := range b.Keys() {
		errs = errors.Join(errs, check(key))
	}
	return errs
}
