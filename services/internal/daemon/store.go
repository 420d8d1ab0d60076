package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/health"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/services/internal/metrics"
	"github.com/interlock-run/interlock/services/internal/storeguard"
	"github.com/interlock-run/interlock/services/internal/storequota"
	"github.com/interlock-run/interlock/services/internal/storeseal"
)

// StoreConfig says which store to open.
type StoreConfig struct {
	// URL is "sqlite" for the embedded store at Path, or one of redisstore's
	// URLs.
	URL  string
	Path string
	// AllowLossy opens a Redis that would lose acknowledged writes.
	AllowLossy bool
	SafetyFlags
	StoreLogin
	Logger *slog.Logger
	// Metrics are those of the process; nil for none.
	Metrics *metrics.Set
	// Program is the version of this program.
	Program string
	// Seal gives all data codes with a sealed key; nil for none.
	Seal *storeseal.Config
	// Unchecked reads data with and without codes, for commands that decide nothing.
	Unchecked bool
}

// SafetyFlags configure the handling of a store that may lose acknowledged writes, or is silent.
type SafetyFlags struct {
	OnRollback string `help:"The handling of a store that has gone back in time: refuse all calls until an operator accepts that, or continue." enum:"refuse,continue" default:"refuse" env:"INTERLOCK_ON_ROLLBACK"`
	RedisWait  int    `help:"Replicas of Redis that must have a write before it is acknowledged." default:"0" env:"INTERLOCK_REDIS_WAIT" placeholder:"N"`
	QuotaFlags
	StoreTimeout time.Duration `help:"How long one call of the store may take; 0 for any time." default:"2s" env:"INTERLOCK_STORE_TIMEOUT"`
}

// QuotaFlags bound the data of callers in the store.
type QuotaFlags struct {
	BytesPerPrincipal int64 `help:"Bytes that an agent's principal may store in 24 hours; 0 for any number." default:"4294967296" env:"INTERLOCK_BYTES_PER_PRINCIPAL" placeholder:"BYTES"`
	BytesPerSession   int64 `help:"Bytes that a token which is bound to a session may store in 24 hours; 0 for any number." default:"268435456" env:"INTERLOCK_BYTES_PER_SESSION" placeholder:"BYTES"`
	MinStoreRoom      int64 `help:"Bytes of room of the store (on the disk, or below the maxmemory of Redis) that are reserved for changes that stop agents; 0 for none." default:"67108864" env:"INTERLOCK_MIN_STORE_ROOM" placeholder:"BYTES"`
}

func (f SafetyFlags) goOn() bool { return f.OnRollback == "continue" }

// AcceptRollback lets a store be used that has gone back in time, and returns the losses.
func AcceptRollback(ctx context.Context, cfg StoreConfig) (lost []string, err error) {
	if strings.HasPrefix(cfg.URL, "redis") {
		return redisstore.AcceptRollback(ctx, cfg.redis())
	}
	return sqlitestore.AcceptRollback(ctx, cfg.sqlite())
}

// OpenStore opens the store that a configuration names.
func OpenStore(ctx context.Context, cfg StoreConfig) (store.Store, error) {
	told := cfg.Metrics.Store()
	st, err := openBackend(ctx, cfg, told.Batch)
	if err != nil {
		return nil, err
	}
	if sized, ok := st.(store.Sized); ok {
		cfg.Metrics.Bytes(sized)
	}
	if safe, ok := st.(metrics.Safe); ok {
		cfg.Metrics.Settings(safe)
	}
	timeout := cfg.StoreTimeout
	if timeout > 0 && cfg.RedisWait > 0 {
		timeout += redisstore.WaitTimeout // or a slow replica would look like a silent store
	}
	room, _ := st.(store.Roomy)
	guarded := storeguard.Wrap(st, storeguard.Config{Timeout: timeout, Measure: told.Call})
	switch {
	case cfg.Seal != nil:
		seal := *cfg.Seal
		seal.Exclusive = cfg.embedded()
		guarded = storeseal.Wrap(guarded, seal)
	case cfg.Unchecked:
		guarded = storeseal.Reading(guarded)
	}
	return storequota.Wrap(guarded, storequota.Config{
		Principal: cfg.BytesPerPrincipal, Session: cfg.BytesPerSession, Least: cfg.MinStoreRoom, Room: room, Log: cmp.Or(cfg.Logger, slog.Default()),
	}), nil
}

