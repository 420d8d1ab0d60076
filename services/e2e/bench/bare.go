package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/store"
)

// backend is the least that makes a check, a transition or a patch durable: as many keys
// read and bytes written as the services do, and no decision.
type backend interface {
	check(ctx context.Context, run string) error
	transition(ctx context.Context, run string) error
	patch(ctx context.Context, state string) error
}

// bare serves the contracts over a backend; without one it is an echo.
type bare struct {
	policyv1.UnimplementedPolicyEnforcerServiceServer
	enginev1.UnimplementedRunServiceServer
	statev1.UnimplementedStateServiceServer
	backend backend
	checked policyv1.CheckToolCallResponse
	moved   enginev1.TransitionRunResponse
	patched statev1.UpdateStateResponse
}

func newBare(s *sample, b backend) (*bare, error) {
	out := &bare{backend: b}
	return out, errors.Join(proto.Unmarshal(s.CheckAnswer, &out.checked),
		proto.Unmarshal(s.TransitionAnswer, &out.moved), proto.Unmarshal(s.PatchAnswer, &out.patched))
}

// CheckToolCall commits and answers like a check.
func (b *bare) CheckToolCall(
	ctx context.Context, req *policyv1.CheckToolCallRequest,
) (*policyv1.CheckToolCallResponse, error) {
	if b.backend != nil {
		if err := b.backend.check(ctx, req.GetRunId()); err != nil {
			return nil, err
		}
	}
	return &b.checked, nil
}

// UpdateState commits and answers like a patch.
func (b *bare) UpdateState(
	ctx context.Context, req *statev1.UpdateStateRequest,
) (*statev1.UpdateStateResponse, error) {
	if err := b.backend.patch(ctx, req.GetSession()); err != nil {
		return nil, err
	}
	return &b.patched, nil
}

// TransitionRun commits and answers like a transition.
func (b *bare) TransitionRun(
	ctx context.Context, req *enginev1.TransitionRunRequest,
) (*enginev1.TransitionRunResponse, error) {
	if err := b.backend.transition(ctx, req.GetRunId()); err != nil {
		return nil, err
	}
	return &b.moved, nil
}

// evalsha is one EVALSHA for each call, through a pool with a connection for
// each caller.
type evalsha struct {
	client *redis.Client
	sample *sample
	logged bool // checks write the log of decisions too
	next   atomic.Int64
}

var (
	checkScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) then return -1 end
if (redis.call('HGET', KEYS[2], 'v') or '0') ~= ARGV[1] then return -2 end
local value = redis.call('HINCRBY', KEYS[3], 'n', 1)
if value > tonumber(ARGV[2]) then return -3 end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
redis.call('XADD', KEYS[4], '*', 'i', ARGV[5], 's', ARGV[6], 'p', ARGV[7])
return value`)
	// The answer to repeats and the event name the entry in the log, as those of the services.
	loggedScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) then return -1 end
if (redis.call('HGET', KEYS[2], 'v') or '0') ~= ARGV[1] then return -2 end
local value = redis.call('HINCRBY', KEYS[3], 'n', 1)
if value > tonumber(ARGV[2]) then return -3 end
local version = redis.call('HINCRBY', KEYS[5], 'v', 1)
redis.call('SET', KEYS[1], ARGV[3] .. version .. ' ' .. KEYS[6], 'PX', ARGV[4])
redis.call('RPUSH', KEYS[6], version .. '-' .. ARGV[8] .. ' ' .. ARGV[7])
redis.call('XADD', KEYS[4], '*', 'i', ARGV[5], 's', ARGV[6], 'h', KEYS[6], 'n', version)
return value`)
	transitionScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) then return -1 end
local version = tonumber(redis.call('HGET', KEYS[2], 'v') or 0) + 1
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('HSET', KEYS[2], 'v', version, 'd', ARGV[3], 't', ARGV[7])
redis.call('RPUSH', KEYS[3], version .. '-' .. ARGV[7] .. ' ' .. ARGV[4])
redis.call('DEL', KEYS[4])
redis.call('XADD', KEYS[5], '*', 'i', ARGV[5], 's', ARGV[6], 'p', ARGV[8])
return version`)
	patchScript = redis.NewScript(`
