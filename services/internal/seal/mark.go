package seal

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
)

// State is the state of a record.
type State byte

// The states of records. They are part of the form of the file.
const (
	// Live records are there, with this serial or a later one.
	Live State = 'p'
	// Leaving records may be there, with this serial or a later one, or deleted.
	Leaving State = 'd'
	// Gone records were deleted: those there now have a later serial.
	Gone State = 'x'
	// OfFile is the serial of a file.
	OfFile State = 'f'
	// twinned says that a twin of the mark is outside of the folder.
	twinned State = 't'
)

// Entry is the newest known serial of a record or a file.
type Entry struct {
	Serial uint64
	State  State
}

const (
	markMagic = "interlock-mark-1\n"
	macSize   = 16
	// A frame is a state, a name, a serial, and the code of all up to here.
	frameBody = 1 + len(Name{}) + serialSize
	frameSize = frameBody + macSize
	// rewriteAt is the size from which a file with many old frames is written again.
	rewriteAt = 8 << 20
)

// ErrNoMark refuses a seal whose mark is gone.
var ErrNoMark = errors.New("the mark of the seal is gone, so older records cannot be refused: " +
	"put the file back; or, if you removed it or restored a backup, run `interlock data seal`, which accepts the records as they are")

// errNoTwin refuses a mark whose twin is gone.
var errNoTwin = errors.New("the mark of the seal outside of the data folder is gone, so an older copy of the whole folder could not be noticed: " +
	"put the file back; or, if you removed it or restored a backup, remove seal.mark in the data folder and run `interlock data seal`, which accepts the records as they are")

// Mark remembers the newest serials of the records that decide, so that older ones are refused. It is a file of frames, each
// with a code over all before it.
type Mark struct {
	path string
	key  [keySize]byte
	// twin is the same outside of the data folder, which an older copy of the whole folder does not have; nil for none.
	twin *Mark

	mu      sync.Mutex
	entries map[Name]Entry
	last    []byte // the code of the last frame
	size    int
	file    *os.File
	failed  error
}

// MakeMark begins an empty mark, in the place of an earlier one. twin is the path of its twin, or empty.
func MakeMark(path, twin string, box *Box) (*Mark, error) {
	m := &Mark{path: path, key: box.Key("mark"), entries: map[Name]Entry{}}
	return m, errors.Join(m.rewrite(), m.pair(twin, box))
}

// OpenMark reads a mark and its twin: of what they have both, the newer counts. It refuses one that was changed, and one whose
// twin is gone.
func OpenMark(path, twin string, box *Box) (*Mark, error) {
	m := &Mark{path: path, key: box.Key("mark"), entries: map[Name]Entry{}}
	err := m.load()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, ErrNoMark)
	}
	if err != nil {
		return nil, err
	}
	if twin == "" {
		return m, m.rewrite()
	}
	outer := &Mark{path: twin, key: box.Key("twin of the mark"), entries: map[Name]Entry{}}
	err = outer.load()
	_, had := m.entries[twinName]
	switch {
	case errors.Is(err, fs.ErrNotExist) && had:
		return nil, fmt.Errorf("%s: %w", twin, errNoTwin)
	case errors.Is(err, fs.ErrNotExist):
		return m, errors.Join(m.rewrite(), m.pair(twin, box))
	case err != nil:
		return nil, err
	}
	for name, e := range outer.entries {
		if m.entries[name].before(e) {
			m.entries[name] = e
		}
	}
	outer.entries, m.twin = maps.Clone(m.entries), outer
	return m, errors.Join(outer.rewrite(), m.rewrite())
}

// twinName is the name of the entry that says that there is a twin.
var twinName = NameOf("twin of the mark")

// pair begins the twin of a mark, with what the mark has.
func (m *Mark) pair(path string, box *Box) error {
	if path == "" {
		return nil
	}
	m.twin = &Mark{path: path, key: box.Key("twin of the mark"), entries: maps.Clone(m.entries)}
	if err := m.twin.rewrite(); err != nil {
		return err
	}
	return m.note(twinName, Entry{1, twinned}, true)
}

// before reports whether another entry of the same name is newer.
func (e Entry) before(other Entry) bool {
	order := []State{Live, Leaving, Gone}
	return e.Serial < other.Serial || e.Serial == other.Serial && slices.Index(order, e.State) < slices.Index(order, other.State)
}

// load reads the file.
func (m *Mark) load() error {
	data, err := os.ReadFile(m.path)
	if err != nil {
		return fmt.Errorf("read the mark of the seal: %w", err)
	}
	if err := m.read(data); err != nil {
		return fmt.Errorf("%s: %w", m.path, err)
	}
	return nil
}

