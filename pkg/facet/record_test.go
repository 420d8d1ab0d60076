package facet_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
)

// given has the facets that a test gives.
type given map[condition.Facet]condition.Set

func (g given) Input() (document.Value, bool)            { return document.ObjectValue(nil), true }
func (g given) Facet(name condition.Facet) condition.Set { return g[name] }

// TestRecord: S21.15: facts that are kept are judged as those of the call.
func TestRecord(t *testing.T) {
	t.Parallel()
	text := document.StringValue
	facts := given{
		condition.Writes: {Known: true, Values: []condition.Element{
			{Value: text("src/a.go")}, {Value: text("link"), Also: []document.Value{text("/etc/passwd")}}, {Value: text("b"), Below: true}, {Value: text("c"), Unsure: true},
		}},
		condition.Host: condition.KnownSet(), condition.Money: {Known: true, Values: []condition.Element{{Value: document.NumberValue("12.50")}}},
		condition.GitForce: {Why: "the line is dark", Values: []condition.Element{{Value: document.BoolValue(true)}}}, condition.IP: condition.Unknown("why"),
	}
	kept := facet.Recorded(facet.Record(facts), document.Value{})
	for _, c := range []string{
		`{"writes": ["src/**"]}`, `{"writes": ["/etc/**"]}`, `{"writes": ["b/x"]}`, `{"writes": ["c"]}`, `{"writes": {"count": {"gte": 3}}}`,
		`{"host": ["x.org"]}`, `{"host": {"exists": true}}`, `{"money": 12.5}`, `{"git.force": true}`, `{"ip": ["10.0.0.1"]}`, `{"port": 80}`, `{"/a": 1}`,
	} {
		for _, stance := range []condition.Stance{condition.Restricts, condition.Requires, condition.Allows} {
			got, want := read(t, c, stance).Judge(kept, stance), read(t, c, stance).Judge(facts, stance)
			if got != want {
				t.Errorf("%s: %v, want %v", c, got, want)
			}
		}
	}
	if set := kept.Facet(condition.IP); set.Why != "why" {
		t.Errorf("the reason is %q", set.Why)
	}
	long := given{condition.Writes: condition.KnownSet(strings.Repeat("x", facet.MaxRecord)), condition.Host: condition.KnownSet("a.org")}
	text2 := facet.Record(long)
	kept = facet.Recorded(text2, document.Value{})
	if len(text2) > facet.MaxRecord || kept.Facet(condition.Writes).Known || !kept.Facet(condition.Host).Known {
		t.Errorf("%d bytes: %+v", len(text2), kept.Facet(condition.Host))
	}
	for _, bad := range []string{``, `{`, `[]`, `{"writes": 1}`, `{"writes": {"values": ["src/a.go"]}}`} {
		if facet.Recorded([]byte(bad), document.Value{}).Facet(condition.Writes).Known {
			t.Errorf("%s is known", bad)
		}
	}
}