local version = tonumber(redis.call('HGET', KEYS[1], 'v') or 0) + 1
redis.call('HSET', KEYS[1], 'v', version, 'd', ARGV[1], 't', ARGV[5])
redis.call('RPUSH', KEYS[2], version .. '-' .. ARGV[5] .. ' ' .. ARGV[2])
redis.call('XADD', KEYS[3], '*', 'i', ARGV[3], 's', ARGV[4], 'p', ARGV[6])
return version`)
)

// stamp is the time of everything that the bare servers write.
const stamp = 1_700_000_000_000_000

func newEvalsha(ctx context.Context, address string, callers int, s *sample) (*evalsha, error) {
	client := redis.NewClient(&redis.Options{Addr: address, Protocol: 2, DisableIdentity: true, PoolSize: callers})
	for _, script := range []*redis.Script{checkScript, loggedScript, transitionScript, patchScript} {
		if err := script.Load(ctx, client).Err(); err != nil {
			return nil, err
		}
	}
	return &evalsha{client: client, sample: s}, nil
}

// keyNames are those of a record's keys, in the form of redisstore's.
type keyNames struct{ idempotency, record, history, counters, outbox, log, entries string }

func (e *evalsha) names(kind, run string) keyNames {
	server := roleBare
	if e.logged {
		server = roleLogged
	}
	prefix := server + ":{" + strconv.Itoa(store.Shard("default", run, store.DefaultShards)) + "}:"
	name := "default/" + kind + "/" + run
	return keyNames{
		idempotency: prefix + "k:" + name + "/call/call_01kah0000000000000" + fmt.Sprintf("%07d", e.next.Add(1)),
		record:      prefix + "r:" + name, history: prefix + "h:" + name,
		counters: prefix + "c:" + name, outbox: prefix + "o",
		log: prefix + "r:default/decisions/" + run, entries: prefix + "h:default/decisions/" + run,
	}
}

func (e *evalsha) check(ctx context.Context, run string) error {
	k, b := e.names("checked", run), &e.sample.Check
	event := &b.Events[0]
	if !e.logged {
		n, err := checkScript.EvalSha(ctx, e.client, []string{k.idempotency, k.record, k.counters, k.outbox},
			0, 1<<40, b.Idempotency.Digest+string(e.sample.CheckAnswer), b.Idempotency.TTL.Milliseconds(),
			event.ID, event.Subject, b.Appends[0].Entry).Int()
		return answered(n, err)
	}
	keys := []string{k.idempotency, k.record, k.counters, k.outbox, k.log, k.entries}
	n, err := loggedScript.EvalSha(ctx, e.client, keys, 0, 1<<40, b.Idempotency.Digest, b.Idempotency.TTL.Milliseconds(),
		event.ID, event.Subject, b.Appends[0].Entry, stamp).Int()
	return answered(n, err)
}

func (e *evalsha) transition(ctx context.Context, run string) error {
	k, b := e.names("moved", run), &e.sample.Transition
	event, put := &b.Events[0], &b.Puts[0]
	n, err := transitionScript.EvalSha(ctx, e.client, []string{k.idempotency, k.record, k.history, k.counters, k.outbox},
		b.Idempotency.Digest+string(b.Idempotency.Answer), b.Idempotency.TTL.Milliseconds(),
		put.Data, put.History, event.ID, event.Subject, stamp, event.Payload).Int()
	return answered(n, err)
}

func (e *evalsha) patch(ctx context.Context, state string) error {
	k, b := e.names("patched", state), &e.sample.Patch
	event, put := &b.Events[0], &b.Puts[0]
	n, err := patchScript.EvalSha(ctx, e.client, []string{k.record, k.history, k.outbox},
		put.Data, put.History, event.ID, event.Subject, stamp, event.Payload).Int()
	return answered(n, err)
}

func answered(n int, err error) error {
	if err == nil && n < 0 {
		err = fmt.Errorf("the script answered %d", n)
	}
	return err
}

// grouped is one Commit of the store for each call, which shares its transaction
// and fsync with the others that wait.
type grouped struct {
	store  store.Store
	sample *sample
	logged bool // checks write the log of decisions too
	next   atomic.Int64
}

// batch returns a copy of a sample's event and idempotency key for another record.
func (g *grouped) batch(from *store.Batch, kind, id string) (store.Key, store.Batch) {
	key := store.Key{Namespace: "default", Kind: kind, ID: id}
	suffix := "-" + strconv.FormatInt(g.next.Add(1), 10)
	event := from.Events[0]
	event.Key = key
	event.ID += suffix
	b := store.Batch{Events: []store.Event{event}}
	if from.Idempotency != nil {
		idempotency := *from.Idempotency
		idempotency.Owner = key
		idempotency.Name += suffix
		b.Idempotency = &idempotency
	}
	return key, b
}

func (g *grouped) check(ctx context.Context, run string) error {
	key, b := g.batch(&g.sample.Check, "checked", run)
	entry, counter := g.sample.Check.Appends[0], g.sample.Check.Counters[0]
	if g.logged {
		entry.Key.ID = run
		b.Appends = []store.Append{entry}
		b.Events[0].Entry, b.Idempotency.Entry = entry.Key, entry.Key
	} else {
		b.Events[0].Entry, b.Idempotency.Entry = store.Key{}, store.Key{}
		b.Events[0].Payload, b.Idempotency.Answer = entry.Entry, g.sample.CheckAnswer
	}
	counter.Owner = key
	b.Checks = []store.Check{{Key: key, Version: store.Absent}}
	b.Counters = []store.Counter{counter}
	_, err := g.store.Commit(ctx, b)
	return err
}

func (g *grouped) transition(ctx context.Context, run string) error {
	key, b := g.batch(&g.sample.Transition, "moved", run)
	put := g.sample.Transition.Puts[0]
	put.Key, put.Expect = key, store.AnyVersion
	b.Puts, b.Reset = []store.Put{put}, []store.Key{key}
	_, err := g.store.Commit(ctx, b)
	return err
}

func (g *grouped) patch(ctx context.Context, state string) error {
	key, b := g.batch(&g.sample.Patch, "patched", state)
	put := g.sample.Patch.Puts[0]
	put.Key, put.Expect = key, store.AnyVersion
	b.Puts = []store.Put{put}
	_, err := g.store.Commit(ctx, b)
	return err
}

// written returns how many bytes of content a batch has: the size that one put of etcd must have to
// keep as much.
func written(b *store.Batch) int {
	size := 0
	for _, put := range b.Puts {
		size += len(put.Data) + len(put.History)
	}
	for _, entry := range b.Appends {
		size += len(entry.Entry)
	}
	for i := range b.Events {
		size += len(b.Events[i].Payload)
	}
	if b.Idempotency != nil {
		size += len(b.Idempotency.Digest) + len(b.Idempotency.Answer)
	}
	return size
}
