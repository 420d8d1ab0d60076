package sqlitestore

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// errLabels means that stored labels make no sense.
var errLabels = errors.New("stored labels are damaged: restore the file from a backup")

// encodeLabels returns how labels are stored in a record: names and values by turns, each
// behind its length, by ascending name. No labels are "".
func encodeLabels(labels map[string]string) string {
	if len(labels) == 0 {
		return ""
	}
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		for _, text := range []string{name, labels[name]} {
			b = binary.AppendUvarint(b, uint64(len(text)))
			b = append(b, text...)
		}
	}
	return string(b)
}

// decodeLabels returns the inverse of encodeLabels.
func decodeLabels(encoded string) (map[string]string, error) {
	if encoded == "" {
		return nil, nil
	}
	labels := map[string]string{}
	rest := []byte(encoded)
	next := func() (string, bool) {
		n, used := binary.Uvarint(rest)
		if used <= 0 || n > uint64(len(rest)-used) {
			return "", false
		}
		text := string(rest[used : used+int(n)])
		rest = rest[used+int(n):]
		return text, true
	}
	for len(rest) > 0 {
		name, ok := next()
		if !ok {
			return nil, errLabels
		}
		value, ok := next()
		if !ok {
			return nil, errLabels
		}
		labels[name] = value
	}
	return labels, nil
}
