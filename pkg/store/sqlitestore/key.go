package sqlitestore

import (
	"fmt"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// separator stands between the parts of a stored key. Namespaces and kinds may
// not contain it; it sorts before all printable text.
const separator = "\x1f"

// encodeKey returns how a key is stored: ids of one namespace and kind are next to each
// other, in the order of their bytes.
func encodeKey(key store.Key) string { return scope(key.Namespace, key.Kind) + key.ID }

// scope returns the prefix of all keys of a namespace and kind.
func scope(namespace, kind string) string {
	return namespace + separator + kind + separator
}

// scopeEnd returns the first key after all those of a scope.
func scopeEnd(scope string) string {
	return scope[:len(scope)-1] + "\x20"
}

// decodeKey returns the inverse of encodeKey.
func decodeKey(encoded string) store.Key {
	namespace, rest, _ := strings.Cut(encoded, separator)
	kind, id, _ := strings.Cut(rest, separator)
	return store.Key{Namespace: namespace, Kind: kind, ID: id}
}

// validate returns the problem with a key.
func validate(key store.Key) error {
	switch {
	case len(key.ID) > store.MaxIDBytes:
		return fmt.Errorf("sqlitestore: an id of %d bytes: %d is the most", len(key.ID), store.MaxIDBytes)
	case len(key.Namespace) > store.MaxIDBytes || len(key.Kind) > store.MaxIDBytes:
		return fmt.Errorf("sqlitestore: a namespace or kind of more than %d bytes", store.MaxIDBytes)
	case strings.Contains(key.Namespace, separator) || strings.Contains(key.Kind, separator):
		return fmt.Errorf("sqlitestore: namespace %q or kind %q contains the control character %q", key.Namespace, key.Kind, separator)
	}
	return nil
}

// micros returns how a time is stored: microseconds since 1970.
func micros(t time.Time) int64 { return t.UnixMicro() }

// fromMicros returns the inverse of micros.
func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }
