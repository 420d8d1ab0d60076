package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
)

// vouchedField of the record of a store is set once a mark of the store is kept elsewhere. An
// emptied store lacks it.
const vouchedField = "vouched"

// mark is the known history of the server, as it is kept elsewhere: in a list.
type mark struct {
	Place  string `json:"place"`
	Era    string `json:"era"`
	Writes int64  `json:"writes"`
}

// Mark returns the known history of the store, empty while the store is not used.
func (s *Store) Mark() (string, error) {
	if s.gate.Lost() != nil {
		return "", nil
	}
	marks := []mark{}
	if saw := s.place.now(); saw.id != "" {
		marks = append(marks, mark{Place: s.place.key, Era: saw.id, Writes: saw.seen})
	}
	text, err := json.Marshal(marks)
	return string(text), err
}

// Compare refuses the store from now on when it lacks writes that a mark contains, as if this
// process had seen that.
func (s *Store) Compare(ctx context.Context, text string) error {
	if text == "" || s.gate.Lost() != nil {
		return nil
	}
	var marks []mark
	if err := json.Unmarshal([]byte(text), &marks); err != nil {
		return fmt.Errorf("redisstore: the mark of the store cannot be read: %w", err)
	}
	for _, m := range marks {
		if m.Place != s.place.key {
			continue // of a store with another prefix
		}
		saw := sight{id: m.Era, seen: m.Writes}
		found, err := eras(ctx, s.probe, m.Place, "look", saw, "")
		if err == nil && found.id != saw.id && found.ended < 0 {
			saw.seen = max(saw.seen, 1) // an era of which no write was seen was there all the same
		}
		gone := ""
		if err == nil {
			_, gone, err = s.lookAt(ctx, saw)
		}
		if err != nil {
			return readError(ctx, "compare with the mark", err)
		}
		if gone != "" {
			s.lose(ctx, gone)
			return nil
		}
	}
	return nil
}

// Vouched returns whether a mark of the store is kept elsewhere.
func (s *Store) Vouched(ctx context.Context) (bool, error) {
	err := s.probe.HGet(ctx, storeKey(&s.config), vouchedField).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, readError(ctx, "read the record of the store", err)
	}
	return err == nil, nil
}

// Vouch records that a mark of the store is kept elsewhere.
func (s *Store) Vouch(ctx context.Context) error {
	if err := s.probe.HSet(ctx, storeKey(&s.config), vouchedField, 1).Err(); err != nil {
		return writeError("vouch for the store", err)
	}
	return nil
}

var _ store.Witnessed = (*Store)(nil)
