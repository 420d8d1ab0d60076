package data

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/seal"
	"github.com/interlock-run/interlock/services/internal/storeseal"
)

// sealStore gives the records of the folder codes, unless they have them.
func sealStore(ctx context.Context, data datadir.Dir, box *seal.Box, version string) error {
	return convert(ctx, data, version, false, func(from backup.Source) backup.Source {
		return storeseal.With(from, box.Key("records"), box.ID())
	})
}

// unsealStore takes the codes from the records of the folder, if they have them.
func unsealStore(ctx context.Context, data datadir.Dir, box *seal.Box, version string) error {
	return convert(ctx, data, version, true, func(from backup.Source) backup.Source {
		return storeseal.Without(from, box.Key("records"))
	})
}

// convert writes the store anew, if it is sealed or not. The store stays as it is when it cannot be converted.
func convert(ctx context.Context, data datadir.Dir, version string, sealed bool, to func(backup.Source) backup.Source) (err error) {
	cfg := config(data, version)
	before, copied := data.Database()+".before", data.Database()+".copy"
	if _, err := os.Stat(before); err == nil { // an earlier conversion was interrupted
		if err := errors.Join(removeStore(data.Database()), moveStore(before, data.Database())); err != nil {
			return err
		}
	}
	if _, err := os.Stat(data.Database()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if is, err := isSealed(ctx, cfg); err != nil || is != sealed {
		return err
	}
	_ = os.Remove(copied)
	defer func() { err = errors.Join(err, gone(os.Remove(copied))) }()
	err = backup.Create(copied, func(out *bufio.Writer) error {
		_, err := daemon.BackUp(ctx, cfg, out)
		return err
	})
	if err != nil {
		return err
	}
	file, err := backup.Open(copied)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := moveStore(data.Database(), before); err != nil {
		return err
	}
	if err := daemon.Restore(ctx, cfg, to(file)); err != nil {
		return errors.Join(err, removeStore(data.Database()), moveStore(before, data.Database()))
	}
	return removeStore(before)
}

// config returns that of the store of a folder.
func config(data datadir.Dir, version string) daemon.StoreConfig {
	return daemon.StoreConfig{URL: "sqlite", Path: data.Database(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Program: version}
}

// storeSealed reports whether the folder has a store whose records have codes.
func storeSealed(ctx context.Context, data datadir.Dir, version string) (bool, error) {
	if _, err := os.Stat(data.Database()); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return isSealed(ctx, config(data, version))
}

// isSealed reports whether the records of a store have codes.
func isSealed(ctx context.Context, cfg daemon.StoreConfig) (is bool, err error) {
	cfg.Unchecked = true
	st, err := daemon.OpenStore(ctx, cfg)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	switch _, err := st.Get(ctx, storeseal.Marker()); {
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look whether the store is sealed: %w", err)
	}
	return true, nil
}

// parts are the ends of the names of a database's files.
var parts = []string{"", "-wal", "-shm"}

func moveStore(from, to string) (err error) {
	for _, part := range parts {
		err = errors.Join(err, gone(os.Rename(from+part, to+part)))
	}
	return err
}

func removeStore(path string) (err error) {
	for _, part := range parts {
		err = errors.Join(err, gone(os.Remove(path+part)))
	}
	return err
}

// gone returns an error unless a file is not there.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