// SealOf returns the seal of a store; nil without one.
func SealOf(st store.Store) *storeseal.Store {
	for {
		switch s := st.(type) {
		case *storeseal.Store:
			return s
		case interface{ Unwrap() store.Store }:
			st = s.Unwrap()
		default:
			return nil
		}
	}
}

// Pauses of a service that waits for its store.
const (
	retryStore = time.Second
	sayStore   = time.Minute
)

// awaitStore opens a store as soon as it can be reached: services may start in any order.
func awaitStore(ctx context.Context, cfg StoreConfig) (store.Store, error) {
	var said time.Time
	retry := time.NewTicker(retryStore)
	defer retry.Stop()
	for {
		st, err := OpenStore(ctx, cfg)
		if !errors.Is(err, store.ErrUnavailable) {
			return st, err
		}
		if time.Since(said) >= sayStore {
			cfg.Logger.Warn("waiting for the store", "error", err)
			said = time.Now()
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// StoreChecks returns those of a store: that it answers, and that there is room in it. With little
// room a process still takes changes that stop agents, so it is ready.
func StoreChecks(st store.Store) health.Checks {
	return health.Checks{
		{Name: "store", Probe: st.Ping},
		{Name: "store-room", Optional: true, Probe: func(ctx context.Context) error { return storequota.HasRoom(ctx, st) }},
	}
}

// Witnessed returns the store of which a mark is kept elsewhere, or nil: an SQLite file has its
// mark next to it.
func Witnessed(st store.Store) store.Witnessed {
	for {
		if witnessed, ok := st.(store.Witnessed); ok {
			return witnessed
		}
		wrapped, ok := st.(interface{ Unwrap() store.Store })
		if !ok {
			return nil
		}
		st = wrapped.Unwrap()
	}
}

// Attest compares a store with the mark that the stream keeps of it. It waits for NATS only where
// the store is new, or emptied: only the stream knows which.
func Attest(ctx context.Context, endpoint bus.Endpoint, stream bus.Stream, st store.Witnessed, log *slog.Logger) error {
	if st == nil {
		return nil
	}
	var said time.Time
	retry := time.NewTicker(retryStore)
	defer retry.Stop()
	for {
		err := endpoint.Attest(ctx, stream, st)
		if err == nil {
			return nil
		}
		if vouched, _ := st.Vouched(ctx); vouched {
			log.Warn("the store is used without comparing it with the event stream, until that can be reached", "error", err)
			return nil
		}
		if time.Since(said) >= sayStore {
			log.Warn("waiting for NATS: the store is empty, and only the event stream says whether it always was", "error", err)
			said = time.Now()
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return err
		}
	}
}

func (cfg StoreConfig) redis() redisstore.Config {
	c := cfg.config(cfg.URL)
	c.AllowLossy, c.ContinueAfterRollback, c.Wait, c.Logger = cfg.AllowLossy, cfg.goOn(), cfg.RedisWait, cfg.Logger
	c.Program = cfg.Program
	return c
}

func openBackend(ctx context.Context, cfg StoreConfig, measure func(commits, waiting int)) (store.Store, error) {
	switch scheme, _, _ := strings.Cut(cfg.URL, "://"); {
	case cfg.embedded():
		config := cfg.sqlite()
		config.Measure = measure
		return sqlitestore.Open(ctx, config)
	case strings.HasPrefix(scheme, "redis"):
		config := cfg.redis()
		config.Measure = measure
		st, err := redisstore.Open(ctx, config)
		switch {
		case errors.Is(err, store.ErrUnavailable):
			return nil, fmt.Errorf("the Redis of --store cannot be reached: %w; is it running there?", err)
		case err != nil:
			return nil, fmt.Errorf("--store: %w", err)
		default:
			return st, nil
		}
	default:
		return nil, errUnknownStore(cfg.URL)
	}
}
