// Command fsyncloss mounts a loop-back file system that can lose power, fail and be full.
// Next to the live files (SRC) it keeps a second tree (DURABLE), which holds of every file
// only what was synced. After the program under test was killed, DURABLE is the disk as it
// is after a power failure in which nothing survived that had not been synced.
//
// It reads one word per line and answers each with "ok": eio makes every write and sync
// fail, full makes every write fail that needs room, well ends both.
//
// It is for tests only, and takes metadata for durable at once.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

var (
	src, durable string
	syncs        atomic.Int64
	health       atomic.Int32 // 0, syscall.EIO or syscall.ENOSPC

	mu    sync.Mutex
	dirty = map[string][]extent{} // what was written to each file since it was synced
)

// extent is a part of a file. One that has no length goes to the file's end.
type extent struct{ from, length int64 }

type (
	node struct{ fs.LoopbackNode }
	file struct {
		fs.FileHandle
		path  string
		osync bool
	}
)

func (n *node) rel() string { return n.Path(n.Root()) }

func refused() syscall.Errno { return syscall.Errno(health.Load()) }

// broken is the error of what needs no room.
func broken() syscall.Errno {
	if e := refused(); e == syscall.EIO {
		return e
	}
	return 0
}

func wrote(rel string, e extent) {
	mu.Lock()
	defer mu.Unlock()
	extents := dirty[rel]
	if last := len(extents) - 1; last >= 0 && e.length > 0 && extents[last].length > 0 && extents[last].from+extents[last].length == e.from {
		extents[last].length += e.length
		return
	}
	dirty[rel] = append(extents, e)
}

// commit makes durable what was written to a file.
func commit(rel string) {
	syncs.Add(1)
	mu.Lock()
	defer mu.Unlock()
	live, err := os.Open(filepath.Join(src, rel))
	if err != nil {
		return // it was removed while it was open
	}
	defer live.Close()
	info, err := live.Stat()
	check(err)
	kept, err := os.OpenFile(filepath.Join(durable, rel), os.O_WRONLY|os.O_CREATE, info.Mode().Perm())
	check(err)
	defer kept.Close()
	for _, e := range dirty[rel] {
		if e.length == 0 {
			e.length = info.Size() - e.from
		}
		_, err := io.Copy(io.NewOffsetWriter(kept, e.from), io.NewSectionReader(live, e.from, e.length))
		check(err)
	}
	check(kept.Truncate(info.Size()))
	delete(dirty, rel)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func wrap(fh fs.FileHandle, rel string, flags uint32) fs.FileHandle {
	return &file{fh, rel, flags&(syscall.O_SYNC|syscall.O_DSYNC) != 0}
}

// caching lets files be mapped that processes share; their contents are never synced.
func caching(rel string) uint32 {
	if strings.HasSuffix(rel, "-shm") {
		return 0
	}
	return fuse.FOPEN_DIRECT_IO
}

func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	fh, ff, e := n.LoopbackNode.Open(ctx, flags)
	if e != 0 {
		return fh, ff, e
	}
	if flags&syscall.O_TRUNC != 0 {
		wrote(n.rel(), extent{})
	}
	return wrap(fh, n.rel(), flags), caching(n.rel()), e
}

func (n *node) Create(ctx context.Context, name string, flags uint32, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if e := refused(); e != 0 {
		return nil, nil, 0, e
	}
	i, fh, ff, e := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	if e != 0 {
		return i, fh, ff, e
	}
	rel := filepath.Join(n.rel(), name)
	mu.Lock()
	defer mu.Unlock()
	delete(dirty, rel)
	// The name is durable, and the file is empty.
	f, err := os.OpenFile(filepath.Join(durable, rel), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, os.FileMode(mode).Perm())
	check(err)
	f.Close()
	return i, wrap(fh, rel, flags), caching(rel), e
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if e := refused(); e != 0 {
		return nil, e
	}
	i, e := n.LoopbackNode.Mkdir(ctx, name, mode, out)
	if e == 0 {
		check(os.MkdirAll(filepath.Join(durable, n.rel(), name), os.FileMode(mode).Perm()))
	}
	return i, e
}

func (n *node) Unlink(ctx context.Context, name string) syscall.Errno {
	if e := broken(); e != 0 {
		return e
	}
	e := n.LoopbackNode.Unlink(ctx, name)
	if e == 0 {
		mu.Lock()
		defer mu.Unlock()
		delete(dirty, filepath.Join(n.rel(), name))
		os.Remove(filepath.Join(durable, n.rel(), name)) // a socket was never there
	}
	return e
}

func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if e := refused(); e != 0 {
		return nil, e
	}
	i, e := n.LoopbackNode.Link(ctx, target, name, out)
	if e == 0 {
		check(os.Link(filepath.Join(durable, target.EmbeddedInode().Path(nil)), filepath.Join(durable, n.rel(), name)))
	}
	return i, e
}

