package below

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cespare/xxhash/v2"
)

// A snapshot is written as cacheMagic, the walked folder, the names, the folders in their order, and a checksum. Who can write the
// file, is trusted.
const cacheMagic = "interlock below 1\n"

// errBroken says that a file is none of a snapshot of this folder and these names.
var errBroken = errors.New("it is no record of these folders")

// Load reads what Save has written of a folder and names. Nil: there is no such record.
func Load(path, root string, names *Names) (*Snapshot, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || int(st.Uid) != os.Geteuid() {
		return nil, errBroken
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(data) < len(cacheMagic)+8 || string(data[:len(cacheMagic)]) != cacheMagic ||
		xxhash.Sum64(data[:len(data)-8]) != binary.LittleEndian.Uint64(data[len(data)-8:]) {
		return nil, errBroken
	}
	r := &reader{text: string(data[len(cacheMagic) : len(data)-8])}
	s := &Snapshot{root: r.string(), names: names}
	if s.root != root || r.string() != names.text {
		return nil, errBroken
	}
	count := r.number()
	if count > uint64(len(data)) {
		return nil, errBroken
	}
	s.folders, s.byPath = make([]*folder, count), make(map[string]*folder, count)
	list := make([]folder, count)
	for i := range list {
		r.folder(&list[i])
		s.folders[i], s.byPath[list[i].path] = &list[i], &list[i]
	}
	if r.bad {
		return nil, errBroken
	}
	return s, nil
}

// Save writes a snapshot, in one step.
func (s *Snapshot) Save(path string) error {
	data := []byte(cacheMagic)
	data = appendString(appendString(data, s.root), s.names.text)
	data = binary.AppendUvarint(data, uint64(len(s.folders)))
	for _, f := range s.folders {
		data = f.append(data)
	}
	data = binary.LittleEndian.AppendUint64(data, xxhash.Sum64(data))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

func (f *folder) append(data []byte) []byte {
	data = f.stamp.append(appendString(data, f.path))
	data = append(data, byte(f.state), flag(f.sure), byte(f.marks))
	data = binary.AppendUvarint(data, uint64(len(f.subs)))
	for _, name := range f.subs {
		data = appendString(data, name)
	}
	data = binary.AppendUvarint(data, uint64(len(f.items)))
	for i := range f.items {
		it := &f.items[i]
		data = it.stamp.append(appendString(data, it.name))
		data = appendString(append(data, flag(it.sure), flag(it.large)), it.content)
	}
	return data
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func appendString(data []byte, text string) []byte {
	return append(binary.AppendUvarint(data, uint64(len(text))), text...)
}

func (s stamp) append(data []byte) []byte {
	for _, n := range [...]uint64{uint64(s.mode), uint64(s.uid), uint64(s.gid), uint64(s.size), uint64(s.mtime), uint64(s.ctime), uint64(s.born), s.inode, s.dev} {
		data = binary.AppendUvarint(data, n)
	}
	return data
}

// reader reads what append has written; bad says that there was too little.
type reader struct {
	text string
	bad  bool
}

func (r *reader) number() (n uint64) {
	for shift, i := 0, 0; i < len(r.text) && i < binary.MaxVarintLen64; shift, i = shift+7, i+1 {
		n |= uint64(r.text[i]&0x7f) << shift
		if r.text[i] < 0x80 {
			r.text = r.text[i+1:]
			return n
		}
	}
	r.bad = true
	return 0
}

func (r *reader) string() string {
	n := r.number()
	if r.bad || n > uint64(len(r.text)) {
		r.bad = true
		return ""
	}
	text := r.text[:n]
	r.text = r.text[n:]
	return text
}

func (r *reader) byte() byte {
	if r.text == "" {
		r.bad = true
		return 0
	}
	b := r.text[0]
	r.text = r.text[1:]
	return b
}

func (r *reader) stamp() stamp {
	return stamp{
		mode: uint32(r.number()), uid: uint32(r.number()), gid: uint32(r.number()), size: int64(r.number()),
		mtime: int64(r.number()), ctime: int64(r.number()), born: int64(r.number()), inode: r.number(), dev: r.number(),
	}
}

func (r *reader) folder(f *folder) {
	f.path, f.stamp = r.string(), r.stamp()
	f.state, f.sure, f.marks = state(r.byte()), r.byte() != 0, marks(r.byte())
	for range r.count() {
		f.subs = append(f.subs, r.string())
	}
	for range r.count() {
		f.items = append(f.items, item{name: r.string(), stamp: r.stamp(), sure: r.byte() != 0, large: r.byte() != 0, content: r.string()})
	}
}

// count reads how many follow: no more than there are bytes.
func (r *reader) count() uint64 {
	n := r.number()
	if r.bad || n > uint64(len(r.text)) {
		r.bad = true
		return 0
	}
	return n
}
