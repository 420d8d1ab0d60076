package bootstrap_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/services/internal/bootstrap"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// A code counts once, for its life, as a person may type it.
func TestCode(t *testing.T) {
	t.Parallel()
	for name, typed := range map[string]func(string) string{
		"as printed": func(code string) string { return code },
		"lower case": strings.ToLower,
		"no dashes":  func(code string) string { return strings.ReplaceAll(code, "-", "") },
		"spaces":     func(code string) string { return "  " + strings.ReplaceAll(code, "-", " ") + "\n" },
	} {
		var c bootstrap.Code
		if err := c.Use("", start); !errors.Is(err, bootstrap.ErrOver) || c.Counts(start) {
			t.Errorf("%s: the zero code: %v", name, err)
		}
		code := c.Generate(start)
		if err := c.Use(code+"A", start); !errors.Is(err, bootstrap.ErrWrong) || !c.Counts(start) {
			t.Errorf("%s: a wrong code: %v", name, err)
		}
		if err := c.Use(typed(code), start.Add(bootstrap.Life-1)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.Use(code, start); !errors.Is(err, bootstrap.ErrOver) || c.Counts(start) {
			t.Errorf("%s: a second time: %v", name, err)
		}
	}
}

// A code ends with its life, after too many wrong ones, and where a newer one is.
func TestCodeEnds(t *testing.T) {
	t.Parallel()
	var old, tried, renewed bootstrap.Code
	if code := old.Generate(start); !errors.Is(old.Use(code, start.Add(bootstrap.Life)), bootstrap.ErrOver) {
		t.Error("it counts after its life")
	}
	code := tried.Generate(start)
	for range bootstrap.MaxTries {
		if err := tried.Use("x", start); !errors.Is(err, bootstrap.ErrWrong) {
			t.Fatal(err)
		}
	}
	if err := tried.Use(code, start); !errors.Is(err, bootstrap.ErrOver) {
		t.Errorf("after too many tries: %v", err)
	}
	first, second := renewed.Generate(start), renewed.Generate(start)
	if first == second || !errors.Is(renewed.Use(first, start), bootstrap.ErrWrong) || renewed.Use(second, start) != nil {
		t.Error("a code counts next to a newer one")
	}
	var none *bootstrap.Code
	if !errors.Is(none.Use("x", start), bootstrap.ErrOver) || none.Counts(start) {
		t.Error("no code counts")
	}
}

// Of many at once, one uses the code.
func TestCodeOnce(t *testing.T) {
	t.Parallel()
	var c bootstrap.Code
	code := c.Generate(start)
	var used atomic.Int32
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			if c.Use(code, start) == nil {
				used.Add(1)
			}
		})
	}
	all.Wait()
	if used.Load() != 1 {
		t.Errorf("used %d times", used.Load())
	}
}
