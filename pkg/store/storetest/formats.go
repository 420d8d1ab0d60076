package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
)

// Program is a program of some release, as a store knows it. Its step to a format adds
// "+" and the format to the data of each run's record.
type Program struct {
	Version string
	Formats store.Formats
	// Fail is the format to which the step fails half way; 0 for none.
	Fail int
}

// Step returns the data of a record that has the new form of a format.
func (Program) Step(data string, format int) string { return fmt.Sprintf("%s+%d", data, format) }

// program returns one that knows some formats.
func program(oldest, newest int) Program {
	return Program{Version: fmt.Sprintf("v%d", newest), Formats: store.Formats{Oldest: oldest, Newest: newest}}
}

// RunFormats tests that storage is used only by programs that know its format. fresh returns
// a function that opens storage that no other test sees, as a program does. alone says that no two
// programs share the storage: then it is raised as far as the program can.
func RunFormats(t *testing.T, alone bool, fresh func(t *testing.T) func(Program) (store.Store, error)) {
	for name, run := range map[string]func(t *testing.T, f *formats){
		"the same": sameFormat, "of the release before": formatBefore, "later": laterFormat,
		"raised": raisedFormat, "interrupted": interruptedRaise,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, &formats{T: t, open: fresh(t), alone: alone})
		})
	}
}

// formats is a test of formats.
type formats struct {
	*testing.T
	open  func(Program) (store.Store, error)
	alone bool
}

// with opens the storage as a program for as long as use takes.
func (f *formats) with(p Program, use func(s store.Store)) {
	f.Helper()
	s, err := f.open(p)
	if err != nil {
		f.Fatalf("%+v: %v", p, err)
	}
	use(s)
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
}

// refused requires that a program is refused, because of the format of a later version.
func (f *formats) refused(p Program, format int, version string) {
	f.Helper()
	s, err := f.open(p)
	if err == nil {
		_ = s.Close()
		f.Fatalf("%+v was let in", p)
	}
	var refused *store.FormatError
	waits := errors.Is(err, store.ErrUnavailable) // for an event that never comes
	if !errors.As(err, &refused) || refused.Format != format || refused.Program != version || waits {
		f.Errorf("%+v is refused with %v", p, err)
	}
}

const formatRecords = 40

func (f *formats) fill() func(store.Store) {
	return func(s store.Store) {
		f.Helper()
		for i := range formatRecords {
			if _, err := s.Commit(f.Context(), create(run(fmt.Sprint("r", i)), "x")); err != nil {
				f.Fatal(err)
			}
		}
	}
}

// has requires the data of each record.
func (f *formats) has(data string) func(store.Store) {
	return func(s store.Store) {
		f.Helper()
		for i := range formatRecords {
			record, err := s.Get(f.Context(), run(fmt.Sprint("r", i)))
			if err != nil || string(record.Data) != data || record.Version != 1 {
				f.Fatalf("version %d is %q, not %q: %v", record.Version, record.Data, data, err)
			}
		}
	}
}

func sameFormat(_ *testing.T, f *formats) {
	f.with(program(1, 1), f.fill())
	f.with(program(1, 1), f.has("x"))
}

// Programs of two releases share a store, and it stays as the earlier one knows it.
func formatBefore(_ *testing.T, f *formats) {
	f.with(program(1, 1), f.fill())
	if f.alone {
		f.with(program(1, 2), f.has("x+2"))
		f.refused(program(1, 1), 2, "v2")
		return
	}
	f.with(program(1, 2), f.has("x"))
	f.with(program(1, 1), f.has("x"))
}

func laterFormat(_ *testing.T, f *formats) {
	f.with(program(2, 3), f.fill())
	f.refused(program(1, 2), 3, "v3")
	f.with(program(3, 4), func(store.Store) {})
}

func raisedFormat(_ *testing.T, f *formats) {
	f.with(program(1, 1), f.fill())
	if f.alone {
		f.with(program(3, 4), f.has("x+2+3+4"))
		return
	}
	f.with(program(3, 4), f.has("x+2+3"))
	f.with(program(2, 3), f.has("x+2+3"))
	f.refused(program(1, 2), 3, "v4")
}

// A program ends half way through a step, and again, and the next one finishes it.
func interruptedRaise(_ *testing.T, f *formats) {
	f.with(program(1, 1), f.fill())
	killed := program(3, 3)
	killed.Fail = 3
	for range 2 {
		if s, err := f.open(killed); err == nil {
			_ = s.Close()
			f.Fatal("the step did not fail")
		}
	}
	if !f.alone { // elsewhere it is whole before the step
		f.refused(program(1, 2), 3, "v3")
	}
	// The later program knows the format of before as it is, and yet not half of it.
	f.with(program(2, 3), f.has("x+2+3"))
}
