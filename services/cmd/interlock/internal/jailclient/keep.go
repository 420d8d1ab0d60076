package jailclient

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/jailer"
)

// How long the folder of a run is kept after its last command: for a day, and less where there are others that were used later.
const (
	unused      = 24 * time.Hour
	unusedOfOld = time.Hour
	mostRuns    = 16
)

// keep gives a command the data that is kept between commands: the known state of the workspace's files, and at level 3,
// where no path of it is seen, the run's own /tmp and copies of caches. A command goes without them where they cannot be
// kept.
func (c *Command) keep(command *jailer.Command) {
	folder, err := c.Server.Kept()
	if err != nil || command.Profile.Workspace == "" {
		return
	}
	folder, workspace := resolved(folder), resolved(command.Profile.Workspace)
	if folder == workspace || strings.HasPrefix(folder, strings.TrimSuffix(workspace, "/")+"/") {
		return // commands could learn changes from their own changes
	}
	command.Trees = datadir.Dir(folder).TreeCache(workspace)
	if c.Server.Support().Level == int(jail.Full) && !command.Profile.Fresh {
		command.Caches = runFolder(filepath.Join(folder, "runs"), c.Run, time.Now())
	}
}

// runFolder makes the folder of a run, and removes those that no command has used for long. Empty for none.
func runFolder(runs, run string, now time.Time) string {
	own := filepath.Join(runs, datadir.Digest(run)[:16])
	if os.Chtimes(own, now, now) == nil {
		return own
	}
	removeUnused(runs, now)
	if os.MkdirAll(own, 0o700) != nil {
		return ""
	}
	return own
}

// removeUnused removes folders of runs that no command has used for long.
func removeUnused(runs string, now time.Time) {
	entries, _ := os.ReadDir(runs)
	var others []os.FileInfo
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			others = append(others, info)
		}
	}
	slices.SortFunc(others, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for i, other := range others {
		long := unused
		if i >= mostRuns {
			long = unusedOfOld
		}
		if now.Sub(other.ModTime()) > long {
			_ = jailer.RemoveRun(filepath.Join(runs, other.Name())) // the next run tries again
		}
	}
}