func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	e := n.LoopbackNode.Rmdir(ctx, name)
	if e == 0 {
		check(os.RemoveAll(filepath.Join(durable, n.rel(), name)))
	}
	return e
}

func (n *node) Rename(ctx context.Context, name string, np fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	if e := broken(); e != 0 {
		return e
	}
	from := filepath.Join(n.rel(), name)
	to := filepath.Join(np.EmbeddedInode().Path(nil), newName)
	e := n.LoopbackNode.Rename(ctx, name, np, newName, flags)
	if e == 0 {
		mu.Lock()
		defer mu.Unlock()
		dirty[to] = dirty[from]
		delete(dirty, from)
		check(os.Rename(filepath.Join(durable, from), filepath.Join(durable, to)))
	}
	return e
}

func (f *file) Read(ctx context.Context, d []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	return f.FileHandle.(fs.FileReader).Read(ctx, d, off)
}

func (f *file) Write(ctx context.Context, d []byte, off int64) (uint32, syscall.Errno) {
	if e := refused(); e != 0 {
		return 0, e
	}
	n, e := f.FileHandle.(fs.FileWriter).Write(ctx, d, off)
	if n > 0 {
		wrote(f.path, extent{off, int64(n)})
	}
	if f.osync && e == 0 {
		commit(f.path)
	}
	return n, e
}

func (f *file) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	if e := broken(); e != 0 {
		return e
	}
	commit(f.path)
	return 0
}

func (f *file) Flush(ctx context.Context) syscall.Errno {
	return f.FileHandle.(fs.FileFlusher).Flush(ctx)
}

func (f *file) Release(ctx context.Context) syscall.Errno {
	return f.FileHandle.(fs.FileReleaser).Release(ctx)
}

func (f *file) Getattr(ctx context.Context, o *fuse.AttrOut) syscall.Errno {
	return f.FileHandle.(fs.FileGetattrer).Getattr(ctx, o)
}

func (f *file) Setattr(ctx context.Context, i *fuse.SetAttrIn, o *fuse.AttrOut) syscall.Errno {
	if size, ok := i.GetSize(); ok {
		wrote(f.path, extent{from: int64(size)})
	}
	return f.FileHandle.(fs.FileSetattrer).Setattr(ctx, i, o)
}

func (n *node) Setattr(ctx context.Context, f fs.FileHandle, i *fuse.SetAttrIn, o *fuse.AttrOut) syscall.Errno {
	if size, ok := i.GetSize(); ok {
		wrote(n.rel(), extent{from: int64(size)})
	}
	return n.LoopbackNode.Setattr(ctx, f, i, o)
}

func (f *file) Lseek(ctx context.Context, off uint64, w uint32) (uint64, syscall.Errno) {
	return f.FileHandle.(fs.FileLseeker).Lseek(ctx, off, w)
}

func (f *file) Allocate(ctx context.Context, off uint64, size uint64, mode uint32) syscall.Errno {
	if e := refused(); e != 0 {
		return e
	}
	return f.FileHandle.(fs.FileAllocater).Allocate(ctx, off, size, mode)
}

// keep makes durable all that there is at the beginning.
func keep() error {
	return filepath.WalkDir(src, func(path string, entry iofs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(durable, rel), info.Mode().Perm())
		case info.Mode().IsRegular():
			dirty[rel] = []extent{{}}
			commit(rel)
		}
		return nil
	})
}

var words = map[string]syscall.Errno{"eio": syscall.EIO, "full": syscall.ENOSPC, "well": 0}

// listen obeys until its input ends, as it does when the test has died.
func listen() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); fmt.Println("ok") {
		health.Store(int32(words[lines.Text()]))
	}
}

func main() {
	if len(os.Args) != 4 {
		fmt.Println("usage: fsyncloss SRC DURABLE MOUNT (root; no fusermount needed)")
		os.Exit(2)
	}
	src, durable = os.Args[1], os.Args[2]
	check(keep())
	var st syscall.Stat_t
	check(syscall.Stat(src, &st))
	root := &fs.LoopbackRoot{Path: src, Dev: uint64(st.Dev)}
	root.NewNode = func(rd *fs.LoopbackRoot, p *fs.Inode, name string, st *syscall.Stat_t) fs.InodeEmbedder {
		return &node{fs.LoopbackNode{RootData: rd}}
	}
	rn := &node{fs.LoopbackNode{RootData: root}}
	root.RootNode = rn
	s, err := fs.Mount(os.Args[3], rn, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: os.Geteuid() == 0, AllowOther: os.Geteuid() == 0}})
	check(err)
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	fmt.Println("mounted")
	go func() {
		listen()
		c <- os.Interrupt // whatever started it has ended
	}()
	<-c
	fmt.Println("syncs", syncs.Load(), "unmount", s.Unmount())
}
