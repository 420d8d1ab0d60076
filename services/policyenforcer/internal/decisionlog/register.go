package decisionlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/store"
)

// kindRegister is the kind of registers, whose history lists the partitions of a shard and namespace. A
// partition is added with its first seal, so that the removal of a whole partition is detected.
const kindRegister = "audit_register"

// registerKey returns the key of the register of a partition's shard. Its id is the first number in that
// shard.
func (l *Log) registerKey(decisions store.Key) store.Key {
	shard := decisions.Shard(l.store.Shards())
	for i := 0; ; i++ {
		key := store.Key{Namespace: decisions.Namespace, Kind: kindRegister, ID: strconv.Itoa(i)}
		if key.Shard(l.store.Shards()) == shard {
			return key
		}
	}
}

// registration returns the put that registers a partition, for the commit of its first seal.
func (l *Log) registration(decisions store.Key) store.Put {
	return store.Put{Key: l.registerKey(decisions), Expect: store.AnyVersion, Data: []byte("{}"), History: []byte(decisions.ID)}
}

// register is the content of a register.
type register struct {
	partitions []string
	times      map[string]int // that each was registered
	missing    int64          // the first entry that is; 0 for none
}

func (l *Log) readRegister(ctx context.Context, key store.Key) (*register, error) {
	r := &register{times: map[string]int{}}
	record, err := l.store.Get(ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	at := int64(0)
	for {
		entries, err := l.store.History(ctx, key, at, sealPage)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if at++; entry.Version != at && r.missing == 0 {
				r.missing = at
			}
			at = entry.Version
			id := string(entry.Data)
			if r.times[id]++; r.times[id] == 1 {
				r.partitions = append(r.partitions, id)
			}
		}
		if len(entries) < sealPage {
			break
		}
	}
	if at < record.Version && r.missing == 0 {
		r.missing = at + 1
	}
	return r, nil
}

// problem returns the contradiction between a register and a partition, or "".
func (l *Log) problem(ctx context.Context, r *register, decisions store.Key) (string, error) {
	if r.times[decisions.ID] > 1 {
		return "its seals were removed and created again: the register has it more than once", nil
	}
	if r.times[decisions.ID] == 0 {
		return "", nil
	}
	_, err := l.store.Get(ctx, sealKey(decisions.Namespace, decisions.ID))
	if errors.Is(err, store.ErrNotFound) {
		return "its seals are missing: the register says that it has some", nil
	}
	return "", err
}

// registersAfter is the prefix of page tokens of registers, which follow all partitions. No run has such an
// id.
const registersAfter = " register/"

// verifyRegister verifies the next register of a namespace. It reports problems only.
func (l *Log) verifyRegister(ctx context.Context, namespace, after string) (reports []*Report, next string, err error) {
	page, err := l.store.List(ctx, store.Query{
		Namespace: namespace, Kind: kindRegister, After: strings.TrimPrefix(after, registersAfter), Limit: 1,
	})
	if err != nil || len(page.Records) == 0 {
		return nil, "", err
	}
	key := page.Records[0].Key
	r, err := l.readRegister(ctx, key)
	if err != nil {
		return nil, "", err
	}
	if r.missing > 0 {
		reports = append(reports, &Report{
			Partition: "register " + key.ID, Sequence: r.missing, Problem: fmt.Sprintf("entry %d of the register of partitions is missing", r.missing),
		})
	}
	for _, id := range r.partitions {
		problem, err := l.problem(ctx, r, PartitionKey(namespace, id))
		if err != nil {
			return nil, "", err
		}
		if problem != "" {
			reports = append(reports, &Report{Partition: id, Problem: problem})
		}
	}
	if page.Next != "" {
		next = registersAfter + key.ID
	}
	return reports, next, nil
}

// verifyRegistered adds the problems of the register to the report of a partition, which may be nil.
func (l *Log) verifyRegistered(ctx context.Context, decisions store.Key, report *Report) (*Report, error) {
	if report != nil && !report.OK() {
		return report, nil
	}
	r, err := l.readRegister(ctx, l.registerKey(decisions))
	if err != nil {
		return nil, err
	}
	problem, err := l.problem(ctx, r, decisions)
	if err != nil || problem == "" {
		return report, err
	}
	if report == nil {
		report = &Report{Partition: decisions.ID}
	}
	report.Problem = problem
	return report, nil
}
