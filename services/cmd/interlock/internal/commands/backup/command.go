// Package backup backs the store up, verifies backups and restores them. It works on the store
// itself, without a server.
package backup

import (
	"io"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/store/backup"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// Command is the family of commands on backups.
type Command struct {
	Create  createCommand  `cmd:"" help:"Write a backup of the store to a file. Services may run."`
	Verify  verifyCommand  `cmd:"" help:"Check a backup: that it is whole, can be restored, and that its log of decisions was not changed."`
	Restore restoreCommand `cmd:"" help:"Restore a backup into an empty store, and publish the events that NATS lacks."`
}

// config returns that of the store of a command.
func config(url string, login daemon.StoreLogin, data datadir.Dir, version string) daemon.StoreConfig {
	return daemon.StoreConfig{
		URL: url, StoreLogin: login, Path: data.Database(), AllowLossy: true,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Program: version,
	}
}

// about is the JSON of a backup's description.
type about struct {
	BackupID string `json:"backup_id"`
	File     string `json:"file"`
	// Of is the moment that it is of.
	Of      time.Time `json:"of"`
	Store   string    `json:"store"`
	Format  int       `json:"format"`
	Program string    `json:"program"`
	Shards  int       `json:"shards"`
	Bytes   int64     `json:"bytes"`
	Digest  string    `json:"digest"`
}

func aboutOf(file string, head *backup.Head, tail *backup.Tail, bytes int64) about {
	return about{
		BackupID: head.ID, File: file, Of: tail.At, Store: head.Store, Format: head.Format, Program: head.Program,
		Shards: head.Shards, Bytes: bytes, Digest: tail.SHA256,
	}
}
