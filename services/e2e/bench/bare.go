package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/store"
)

// backend is the least that makes a check or a transition durable: as many keys
// read and bytes written as the services do, and neither a decision nor a log of it.
type backend interface {
	check(ctx context.Context, run string) error
	transition(ctx context.Context, run string) error
}

// bare serves the contracts over a backend; without one it is an echo.
type bare struct {
	policyv1.UnimplementedPolicyEnforcerServiceServer
	enginev1.UnimplementedRunServiceServer
	backend backend
	checked policyv1.CheckToolCallResponse
	moved   enginev1.TransitionRunResponse
}

func newBare(s *sample, b backend) (*bare, error) {
	out := &bare{backend: b}
	if err := proto.Unmarshal(s.CheckAnswer, &out.checked); err != nil {
		return nil, err
	}
	return out, proto.Unmarshal(s.TransitionAnswer, &out.moved)
}

// CheckToolCall commits and answers what a check does.
func (b *bare) CheckToolCall(ctx context.Context, req *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
	if b.backend != nil {
		if err := b.backend.check(ctx, req.GetRunId()); err != nil {
			return nil, err
		}
	}
	return &b.checked, nil
}

// Transition commits and answers what a transition does.
func (b *bare) TransitionRun(ctx context.Context, req *enginev1.TransitionRunRequest) (*enginev1.TransitionRunResponse, error) {
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
	next   atomic.Int64
}

var (
	checkScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) then return -1 end
if (redis.call('HGET', KEYS[2], 'v') or '0') ~= ARGV[1] then return -2 end
local value = tonumber(redis.call('HGET', KEYS[3], 'n') or 0)
if value >= tonumber(ARGV[2]) then return -3 end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
redis.call('HINCRBY', KEYS[3], 'n', 1)
redis.call('XADD', KEYS[4], '*', 'i', ARGV[5], 's', ARGV[6], 'p', ARGV[7])
return value + 1`)
	transitionScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) then return -1 end
local version = tonumber(redis.call('HGET', KEYS[2], 'v') or 0) + 1
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('HSET', KEYS[2], 'v', version, 'd', ARGV[3], 't', ARGV[7])
redis.call('XADD', KEYS[3], version .. '-0', 't', ARGV[7], 'd', ARGV[4])
redis.call('DEL', KEYS[4])
redis.call('XADD', KEYS[5], '*', 'i', ARGV[5], 's', ARGV[6], 'p', ARGV[8])
return version`)
)

func newEvalsha(ctx context.Context, address string, callers int, s *sample) (*evalsha, error) {
	client := redis.NewClient(&redis.Options{Addr: address, Protocol: 2, DisableIdentity: true, PoolSize: callers})
	for _, script := range []*redis.Script{checkScript, transitionScript} {
		if err := script.Load(ctx, client).Err(); err != nil {
			return nil, err
		}
	}
	return &evalsha{client: client, sample: s}, nil
}

// names are those of a run's keys, in the form of redisstore's.
func (e *evalsha) names(kind, run string) (idempotency, record, history, counters, outbox string) {
	prefix := "bare:{" + strconv.Itoa(store.Shard("default", run, store.DefaultShards)) + "}:"
	name := "default/" + kind + "/" + run
	idempotency = prefix + "k:" + name + "/call/call_01kah0000000000000" + fmt.Sprintf("%07d", e.next.Add(1))
	return idempotency, prefix + "r:" + name, prefix + "h:" + name, prefix + "c:" + name, prefix + "o"
}

func (e *evalsha) check(ctx context.Context, run string) error {
	idempotency, record, _, counters, outbox := e.names("checked", run)
	b := &e.sample.Check
	event := &b.Events[0]
	n, err := checkScript.EvalSha(ctx, e.client, []string{idempotency, record, counters, outbox},
		0, 1<<40, b.Idempotency.Digest+string(b.Idempotency.Answer), b.Idempotency.TTL.Milliseconds(),
		event.ID, event.Subject, event.Payload).Int()
	return answered(n, err)
}

func (e *evalsha) transition(ctx context.Context, run string) error {
	idempotency, record, history, counters, outbox := e.names("moved", run)
	b := &e.sample.Transition
	event, put := &b.Events[0], &b.Puts[0]
	n, err := transitionScript.EvalSha(ctx, e.client, []string{idempotency, record, history, counters, outbox},
		b.Idempotency.Digest+string(b.Idempotency.Answer), b.Idempotency.TTL.Milliseconds(),
		put.Data, put.History, event.ID, event.Subject, 1_700_000_000_000_000, event.Payload).Int()
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
	next   atomic.Int64
}

// batch is a copy of a sample for another run.
func (g *grouped) batch(from *store.Batch, kind, run string) store.Batch {
	key := store.Key{Namespace: "default", Kind: kind, ID: run}
	suffix := "-" + strconv.FormatInt(g.next.Add(1), 10)
	idempotency, event := *from.Idempotency, from.Events[0]
	idempotency.Owner, event.Key = key, key
	idempotency.Name += suffix
	event.ID += suffix
	return store.Batch{Idempotency: &idempotency, Events: []store.Event{event}}
}

func (g *grouped) check(ctx context.Context, run string) error {
	b := g.batch(&g.sample.Check, "checked", run)
	counter := g.sample.Check.Counters[0]
	counter.Owner = b.Idempotency.Owner
	b.Checks = []store.Check{{Key: counter.Owner, Version: store.Absent}}
	b.Counters = []store.Counter{counter}
	_, err := g.store.Commit(ctx, b)
	return err
}

func (g *grouped) transition(ctx context.Context, run string) error {
	b := g.batch(&g.sample.Transition, "moved", run)
	put := g.sample.Transition.Puts[0]
	put.Key, put.Expect = b.Idempotency.Owner, store.AnyVersion
	b.Puts, b.Reset = []store.Put{put}, []store.Key{put.Key}
	_, err := g.store.Commit(ctx, b)
	return err
}
