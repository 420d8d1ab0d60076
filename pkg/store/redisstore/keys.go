package redisstore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/store"
)

// Every key of shard 17 begins with "il:{17}:". Then follows its kind of content, and the namespace, kind and id it belongs
// to, separated by slashes:
//
//	r:ns/kind/id        hash    record: v version, d data, t updated, l labels, x last version of a deleted one
//	h:ns/kind/id        list    history, by version: version-time bytes
//	i:ns/kind           zset    ids of all records
//	i:ns/kind/name=val  zset    ids of the records with this label
//	c:ns/kind/id        hash    counters: p<name> plain value, w<name> key of the windowed one
//	w:ns/kind/id/name   list    windowed counter: time, units and running total of each admission
//	k:ns/kind/id/name   string  idempotency key: expiry, digest, answer, or after an r the version and ns/kind/id of the history entry, or its kind alone
//	l:ns/kind/id        hash    lease: t token, h holder, e expiry
//	o                   stream  outbox, the sequence number is the id's second part: i id, s subject, e era,
//	                            p payload, or h ns/kind/id and n version of the history entry that it is; t its trace
//	t:kind              zset    due times of timers, by the kind of their key
//	T                   hash    contents of timers
//
// The hash il:{store} is the record of the store, see format.go, and il:{store}:e is its era, see era.lua.
// il:{store}:d and il:{store}:f are the marks of a backup under way, see copy.lua.
//
// Times are microseconds since 1970.
const (
	recordKeys      = "r:"
	historyKeys     = "h:"
	indexKeys       = "i:"
	counterKeys     = "c:"
	windowKeys      = "w:"
	idempotencyKeys = "k:"
	leaseKeys       = "l:"
	outboxKey       = "o"
	timerKeys       = "t:"
	timerValuesKey  = "T"
	eraKey          = "e"
)

// shardPrefixes returns the prefixes of the keys of each shard.
func shardPrefixes(prefix string, shards int) []string {
	prefixes := make([]string, shards)
	for shard := range prefixes {
		prefixes[shard] = prefix + ":{" + strconv.Itoa(shard) + "}:"
	}
	return prefixes
}

// check refuses keys that cannot be stored.
func check(key store.Key) error {
	switch {
	case key.ID == "":
		return fmt.Errorf("redisstore: the key %s has no id", key)
	case len(key.ID) > store.MaxIDBytes:
		return fmt.Errorf("redisstore: the id of a %s has %d bytes, more than %d", key.Kind, len(key.ID), store.MaxIDBytes)
	}
	return nil
}

// key returns the name in Redis of a store's key, for a kind of content.
func (s *Store) key(kind string, key store.Key) string {
	name := make([]byte, 0, 96)
	name = append(name, s.prefixes[key.Shard(s.shards)]...)
	name = append(name, kind...)
	return string(appendKey(name, key))
}

func appendKey(to []byte, key store.Key) []byte {
	to = appendEscaped(to, key.Namespace)
	to = append(to, '/')
	to = appendEscaped(to, key.Kind)
	to = append(to, '/')
	return appendEscaped(to, key.ID)
}

// special are the bytes that separate the parts of a name, and the one that
// escapes them. A table, because every key of every commit is looked at.
var special = [256]bool{'/': true, '=': true, '%': true, '\n': true}

// appendEscaped writes a part of a name so that it has no separators.
func appendEscaped(to []byte, part string) []byte {
	const digits = "0123456789abcdef"
	plain := 0
	for i := range len(part) {
		if c := part[i]; special[c] {
			to = append(append(to, part[plain:i]...), '%', digits[c>>4], digits[c&15])
			plain = i + 1
		}
	}
	return append(to, part[plain:]...)
}

// unescape returns the reverse of appendEscaped.
func unescape(part string) (string, error) {
	if strings.IndexByte(part, '%') < 0 {
		return part, nil
	}
	to := make([]byte, 0, len(part))
	for i := 0; i < len(part); i++ {
		if part[i] != '%' {
			to = append(to, part[i])
			continue
		}
		if i+2 >= len(part) {
			return "", fmt.Errorf("redisstore: stored name %q is cut off", part)
		}
		b, err := strconv.ParseUint(part[i+1:i+3], 16, 8)
		if err != nil {
			return "", fmt.Errorf("redisstore: stored name %q: %w", part, err)
		}
		to = append(to, byte(b))
		i += 2
	}
	return string(to), nil
}

// parseKey returns the reverse of appendKey.
func parseKey(name string) (store.Key, error) {
	id, err := parseMember(name + "/")
	return id.Key, err
}

// parseMember returns the reverse of a timer's name in the timers of its shard.
func parseMember(member string) (store.TimerID, error) {
	parts := strings.Split(member, "/")
	if len(parts) != 4 {
		return store.TimerID{}, fmt.Errorf("redisstore: stored timer %q has no name", member)
	}
	for i := range parts {
		var err error
		if parts[i], err = unescape(parts[i]); err != nil {
			return store.TimerID{}, err
		}
	}
	return store.TimerID{Key: store.Key{Namespace: parts[0], Kind: parts[1], ID: parts[2]}, Name: parts[3]}, nil
}

// parseLabels reads labels as appendLabels of the encoder wrote them.
func parseLabels(stored string) (map[string]string, error) {
	if stored == "" {
		return nil, nil
	}
	labels := make(map[string]string)
	for line := range strings.SplitSeq(stored, "\n") {
		name, value, found := strings.Cut(line, "=")
		if !found {
			return nil, fmt.Errorf("redisstore: stored label %q has no value", line)
		}
		name, err := unescape(name)
		if err != nil {
			return nil, err
		}
		if labels[name], err = unescape(value); err != nil {
			return nil, err
		}
	}
	return labels, nil
}