func (m *Mark) read(data []byte) error {
	rest, ok := bytes.CutPrefix(data, []byte(markMagic))
	if !ok {
		return errors.New("it is no mark of a seal; put the file back from a backup, or remove it and run `interlock data seal`")
	}
	// A frame that was cut off was not finished.
	for code := []byte(markMagic); len(rest) >= frameSize; rest = rest[frameSize:] {
		if code = m.code(code, rest[:frameBody]); !hmac.Equal(code, rest[frameBody:frameSize]) {
			return errors.New("another program has changed the mark of the seal; put the file back from a backup, or remove it and run `interlock data seal`")
		}
		m.take(rest)
	}
	return nil
}

// take takes the frame that a text begins with.
func (m *Mark) take(frame []byte) {
	name := Name(frame[1 : 1+len(Name{})])
	m.entries[name] = Entry{binary.BigEndian.Uint64(frame[1+len(Name{}):]), State(frame[0])}
}

func (m *Mark) code(before, body []byte) []byte {
	mac := hmac.New(sha256.New, m.key[:])
	mac.Write(before)
	mac.Write(body)
	return mac.Sum(nil)[:macSize]
}

// frame returns a frame with its code, which is the last one then.
func (m *Mark) frame(name Name, e Entry) []byte {
	body := append([]byte{byte(e.State)}, name[:]...)
	body = binary.BigEndian.AppendUint64(body, e.Serial)
	m.last = m.code(m.last, body)
	return append(body, m.last...)
}

// rewrite writes the file with one frame for each entry.
func (m *Mark) rewrite() error {
	m.last = []byte(markMagic)
	text := []byte(markMagic)
	for _, name := range slices.SortedFunc(maps.Keys(m.entries), func(a, b Name) int { return bytes.Compare(a[:], b[:]) }) {
		text = append(text, m.frame(name, m.entries[name])...)
	}
	if m.file != nil {
		_ = m.file.Close()
		m.file = nil
	}
	if err := auth.PutSecret(m.path, text); err != nil {
		return fmt.Errorf("write the mark of the seal: %w", err)
	}
	file, err := os.OpenFile(filepath.Clean(m.path), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("write the mark of the seal: %w", err)
	}
	m.file, m.size = file, len(text)
	return nil
}

// note writes an entry, durably where sync is asked for. After a failure it writes the whole file again.
func (m *Mark) note(name Name, e Entry, sync bool) error {
	if m.twin != nil {
		if err := m.twin.note(name, e, sync); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if before, known := m.entries[name]; known && before == e {
		return nil
	}
	m.entries[name] = e
	if m.failed != nil || m.file == nil || m.size > rewriteAt && m.size > 4*len(m.entries)*frameSize {
		m.failed = m.rewrite()
		return m.failed
	}
	_, m.failed = m.file.Write(m.frame(name, e))
	m.size += frameSize
	if m.failed == nil && sync {
		m.failed = m.file.Sync()
	}
	return m.failed
}

// Entries returns the entries of records.
func (m *Mark) Entries() map[Name]Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := maps.Clone(m.entries)
	maps.DeleteFunc(all, func(_ Name, e Entry) bool { return e.State == OfFile || e.State == twinned })
	return all
}

// Files returns the serials of files.
func (m *Mark) Files() map[Name]uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[Name]uint64{}
	for name, e := range m.entries {
		if e.State == OfFile {
			all[name] = e.Serial
		}
	}
	return all
}

// File notes the serial of a file.
func (m *Mark) File(name Name, serial uint64) { _ = m.note(name, Entry{serial, OfFile}, false) }

// Put notes that a record was put. An earlier mark admits the record, too.
func (m *Mark) Put(name Name, serial uint64) error { return m.note(name, Entry{serial, Live}, false) }

// Leave notes durably that a record is about to be deleted.
func (m *Mark) Leave(name Name, serial uint64) error {
	return m.note(name, Entry{serial, Leaving}, true)
}

// Delete notes that a record was deleted.
func (m *Mark) Delete(name Name, serial uint64) error {
	return m.note(name, Entry{serial, Gone}, false)
}

// Last returns when a record that decides was changed last; zero for never.
func (m *Mark) Last() time.Time {
	var last uint64
	for _, e := range m.Entries() {
		last = max(last, e.Serial)
	}
	if last == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(last)) //nolint:gosec // a time
}

// Close closes the file.
func (m *Mark) Close() error {
	if m.twin != nil {
		if err := m.twin.Close(); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil
	}
	err := errors.Join(m.file.Sync(), m.file.Close())
	m.file = nil
	return err
}
