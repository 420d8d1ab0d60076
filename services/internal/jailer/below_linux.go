package jailer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer/below"
)

// belowGuard puts the settings in folders of a writable folder back when a command has ended.
type belowGuard struct {
	// path is the folder, entries and lifted are the arguments of below.NewNames.
	path            string
	entries, lifted []string
	own             bool
	before          *below.Snapshot
}

// belows remembers the settings in the workspace's folders, as far as the command can write there.
func belows(r *run) (all []*belowGuard, err error) {
	workspace := r.order.Workspace
	if workspace == "" || len(r.plan.Below) == 0 {
		return nil, nil
	}
	folders := []string{workspace}
	if r.plan.Writes != jail.WritesAllow {
		folders = nil
		for _, path := range r.order.Write {
			if info, err := os.Lstat(path); err == nil && info.IsDir() && within(path, workspace) && !within(path, workspace+"/.git") {
				folders = append(folders, path)
			}
		}
	}
	for _, path := range folders {
		g := &belowGuard{path: path, entries: r.plan.Below, own: path == workspace}
		g.lifted = namesIn(r.plan.Write, filepath.Join(r.plan.Workspace, strings.TrimPrefix(path, workspace)), path)
		if err := g.take(r.command); err != nil {
			return nil, fmt.Errorf("the settings in folders of %s cannot be remembered to be put back: %w", path, err)
		}
		all = append(all, g)
	}
	return all, nil
}

func (g *belowGuard) names() *below.Names { return below.NewNames(g.entries, g.lifted, g.own) }

// take finds what is there before the command. Where another command runs, it is what was there before that one.
func (g *belowGuard) take(c *Command) (err error) {
	if g.before = g.running(c.Guards); g.before != nil {
		return nil
	}
	var last *below.Snapshot
	if g.own && c.Trees != "" {
		last, _ = below.Load(c.Trees+".below", g.path, g.names()) // without a record, all is looked at
	}
	if g.before, err = below.Take(g.path, g.names(), last); err != nil {
		return err
	}
	if g.own && c.Trees != "" && g.before.Changed() {
		_ = g.before.Save(c.Trees + ".below") // it only saves time
	}
	return nil
}

// running returns the record of a command that is running; nil for none.
func (g *belowGuard) running(guards string) *below.Snapshot {
	if guards == "" {
		return nil
	}
	names, _ := filepath.Glob(filepath.Join(guards, "*.json"))
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			continue
		}
		var kept keptGuards
		if errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK) && json.NewDecoder(file).Decode(&kept) == nil {
			for _, k := range kept.Below {
				if k.Path != g.path {
					continue
				}
				if before, err := below.Load(k.Record, g.path, g.names()); err == nil && before != nil {
					file.Close()
					return before
				}
			}
		}
		file.Close()
	}
	return nil
}

// keptBelow is what is put back of one folder.
type keptBelow struct {
	Path    string   `json:"path"`
	Entries []string `json:"entries"`
	Lifted  []string `json:"lifted,omitempty"`
	Own     bool     `json:"own,omitempty"`
	Record  string   `json:"record"`
}

// written writes down what is to be put back.
func (g *belowGuard) written(record string) (keptBelow, error) {
	return keptBelow{g.path, g.entries, g.lifted, g.own, record}, g.before.Save(record)
}

func (k *keptBelow) putBack() (changed []string, err error) {
	g := &belowGuard{path: k.Path, entries: k.Entries, lifted: k.Lifted, own: k.Own}
	if _, err := os.Lstat(k.Path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if g.before, err = below.Load(k.Record, k.Path, g.names()); err != nil || g.before == nil {
		return nil, err
	}
	return g.putBack()
}

// putBack makes the settings as they were, and returns those that were changed.
func (g *belowGuard) putBack() (changed []string, err error) {
	after, err := g.before.Again()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(g.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	gr := &guardedRoot{path: g.path, root: root}
	for _, change := range below.Changes(g.before, after) {
		name := filepath.Join(g.path, change.Path)
		var failed error
		if change.Remove {
			failed = root.RemoveAll(change.Path)
		} else {
			failed = gr.restore(change.Path, remembered{change.Mode, change.Modified, change.UID, change.GID, change.Content}, true)
		}
		if failed != nil {
			name, err = name+" (it could not be put back)", errors.Join(err, failed)
		}
		changed = append(changed, name)
	}
	for _, folder := range below.Emptied(g.before, after) {
		_ = root.Remove(folder) // one that has other files stays
	}
	return changed, err
}
