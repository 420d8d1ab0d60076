// Package sessionend lets the state-store notify the engine that a session has ended, or works
// again: a record next to the session's, with a timer that is due at once, in the commit that
// says so (S11.1). The consequences for runs then depend on the store alone.
package sessionend

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// Kind of the records. There is one for a session, with its last word, until the engine has
// heard that.
const Kind = "session_end"

// timerName is the name of the timer of a word.
const timerName = "tell"

// Word is the last change of a session.
type Word struct {
	// Cause is the id of the event that says the same.
	Cause string `json:"cause"`
	// ID and Name are the names of the session.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Ended is false for a session that works again.
	Ended bool `json:"ended"`
}

// Say adds a word to the batch that changes the session of that record.
func (w Word) Say(batch *store.Batch, of store.Key, now time.Time) error {
	data, err := json.Marshal(w)
	if err != nil {
		return fault.From(fmt.Errorf("encode the end of session %s: %w", w.ID, err))
	}
	key := store.Key{Namespace: of.Namespace, Kind: Kind, ID: of.ID}
	batch.Puts = append(batch.Puts, store.Put{Key: key, Expect: store.AnyVersion, Data: data})
	batch.SetTimers = append(batch.SetTimers, store.Timer{TimerID: timerOf(key), Due: now})
	return nil
}

// Read reads a word.
func Read(record store.Record) (Word, error) {
	var w Word
	if err := json.Unmarshal(record.Data, &w); err != nil {
		return w, fault.From(fmt.Errorf("decode %s: %w", record.Key, err))
	}
	return w, nil
}

// Heard returns the batch that forgets a word. It conflicts when there is a newer one.
func Heard(record store.Record) store.Batch {
	return store.Batch{
		Deletes:     []store.Check{{Key: record.Key, Version: record.Version}},
		ClearTimers: []store.TimerID{timerOf(record.Key)},
	}
}

func timerOf(key store.Key) store.TimerID { return store.TimerID{Key: key, Name: timerName} }
