package redisstore

import (
	"errors"
	"fmt"

	"github.com/interlock-run/interlock/pkg/store"
)

// valid refuses batches without a meaning.
func valid(b *store.Batch) error {
	if i := b.Idempotency; i != nil && i.TTL <= 0 {
		return fmt.Errorf("redisstore: the idempotency key %s has a time to live of %v; it must be positive", i.Name, i.TTL)
	}
	for i := range b.Counters {
		c := &b.Counters[i]
		if err := c.Validate(); err != nil {
			return err
		}
		for j := range i {
			other := &b.Counters[j]
			if other.Name == c.Name && other.Owner == c.Owner && other.Window != c.Window {
				return fmt.Errorf("redisstore: the counter %s comes with two windows in one batch", c.Name)
			}
		}
	}
	for i := range b.Puts {
		if err := b.Puts[i].Validate(); err != nil {
			return err
		}
		for j := range i {
			if b.Puts[i].Key == b.Puts[j].Key {
				return fmt.Errorf("redisstore: a batch puts %s twice", b.Puts[i].Key)
			}
		}
		for j := range b.Deletes {
			if b.Puts[i].Key == b.Deletes[j].Key {
				return fmt.Errorf("redisstore: a batch both puts and deletes %s", b.Puts[i].Key)
			}
		}
	}
	for i := range b.Appends {
		if b.AppendsTwice(i) {
			return fmt.Errorf("redisstore: a batch appends to %s and changes it otherwise too", b.Appends[i].Key)
		}
	}
	if err := b.Entries(); err != nil {
		return err
	}
	return validKeys(b)
}

func validKeys(b *store.Batch) error {
	var errs error
	keys(b, func(key store.Key) { errs = errors.Join(errs, check(key)) })
	return errs
}

// keys calls yield with every key that a batch names.
func keys(b *store.Batch, yield func(store.Key)) {
	if b.Idempotency != nil {
		yield(b.Idempotency.Owner)
	}
	if b.Fence != nil {
		yield(b.Fence.Key)
	}
	for _, checks := range [][]store.Check{b.Checks, b.Deletes} {
		for i := range checks {
			yield(checks[i].Key)
		}
	}
	for i := range b.Puts {
		yield(b.Puts[i].Key)
	}
	for i := range b.Appends {
		yield(b.Appends[i].Key)
	}
	for i := range b.Forget {
		yield(b.Forget[i].Key)
	}
	for i := range b.Counters {
		yield(b.Counters[i].Owner)
	}
	for _, owner := range b.Reset {
		yield(owner)
	}
	for i := range b.Events {
		yield(b.Events[i].Key)
	}
	for i := range b.SetTimers {
		yield(b.SetTimers[i].Key)
	}
	for i := range b.ClearTimers {
		yield(b.ClearTimers[i].Key)
	}
	for i := range b.Postpone {
		yield(b.Postpone[i].Timer.Key)
	}
}
