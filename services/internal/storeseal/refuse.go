package storeseal

import (
	"errors"
	"fmt"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// RefusedError refuses a record that another program has written.
type RefusedError struct {
	Key store.Key
	Why string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("store: %s of %s is refused: %s", e.Key.Kind, e.Key.ID, e.Why)
}

func init() { fault.Translate(faultOf) }

func faultOf(err error) *fault.Error {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		return nil
	}
	return fault.New(fault.Unavailable, "the record %s %s is refused: %s; restore the store from a backup (docs/security.md)",
		refused.Key.Kind, refused.Key.ID, refused.Why).Meta("code", "RECORD_REFUSED").Wrap(err)
}

// mostRefused bounds how many records are named.
const mostRefused = 100

// refuse notes a record that is refused, and logs it once.
func (s *Store) refuse(key store.Key, why string) error {
	err := &RefusedError{key, why}
	s.refusedMu.Lock()
	defer s.refusedMu.Unlock()
	id := key.String()
	if _, known := s.refused[id]; !known && len(s.order) < mostRefused {
		s.order = append(s.order, id)
		s.cfg.Log.Error("a record is refused, because another program has written to the store", "kind", key.Kind, "id", key.ID, "namespace", key.Namespace, "cause", why)
	}
	s.refused[id] = why
	return err
}

// Refused names the records that were refused since the start; nil for none.
func (s *Store) Refused() error {
	s.refusedMu.Lock()
	defer s.refusedMu.Unlock()
	if len(s.order) == 0 {
		return nil
	}
	return fmt.Errorf("%d records were refused since the start, because another program has written to the store; the first is %s: %s", len(s.order), s.order[0], s.refused[s.order[0]])
}
