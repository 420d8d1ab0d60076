package show

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// On a terminal times are where the user is, with the offset, and ids are shortened as far as
// they stay unique; elsewhere no text is changed.
func TestStyle(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 5, time.FixedZone("", 3600))
	if got := (Style{}).Time(at); got != "2026-11-21T11:00:00Z" {
		t.Error(got)
	}
	if got, want := (Style{terminal: true}).Time(at), at.Local().Format("2006-01-02 15:04:05 -07:00"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	const first, second, third = "run_01jd3k0c7qf3ta3bfa1m2y8x9n", "run_01jd3k0c7qf3ta4bfa1m2y8x9n", "run_01jd3k0c7qf3ta4bfa1m2y8x9z"
	for _, tc := range []struct {
		ids, want []string
	}{
		{[]string{first, second}, []string{"run_01jd3k0c7qf3ta3", "run_01jd3k0c7qf3ta4"}},
		{[]string{first, first, "mine", ""}, []string{"run_01jd3k0c7qf3ta", "run_01jd3k0c7qf3ta", "mine", ""}},
		{[]string{second, third}, []string{second, third}},
	} {
		if got := shorten(tc.ids); strings.Join(got, " ") != strings.Join(tc.want, " ") {
			t.Errorf("%v: %v, want %v", tc.ids, got, tc.want)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	rows := [][]any{
		{ID("run_01jd3k0c7qf3ta3bfa1m2y8x9n"), Word("DENY TOOL_NOT_ALLOWED"), "a\tb"},
		{ID("run_11jd3k0c7qf3ta3bfa1m2y8x9n"), Word("ALLOW"), time.Time{}},
	}
	table := func(style Style) string {
		var out bytes.Buffer
		w := newSheet(&out, style)
		cells := [][]any{append([]any{}, rows[0]...), append([]any{}, rows[1]...)}
		w.rows([]string{"RUN", "DECISION", "X"}, cells)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	const file = `RUN                             DECISION               X
run_01jd3k0c7qf3ta3bfa1m2y8x9n  DENY TOOL_NOT_ALLOWED  a b
run_11jd3k0c7qf3ta3bfa1m2y8x9n  ALLOW                  
`
	if got := table(Style{}); got != file {
		t.Errorf("in a file:\n%s", got)
	}
	colored := table(Style{terminal: true, color: true})
	want := strings.NewReplacer("3bfa1m2y8x9n", "", "RUN                             ", "RUN                 ").Replace(file)
	if !strings.Contains(colored, red+"DENY TOOL_NOT_ALLOWED"+plain) || !strings.Contains(colored, green+"ALLOW"+plain) {
		t.Errorf("without colors:\n%q", colored)
	}
	if got := strings.NewReplacer(red, "", green, "", plain, "").Replace(colored); got != want {
		t.Errorf("on a terminal:\n%s\nwant\n%s", got, want)
	}
	// Text of others brings no color of its own.
	if got := (Style{color: true}).Word("ALLOW\x1b[31m"); strings.Count(got, "\x1b") != 2 {
		t.Errorf("%q", got)
	}
}

func TestStyleOf(t *testing.T) {
	t.Parallel()
	for color, want := range map[string]bool{"auto": false, "always": true, "never": false, "": false} {
		if got := styleOf(&bytes.Buffer{}, color); got.terminal || got.color != want {
			t.Errorf("%q: %+v", color, got)
		}
	}
}
