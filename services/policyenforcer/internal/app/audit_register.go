package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/store"
)

// kindRegister is a record whose history are the partitions of the log, each from its
// first seal on: so one that was removed as a whole, or only its seals, is missed. A
// namespace has a register in each shard, for those that live there.
const kindRegister = "audit_register"

// registerKey is the register of a partition's shard, whose id is the first number
// that lies there.
func (a *App) registerKey(decisions store.Key) store.Key {
	shard := decisions.Shard(a.store.Shards())
	for i := 0; ; i++ {
		key := store.Key{Namespace: decisions.Namespace, Kind: kindRegister, ID: strconv.Itoa(i)}
		if key.Shard(a.store.Shards()) == shard {
			return key
		}
	}
}

// registration registers a partition. It is part of the commit of its first seal, of
// which there is one.
func (a *App) registration(decisions store.Key) store.Put {
	return store.Put{Key: a.registerKey(decisions), Expect: store.AnyVersion, Data: []byte("{}"), History: []byte(decisions.ID)}
}

// register is what a register says.
type register struct {
	partitions []string
	times      map[string]int // that each was registered
	missing    int64          // the first entry that is; 0 for none
}

func (a *App) readRegister(ctx context.Context, key store.Key) (*register, error) {
	r := &register{times: map[string]int{}}
	record, err := a.store.Get(ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	at := int64(0)
	for {
		entries, err := a.store.History(ctx, key, at, sealPage)
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

// problem is what a register finds wrong with a partition; empty for nothing.
func (a *App) problem(ctx context.Context, r *register, decisions store.Key) (string, error) {
	if r.times[decisions.ID] > 1 {
		return "its seals were removed and created again: the register has it more than once", nil
	}
	if r.times[decisions.ID] == 0 {
		return "", nil
	}
	_, err := a.store.Get(ctx, sealKey(decisions.Namespace, decisions.ID))
	if errors.Is(err, store.ErrNotFound) {
		return "its seals are missing: the register says that it has some", nil
	}
	return "", err
}

// registersAfter begins the page tokens of the registers, which follow all partitions;
// no run has such an id.
const registersAfter = " register/"

// verifyRegister verifies the next register of a namespace. It reports what is wrong
// and nothing else.
func (a *App) verifyRegister(ctx context.Context, namespace, after string) (reports []*ChainReport, next string, err error) {
	page, err := a.store.List(ctx, store.Query{
		Namespace: namespace, Kind: kindRegister, After: strings.TrimPrefix(after, registersAfter), Limit: 1,
	})
	if err != nil || len(page.Records) == 0 {
		return nil, "", err
	}
	key := page.Records[0].Key
	r, err := a.readRegister(ctx, key)
	if err != nil {
		return nil, "", err
	}
	if r.missing > 0 {
		reports = append(reports, &ChainReport{
			Partition: "register " + key.ID, Sequence: r.missing, Problem: fmt.Sprintf("entry %d of the register of partitions is missing", r.missing),
		})
	}
	for _, id := range r.partitions {
		problem, err := a.problem(ctx, r, decisionsKey(namespace, id))
		if err != nil {
			return nil, "", err
		}
		if problem != "" {
			reports = append(reports, &ChainReport{Partition: id, Problem: problem})
		}
	}
	if page.Next != "" {
		next = registersAfter + key.ID
	}
	return reports, next, nil
}

// verifyRegistered adds to the report on a partition what its register says; nil when
// nothing is known of it at all.
func (a *App) verifyRegistered(ctx context.Context, decisions store.Key, report *ChainReport) (*ChainReport, error) {
	if report != nil && !report.OK() {
		return report, nil
	}
	r, err := a.readRegister(ctx, a.registerKey(decisions))
	if err != nil {
		return nil, err
	}
	problem, err := a.problem(ctx, r, decisions)
	if err != nil || problem == "" {
		return report, err
	}
	if report == nil {
		report = &ChainReport{Partition: decisions.ID}
	}
	report.Problem = problem
	return report, nil
}
