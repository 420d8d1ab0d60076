package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/internal/randtest"
)

// view is a Go type that has a part of the documents of these tests.
type view struct {
	Title string            `json:"title"`
	N     int64             `json:"n"`
	Ratio float64           `json:"ratio,omitempty"`
	Owner *owner            `json:"owner,omitempty"`
	Tasks []task            `json:"tasks"`
	Tags  map[string]string `json:"tags,omitempty"`
	Any   any               `json:"any,omitempty"`
}

type owner struct {
	Name string `json:"name"`
}

type task struct {
	ID   int  `json:"id"`
	Done bool `json:"done"`
}

// edited is a document after a change of a view of it.
func edited[T any](t testing.TB, doc string, change func(*T)) (string, error) {
	t.Helper()
	value := new(T)
	if err := json.Unmarshal([]byte(doc), value); err != nil {
		t.Fatal(err)
	}
	before, err := viewed(value)
	if err != nil {
		t.Fatal(err)
	}
	change(value)
	after, err := viewed(value)
	if err != nil {
		t.Fatal(err)
	}
	next, err := merge("", mustParse(t, doc), before, after)
	return mustWrite(t, next), err
}

func mustWrite(t testing.TB, doc any) string {
	t.Helper()
	text, err := write(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestMergeKeepsTheRest(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		doc    string
		change func(*view)
		want   string
	}{
		"nothing":                          {`{"x": 1.50, "ratio": 1e0}`, func(*view) {}, `{"x":1.50,"ratio":1e0}`},
		"a value":                          {`{"n": 1, "id": 9007199254740993}`, func(v *view) { v.N = 2 }, `{"n":2,"id":9007199254740993}`},
		"a new value":                      {`{"id": 1}`, func(v *view) { v.Title = "t" }, `{"id":1,"title":"t"}`},
		"to zero":                          {`{"n": 1, "title": "t"}`, func(v *view) { v.N, v.Title = 0, "" }, `{"n":0,"title":""}`},
		"in an object":                     {`{"owner": {"name": "a", "age": 7}}`, func(v *view) { v.Owner.Name = "b" }, `{"owner":{"name":"b","age":7}}`},
		"a new object":                     {`{}`, func(v *view) { v.Owner = &owner{"a"} }, `{"owner":{"name":"a"}}`},
		"an object goes":                   {`{"owner": {"name": "a", "age": 7}, "n": 1}`, func(v *view) { v.Owner = nil }, `{"n":1}`},
		"a list grows":                     {`{"tasks": [{"id": 1, "done": true}]}`, func(v *view) { v.Tasks = append(v.Tasks, task{ID: 2}) }, `{"tasks":[{"id":1,"done":true},{"id":2,"done":false}]}`},
		"a list of few members":            {`{"tasks": [{"id": 1}]}`, func(v *view) { v.Tasks[0].Done = true }, `{"tasks":[{"id":1,"done":true}]}`},
		"a list that was null":             {`{"tasks": null}`, func(v *view) { v.Tasks = []task{{ID: 1}} }, `{"tasks":[{"id":1,"done":false}]}`},
		"null stays null":                  {`{"tasks": null, "title": null}`, func(v *view) { v.N = 1 }, `{"tasks":null,"title":null,"n":1}`},
		"a list it cannot hold, untouched": {`{"tasks": [{"id": 1, "who": "a"}]}`, func(v *view) { v.N = 1 }, `{"tasks":[{"id":1,"who":"a"}],"n":1}`},
		"a map":                            {`{"tags": {"a": "1", "b": "2"}}`, func(v *view) { delete(v.Tags, "a"); v.Tags["c"] = "3" }, `{"tags":{"b":"2","c":"3"}}`},
		"an omitted zero":                  {`{"ratio": 0}`, func(v *view) { v.Ratio = 0.5 }, `{"ratio":0.5}`},
		"omitted again":                    {`{"ratio": 0.5, "n": 1}`, func(v *view) { v.Ratio = 0 }, `{"n":1}`},
		"text":                             {`{"title": "a<b>&\u2028"}`, func(v *view) { v.Title += "!" }, "{\"title\":\"a<b>&\u2028!\"}"},
		"another name":                     {`{"Title": "old"}`, func(v *view) { v.N = 1 }, `{"Title":"old","n":1}`},
	} {
		got, err := edited(t, row.doc, row.change)
		if want := mustParse(t, row.want); err != nil || !equal(mustParse(t, got), want) {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
}

func TestMergeLosesNothing(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		doc    string
		change func(*view)
		at     string
	}{
		"a member of an element": {`{"tasks": [{"id": 1, "done": false}, {"id": 2, "done": false, "who": "a"}]}`, func(v *view) { v.Tasks = v.Tasks[1:] }, "/tasks/1/who"},
		"digits of a number":     {`{"any": 9007199254740993}`, func(v *view) { v.Any = 1 }, "/any"},
		"digits in a list":       {`{"any": [9007199254740993]}`, func(v *view) { v.Any = append(v.Any.([]any), 1) }, "/any/0"},
		"digits of a fraction":   {`{"ratio": 0.1000000000000000055511151231257827}`, func(v *view) { v.Ratio *= 2 }, "/ratio"},
		"almost the same name":   {`{"Title": "old"}`, func(v *view) { v.Title = "new" }, "/Title"},
	} {
		got, err := edited(t, row.doc, row.change)
		if partial := (*partialError)(nil); !errors.As(err, &partial) || partial.at != row.at {
			t.Errorf("%s: %s, %v, want an error at %s", name, got, err, row.at)
		}
	}
}

// A whole document that T cannot hold is not a document for T.
func TestMergeOfTheWhole(t *testing.T) {
	t.Parallel()
	if got, err := edited(t, `[1, 2]`, func(v *[]int) { *v = append(*v, 3) }); err != nil || got != "[1,2,3]" {
		t.Error(got, err)
	}
	if got, err := edited(t, `[9007199254740993]`, func(v *[]float64) { *v = nil }); err == nil {
		t.Error(got)
	}
}

// Whatever the document, a change of one member changes that member and no other.
func TestMergeProperty(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(rt *rapid.T) {
		doc := anObject(rt, 3)
		next, err := edited(t, mustWrite(t, doc), func(v *map[string]any) {
			if *v == nil {
				*v = map[string]any{}
			}
			(*v)["changed"] = "yes"
		})
		if err != nil {
			if _, isText := doc["changed"].(string); isText || doc["changed"] == nil {
				rt.Fatalf("%v: %v", doc, err)
			}
			return
		}
		after := mustParse(t, next).(map[string]any)
		if after["changed"] != "yes" {
			rt.Fatalf("%v became %v", doc, after)
		}
		for name, value := range doc {
			if name != "changed" && mustWrite(t, after[name]) != mustWrite(t, value) {
				rt.Fatalf("%s of %v became %v", name, doc, after[name])
			}
		}
		if extra := len(after) - len(doc); extra > 1 || extra < 0 {
			rt.Fatalf("%v became %v", doc, after)
		}
	})
}

// anObject is any object, with numbers that no float64 holds.
func anObject(rt *rapid.T, depth int) map[string]any {
	members := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(rt, "members") {
		name := rapid.SampledFrom([]string{"a", "b", "c", "", "changed", "é"}).Draw(rt, "name")
		members[name] = aValue(rt, depth-1)
	}
	return members
}

func aValue(rt *rapid.T, depth int) any {
	kinds := 5
	if depth <= 0 {
		kinds = 3
	}
	switch rapid.IntRange(0, kinds).Draw(rt, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(rt, "bool")
	case 2:
		return json.Number(fmt.Sprint(rapid.Uint64().Draw(rt, "number")))
	case 3:
		return rapid.String().Draw(rt, "text")
	case 4:
		return []any{aValue(rt, depth-1)}
	default:
		return anObject(rt, depth-1)
	}
}

// Numbers are equal by their value, whatever is written.
func TestNumbersAreComparedByValue(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		a, b string
		same bool
	}{
		"as written": {"1.10", "1.10", true}, "a zero at the end": {"1.10", "1.1", true}, "an exponent": {"110e-2", "1.1", true},
		"whole": {"100", "1E2", true}, "zeros": {"0", "-0.00e7", true}, "a sign": {"-1", "1", false}, "digits": {"9007199254740993", "9007199254740992", false},
		"a power": {"10", "1", false}, "huge": {"1e99999999999", "1e99999999998", false}, "huge zeros": {"0e99999999999", "0", true},
	} {
		if got := equal(json.Number(row.a), json.Number(row.b)); got != row.same {
			t.Errorf("%s: %s and %s are equal: %t", name, row.a, row.b, got)
		}
	}
}
