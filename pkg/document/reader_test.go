package document

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
)

// sameAsParse holds a Reader that has read other texts to the result of Parse.
func sameAsParse(t interface{ Fatalf(string, ...any) }, r *Reader, text string, limits Limits) (fast bool) {
	want, wrong := Parse([]byte(text), limits)
	got, problem := r.Read([]byte(text), limits)
	if (problem == nil) != (wrong == nil) || problem != nil && *problem != *wrong || !identical(got, want) {
		t.Fatalf("%q: %s %v, want %s %v", text, got, problem, want, wrong)
	}
	r.reset([]byte(text))
	v, ok := r.value(limits.withDefaults().Depth)
	if ok = ok && r.next() == 0 && r.at == len(r.src); ok && (wrong != nil || !identical(v, want)) {
		t.Fatalf("%q: %s, want %s %v", text, v, want, wrong)
	}
	return ok
}

var readerTexts = []string{
	`{}`, `[]`, `0`, `-0`, `1.5`, `1e3`, `-1.25E-7`, `"x"`, `""`, `true`, `false`, `null`, ` { "a" : [ 1 , 2 ] } `, "{\n\t\"a\":\r1}", `{"a":{"b":[{"c":null}]},"d":"ä€😀"}`,
	`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10}`, `[[[]],{},[{}],"a",1]`, `{"a":"x\ny"}`, `{"\u0061":1}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`,
	``, ` `, `{`, `[`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `[1,]`, `[,1]`, `[1 2]`, `{"a" 1}`, `{a:1}`, `{1:1}`, `{"a":1}}`, `{"a":1} x`, `[]]`, `tru`, `truex`, `nul`, `nullnull`,
	`01`, `-`, `+1`, `1.`, `.5`, `1e`, `1e400`, `1e-400`, `1e-2000`, `0x1`, `NaN`, `1.2.3`, `--1`, `1_0`, "\"\x01\"", "\"\x7f\"", "\"\xff\"", "\"\xed\xa0\x80\"", "\ufeff{}", `"a`, `"a\"`, "{\"a\xff\":1}", "\x00", "1\x00", "{}\x00", "\"\x00\"",
	`["` + strings.Repeat("x", 100) + `"]`, strings.Repeat("9", 30), "0." + strings.Repeat("9", 1200), strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 65) + strings.Repeat("]", 65),
	"{\"a\"\v:1}", "[\u00a0]", "{\"a\":1\f}", `[1,2,3,4,5,6,7,8,9,10,11,12]`, `{"":{"":{"":""}}}`,
}

// S1.1: a Reader accepts the texts that Parse accepts, with the same values.
func TestReaderIsParse(t *testing.T) {
	t.Parallel()
	var r Reader
	fast := 0
	for _, text := range readerTexts {
		if sameAsParse(t, &r, text, Limits{}) {
			fast++
		}
	}
	if fast < 20 {
		t.Errorf("only %d texts are read without Parse", fast)
	}
	sameAsParse(t, &r, `[[1]]`, Limits{Depth: 1})
	sameAsParse(t, &r, `[[1]]`, Limits{Depth: 2})
	if _, problem := r.Read([]byte(`[1, 2, 3]`), Limits{Bytes: 8}); problem == nil || problem.Code != CodeTooLarge {
		t.Error(problem)
	}
	randtest.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{`{`, `}`, `[`, `]`, `,`, `:`, `"a"`, `"b"`, `1`, ` `, `true`, `"ä"`, `\`, `"`, `-2.5`}), 0, 12).Draw(t, "parts")
		sameAsParse(t, &r, strings.Join(parts, ""), Limits{})
	})
	randtest.Check(t, func(t *rapid.T) { sameAsParse(t, &r, drawValue(t, 4).String(), Limits{}) })
}

// FuzzReader: a Reader and Parse agree about any text.
func FuzzReader(f *testing.F) {
	for _, text := range readerTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := Reader{}
		sameAsParse(t, &r, text, Limits{})
	})
}

// TestReaderReadsAgain: a long text does not keep its memory, and a usual one needs none.
func TestReaderReadsAgain(t *testing.T) {
	var r Reader
	text := []byte(`{"a": [1, 2, {"b": "c"}], "d": {"e": true}}`)
	if n := testing.AllocsPerRun(100, func() {
		if _, problem := r.Read(text, Limits{}); problem != nil {
			t.Error(problem)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if _, problem := r.Read([]byte(`[`+strings.Repeat(`1,`, 5000)+`1]`), Limits{}); problem != nil || cap(r.elements) < 5000 {
		t.Fatal(problem, cap(r.elements))
	}
	if v, problem := r.Read(text, Limits{}); problem != nil || cap(r.elements) > mostKept || v.String() != `{"a":[1,2,{"b":"c"}],"d":{"e":true}}` {
		t.Error(problem, cap(r.elements), v)
	}
}
