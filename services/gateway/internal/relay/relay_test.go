package relay

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestSplitAndRead(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	for name, tc := range map[string]struct {
		line string
		want []string // id, method and what it carries
		bad  bool
	}{
		"request":            {line: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, want: []string{"1 ping "}},
		"blank":              {line: " \t\r\n"},
		"byte order mark":    {line: "\uFEFF{\"id\":1,\"result\":{}}\r\n", want: []string{`1  {}`}},
		"batch":              {line: `[{"id":1,"result":{}}, {"method":"x"}]`, want: []string{"1  {}", " x "}},
		"empty batch":        {line: `[]`},
		"id as text":         {line: `{"id":"7","result":{}}`, want: []string{`"7"  {}`}},
		"id null":            {line: `{"id":null,"error":{"code":1}}`, want: []string{`null  {"code":1}`}},
		"error null":         {line: `{"id":1,"result":{"a":1},"error":null}`, want: []string{`1  {"a":1}`}},
		"repeated":           {line: `{"id":1,"id":2,"result":{"a":1e400}}`, want: []string{`2  {"a":1e400}`}},
		"escaped name":       {line: `{"\u0069d":1,"result":{}}`, want: []string{`1  {}`}},
		"log line":           {line: `listening on 8080`, bad: true},
		"cut off":            {line: `{"id":1,"result":{`, bad: true},
		"two in a line":      {line: `{"id":1,"result":{}} {"id":2,"result":{}}`, bad: true},
		"number":             {line: `17`, bad: true},
		"text":               {line: `"hello"`, bad: true},
		"id of another kind": {line: `{"id":{"a":1},"result":{}}`, bad: true},
		"id true":            {line: `{"id":true,"result":{}}`, bad: true},
		"method of a number": {line: `{"id":1,"method":5}`, bad: true},
		"nothing":            {line: `{"id":1}`, bad: true},
		"deep":               {line: `{"id":1,"result":` + deep + `}`, bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts, err := Split([]byte(tc.line))
			var got []string
			for _, part := range parts {
				var m Message
				if m, err = Read(part); err != nil {
					break
				}
				got = append(got, string(m.ID)+" "+m.Method+" "+string(m.Result)+string(m.Error))
			}
			if tc.bad != (err != nil) || !tc.bad && strings.Join(got, "|") != strings.Join(tc.want, "|") {
				t.Errorf("%q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

func TestSameID(t *testing.T) {
	t.Parallel()
	for id, same := range map[string]bool{
		`3`: true, `"3"`: true, `3.0`: true, `3e0`: true, `4`: false, `"x"`: false, `""`: false, `null`: false, `3.5`: false, `"3.5"`: false, `-3`: false,
	} {
		if SameID(json.RawMessage(id), 3) != same {
			t.Errorf("%s: not %v", id, same)
		}
	}
}

func TestLooseID(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":5,"params":` + deep + `}`:       `5`,
		`{"params":{"id":1,"a":` + deep + `}, "id" : "x\"y" }`: `"x\"y"`,
		`{"params":` + deep + `}`:                              ``,
		`{"id":{"id":3},"x":` + deep:                           ``,
		`{"id"`:                                                ``,
		`{"a":"\"id\":4","id":-1.5e3}`:                         `-1.5e3`,
		`{"id":nope}`:                                          ``,
		`{"id":"open`:                                          ``,
	} {
		if got := string(LooseID([]byte(text))); got != want {
			t.Errorf("%.60s: %q, want %q", text, got, want)
		}
	}
}

// A result that nothing is done to is the same bytes, but for white space at the top.
func TestResultIsKept(t *testing.T) {
	t.Parallel()
	const text = `{"z":725653563933458433,"content":[ {"type":"text","text":"<&>\u00e9"} ],"structuredContent":{"b":1.10,"a":1e400,"a":2},` +
		`"_meta":{"x":1.0,"interlock.run/x":1},"unknown":[null,{}]}`
	r, err := ReadResult([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if string(r.JSON()) != text {
		t.Errorf("%s", r.JSON())
	}
	r.RemoveMeta(func(name string) bool { return strings.HasPrefix(name, "interlock.run/") })
	r.AddContent(json.RawMessage(`{"type":"text","text":"note"}`))
	r.SetMeta("interlock.run/warning", json.RawMessage(`true`))
	want := `{"z":725653563933458433,"content":[{"type":"text","text":"<&>\u00e9"},{"type":"text","text":"note"}],"structuredContent":{"b":1.10,"a":1e400,"a":2},` +
		`"_meta":{"x":1.0,"interlock.run/warning":true},"unknown":[null,{}]}`
	if got := string(r.JSON()); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestResultReads(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		size           int64
		output         string
		failed, repeat bool
	}{
		`{"content":[{"type":"text","text":"ab"},{"type":"new","x":1},{"type":"text","text":"c"}]}`: {size: 3 + int64(len(`{"type":"new","x":1}`)), output: "ab\nc"},
		`{"structuredContent":{"a":1}}`:                           {size: 7},
		`{"content":"no list","structuredContent":[1]}`:           {size: 3},
		`{"content":[5,null,"x"],"isError":true}`:                 {size: 8, failed: true},
		`{"isError":true,"isError":false}`:                        {failed: true, repeat: true},
		`{"isError":"yes"}`:                                       {failed: true},
		`{"isError":null}`:                                        {},
		`{"content":[{"type":"text","text":5}],"isError":false}`:  {size: int64(len(`{"type":"text","text":5}`))},
		`{"content":[{"type":"text","text":""}],"isError":false}`: {},
	} {
		r, err := ReadResult([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if r.Size() != want.size || string(r.Output(100)) != want.output || r.IsError() != want.failed || r.Repeats("isError") != want.repeat {
			t.Errorf("%s: %d %q %v %v", text, r.Size(), r.Output(100), r.IsError(), r.Repeats("isError"))
		}
	}
	if _, err := ReadResult([]byte(strings.Repeat(`{"a":`, MaxDepth+1))); !errors.Is(err, ErrTooDeep) {
		t.Error(err)
	}
}

// FuzzRead: whatever a server writes, reading ends, and what is read is a part of it.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a"}],"_meta":{"a":1}}}`, `[{"id":1,"method":"x"}]`, "\uFEFF{}", `{"id":"`, `{"a":"\`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		LooseID(line)
		parts, err := Split(line)
		if err != nil {
			return
		}
		for _, part := range parts {
			m, err := Read(part)
			if err != nil {
				continue
			}
			if !bytes.Contains(line, m.Result) || !bytes.Contains(line, m.Params) || !bytes.Contains(line, m.Error) || !bytes.Contains(line, m.ID) {
				t.Fatalf("%q has none of %q", line, m)
			}
			if r, err := ReadResult(m.Result); err == nil {
				r.Size()
				r.Output(10)
				if !json.Valid(r.JSON()) {
					t.Fatalf("%q becomes %q", m.Result, r.JSON())
				}
			}
		}
	})
}
