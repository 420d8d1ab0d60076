package ports

import (
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// KindState is also the entity of events about states.
const KindState = ledger.KindState

// StateKey returns the key of a state.
func StateKey(namespace, id string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindState, ID: id}
}
