package store

import (
	"fmt"
	"iter"
)

// Keys yields every key that a batch names.
func (b *Batch) Keys() iter.Seq[Key] {
	return func(yield func(Key) bool) {
		going := true
		one := func(key Key) bool {
			going = yield(key)
			return going
		}
		if b.anyShard(one); going {
			b.oneShard(one)
		}
	}
}

// Validate refuses a batch without a meaning, regardless of the records in the store. Each store checks the
// keys, too.
func (b *Batch) Validate() error {
	if i := b.Idempotency; i != nil && i.TTL <= 0 {
		return fmt.Errorf("store: the idempotency key %s has a time to live of %v; it must be positive", i.Name, i.TTL)
	}
	for i := range b.Counters {
		c := &b.Counters[i]
		if err := c.Validate(); err != nil {
			return err
		}
		for j := range i {
			other := &b.Counters[j]
			if other.Name == c.Name && other.Owner == c.Owner && other.Window != c.Window {
				return fmt.Errorf("store: the counter %s comes with two windows in one batch", c.Name)
			}
		}
	}
	for i := range b.Puts {
		if err := b.validatePut(i); err != nil {
			return err
		}
	}
	for i := range b.Appends {
		if b.AppendsTwice(i) {
			return fmt.Errorf("store: a batch appends to %s and changes it otherwise too", b.Appends[i].Key)
		}
	}
	return b.Entries()
}

func (b *Batch) validatePut(i int) error {
	put := &b.Puts[i]
	if err := put.Validate(); err != nil {
		return err
	}
	for j := range i {
		if put.Key == b.Puts[j].Key {
			return fmt.Errorf("store: a batch puts %s twice", put.Key)
		}
	}
	for j := range b.Deletes {
		if put.Key == b.Deletes[j].Key {
			return fmt.Errorf("store: a batch both puts and deletes %s", put.Key)
		}
	}
	return nil
}
