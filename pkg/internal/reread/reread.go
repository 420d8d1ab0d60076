// Package reread keeps values read from files and reads them again when they change, so
// that certificates, tokens and passwords are rotated without a restart. A file that
// cannot be used has no effect: the previous value stays, with a warning.
package reread

import (
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Value is a value read from files. It is safe for concurrent use.
type Value[T any] struct {
	what  string
	files []string
	every time.Duration
	load  func() (T, error)

	current atomic.Pointer[T]
	next    atomic.Int64 // when the files are looked at again, in nanoseconds of the clock

	mu      sync.Mutex
	seen    []stamp // of the files that the value is from
	refused []stamp // of files that were warned about
}

// Load reads the files for the first time, when a fault is an error. load reads them;
// names of files that are empty do not count. Get looks at them once in every at most, or
// each time when every is 0. The first argument names them in the log.
func Load[T any](what string, every time.Duration, load func() (T, error), files ...string) (*Value[T], error) {
	v := &Value[T]{what: what, every: every, load: load, files: slices.DeleteFunc(files, func(f string) bool { return f == "" })}
	seen := v.stamps() // before they are read: later changes are read again
	first, err := load()
	if err != nil {
		return nil, err
	}
	v.current.Store(&first)
	v.seen = seen
	v.next.Store(time.Now().Add(every).UnixNano())
	return v, nil
}

// Get returns the present value of the files.
func (v *Value[T]) Get() T {
	now := time.Now().UnixNano()
	if v.every > 0 {
		next := v.next.Load()
		if now < next && next-now <= int64(v.every) || !v.next.CompareAndSwap(next, now+int64(v.every)) {
			return *v.current.Load()
		}
	}
	v.look()
	return *v.current.Load()
}

func (v *Value[T]) look() {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.stamps()
	if slices.EqualFunc(now, v.seen, stamp.same) {
		return
	}
	value, err := v.load()
	switch {
	case err == nil:
		v.current.Store(&value)
		v.seen, v.refused = now, nil
		slog.Info("read again: "+v.what, "files", v.files)
	case !slices.EqualFunc(now, v.refused, stamp.same):
		v.refused = now
		slog.Warn("changed, and cannot be used; the previous contents stay in use: "+v.what, "files", v.files, "error", err)
	}
}

func (v *Value[T]) stamps() []stamp {
	stamps := make([]stamp, len(v.files))
	for i, file := range v.files {
		if info, err := os.Stat(file); err == nil {
			stamps[i] = stamp{info}
		}
	}
	return stamps
}

// stamp distinguishes versions of a file; nil for one that is not there. Kubernetes
// replaces mounted secrets by turning a link: then it is another file.
type stamp struct{ os.FileInfo }

func (s stamp) same(other stamp) bool {
	if s.FileInfo == nil || other.FileInfo == nil {
		return s.FileInfo == other.FileInfo
	}
	return os.SameFile(s.FileInfo, other.FileInfo) && s.ModTime().Equal(other.ModTime()) && s.Size() == other.Size()
}
