package tree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

// A cache file is cacheMagic, the workspace, the mark of its index and the place of its root, then
// folders, each behind those in it, and last a checksum of all before. The checksum finds torn and
// broken files; who can write the file, is trusted.
const (
	cacheMagic = "interlock tree 1\n"
	mostCache  = 512 << 20
	stampSize  = 4 + 5*8
	// entrySize is of an entry without its name.
	entrySize = 1 + 1 + 2 + stampSize + 32 + 8
	// headerSize is of a folder before the number of its entries.
	headerSize = stampSize + 1 + 32 + 32 + 4
)

// cacheFile is the content of a cache.
type cacheFile struct{ data []byte }

// outside returns the cache's path, and an error where it is in the workspace.
func outside(workspace, cache string) (string, error) {
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", err
	}
	folder := filepath.Dir(cache)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return "", err
	}
	if folder == workspace || strings.HasPrefix(folder, strings.TrimSuffix(workspace, string(filepath.Separator))+string(filepath.Separator)) {
		return "", errors.New("the cache of a tree must be outside of the workspace: " + cache)
	}
	return filepath.Join(folder, filepath.Base(cache)), nil
}

// loadCache takes over what the cache of a snapshot remembers. A missing, broken or foreign one is none.
func loadCache(s *Snapshot) {
	info, err := os.Lstat(s.cache)
	if err != nil || !info.Mode().IsRegular() || !isPrivate(info) || info.Size() > mostCache {
		return
	}
	data, err := os.ReadFile(s.cache)
	if err != nil || len(data) < len(cacheMagic)+8 || !bytes.HasPrefix(data, []byte(cacheMagic)) {
		return
	}
	body := data[:len(data)-8]
	if xxhash.Sum64(body) != binary.LittleEndian.Uint64(data[len(body):]) {
		return
	}
	r := reader{data: body, at: len(cacheMagic)}
	workspace := r.bytes(int(r.u32()))
	mark := indexMark{stamp: r.stamp(), sure: r.byte() != 0}
	copy(mark.id[:], r.bytes(32))
	at := int(r.u64())
	if r.bad || string(workspace) != s.workspace {
		return
	}
	if root := (&cacheFile{body}).folder(at); root != nil {
		s.index, s.root = mark, root
	}
}

// load reads a folder's entries from its cache. False: the cache is broken.
func (f *folder) load() bool {
	if f.cached == nil {
		return true
	}
	entries, ok := f.decode()
	if ok {
		f.cached, f.entries = nil, entries
	}
	return ok
}

// copy returns the entries of a folder for its next version. False: the cache is broken.
func (f *folder) copy() ([]entry, bool) {
	if f.cached == nil {
		return slices.Clone(f.entries), true
	}
	return f.decode()
}

// decode reads the entries of a folder that is in a cache.
func (f *folder) decode() ([]entry, bool) {
	file := f.cached
	r := reader{data: file.data, at: f.at + headerSize}
	count := int(r.u32())
	names := string(r.bytes(int(r.u32())))
	if r.bad || count > (len(file.data)-r.at)/entrySize {
		return nil, false
	}
	entries := make([]entry, count)
	for i := range entries {
		e := &entries[i]
		e.kind, e.sure = kind(r.byte()), r.byte() != 0
		size := int(r.u16())
		if size > len(names) {
			return nil, false
		}
		e.name, names = names[:size], names[size:]
		e.stamp = r.stamp()
		copy(e.hash[:], r.bytes(32))
		if child := int(r.u64()); e.kind.folder() && !e.kind.ignored() {
			if e.child = file.folder(child); e.child == nil {
				return nil, false
			}
		}
	}
	return entries, !r.bad
}

// folder reads all of a folder but its entries. Nil: the cache is broken.
func (c *cacheFile) folder(at int) *folder {
	f := &folder{cached: c, at: at}
	r := reader{data: c.data, at: at}
	f.stamp, f.sure = r.stamp(), r.byte() != 0
	copy(f.context[:], r.bytes(32))
	copy(f.hash[:], r.bytes(32))
	f.files = int(r.u32())
	if r.bad {
		return nil
	}
	return f
}

// saveCache replaces the cache of a snapshot. The last of concurrent writers wins.
func saveCache(s *Snapshot) error {
	data := make([]byte, 0, 64<<10+s.root.files*(entrySize+32))
	data = append(data, cacheMagic...)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(s.workspace)))
	data = append(data, s.workspace...)
	data = s.index.stamp.append(data)
	data = appendBool(data, s.index.sure)
	data = append(data, s.index.id[:]...)
	root := len(data)
	data = binary.LittleEndian.AppendUint64(data, 0)
	data, at := s.root.append(data)
	binary.LittleEndian.PutUint64(data[root:], uint64(at))
	data = binary.LittleEndian.AppendUint64(data, xxhash.Sum64(data))
	if len(data) > mostCache {
		return errors.New("the cache of a tree has more than 512 MiB")
	}
	return replace(s.cache, data)
}

// replace writes a file of the user alone, in one step.
func replace(path string, data []byte) error {
	prefix := filepath.Base(path) + ".new-"
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), prefix+"*"))
	for _, name := range left { // of processes that have ended in between
		if info, err := os.Lstat(name); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(name)
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), prefix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// append writes a folder behind those in it, and returns its place.
func (f *folder) append(data []byte) (all []byte, at int) {
	places := make([]int, len(f.entries))
	names := 0
	for i := range f.entries {
		e := &f.entries[i]
		names += len(e.name)
		if e.child != nil {
			data, places[i] = e.child.append(data)
		}
	}
	at = len(data)
	le := binary.LittleEndian
	data = f.stamp.append(data)
	data = appendBool(data, f.sure)
	data = append(data, f.context[:]...)
	data = append(data, f.hash[:]...)
	data = le.AppendUint32(data, uint32(f.files))
	data = le.AppendUint32(data, uint32(len(f.entries)))
	data = le.AppendUint32(data, uint32(names))
	for i := range f.entries {
		data = append(data, f.entries[i].name...)
	}
	for i := range f.entries {
		e := &f.entries[i]
		data = append(data, byte(e.kind))
		data = appendBool(data, e.sure)
		data = le.AppendUint16(data, uint16(len(e.name)))
		data = e.stamp.append(data)
		data = append(data, e.hash[:]...)
		data = le.AppendUint64(data, uint64(places[i]))
	}
	return data, at
}

func appendBool(data []byte, b bool) []byte {
	if b {
		return append(data, 1)
	}
	return append(data, 0)
}

func (s stamp) append(data []byte) []byte {
	data = binary.LittleEndian.AppendUint32(data, s.mode)
	for _, n := range [...]uint64{uint64(s.size), uint64(s.mtime), uint64(s.ctime), s.inode, s.dev} {
		data = binary.LittleEndian.AppendUint64(data, n)
	}
	return data
}

// reader reads numbers; bad says that there were too few bytes.
type reader struct {
	data []byte
	at   int
	bad  bool
}

func (r *reader) bytes(n int) []byte {
	if r.bad || n < 0 || r.at < 0 || r.at > len(r.data) || n > len(r.data)-r.at {
		r.bad = true
		return nil
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) stamp() stamp {
	b := r.bytes(stampSize)
	if b == nil {
		return stamp{}
	}
	n := func(i int) uint64 { return binary.LittleEndian.Uint64(b[4+8*i:]) }
	return stamp{
		mode: binary.LittleEndian.Uint32(b), size: int64(n(0)),
		mtime: int64(n(1)), ctime: int64(n(2)), inode: n(3), dev: n(4),
	}
}
