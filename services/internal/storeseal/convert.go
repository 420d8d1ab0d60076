package storeseal

import (
	"context"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
)

// Marker returns the key of the record which says that a store is sealed.
func Marker() store.Key { return store.Key{Namespace: "_deployment", Kind: "seal", ID: "seal"} }

// converted is a backup whose data has other codes.
type converted struct {
	backup.Source
	change func(item backup.Item) error
	extra  []backup.Item
}

// Each implements backup.Source.
func (c converted) Each(yield func(backup.Item) error) error {
	for _, item := range c.extra {
		if err := yield(item); err != nil {
			return err
		}
	}
	return c.Source.Each(func(item backup.Item) error {
		if err := c.change(item); err != nil {
			return err
		}
		return yield(item)
	})
}

// Without returns a backup without codes. It refuses data whose code is wrong.
func Without(from backup.Source, key [32]byte) backup.Source {
	s := Wrap(nil, Config{Key: key, Log: slog.New(slog.DiscardHandler)})
	return converted{Source: from, change: func(item backup.Item) error {
		switch item := item.(type) {
		case *backup.Record:
			return s.takeRecord(item)
		case *backup.History:
			for i := range item.Entries {
				e := &item.Entries[i]
				text, ok := s.openEntry(item.Key, e.Version, e.Data)
				if !ok {
					return s.refuse(item.Key, "another program has written an entry of its history")
				}
				e.Data = text
			}
		case *backup.Answer:
			item.Answer = Strip(item.Answer)
		}
		return nil
	}}
}

// takeRecord takes the code from a record.
func (s *Store) takeRecord(item *backup.Record) error {
	if item.Key == Marker() {
		item.Data, item.Labels, item.Deleted = nil, nil, true
	}
	if item.Deleted {
		return nil
	}
	record := store.Record{Key: item.Key, Version: item.Version, Data: item.Data, Labels: item.Labels}
	if _, why := s.open(&record); why != "" {
		return s.refuse(item.Key, why)
	}
	item.Data = record.Data
	return nil
}

// With returns a backup, which has no codes, with codes under a key.
func With(from backup.Source, key [32]byte, id string) backup.Source {
	s := Wrap(nil, Config{Key: key, Log: slog.New(slog.DiscardHandler)})
	serial := s.next()
	marker := &backup.Record{Key: Marker(), Version: 1, Data: []byte(id), Updated: time.Now()}
	change := func(item backup.Item) error {
		switch item := item.(type) {
		case *backup.Record:
			if item.Key == Marker() && len(item.Data) == 0 { // of a seal that was taken away
				*item = backup.Record{Key: item.Key, Version: item.Version + 1, Data: []byte(id), Updated: time.Now()}
			}
			if Sealed(item.Data) {
				return s.refuse(item.Key, "it has a code already")
			}
			if !item.Deleted && len(item.Data)+len(item.Labels) > 0 {
				item.Data = s.sealed(trailer{ofRecord, nameOf(item.Key), serial, item.Version}, item.Labels, item.Data)
			}
		case *backup.History:
			for i := range item.Entries {
				e := &item.Entries[i]
				e.Data = s.sealed(trailer{ofHistory, nameOf(item.Key), serial, e.Version}, nil, e.Data)
			}
		case *backup.Answer:
			s.giveAnswer(item, serial)
		}
		return nil
	}
	_ = change(marker) // it has none yet
	return converted{Source: from, change: change, extra: []backup.Item{marker}}
}

// giveAnswer gives an answer a code, unless it is an entry of a log.
func (s *Store) giveAnswer(item *backup.Answer, serial uint64) {
	if item.Expires.IsZero() || item.Entry != (store.Key{}) {
		return
	}
	hash := item.Hash
	if len(hash) == 0 {
		hash = backup.HashOf(item.Owner, item.Name)
	}
	item.Answer = s.sealed(trailer{of: ofAnswer, name: answerOf(hash), serial: serial}, nil, item.Answer)
}

// Reading returns a store that reads data with and without codes, and checks none, for commands that only read.
func Reading(st store.Store) store.Store { return &reading{st} }

type reading struct{ store.Store }

// Unwrap returns the store.
func (r *reading) Unwrap() store.Store { return r.Store }

// Get implements store.Store.
func (r *reading) Get(ctx context.Context, key store.Key) (store.Record, error) {
	record, err := r.Store.Get(ctx, key)
	record.Data = Strip(record.Data)
	return record, err
}

// List implements store.Store.
func (r *reading) List(ctx context.Context, query store.Query) (store.Page, error) {
	page, err := r.Store.List(ctx, query)
	for i := range page.Records {
		page.Records[i].Data = Strip(page.Records[i].Data)
	}
	return page, err
}

// History implements store.Store.
func (r *reading) History(ctx context.Context, key store.Key, after int64, limit int) ([]store.HistoryEntry, error) {
	entries, err := r.Store.History(ctx, key, after, limit)
	for i := range entries {
		entries[i].Data = Strip(entries[i].Data)
	}
	return entries, err
}

// Answer implements store.Store.
func (r *reading) Answer(ctx context.Context, owner store.Key, name string) ([]byte, error) {
	data, err := r.Store.Answer(ctx, owner, name)
	return Strip(data), err
}

// Tail implements store.Store.
func (r *reading) Tail(ctx context.Context, after map[int]int64, limit int, wait time.Duration) ([]store.OutboxEntry, error) {
	entries, err := r.Store.Tail(ctx, after, limit, wait)
	for i := range entries {
		if entries[i].Entry != (store.Key{}) {
			entries[i].Payload = Strip(entries[i].Payload)
		}
	}
	return entries, err
}
