package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// magic begins a file. FileFormat is the version of the rest, which is independent of the
// format of the store.
const (
	magic      = "ILBACKUP"
	FileFormat = 1
)

// A block is its length and its checksum, four bytes each, and then its kind and its
// content: the header, items or the trailer.
const (
	blockHead  = 'H'
	blockItems = 'I'
	blockTail  = 'T'

	// blockSize is when a block is full, and mostBlock the largest one that is read.
	blockSize = 256 << 10
	mostBlock = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Head is the header of a file.
type Head struct {
	File int `json:"file"`
	// ID of the backup, which no other has.
	ID string `json:"id"`
	// Store is the database that it was made of: sqlite or redis.
	Store string `json:"store"`
	// Format of the store, and Program that has made the backup.
	Format  int    `json:"format"`
	Program string `json:"program"`
	Shards  int    `json:"shards"`
	// Eras of the store, and the least fencing token of the last.
	Eras  []string `json:"eras"`
	Floor int64    `json:"floor"`
}

// Tail is the trailer of a file.
type Tail struct {
	// At is the moment that the backup is of.
	At time.Time `json:"at"`
	// Items counts them by kind.
	Items map[string]int64 `json:"items"`
	// SHA256 of all before the trailer.
	SHA256 string `json:"sha256"`
}

// Writer writes a file.
type Writer struct {
	out    io.Writer
	digest hash.Hash
	block  []byte
	tail   Tail
}

// NewWriter begins a file with its header.
func NewWriter(out io.Writer, head Head) (*Writer, error) {
	w := &Writer{out: out, digest: sha256.New(), tail: Tail{Items: map[string]int64{}}}
	head.File = FileFormat
	text, err := json.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	if err := w.write([]byte(magic)); err != nil {
		return nil, err
	}
	return w, w.frame(append([]byte{blockHead}, text...))
}

// Put adds an item.
func (w *Writer) Put(item Item) error {
	if len(w.block) == 0 {
		w.block = append(w.block, blockItems)
	}
	w.block = appendItem(w.block, item)
	w.tail.Items[Kinds[item.kind()]]++
	if len(w.block) < blockSize {
		return nil
	}
	return w.flush()
}

func (w *Writer) flush() error {
	if len(w.block) == 0 {
		return nil
	}
	err := w.frame(w.block)
	if w.block = w.block[:0]; cap(w.block) > 4*blockSize {
		w.block = nil
	}
	return err
}

// End writes the trailer of a backup that is of this moment.
func (w *Writer) End(at time.Time) (Tail, error) {
	if err := w.flush(); err != nil {
		return w.tail, err
	}
	w.tail.At, w.tail.SHA256 = at.UTC(), hex.EncodeToString(w.digest.Sum(nil))
	text, err := json.Marshal(w.tail)
	if err != nil {
		return w.tail, fmt.Errorf("backup: %w", err)
	}
	return w.tail, w.frame(append([]byte{blockTail}, text...))
}

func (w *Writer) frame(content []byte) error {
	var prefix [8]byte
	binary.LittleEndian.PutUint32(prefix[:4], uint32(len(content)))
	binary.LittleEndian.PutUint32(prefix[4:], crc32.Checksum(content, castagnoli))
	if err := w.write(prefix[:]); err != nil {
		return err
	}
	return w.write(content)
}

func (w *Writer) write(p []byte) error {
	w.digest.Write(p)
	if _, err := w.out.Write(p); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// File is one that is whole.
type File struct {
	Head Head
	Tail Tail
	// Bytes is its size.
	Bytes int64

	file *os.File
}

// Open opens a file and reads it once: the error describes the problem with it.
func Open(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	f := &File{file: file}
	if err := f.verify(); err != nil {
		return nil, errors.Join(fmt.Errorf("backup: %s: %w", path, err), file.Close())
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// verify reads the whole file.
func (f *File) verify() error {
	items := map[string]int64{}
	r, err := f.read(func(item Item) error {
		items[Kinds[item.kind()]]++
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range Kinds {
		if items[name] != f.Tail.Items[name] {
			return fmt.Errorf("%w: it has %d %s, and should have %d", ErrDamaged, items[name], name, f.Tail.Items[name])
		}
	}
	f.Bytes = r.size
	return nil
}

// Each yields all items in their order, once more.
func (f *File) Each(yield func(Item) error) error {
	_, err := f.read(yield)
	return err
}

// ErrDamaged is why a file is not a whole backup.
var ErrDamaged = errors.New("it is not a whole backup")

var (
	errForeign = fmt.Errorf("%w: it is not one of Interlock's", ErrDamaged)
	errCut     = fmt.Errorf("%w: it is cut off, because it was not finished, or not copied whole", ErrDamaged)
	errSum     = fmt.Errorf("%w: a checksum is wrong", ErrDamaged)
)

func (f *File) read(yield func(Item) error) (*reader, error) {
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r := &reader{in: bufio.NewReaderSize(f.file, blockSize), digest: sha256.New()}
	if err := r.head(&f.Head); err != nil {
		return nil, err
	}
	for {
		before := hex.EncodeToString(r.digest.Sum(nil))
		content, err := r.frame()
		if err != nil {
			return nil, err
		}
		switch content[0] {
		case blockItems:
			if err := each(content[1:], yield); err != nil {
				return nil, err
			}
		case blockTail:
			if err := json.Unmarshal(content[1:], &f.Tail); err != nil || f.Tail.SHA256 != before {
				return nil, errSum
			}
			if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
				return nil, errSum
			}
			return r, nil
		default:
			return nil, errItem
		}
	}
}

func each(content []byte, yield func(Item) error) error {
	for len(content) > 0 {
		item, rest, err := readItem(content)
		if err != nil {
			return err
		}
		if err := yield(item); err != nil {
			return err
		}
		content = rest
	}
	return nil
}

// reader reads blocks.
type reader struct {
	in     *bufio.Reader
	digest hash.Hash
	buf    bytes.Buffer
	size   int64
}

func (r *reader) head(head *Head) error {
	begin, err := r.take(int64(len(magic)))
	if err != nil || string(begin) != magic {
		return errForeign
	}
	content, err := r.frame()
	if err != nil {
		return err
	}
	if content[0] != blockHead || json.Unmarshal(content[1:], head) != nil {
		return errSum
	}
	if head.File != FileFormat {
		return fmt.Errorf("it has the form %d, and this program reads %d: use the release that wrote it, Interlock %s",
			head.File, FileFormat, head.Program)
	}
	return nil
}

// frame reads a block. It is valid until the next.
func (r *reader) frame() ([]byte, error) {
	prefix, err := r.take(8)
	if err != nil {
		return nil, err
	}
	size, sum := binary.LittleEndian.Uint32(prefix[:4]), binary.LittleEndian.Uint32(prefix[4:])
	if size == 0 || size > mostBlock {
		return nil, errSum
	}
	content, err := r.take(int64(size))
	if err != nil {
		return nil, err
	}
	if crc32.Checksum(content, castagnoli) != sum {
		return nil, errSum
	}
	return content, nil
}

// take reads bytes as they come: a wrong length asks for no memory that the file does not fill.
func (r *reader) take(n int64) ([]byte, error) {
	if r.buf.Reset(); r.buf.Cap() > 4*blockSize {
		r.buf = bytes.Buffer{}
	}
	switch got, err := io.CopyN(&r.buf, r.in, n); {
	case errors.Is(err, io.EOF):
		return nil, errCut
	case err != nil:
		return nil, err
	default:
		r.size += got
	}
	r.digest.Write(r.buf.Bytes())
	return r.buf.Bytes(), nil
}

// Fits returns why a backup cannot be restored by a program that knows these formats, or nil.
func (h *Head) Fits(known store.Formats) error {
	if h.Format > known.Newest || h.Format < known.Oldest {
		return fmt.Errorf("the backup is of a store of format %d, made by Interlock %s, and this program reads %s: "+
			"restore it with that release, and upgrade then", h.Format, h.Program, known)
	}
	return nil
}
