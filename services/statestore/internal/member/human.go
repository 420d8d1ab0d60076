package member

import (
	"encoding/json"

	"github.com/interlock-run/interlock/services/internal/ledger"
)

// OnBehalfOf returns on whose behalf the session works; nil where that is not known.
func (m *Member) OnBehalfOf() *ledger.Human {
	if m == nil || m.Session == nil || len(m.Human) == 0 {
		return nil
	}
	h := &ledger.Human{}
	if json.Unmarshal(m.Human, h) != nil { // it was not written by this
		return nil
	}
	return h
}
