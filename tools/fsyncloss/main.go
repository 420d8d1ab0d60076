// Command fsyncloss mounts a loop-back file system that can lose power. Next to the
// live files (SRC) it keeps a second tree (DURABLE), which holds of every file only
// what was synced. After the program under test was killed, DURABLE is the disk as it
// is after a power failure in which nothing survived that had not been synced.
//
// It is for tests only: it copies the whole file at each sync, and takes metadata for
// durable at once.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

var (
	src, durable string
	syncs        atomic.Int64
)

type (
	node struct{ fs.LoopbackNode }
	file struct {
		fs.FileHandle
		path  string
		osync bool
	}
)

func (n *node) rel() string { return n.Path(n.Root()) }
func copyFile(from, to string) {
	os.MkdirAll(filepath.Dir(to), 0o755)
	i, err := os.Open(from)
	if err != nil {
		return
	}
	defer i.Close()
	o, err := os.Create(to)
	if err != nil {
		return
	}
	io.Copy(o, i)
	o.Close()
}

func commit(rel string) { syncs.Add(1); copyFile(filepath.Join(src, rel), filepath.Join(durable, rel)) }

func wrap(fh fs.FileHandle, rel string, flags uint32) fs.FileHandle {
	return &file{fh, rel, flags&(syscall.O_SYNC|syscall.O_DSYNC) != 0}
}

func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	fh, ff, e := n.LoopbackNode.Open(ctx, flags)
	if e != 0 {
		return fh, ff, e
	}
	return wrap(fh, n.rel(), flags), fuse.FOPEN_DIRECT_IO, e
}

func (n *node) Create(ctx context.Context, name string, flags uint32, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	i, fh, ff, e := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	if e != 0 {
		return i, fh, ff, e
	}
	rel := filepath.Join(n.rel(), name)
	os.MkdirAll(filepath.Dir(filepath.Join(durable, rel)), 0o755)
	if f, err := os.Create(filepath.Join(durable, rel)); err == nil {
		f.Close()
	} // name durable, content empty
	return i, wrap(fh, rel, flags), fuse.FOPEN_DIRECT_IO, e
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	os.MkdirAll(filepath.Join(durable, n.rel(), name), 0o755)
	return n.LoopbackNode.Mkdir(ctx, name, mode, out)
}

func (n *node) Unlink(ctx context.Context, name string) syscall.Errno {
	e := n.LoopbackNode.Unlink(ctx, name)
	if e == 0 {
		os.Remove(filepath.Join(durable, n.rel(), name))
	}
	return e
}

func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	e := n.LoopbackNode.Rmdir(ctx, name)
	if e == 0 {
		os.RemoveAll(filepath.Join(durable, n.rel(), name))
	}
	return e
}

func (n *node) Rename(ctx context.Context, name string, np fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	from := filepath.Join(n.rel(), name)
	to := filepath.Join(np.EmbeddedInode().Path(nil), newName)
	e := n.LoopbackNode.Rename(ctx, name, np, newName, flags)
	if e == 0 {
		os.MkdirAll(filepath.Dir(filepath.Join(durable, to)), 0o755)
		os.Rename(filepath.Join(durable, from), filepath.Join(durable, to))
	}
	return e
}

func (f *file) Read(ctx context.Context, d []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	return f.FileHandle.(fs.FileReader).Read(ctx, d, off)
}

func (f *file) Write(ctx context.Context, d []byte, off int64) (uint32, syscall.Errno) {
	n, e := f.FileHandle.(fs.FileWriter).Write(ctx, d, off)
	if f.osync && e == 0 {
		commit(f.path)
	}
	return n, e
}
func (f *file) Fsync(ctx context.Context, flags uint32) syscall.Errno { commit(f.path); return 0 }
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
	return f.FileHandle.(fs.FileSetattrer).Setattr(ctx, i, o)
}

func (f *file) Lseek(ctx context.Context, off uint64, w uint32) (uint64, syscall.Errno) {
	return f.FileHandle.(fs.FileLseeker).Lseek(ctx, off, w)
}

func (f *file) Allocate(ctx context.Context, off uint64, size uint64, mode uint32) syscall.Errno {
	return f.FileHandle.(fs.FileAllocater).Allocate(ctx, off, size, mode)
}

func main() {
	if len(os.Args) != 4 {
		fmt.Println("usage: fsyncloss SRC DURABLE MOUNT (root; no fusermount needed)")
		os.Exit(2)
	}
	src, durable = os.Args[1], os.Args[2]
	var st syscall.Stat_t
	if err := syscall.Stat(src, &st); err != nil {
		panic(err)
	}
	root := &fs.LoopbackRoot{Path: src, Dev: uint64(st.Dev)}
	root.NewNode = func(rd *fs.LoopbackRoot, p *fs.Inode, name string, st *syscall.Stat_t) fs.InodeEmbedder {
		return &node{fs.LoopbackNode{RootData: rd}}
	}
	rn := &node{fs.LoopbackNode{RootData: root}}
	root.RootNode = rn
	s, err := fs.Mount(os.Args[3], rn, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, AllowOther: true}})
	if err != nil {
		panic(err)
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	fmt.Println("mounted")
	<-c
	fmt.Println("syncs", syncs.Load(), "unmount", s.Unmount())
}
