package tree

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"sync/atomic"
)

// kind is the sort of an entry; its byte is part of the digest.
type kind byte

const (
	regular    kind = 'f'
	executable kind = 'x'
	symlink    kind = 'l'
	fifo       kind = 'p'
	socket     kind = 's'
	blockDev   kind = 'b'
	charDev    kind = 'c'
	directory  kind = 'd'
	// trackedOnly is an ignored folder with tracked files: those alone count.
	trackedOnly kind = 'o'
	// submodule is a folder with rules and an index of its own.
	submodule kind = 'g'
	// ignoredFile and ignoredFolder do not count.
	ignoredFile   kind = '-'
	ignoredFolder kind = '='
	// unknownFile and unknownType are of a listing: a file, and an entry that may be a folder.
	unknownFile kind = '?'
	unknownType kind = 0
)

func (k kind) ignored() bool { return k == ignoredFile || k == ignoredFolder }

func (k kind) folder() bool {
	return k == directory || k == trackedOnly || k == submodule || k == ignoredFolder
}

// stamp is what the system says about a file without its content.
type stamp struct {
	mode         uint32 // of Unix: type and permissions
	size         int64
	mtime, ctime int64 // nanoseconds
	inode, dev   uint64
}

// entry is a file or folder of a folder.
type entry struct {
	name string
	kind kind
	// sure says that an equal stamp means an equal content.
	sure  bool
	stamp stamp
	// hash is of a file's content or a link's target; zero for others.
	hash  [32]byte
	child *folder
}

// folder is a folder that counts, with all its entries but .git.
type folder struct {
	stamp stamp
	// sure says that an equal stamp means equal names.
	sure bool
	// context is a hash of all that decides which entries are ignored.
	context [32]byte
	entries []entry // sorted by name
	// hash and files are of the entries that count, below as well.
	hash  [32]byte
	files int

	// was is the last version of the folder, until seal; nil for none.
	was *folder
	// dirty says that an entry that counts is not that of old.
	dirty atomic.Bool
	// cached is where the entries are, until load; nil afterwards.
	cached *cacheFile
	at     int
}

func (f *folder) find(name string) *entry {
	i, ok := slices.BinarySearchFunc(f.entries, name, func(e entry, name string) int { return strings.Compare(e.name, name) })
	if !ok {
		return nil
	}
	return &f.entries[i]
}

// visible returns the entries that count.
func (f *folder) visible() []entry {
	if f == nil {
		return nil
	}
	var list []entry
	for _, e := range f.entries {
		if e.counts() {
			list = append(list, e)
		}
	}
	return list
}

func (e *entry) counts() bool {
	return !e.kind.ignored() && (e.child == nil || e.child.files > 0)
}

// seal computes the hashes of a folder and of those below, and forgets their last versions.
func (f *folder) seal() {
	old := f.was
	f.was, f.files = nil, 0
	dirty := f.dirty.Load() || old == nil
	for i := range f.entries {
		e := &f.entries[i]
		switch {
		case e.child != nil:
			before := e.child.was
			e.child.seal()
			dirty = dirty || before == nil || before.hash != e.child.hash || (before.files > 0) != (e.child.files > 0)
			f.files += e.child.files
		case !e.kind.ignored():
			f.files++
		}
	}
	if !dirty {
		f.hash = old.hash
		return
	}
	f.hash = f.listingHash()
}

// at2 finds an entry that is likely at index i.
func (f *folder) at2(i int, name string) *entry {
	if i < len(f.entries) && f.entries[i].name == name {
		return &f.entries[i]
	}
	return f.find(name)
}

// listingHash hashes kind, name and hash of each entry that counts.
func (f *folder) listingHash() [32]byte {
	var list []byte
	for i := range f.entries {
		e := &f.entries[i]
		if !e.counts() {
			continue
		}
		k, h := e.kind, e.hash
		if e.child != nil {
			k, h = directory, e.child.hash
		}
		list = append(list, byte(k))
		list = binary.AppendUvarint(list, uint64(len(e.name)))
		list = append(list, e.name...)
		list = append(list, h[:]...)
	}
	return sha256.Sum256(list)
}
