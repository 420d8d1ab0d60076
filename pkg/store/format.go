package store

import "fmt"

// Format is the version of the data of a store: the layout of keys and tables, the output
// of a store's scripts, and the records of the services. A change that an earlier program
// would misread raises it, with a named step in each store that leads there. A store
// records its format when it is made; one that has none recorded is of format 1, as all
// stores before the first record were.
const Format = 1

// OldestFormat is the earliest format that a program works with as it is. It is at most one
// behind Format, so that the programs of two releases that follow each other can share a
// store while the one replaces the other: the later program works in the format of the
// earlier one until a release has passed. An older format is raised when it is opened.
const OldestFormat = 1

// Formats are those that a program works with as they are.
type Formats struct{ Oldest, Newest int }

// KnownFormats returns those of this program.
func KnownFormats() Formats { return Formats{Oldest: OldestFormat, Newest: Format} }

func (f Formats) String() string {
	if f.Oldest == f.Newest {
		return fmt.Sprintf("format %d", f.Newest)
	}
	return fmt.Sprintf("formats %d to %d", f.Oldest, f.Newest)
}

// Stamp is the record of a store's format.
type Stamp struct {
	Format int
	// Raising is the format that a program has begun to raise the store to, and has not
	// finished; 0 for none.
	Raising int
	// Program is the version of the program that has made the store, or has raised its
	// format last; empty when it is not known.
	Program string
}

// Raised returns the format that a store must have before a program works with it: its own,
// unless it is too old or a program has begun to raise it. The error is a *FormatError.
func (f Formats) Raised(s Stamp) (int, error) {
	to := max(s.Format, s.Raising)
	if to > f.Newest {
		return 0, &FormatError{Format: to, Program: s.Program, Known: f}
	}
	return max(to, f.Oldest), nil
}

// FormatError says that a later program has made a store, or has raised its format.
type FormatError struct {
	// Format of the store, and the version of the program that it has it from; empty when
	// that is not known.
	Format  int
	Program string
	// Known are the formats of this program.
	Known Formats
}

func (e *FormatError) Error() string {
	of := "a later release"
	if e.Program != "" {
		of = "Interlock " + e.Program
	}
	return fmt.Sprintf("the store has format %d, which %s has given it, and this program reads %s: "+
		"run that release or a later one, or restore a backup of before the upgrade", e.Format, of, e.Known)
}
