package jailer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/interlock-run/interlock/pkg/jail"
)

// kept are the folders that a command fills and that stay on the disk: /tmp of its run, and copies of caches. No kernel bounds
// them without root. So they are measured before, while and after the command runs, where the disk has lost so much that they
// may hold too much.
type kept struct {
	folders []string
	most    int64
	// held is what they held at most when the command began, and record the file that has it between commands.
	held   int64
	record string
	begun  room
}

// room is what a file system has left, in bytes; a file takes perEntry without its content.
type room struct{ bytes, entries int64 }

const perEntry = 4 << 10

// How often the disk is looked at, and how much more time passes between two measurements than one takes.
const (
	lookEvery = time.Second
	lookShare = 20
)

// keeps finds the folders that this command fills, and empties them where the commands before it have left too much.
func (r *run) keeps() {
	o, k := &r.order, &r.kept
	folders := []string{o.Tmp, o.VarTmp}
	for _, cache := range o.Caches {
		if o.Copies != "" && cache.Name != "" {
			folders = append(folders, filepath.Join(o.Copies, cache.Name, "up"))
		}
	}
	for _, folder := range folders {
		if folder != "" {
			k.folders = append(k.folders, folder)
		}
	}
	if len(k.folders) == 0 {
		return
	}
	k.most, k.begun = r.plan.Limits.KeptMB<<20, free(k.folders[0])
	if o.Copies != "" {
		k.record = filepath.Join(filepath.Dir(o.Copies), "held")
		k.recall()
	}
	k.bound(&r.witness)
	if k.record != "" {
		_ = os.Remove(k.record) // until this command has ended
	}
}

// recall reads what the folders held when the command before has ended, and what the disk had left: what it has lost since
// may be what the system had not written then. Without a record they are measured.
func (k *kept) recall() {
	text, err := os.ReadFile(k.record)
	var was room
	if n, _ := fmt.Sscan(string(text), &k.held, &was.bytes, &was.entries); err != nil || n < 3 {
		k.held = k.most + 1
		return
	}
	k.begun.bytes, k.begun.entries = max(k.begun.bytes, was.bytes), max(k.begun.entries, was.entries)
}

// free returns the room in a folder's file system.
func free(folder string) room {
	var at unix.Statfs_t
	if unix.Statfs(folder, &at) != nil {
		return room{}
	}
	return room{int64(at.Bavail) * at.Bsize, int64(at.Ffree) * perEntry} //nolint:gosec // a disk's size
}

// over reports that the folders hold too much, or that the disk has lost as much since the command began and is about to be
// full: a file that has no name any more, or is in a closed folder, takes its room as well. reach opens closed folders.
func (k *kept) over(reach bool) bool {
	if len(k.folders) == 0 {
		return false
	}
	now := free(k.folders[0])
	lost := max(k.begun.bytes-now.bytes, 0)
	switch grown := lost + max(k.begun.entries-now.entries, 0); {
	case k.held+grown <= k.most:
		return false
	case now.bytes < k.most && lost > k.most:
		return true
	}
	sum := int64(0)
	for _, folder := range k.folders {
		if err := k.measure(folder, reach, &sum); err != nil {
			return true
		}
	}
	if reach {
		k.held, k.begun = sum, now
	}
	return false
}

// measure adds up what a folder holds. An error is too much, or what cannot be looked at.
func (k *kept) measure(folder string, reach bool, sum *int64) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission) && !reach, errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		if mode := info.Mode().Perm(); reach && entry.IsDir() && mode&listed != listed {
			_ = os.Chmod(path, mode|listed) // a folder that stays closed is an error of the walk
		}
		*sum += perEntry
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			*sum += stat.Blocks * diskBlock
		}
		if *sum > k.most {
			return errTooMuch
		}
		return nil
	})
}

const (
	listed    = 0o500 // of a folder that its owner can list
	diskBlock = 512
)

var errTooMuch = errors.New("too much")

// bound empties the folders when they hold too much.
func (k *kept) bound(w *jail.Witness) {
	if !k.over(true) {
		return
	}
	for _, folder := range k.folders {
		entries, _ := os.ReadDir(folder)
		for _, entry := range entries {
			_ = RemoveCaches(filepath.Join(folder, entry.Name())) // the next command tries again
		}
	}
	k.held, k.begun = 0, free(k.folders[0])
	w.Notes = append(w.Notes, Emptied)
}

// finish bounds the folders when the command has ended, and writes down what they hold at most.
func (k *kept) finish(w *jail.Witness) {
	k.bound(w)
	if len(k.folders) > 0 {
		now := free(k.folders[0])
		held := k.held + max(k.begun.bytes-now.bytes, 0) + max(k.begun.entries-now.entries, 0)
		if k.record != "" {
			_ = os.WriteFile(k.record, fmt.Appendln(nil, held, now.bytes, now.entries), 0o600) // without it they are measured
		}
	}
}

// watch closes the channel that it returns when the folders hold too much. It looks until done is closed.
func (k *kept) watch(done <-chan struct{}) <-chan struct{} {
	full := make(chan struct{})
	go func() {
		for wait := lookEvery; !waited(done, wait); {
			begun := time.Now()
			if k.over(false) {
				close(full)
				return
			}
			wait = max(lookEvery, lookShare*time.Since(begun))
		}
	}()
	return full
}

// inUse reports that a command has a copy of a cache in the folder of its run.
func inUse(folder string) bool {
	locks, _ := filepath.Glob(filepath.Join(folder, "copies", "*.lock")) // the pattern is a good one
	return slices.ContainsFunc(locks, func(name string) bool {
		lock, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return false
		}
		defer lock.Close()
		return errors.Is(unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
	})
}
