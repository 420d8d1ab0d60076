package tree

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
)

// index has the names of the files that a repository tracks.
type index struct {
	names []string // sorted
	// folders are submodules and folders of a sparse index, sorted.
	folders []string
	// shared is the name of a shared index file that has the rest; empty for none.
	shared string
}

func (x *index) has(path string) bool {
	_, ok := slices.BinarySearch(x.names, path)
	return ok
}

// hasFolder reports whether a folder is tracked as a whole.
func (x *index) hasFolder(path string) bool {
	_, ok := slices.BinarySearch(x.folders, path)
	return ok
}

// hasBelow reports whether something in a folder is tracked.
func (x *index) hasBelow(path string) bool {
	path += "/"
	return hasPrefix(x.names, path) || hasPrefix(x.folders, path)
}

func hasPrefix(sorted []string, prefix string) bool {
	i, _ := slices.BinarySearch(sorted, prefix)
	return i < len(sorted) && strings.HasPrefix(sorted[i], prefix)
}

// add takes over the names of another index.
func (x *index) add(other *index) {
	x.names = append(x.names, other.names...)
	x.folders = append(x.folders, other.folders...)
	x.sort()
}

func (x *index) sort() {
	for _, list := range []*[]string{&x.names, &x.folders} {
		if !slices.IsSorted(*list) {
			slices.Sort(*list)
		}
		*list = slices.Compact(*list)
	}
}

var errIndex = errors.New("the index of the git repository cannot be read (run git status to repair it)")

// parseIndex reads an index file of git, of SHA-1 or SHA-256.
func parseIndex(data string) (*index, error) {
	for _, size := range []int{20, 32} {
		if x, ok := parseIndexOf(data, size); ok {
			return x, nil
		}
	}
	return nil, errIndex
}

func parseIndexOf(data string, hashSize int) (*index, bool) {
	if len(data) < 12+hashSize || data[:4] != "DIRC" {
		return nil, false
	}
	version, count := be32(data[4:]), int(be32(data[8:]))
	end := len(data) - hashSize
	if version < 2 || version > 4 || count > (end-12)/(40+hashSize+2) {
		return nil, false
	}
	x := &index{names: make([]string, 0, count)}
	at, name := 12, ""
	for range count {
		var mode uint32
		var next int
		var ok bool
		if name, mode, next, ok = indexEntry(data[:end], at, hashSize, version, name); !ok {
			return nil, false
		}
		at = next
		switch mode >> 12 {
		case 0o16, 0o4: // a submodule; a folder of a sparse index
			x.folders = append(x.folders, strings.TrimSuffix(name, "/"))
		case 0o10, 0o12:
			if name != "" { // of a split index: an entry of the shared one
				x.names = append(x.names, name)
			}
		default:
			return nil, false
		}
	}
	x.sort()
	return x, x.extensions(data[at:end], hashSize)
}

// indexEntry reads the entry at a place, and returns the place of the next one.
func indexEntry(data string, at, hashSize int, version uint32, previous string) (name string, mode uint32, next int, ok bool) {
	start := at
	fixed := 40 + hashSize + 2
	if at+fixed > len(data) {
		return "", 0, 0, false
	}
	mode = be32(data[at+24:])
	flags := binary.BigEndian.Uint16([]byte(data[at+fixed-2 : at+fixed]))
	at += fixed
	if flags&0x4000 != 0 {
		if version < 3 || at+2 > len(data) {
			return "", 0, 0, false
		}
		at += 2
	}
	if version == 4 {
		strip, size, good := offsetVarint(data[at:])
		if !good || strip > len(previous) {
			return "", 0, 0, false
		}
		at += size
		end := strings.IndexByte(data[at:], 0)
		if end < 0 {
			return "", 0, 0, false
		}
		return previous[:len(previous)-strip] + data[at:at+end], mode, at + end + 1, true
	}
	length := int(flags & 0xfff)
	if length == 0xfff {
		length = strings.IndexByte(data[at:], 0)
	}
	if length < 0 || at+length >= len(data) || data[at+length] != 0 {
		return "", 0, 0, false
	}
	next = start + (at+length-start+8)&^7
	return data[at : at+length], mode, next, next <= len(data)
}

// extensions reads what follows the entries.
func (x *index) extensions(data string, hashSize int) bool {
	for len(data) > 0 {
		if len(data) < 8 {
			return false
		}
		size := int(be32(data[4:]))
		if size > len(data)-8 {
			return false
		}
		switch {
		case data[:4] == "link":
			if size < hashSize {
				return false
			}
			if base := data[8 : 8+hashSize]; strings.Trim(base, "\x00") != "" {
				x.shared = "sharedindex." + hex.EncodeToString([]byte(base))
			}
		case data[:4] != "sdir" && (data[0] < 'A' || data[0] > 'Z'):
			return false // an extension that must be understood
		}
		data = data[8+size:]
	}
	return true
}

func be32(s string) uint32 {
	return uint32(s[0])<<24 | uint32(s[1])<<16 | uint32(s[2])<<8 | uint32(s[3])
}

// offsetVarint reads a number as version 4 of the index has it.
func offsetVarint(s string) (value, size int, ok bool) {
	for i := 0; i < len(s) && i < 5; i++ {
		value = value<<7 | int(s[i]&0x7f)
		if s[i]&0x80 == 0 {
			return value, i + 1, true
		}
		value++
	}
	return 0, 0, false
}
