package daemon

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/interlock-run/interlock/pkg/store/backup"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// BackUp writes a backup of the store that a configuration names, which may be in use.
func BackUp(ctx context.Context, cfg StoreConfig, out io.Writer) (backup.Tail, error) {
	switch {
	case cfg.embedded():
		return sqlitestore.Export(ctx, cfg.sqlite(), out)
	case strings.HasPrefix(cfg.URL, "redis"):
		return redisstore.Export(ctx, cfg.redis(), out)
	default:
		return backup.Tail{}, errUnknownStore(cfg.URL)
	}
}

// Restore makes the store that a configuration names of a backup; it must be empty.
func Restore(ctx context.Context, cfg StoreConfig, from backup.Source) error {
	switch {
	case cfg.embedded():
		return sqlitestore.Import(ctx, cfg.sqlite(), from)
	case strings.HasPrefix(cfg.URL, "redis"):
		return redisstore.Import(ctx, cfg.redis(), from)
	default:
		return errUnknownStore(cfg.URL)
	}
}

// embedded reports the store in a file.
func (cfg StoreConfig) embedded() bool { return cfg.URL == "" || cfg.URL == "sqlite" }

func (cfg StoreConfig) sqlite() sqlitestore.Config {
	return sqlitestore.Config{
		Path: cfg.Path, Witness: datadir.Dir(filepath.Dir(cfg.Path)).Seen(), ContinueAfterRollback: cfg.goOn(), Logger: cfg.Logger, Program: cfg.Program,
	}
}

func errUnknownStore(url string) error {
	return fmt.Errorf("unknown store %q: use sqlite or redis://HOST:PORT/DB", url)
}
