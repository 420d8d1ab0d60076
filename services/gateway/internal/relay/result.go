package relay

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Result is the result of a request, as its server wrote it. Only additions and removals
// differ from that.
type Result struct{ members []Member }

// ReadResult reads a result, which must be an object.
func ReadResult(text []byte) (*Result, error) {
	members, err := Members(text)
	if err != nil {
		return nil, err
	}
	return &Result{members}, nil
}

// Get returns the last member of a name; nil where there is none.
func (r *Result) Get(name string) json.RawMessage {
	for i := len(r.members) - 1; i >= 0; i-- {
		if r.members[i].Name == name {
			return r.members[i].Value
		}
	}
	return nil
}

// Repeats reports whether a name is there more than once: readers differ in which one counts.
func (r *Result) Repeats(name string) bool {
	n := 0
	for _, m := range r.members {
		if m.Name == name {
			n++
		}
	}
	return n > 1
}

// IsError reports whether the result says that the tool has failed, or may say so.
func (r *Result) IsError() bool {
	for _, m := range r.members {
		if m.Name == "isError" && string(m.Value) != "false" && string(m.Value) != "null" {
			return true
		}
	}
	return false
}

// NeedsInput reports whether the result asks the client for input.
func (r *Result) NeedsInput() bool { return textOf(r.Get("resultType")) == "input_required" }

// Meta returns the members of _meta; none where it is not an object.
func (r *Result) Meta() []Member {
	members, err := Members(r.Get("_meta"))
	if err != nil {
		return nil
	}
	return members
}

// Content returns the elements of content; none where it is not a list.
func (r *Result) Content() []json.RawMessage {
	elements, err := Elements(r.Get("content"))
	if err != nil {
		return nil
	}
	return elements
}

// Text returns the text of an element of content; false for an element of another type.
func Text(element json.RawMessage) (string, bool) {
	if element[0] != '{' {
		return "", false
	}
	r, err := ReadResult(element)
	if err != nil || textOf(r.Get("type")) != "text" {
		return "", false
	}
	raw := r.Get("text")
	if raw == nil || raw[0] != '"' {
		return "", false
	}
	return textOf(raw), true
}

// textOf returns a JSON text; empty for anything else.
func textOf(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// Size returns how much a result weighs in an agent's context: its content or its structured
// content, of which clients show one: the larger counts.
func (r *Result) Size() int64 {
	var size int64
	for _, element := range r.Content() {
		if text, ok := Text(element); ok {
			size += int64(len(text))
		} else {
			size += int64(len(element))
		}
	}
	return max(size, int64(len(r.Get("structuredContent"))))
}

// Output returns the texts of a result, one below the other. One that is longer than limit is
// cut behind it, so that a reader can see that it was.
func (r *Result) Output(limit int) []byte {
	var out []byte
	first := true
	for _, element := range r.Content() {
		text, ok := Text(element)
		if !ok {
			continue
		}
		if !first {
			out = append(out, '\n')
		}
		first = false
		if out = append(out, text...); len(out) > limit {
			break
		}
	}
	out = bytes.ToValidUTF8(out, []byte("\uFFFD"))
	if len(out) > limit {
		cut := limit + 1
		for cut < len(out) && !utf8.RuneStart(out[cut]) {
			cut++
		}
		out = out[:cut]
	}
	return out
}

// Set puts a member in the place of those of its name, or last.
func (r *Result) Set(name string, value json.RawMessage) {
	kept, put := r.members[:0:0], false
	for _, m := range r.members {
		if m.Name == name {
			if put {
				continue
			}
			m.Value, put = value, true
		}
		kept = append(kept, m)
	}
	if !put {
		kept = append(kept, Member{name, value})
	}
	r.members = kept
}

// Remove removes the members of a name.
func (r *Result) Remove(name string) {
	kept := r.members[:0:0]
	for _, m := range r.members {
		if m.Name != name {
			kept = append(kept, m)
		}
	}
	r.members = kept
}

// RemoveMeta removes members of each _meta.
func (r *Result) RemoveMeta(which func(name string) bool) {
	for i, m := range r.members {
		if m.Name != "_meta" {
			continue
		}
		inner, err := Members(m.Value)
		if err != nil {
			continue // it is not an object, and has no value
		}
		kept := inner[:0:0]
		for _, one := range inner {
			if !which(one.Name) {
				kept = append(kept, one)
			}
		}
		if len(kept) < len(inner) {
			r.members[i].Value = Object(kept)
		}
	}
}

// AddContent adds an element to content. A content that is not a list gives way to one.
func (r *Result) AddContent(element json.RawMessage) {
	r.Set("content", Array(append(r.Content(), element)))
}

// SetMeta puts a member into _meta. A _meta that is not an object gives way to one.
func (r *Result) SetMeta(name string, value json.RawMessage) {
	meta := Result{r.Meta()}
	meta.Set(name, value)
	r.Set("_meta", meta.JSON())
}

// Clone returns a result of its own, whose values are shared.
func (r *Result) Clone() *Result { return &Result{slices.Clone(r.members)} }

// JSON returns the result as bytes.
func (r *Result) JSON() json.RawMessage { return Object(r.members) }

// Object writes an object of members in their order.
func Object(members []Member) json.RawMessage {
	size := 2
	for _, m := range members {
		size += len(m.Name) + len(m.Value) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendText(out, m.Name), ':')
		out = append(out, m.Value...)
	}
	return append(out, '}')
}

// Array writes an array of elements.
func Array(elements []json.RawMessage) json.RawMessage {
	return append(append([]byte{'['}, bytes.Join(raws(elements), []byte{','})...), ']')
}

func raws(elements []json.RawMessage) [][]byte {
	out := make([][]byte, len(elements))
	for i, e := range elements {
		out[i] = e
	}
	return out
}

// Quote writes a text as JSON.
func Quote(text string) json.RawMessage { return appendText(nil, text) }

func appendText(out []byte, text string) []byte {
	if plain(text) {
		return append(append(append(out, '"'), text...), '"')
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(text) != nil {
		return strconv.AppendQuoteToASCII(out, text) // never: texts can be encoded
	}
	return append(out, bytes.TrimRight(b.Bytes(), "\n")...)
}

// plain reports whether a text needs no escapes.
func plain(text string) bool {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
