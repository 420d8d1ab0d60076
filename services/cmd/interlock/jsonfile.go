package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Files of other programs are edited so that a diff shows the change alone: what
// is not changed keeps its order and its text.

// member is one member of an object, or one element of an array (without a name).
type member struct {
	name  string
	value jsontext.Value // as written
}

// members reads an object or an array one level deep.
func members(text []byte, kind jsontext.Kind) ([]member, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	begin, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	if begin.Kind() != kind {
		return nil, fmt.Errorf("want %s, not %s", kindName(kind), kindName(begin.Kind()))
	}
	var all []member
	for d.PeekKind() != kind+2 { // '{' and '}', '[' and ']'
		var m member
		if kind == jsontext.KindBeginObject {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			m.name = name.String()
		}
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		m.value = value.Clone()
		all = append(all, m)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		return nil, errors.New("there is text after its end")
	}
	return all, nil
}

func kindName(k jsontext.Kind) string {
	switch k {
	case jsontext.KindBeginObject:
		return "an object"
	case jsontext.KindBeginArray:
		return "a list"
	default:
		return "a plain value"
	}
}

// write puts members back together at a depth of the file.
func write(all []member, kind jsontext.Kind, indent string, depth int) jsontext.Value {
	var b bytes.Buffer
	b.WriteByte(byte(kind))
	for i, m := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + strings.Repeat(indent, depth+1))
		if kind == jsontext.KindBeginObject {
			name, _ := jsontext.AppendQuote(nil, m.name) // of a name that was read
			b.Write(name)
			b.WriteString(": ")
		}
		b.Write(m.value)
	}
	if len(all) > 0 {
		b.WriteString("\n" + strings.Repeat(indent, depth))
	}
	b.WriteByte(byte(kind + 2))
	return b.Bytes()
}

// render writes a new value for a depth of the file.
func render(value any, indent string, depth int) jsontext.Value {
	text, err := json.Marshal(value, json.Deterministic(true),
		jsontext.WithIndentPrefix(strings.Repeat(indent, depth)), jsontext.WithIndent(indent))
	if err != nil {
		panic(err) // strings and numbers of this program
	}
	return text
}

func find(all []member, name string) int {
	for i, m := range all {
		if m.name == name {
			return i
		}
	}
	return -1
}

// set replaces or adds a member.
func set(all []member, name string, value jsontext.Value) []member {
	if i := find(all, name); i >= 0 {
		all[i].value = value
		return all
	}
	return append(all, member{name, value})
}

// indentOf is the indentation that a file uses.
func indentOf(text []byte) string {
	for line := range bytes.Lines(text) {
		rest := bytes.TrimLeft(line, " \t")
		if n := len(line) - len(rest); n > 0 && len(bytes.TrimSpace(rest)) > 0 {
			return string(line[:n])
		}
	}
	return "  "
}

// jsonFile is a file to edit.
type jsonFile struct {
	path   string
	before []byte // nil when it does not exist yet
	after  []byte
}

func (f *jsonFile) changed() bool { return !bytes.Equal(f.before, f.after) }

// editJSON reads a file that holds an object, and changes it.
func editJSON(path string, change func(doc []member, indent string) ([]member, error)) (*jsonFile, error) {
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read: %w", err)
	}
	f := &jsonFile{path: path, before: before}
	var doc []member
	if len(bytes.TrimSpace(before)) > 0 {
		if doc, err = members(before, jsontext.KindBeginObject); err != nil {
			return nil, fmt.Errorf("%s is not a JSON object, and is left alone: %w", path, err)
		}
	}
	indent := indentOf(before)
	old := write(doc, jsontext.KindBeginObject, indent, 0)
	doc, err = change(doc, indent)
	if err != nil {
		return nil, fmt.Errorf("%s is left alone: %w", path, err)
	}
	f.after = append(write(doc, jsontext.KindBeginObject, indent, 0), '\n')
	if before != nil && bytes.Equal(old, bytes.TrimSuffix(f.after, []byte("\n"))) {
		f.after = before // nothing changed but, maybe, blanks
	}
	return f, nil
}

// save replaces the file at once: a reader sees the old file or the new one.
func (f *jsonFile) save() (err error) {
	path := f.path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the link stays
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".interlock-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(temporary.Name()))
		}
	}()
	_, err = temporary.Write(f.after)
	if err = errors.Join(err, temporary.Chmod(mode), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
