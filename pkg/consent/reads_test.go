package consent_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
)

// Values that moved, and those that only look so (S18.5).
func TestMoved(t *testing.T) {
	v := func(text string) document.Value {
		v, problem := document.Parse([]byte(text), document.Limits{})
		if problem != nil {
			t.Fatal(problem)
		}
		return v
	}
	reads := func(id string, version int64, values ...consent.Read) *consent.Reads {
		return &consent.Reads{StateID: id, Version: version, Values: values}
	}
	long := strings.Repeat("x", 500)
	many := func(text string) (all []consent.Read) {
		for i := range 10 {
			all = append(all, consent.ReadOf("/"+string(rune('a'+i)), v(text)))
		}
		return all
	}
	for _, c := range []struct {
		name     string
		was, now *consent.Reads
		want     string
	}{
		{"the same", reads("s", 1, consent.ReadOf("/a", v(`1`))), reads("s", 1, consent.ReadOf("/a", v(`1`))), ""},
		{"another version, the same value", reads("s", 1, consent.ReadOf("/a", v(`{"x":1,"y":2}`))), reads("s", 9, consent.ReadOf("/a", v(`{"y":2,"x":1.0}`))), ""},
		{"another value", reads("s", 1, consent.ReadOf("/a", v(`3`))), reads("s", 2, consent.ReadOf("/a", v(`4`))), "/a: 3 -> 4"},
		{"gone", reads("s", 1, consent.ReadOf("/a", v(`3`))), reads("s", 2, consent.ReadOf("/a", document.Value{})), "/a: 3 -> nothing"},
		{"null is not nothing", reads("s", 1, consent.ReadOf("/a", document.Value{})), reads("s", 2, consent.ReadOf("/a", v(`null`))), "/a: nothing -> null"},
		{"the whole", reads("s", 1, consent.ReadOf("", v(`[]`))), reads("s", 2, consent.ReadOf("", v(`{}`))), "the whole state: [] -> {}"},
		{"long", reads("s", 1, consent.ReadOf("/a", v(`"`+long+`"`))), reads("s", 2, consent.ReadOf("/a", v(`"y`+long+`"`))), `/a: "` + long[:119] + `... -> "y` + long[:118] + `...`},
		{"another state", reads("s", 1), reads("t", 1), "the shared state was s and is t"},
		{"no state", reads("s", 1), reads("", 0), "the shared state was s and is none"},
		{"not read", reads("s", 1, consent.ReadOf("/a", v(`1`))), reads("s", 1), "/a: 1 -> nothing"},
		{"many", reads("s", 1, many("1")...), reads("s", 2, many("2")...), "/a: 1 -> 2; /b: 1 -> 2; /c: 1 -> 2; /d: 1 -> 2; /e: 1 -> 2; /f: 1 -> 2; /g: 1 -> 2; /h: 1 -> 2; and 2 more"},
	} {
		if got := c.was.Moved(c.now); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	// People see the places of values, and not the values.
	m := reads("s", 7, consent.ReadOf("/a", v(`"secret"`)), consent.ReadOf("/b", document.Value{})).Subject()
	if text := m.Value.String(); strings.Contains(text, "secret") || !strings.Contains(text, `{"pointer":"/b"}`) || !strings.Contains(text, `"digest":"`) {
		t.Errorf("shows %s", text)
	}
}
