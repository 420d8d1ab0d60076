package sqlitestore

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/interlock-run/interlock/pkg/store"
)

// Each opening of a file begins an era, for the file may be an older copy. A witness next to it remembers
// the last era and how many events the file had at least: a file without them has gone back in time. A
// second witness may be where a copy of the whole folder does not have it.

// witness is the known history of a store.
type witness struct {
	era    string
	events int64
}

const witnessFormat = "%-32s %020d\n" // of one length, so that it is written in place

// witnesses returns the files that remember a store: next to it, and where the configuration
// says.
func (config Config) witnesses() []string {
	files := []string{config.Path + ".era"}
	if config.Witness != "" {
		files = append(files, config.Witness)
	}
	return files
}

// readWitness returns the known history, or nil when there is none.
func readWitness(file string) (*witness, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: reading the mark of the store: %w", err)
	}
	var w witness
	if _, err := fmt.Sscanf(string(text), "%s %d\n", &w.era, &w.events); err != nil {
		return nil, nil //nolint:nilerr // it was being written for the first time
	}
	return &w, nil
}

// write writes a witness to all of its files.
func (w witness) write(files []string) error {
	for _, path := range files {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return fmt.Errorf("sqlitestore: remembering the era of the store: %w", err)
		}
		_, err = fmt.Fprintf(file, witnessFormat, w.era, w.events)
		if err := errors.Join(err, file.Sync(), file.Close(), syncFolder(filepath.Dir(path))); err != nil {
			return fmt.Errorf("sqlitestore: remembering the era of the store in %s: %w", path, err)
		}
	}
	return nil
}

// begin begins an era, unless the file has gone back: then lost describes the missing
// events.
func (s *Store) beginEra(config Config) (lost string, err error) {
	eras, err := readEras(s.writer.conn)
	if err != nil {
		return "", fmt.Errorf("sqlitestore: reading %s: %w", s.path, explain(err))
	}
	for _, file := range s.witnesses {
		if file == config.Witness && len(eras) == 0 { // a new store in the place of one that was removed
			continue
		}
		seen, err := readWitness(file)
		if err != nil {
			return "", err
		}
		lost = cmp.Or(lost, seen.missing(eras, s.heads.sum()))
	}
	if lost != "" && !config.ContinueAfterRollback {
		return lost, nil
	}
	if lost != "" {
		config.Logger.Error("THE STORE HAS GONE BACK IN TIME; --on-rollback=continue accepts that", "file", s.path, "lost", lost)
	}
	s.writer.era = rand.Text()[:12]
	if len(eras) > 0 {
		s.writer.floor = max(micros(config.Clock()), eras.floor())
	}
	insert := fmt.Sprintf("INSERT INTO eras (id, floor) VALUES ('%s', %d)", s.writer.era, s.writer.floor)
	if err := s.writer.conn.exec(insert); err != nil {
		return "", fmt.Errorf("sqlitestore: opening %s: %w", s.path, explain(err))
	}
	return "", witness{s.writer.era, s.heads.sum()}.write(s.witnesses)
}

// eras are those that a file knows, and the least fencing token of each.
type eras map[string]int64

func (e eras) floor() (most int64) {
	for _, floor := range e {
		most = max(most, floor+1)
	}
	return most
}

func readEras(c *conn) (eras, error) {
	statement, err := c.prepare("SELECT id, floor FROM eras")
	if err != nil {
		return nil, err
	}
	known := eras{}
	return known, statement.each(func(row []driver.Value) bool {
		known[text(row[0])] = row[1].(int64)
		return true
	})
}

// missing describes the known events that a file lacks, or is empty.
func (w *witness) missing(known eras, events int64) string {
	if w == nil {
		return ""
	}
	switch _, found := known[w.era]; {
	case !found:
		return fmt.Sprintf("it does not know the era %s, which was the last", w.era)
	case events < w.events:
		return fmt.Sprintf("%d events were seen, and it has %d", w.events, events)
	}
	return ""
}

// sum returns how many events there ever were.
func (h *heads) sum() (sum int64) {
	for shard := range h.seqs {
		sum += h.seqs[shard].Load()
	}
	return sum
}

// Gate returns nil, or a gate that refuses all calls: a file that is open has one
// history.
func (s *Store) Gate() *store.Gate { return s.gate }

// AcceptRollback lets a file be used that has gone back in time. It returns the losses,
// none when the file has not gone back.
func AcceptRollback(ctx context.Context, config Config) (lost []string, err error) {
	config.ContinueAfterRollback = false
	s, err := Open(ctx, config)
	if err != nil {
		return nil, err
	}
	var gone *store.RolledBackError
	if errors.As(s.gate.Lost(), &gone) {
		lost = strings.Split(gone.Lost, "\n")
		for _, file := range s.witnesses {
			err = errors.Join(err, remove(file))
		}
	}
	return lost, errors.Join(err, s.Close())
}
