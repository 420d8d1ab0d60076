package redisstore

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
)

// parse reads the name of a key.
func (x *export) parse(name string) (kind, rest string, ours bool) {
	rest, ours = strings.CutPrefix(name, x.config.Prefix+":{")
	if !ours {
		return "", "", false
	}
	text, rest, _ := strings.Cut(rest, "}:")
	shard, err := strconv.Atoi(text)
	if err != nil || shard < 0 || shard >= x.shards {
		return "", "", false
	}
	return strings.Cut(rest, ":")
}

// put writes the results of the scripts for a key. next is the version from which on a
// history has more. again is true for a key that has changed since it was read first.
func (x *export) put(reply any, again bool) (next int64, err error) {
	answer, _ := reply.([]any)
	if len(answer) < 2 {
		return 0, fmt.Errorf("the script answered %v", reply)
	}
	kind, _ := answer[0].(string)
	name, _ := answer[1].(string)
	var item backup.Item
	switch kind {
	case "h":
		item, next, err = x.history(name, answer[2:], again)
	case "r":
		item, err = x.record(name, answer[2:])
	case "c":
		item, err = x.counters(name, answer[2:])
	case "k":
		item, err = x.answer(name, answer[2:])
	case "T":
		item, err = x.timer(name, answer[2:])
	default:
		err = errors.New("it is of no known kind")
	}
	if err != nil {
		return 0, fmt.Errorf("key %q: %w", name, err)
	}
	if item == nil {
		return next, nil
	}
	return next, x.w.Put(item)
}

// key returns the key in a name.
func (x *export) key(name string) (store.Key, error) {
	_, rest, ours := x.parse(name)
	if !ours {
		return store.Key{}, errors.New("it is not of this store")
	}
	return parseKey(rest)
}

func (x *export) record(name string, answer []any) (backup.Item, error) {
	key, err := x.key(name)
	if err != nil {
		return nil, err
	}
	fields, _ := answer[0].([]any)
	if len(fields) != 5 {
		return nil, fmt.Errorf("the script answered %v", answer)
	}
	found, is, err := parseRecord(key, fields[:4])
	if err != nil {
		return nil, err
	}
	if is {
		return &backup.Record{
			Key: key, Version: found.Version, Data: found.Data, Labels: found.Labels, Updated: found.UpdatedAt,
		}, nil
	}
	ended, _ := fields[4].(string)
	version, err := strconv.ParseInt(ended, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("its last version is %q", ended)
	}
	return &backup.Record{Key: key, Version: version, Deleted: true}, nil
}

func (x *export) history(name string, answer []any, again bool) (backup.Item, int64, error) {
	key, err := x.key(name)
	if err != nil {
		return nil, 0, err
	}
	if len(answer) < 2 {
		return nil, 0, fmt.Errorf("the script answered %v", answer)
	}
	first, _ := answer[0].(string)
	if first == "" && !again {
		return nil, 0, nil // it is gone since, which is marked
	}
	item := &backup.History{Key: key, First: math.MaxInt64} // of none, no entry stays
	if first != "" {
		if item.First, err = strconv.ParseInt(first, 10, 64); err != nil {
			return nil, 0, err
		}
	}
	for _, text := range answer[2:] {
		entry, err := parseHistory(fmt.Sprint(text))
		if err != nil {
			return nil, 0, err
		}
		item.Entries = append(item.Entries, entry)
	}
	more, _ := answer[1].(string)
	if more == "" {
		return item, 0, nil
	}
	next, err := strconv.ParseInt(more, 10, 64)
	return item, next, err
}

func (x *export) counters(name string, answer []any) (backup.Item, error) {
	owner, err := x.key(name)
	if err != nil {
		return nil, err
	}
	item := &backup.Counters{Owner: owner, Plain: map[string]int64{}}
	plain, _ := answer[0].([]any)
	for i := 0; i+1 < len(plain); i += 2 {
		field, _ := plain[i].(string)
		text, _ := plain[i+1].(string)
		if item.Plain[strings.TrimPrefix(field, "p")], err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, err
		}
	}
	for _, reply := range answer[1:] {
		window, err := x.window(reply)
		if err != nil {
			return nil, err
		}
		item.Windows = append(item.Windows, window)
	}
	return item, nil
}

// window reads a windowed counter. How long its units count follows from when the server forgets
// them, see commit.lua.
func (x *export) window(reply any) (w backup.Window, err error) {
	answer, _ := reply.([]any)
	if len(answer) != 3 {
		return w, fmt.Errorf("the script answered %v", reply)
	}
	field, _ := answer[0].(string)
	w.Name = strings.TrimPrefix(field, "w")
	entries, _ := answer[2].([]any)
	for _, text := range entries {
		var at, n, total int64
		if _, err := fmt.Sscan(fmt.Sprint(text), &at, &n, &total); err != nil {
			return w, fmt.Errorf("an entry is %q", text)
		}
		w.Units = append(w.Units, backup.Units{At: time.UnixMicro(at).UTC(), N: n})
	}
	if ttl := number(answer, 1); ttl > 0 && len(w.Units) > 0 {
		until := time.Now().Add(time.Duration(ttl) * time.Millisecond)
		w.Span = max(until.Sub(w.Units[len(w.Units)-1].At)-windowSlack, 0)
	}
	return w, nil
}

// windowSlack is how much longer than its length the server keeps a window.
const windowSlack = time.Minute

// answer reads the answer stored with an idempotency key, see remember in commit.lua.
func (x *export) answer(name string, answer []any) (backup.Item, error) {
	_, rest, _ := x.parse(name)
	id, err := parseMember(rest)
	if err != nil {
		return nil, err
	}
	item := &backup.Answer{Owner: id.Key, Name: id.Name}
	value, there := answer[0].(string)
	if !there {
		return item, nil
	}
	value, entry := strings.CutPrefix(value, "r")
	expires, value, _ := strings.Cut(value, ":")
	if item.Expires, err = parseTime(expires); err != nil {
		return nil, err
	}
	size, value, _ := strings.Cut(value, ":")
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 || n > len(value) {
		return nil, fmt.Errorf("its digest has the length %q", size)
	}
	item.Digest, value = value[:n], value[n:]
	if !entry {
		item.Answer = []byte(value)
		return item, nil
	}
	version, record, _ := strings.Cut(value, " ")
	if item.Version, err = strconv.ParseInt(version, 10, 64); err != nil {
		return nil, err
	}
	if strings.Contains(record, "/") {
		item.Entry, err = parseKey(record)
		return item, err
	}
	item.Entry = id.Key
	item.Entry.Kind, err = unescape(record)
	return item, err
}

func (x *export) timer(name string, answer []any) (backup.Item, error) {
	_, member, _ := strings.Cut(name, "\n")
	value, there := answer[0].(string)
	if there {
		timer, err := parseTimer(member, value)
		return &backup.Timer{Timer: timer}, err
	}
	id, err := parseMember(member)
	return &backup.Timer{Timer: store.Timer{TimerID: id}, Cleared: true}, err
}
