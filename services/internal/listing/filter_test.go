package listing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/listing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]listing.Terms{
		"":                                  {},
		"  ":                                {},
		"status=RUNNING":                    {"status": "RUNNING"},
		" status = RUNNING ":                {"status": "RUNNING"},
		"status=RUNNING AND name=a":         {"status": "RUNNING", "name": "a"},
		"name=a\tAND\n status=b":            {"name": "a", "status": "b"},
		`name="a b"`:                        {"name": "a b"},
		`name="a \" AND status=b"`:          {"name": `a " AND status=b`},
		`name="\u00e9\\" AND time=x`:        {"name": `é\`, "time": "x"},
		"name=a=b":                          {"name": "a=b"},
		"name=AND AND status=AND":           {"name": "AND", "status": "AND"},
		"name=" + strings.Repeat("é", 1024): {"name": strings.Repeat("é", 1024)},
	} {
		got, err := listing.Parse(filter, "status", "name", "time")
		if err != nil {
			t.Errorf("%q: %v", filter, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", filter, diff)
		}
	}
}

// A filter that is not understood is refused: it must not list more than was asked for.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for filter, text := range map[string]string{
		"RUNNING":                             `"RUNNING" is not a key=value term`,
		"=a":                                  "not a key=value term",
		`"status"=a`:                          "not a key=value term",
		"status=a name=b":                     `join terms by " AND "`,
		"status=a and name=b":                 `join terms by " AND "`,
		"status=a OR name=b":                  `join terms by " AND "`,
		"status=a AND":                        `join terms by " AND "`,
		"status=a ANDname=b":                  `join terms by " AND "`,
		`status="a"AND name=b`:                `join terms by " AND "`,
		"AND status=a":                        "not a key=value term",
		"NOT status=a":                        "not a key=value term",
		"owner=a":                             `there is no key "owner"`,
		"Status=a":                            `there is no key "Status"`,
		"status!=a":                           `there is no key "status!"`,
		"status=a AND status=b":               "twice",
		"status=":                             "has no value",
		`status=""`:                           "has no value",
		`status="a`:                           "quoted JSON string",
		`status=a"b`:                          "quoted JSON string",
		`status="\x"`:                         "quoted JSON string",
		"status=" + strings.Repeat("a", 1025): "more than 1024",
	} {
		terms, err := listing.Parse(filter, "status", "name")
		f := fault.From(err)
		if err == nil || f.Reason != fault.InvalidRequest || len(f.Violations) != 1 || f.Violations[0].Pointer != "/filter" {
			t.Errorf("%q is read as %v, %v", filter, terms, err)
			continue
		}
		if !strings.Contains(f.Message, text) || !strings.HasSuffix(f.Message, "legal keys: status, name") {
			t.Errorf("%q: %s", filter, f.Message)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	terms, err := listing.Parse("status=a AND since=2026-01-31T08:00:00.5Z AND on=true", "status", "since", "on")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := terms.OneOf("status", []string{"b", "a"}); got != "a" || err != nil {
		t.Errorf("status is %q, %v", got, err)
	}
	if got, err := terms.OneOf("other", []string{"a"}); got != "" || err != nil {
		t.Errorf("what is not there is %q, %v", got, err)
	}
	at, err := terms.Time("since")
	if want := time.Date(2026, 1, 31, 8, 0, 0, 5e8, time.UTC); !at.Equal(want) || err != nil {
		t.Errorf("since is %v, %v", at, err)
	}
	if at, err := terms.Time("other"); !at.IsZero() || err != nil {
		t.Errorf("what is not there is %v, %v", at, err)
	}
	if on, err := terms.True("on"); !on || err != nil {
		t.Errorf("on is %v, %v", on, err)
	}
	_, word := terms.OneOf("status", []string{"b", "c"})
	_, moment := terms.Time("status")
	_, truth := terms.True("status")
	for text, err := range map[string]error{"one of b, c": word, "RFC 3339": moment, "one of true": truth} {
		if f := fault.From(err); err == nil || f.Reason != fault.InvalidRequest || !strings.Contains(f.Message, text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A written filter is read as the same again.
func TestFilter(t *testing.T) {
	t.Parallel()
	for want, terms := range map[string][]listing.Term{
		"":                                 {{"a", ""}},
		"a=x":                              {{"a", "x"}, {"b", ""}},
		"a=run_01.:/@+*- AND b=y":          {{"a", "run_01.:/@+*-"}, {"b", "y"}},
		`a="x y" AND b="AND"`:              {{"a", "x y"}, {"b", "AND"}},
		`a="x\"\\\n" AND b="é" AND c="="`:  {{"a", "x\"\\\n"}, {"b", "é"}, {"c", "="}},
		"a=2026-01-31T08:00:00Z AND b=x/y": {{"a", "2026-01-31T08:00:00Z"}, {"b", "x/y"}},
	} {
		filter := listing.Filter(terms...)
		if filter != want {
			t.Errorf("%v is written %s, want %s", terms, filter, want)
		}
		parsed, err := listing.Parse(filter, "a", "b", "c")
		if err != nil {
			t.Errorf("%s: %v", filter, err)
		}
		for _, term := range terms {
			if parsed[term.Key] != term.Value {
				t.Errorf("%s: %s is read as %q", filter, term.Key, parsed[term.Key])
			}
		}
	}
}

// A filter written as a list is read as the same again.
func TestList(t *testing.T) {
	t.Parallel()
	values := []string{"a", "b,c", "100%", "é ü", "%2C"}
	terms, err := listing.Parse(listing.Filter(listing.Term{Key: "a", Value: listing.List(values...)}), "a")
	if err != nil {
		t.Fatal(err)
	}
	got, err := terms.List("a")
	if diff := cmp.Diff(values, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if got, err := terms.List("b"); len(got) != 0 || err != nil || listing.List() != "" {
		t.Errorf("what is not there is %v, %v", got, err)
	}
	for _, text := range []string{"x,,y", "%", ","} {
		if got, err := (listing.Terms{"a": text}).List("a"); fault.ReasonOf(err) != fault.InvalidRequest {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
	if got, err := (listing.Terms{"a": "x,y"}).SomeOf("a", []string{"x", "y", "z"}); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := (listing.Terms{"a": "x,w"}).SomeOf("a", []string{"x", "y", "z"}); fault.ReasonOf(err) != fault.InvalidRequest {
		t.Errorf("an unknown word: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`a=x AND b="y z"`, "value")
	f.Fuzz(func(t *testing.T, filter, value string) {
		_, _ = listing.Parse(filter, "a", "b")
		value = strings.ToValidUTF8(value, "?")
		if value == "" || len([]rune(value)) > 1024 {
			return
		}
		terms, err := listing.Parse(listing.Filter(listing.Term{Key: "a", Value: value}), "a")
		if err != nil || terms["a"] != value {
			t.Errorf("%q is read as %q, %v", value, terms["a"], err)
		}
	})
}
