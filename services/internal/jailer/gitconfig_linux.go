package jailer

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/interlock-run/interlock/pkg/jail"
)

// gitConfig is the file that `git push -u`, `git branch -d` and `git remote` rewrite.
const gitConfig = ".git/config"

// configWatch notices that git tries to rewrite its configuration: it makes a lock file next to it, whose rename the mount
// of the protected file refuses. Nothing else is left of the attempt.
type configWatch struct{ fd int }

// watchConfig watches where the file is protected by a mount, and the folder around it is not. A watch that cannot be had is
// one sentence less.
func (r *run) watchConfig() {
	path := filepath.Join(r.order.Workspace, gitConfig)
	if !r.order.Namespaces || r.plan.Writes != jail.WritesAllow || r.order.Workspace == "" || !slices.Contains(r.order.Protect, path) {
		return
	}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return
	}
	r.undo = append(r.undo, func() { unix.Close(fd) })
	if _, err := unix.InotifyAddWatch(fd, filepath.Dir(path), unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR); err == nil {
		r.config = &configWatch{fd}
	}
}

// finish adds the file to those that the command tried to change.
func (c *configWatch) finish(w *jail.Witness) {
	if c == nil || slices.Contains(w.Tried, gitConfig) {
		return
	}
	events := make([]byte, 64<<10)
	for {
		n, err := unix.Read(c.fd, events)
		if err != nil || n <= 0 {
			return
		}
		if locked(events[:n]) {
			w.Tried = append(w.Tried, gitConfig)
			return
		}
	}
}

// locked reports that events of inotify name the lock file.
func locked(events []byte) bool {
	for len(events) >= unix.SizeofInotifyEvent {
		size := int(binary.NativeEndian.Uint32(events[12:16]))
		events = events[unix.SizeofInotifyEvent:]
		if size > len(events) {
			return false
		}
		if name, _, _ := bytes.Cut(events[:size], []byte{0}); string(name) == "config.lock" {
			return true
		}
		events = events[size:]
	}
	return false
}
