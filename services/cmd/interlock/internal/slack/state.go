package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// pair is the message that shows an approval.
type pair struct {
	Channel string `json:"channel"`
	// Stamp is the message's id; empty while it is being posted, since Begun.
	Stamp string    `json:"ts,omitempty"`
	Begun time.Time `json:"begun,omitzero"`
	// Digest is that of the action that it shows, and Face how it looks.
	Digest string `json:"digest,omitempty"`
	Face   string `json:"face,omitempty"`
	// Final says that the approval does not wait any more, and Changed when the message was changed last.
	Final   bool      `json:"final,omitempty"`
	Changed time.Time `json:"changed"`
}

// kept is how long a message of a decided approval is known: its next change may be that it was used.
const kept = 7 * 24 * time.Hour

// state is the file of pairs. One process has it at a time.
type state struct {
	file string
	lock *os.File

	mu    sync.Mutex
	pairs map[string]pair
}

func openState(file string) (*state, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	lock, err := lockFile(file + ".lock")
	if err != nil {
		return nil, fmt.Errorf("%s is in use: two relays would post everything twice; stop the other, or give each its own --state: %w", file, err)
	}
	s := &state{file: file, lock: lock, pairs: map[string]pair{}}
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err == nil:
		err = json.Unmarshal(text, &s.pairs)
	}
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("%s cannot be read: %w; without it messages are posted again: move it away to begin anew", file, err)
	}
	return s, nil
}

func (s *state) close() error { return s.lock.Close() }

func (s *state) get(id string) (pair, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.pairs[id]
	return p, ok
}

// put keeps a pair. It is durable when it returns.
func (s *state) put(id string, p pair) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.pairs)
	next[id] = p
	return s.write(next)
}

func (s *state) drop(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.pairs[id]; !ok {
		return nil
	}
	next := maps.Clone(s.pairs)
	delete(next, id)
	return s.write(next)
}

// open returns the approvals whose messages may have to change.
func (s *state) open() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id, p := range s.pairs {
		if !p.Final {
			ids = append(ids, id)
		}
	}
	return slices.Sorted(slices.Values(ids))
}

// prune forgets messages that have not changed for long.
func (s *state) prune(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.pairs)
	maps.DeleteFunc(next, func(_ string, p pair) bool { return p.Final && now.Sub(p.Changed) > kept })
	if len(next) < len(s.pairs) {
		_ = s.write(next) // it is tried again
	}
}

// write replaces the file, or leaves it as it is.
func (s *state) write(next map[string]pair) error {
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	made, err := os.CreateTemp(filepath.Dir(s.file), filepath.Base(s.file)+".*")
	if err != nil {
		return err
	}
	_, err = made.Write(text)
	err = errors.Join(err, made.Sync(), made.Close())
	if err == nil {
		err = os.Rename(made.Name(), s.file)
	}
	if err != nil {
		_ = os.Remove(made.Name())
		return err
	}
	s.pairs = next
	return nil
}
