package jsonobject

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

type record struct {
	Text     string          `json:"text"`
	Optional string          `json:"optional,omitempty"`
	Number   int64           `json:"number"`
	Count    int64           `json:"count,omitempty"`
	Held     bool            `json:"held,omitempty"`
	At       time.Time       `json:"at"`
	Value    json.RawMessage `json:"value"`
	Raw      json.RawMessage `json:"raw"`
	Inner    struct {
		Text string `json:"text,omitempty"`
	} `json:"inner"`
	List []element `json:"list"`
}

type element struct {
	Passed bool `json:"passed"`
}

func (r *record) write() []byte {
	w := New(64)
	w.Open()
	w.Text("text", r.Text)
	w.OptionalText("optional", r.Optional)
	w.Integer("number", r.Number)
	w.OptionalInteger("count", r.Count)
	w.OptionalTruth("held", r.Held)
	w.Time("at", r.At)
	value, problem := document.Parse(r.Value, document.Limits{})
	if problem != nil {
		panic(problem)
	}
	w.Value("value", value)
	w.Raw("raw", r.Raw)
	w.Name("inner")
	w.Open()
	w.OptionalText("text", r.Inner.Text)
	w.Close()
	w.Name("list")
	w.OpenList()
	for _, e := range r.List {
		w.Open()
		w.Truth("passed", e.Passed)
		w.Close()
	}
	w.CloseList()
	w.Close()
	return w.Bytes()
}

func TestWritesWhatEncodingJSONWrites(t *testing.T) {
	t.Parallel()
	records := []record{{Value: json.RawMessage("null"), Raw: json.RawMessage("[]"), List: []element{}}}
	for _, text := range []string{"plain", `"quoted" \ back`, "tab\tnewline\n\x00", "<a href='x'>&", "grüße 日本 🚀", "\u2028", "bad \xff utf-8"} {
		r := record{
			Text: text, Optional: text, Number: -1 << 63, Count: 7, Held: true,
			At: time.Date(2026, 1, 2, 3, 4, 5, 670_000_001, time.UTC), Value: json.RawMessage(`{"a":1}`), Raw: json.RawMessage(`"x"`),
			List: []element{{true}, {false}, {true}},
		}
		r.Inner.Text = text
		records = append(records, r)
	}
	for _, r := range records {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var got, meant record
		if err := json.Unmarshal(r.write(), &got); err != nil {
			t.Fatalf("%s: %v", r.write(), err)
		}
		if err := json.Unmarshal(want, &meant); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, meant) {
			t.Errorf("wrote %s, want %s", r.write(), want)
		}
	}
}
