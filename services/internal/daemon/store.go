package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
)

// StoreConfig says which store to open.
type StoreConfig struct {
	// URL is "sqlite" for the embedded store at Path, or one of redisstore's
	// URLs.
	URL  string
	Path string
	// AllowLossy opens a Redis that would lose acknowledged writes.
	AllowLossy bool
	Logger     *slog.Logger
}

// OpenStore opens the store that a configuration names.
func OpenStore(ctx context.Context, cfg StoreConfig) (store.Store, error) {
	switch scheme, _, _ := strings.Cut(cfg.URL, "://"); {
	case cfg.URL == "" || cfg.URL == "sqlite":
		return sqlitestore.Open(ctx, sqlitestore.Config{Path: cfg.Path})
	case strings.HasPrefix(scheme, "redis"):
		st, err := redisstore.Open(ctx, redisstore.Config{URL: cfg.URL, AllowLossy: cfg.AllowLossy, Logger: cfg.Logger})
		switch {
		case errors.Is(err, store.ErrUnavailable):
			return nil, fmt.Errorf("the Redis of --store cannot be reached: %w; is it running there?", err)
		case err != nil:
			return nil, fmt.Errorf("--store: %w", err)
		default:
			return st, nil
		}
	default:
		return nil, fmt.Errorf("unknown store %q: use sqlite or redis://HOST:PORT/DB", cfg.URL)
	}
}
