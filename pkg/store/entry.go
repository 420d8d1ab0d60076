package store

import "fmt"

// Entries returns an error when a reference to an entry of the batch's appends names none
// of them.
func (b *Batch) Entries() error {
	if i := b.Idempotency; i != nil && i.Entry != (Key{}) {
		if _, err := b.EntryOf(i.Entry); err != nil {
			return err
		}
		if len(i.Answer) > 0 {
			return fmt.Errorf("store: the answer of %s is a history entry, and another one is given too", i.Name)
		}
	}
	for i := range b.Events {
		e := &b.Events[i]
		if e.Entry == (Key{}) {
			continue
		}
		if _, err := b.EntryOf(e.Entry); err != nil {
			return err
		}
		if len(e.Payload) > 0 {
			return fmt.Errorf("store: the payload of event %s is a history entry, and another one is given too", e.ID)
		}
	}
	return nil
}

// EntryOf returns which append of the batch is to the record of a key.
func (b *Batch) EntryOf(key Key) (int, error) {
	for i := range b.Appends {
		if b.Appends[i].Key == key {
			return i, nil
		}
	}
	return 0, fmt.Errorf("store: the batch appends no entries to %s", key)
}

// AppendsTwice reports that something else of the batch changes the record of an append.
func (b *Batch) AppendsTwice(i int) bool {
	key := b.Appends[i].Key
	for j := range b.Puts {
		if b.Puts[j].Key == key {
			return true
		}
	}
	for j := range i {
		if b.Appends[j].Key == key {
			return true
		}
	}
	for j := range b.Deletes {
		if b.Deletes[j].Key == key {
			return true
		}
	}
	return false
}
