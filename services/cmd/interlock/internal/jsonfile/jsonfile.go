// Package jsonfile edits JSON files of other programs so that a diff shows the change
// alone: unchanged parts keep its order and its text.
package jsonfile

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

// Member is one member of an object, or one element of an array (without a name).
type Member struct {
	Name  string
	Value jsontext.Value // as written
}

// Members reads an object or an array one level deep.
func Members(text []byte, kind jsontext.Kind) ([]Member, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	begin, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	if begin.Kind() != kind {
		return nil, fmt.Errorf("want %s, not %s", kindName(kind), kindName(begin.Kind()))
	}
	var all []Member
	for d.PeekKind() != kind+2 { // '{' and '}', '[' and ']'
		var m Member
		if kind == jsontext.KindBeginObject {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			m.Name = name.String()
		}
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		m.Value = value.Clone()
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

// Write puts members back together at a depth of the file.
func Write(all []Member, kind jsontext.Kind, indent string, depth int) jsontext.Value {
	var b bytes.Buffer
	b.WriteByte(byte(kind))
	for i, m := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + strings.Repeat(indent, depth+1))
		if kind == jsontext.KindBeginObject {
			name, _ := jsontext.AppendQuote(nil, m.Name) // of a name that was read
			b.Write(name)
			b.WriteString(": ")
		}
		b.Write(m.Value)
	}
	if len(all) > 0 {
		b.WriteString("\n" + strings.Repeat(indent, depth))
	}
	b.WriteByte(byte(kind + 2))
	return b.Bytes()
}

// Render writes a new value for a depth of the file.
func Render(value any, indent string, depth int) jsontext.Value {
	text, err := json.Marshal(value, json.Deterministic(true),
		jsontext.WithIndentPrefix(strings.Repeat(indent, depth)), jsontext.WithIndent(indent))
	if err != nil {
		panic(err) // strings and numbers of this program
	}
	return text
}

// Find returns the index of the member of a name, -1 when there is none.
func Find(all []Member, name string) int {
	for i, m := range all {
		if m.Name == name {
			return i
		}
	}
	return -1
}

// Set replaces or adds a member.
func Set(all []Member, name string, value jsontext.Value) []Member {
	if i := Find(all, name); i >= 0 {
		all[i].Value = value
		return all
	}
	return append(all, Member{name, value})
}

// indentOf returns the indentation that a file uses.
func indentOf(text []byte) string {
	for line := range bytes.Lines(text) {
		rest := bytes.TrimLeft(line, " \t")
		if n := len(line) - len(rest); n > 0 && len(bytes.TrimSpace(rest)) > 0 {
			return string(line[:n])
		}
	}
	return "  "
}

// Same compares JSON values, regardless of blanks and order.
func Same(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && string(a) == string(b)
}

// File is a file to edit.
type File struct {
	Path   string
	Before []byte // nil when it does not exist yet
	After  []byte
}

// Changed reports that saving the file would change it.
func (f *File) Changed() bool { return !bytes.Equal(f.Before, f.After) }

// Edit reads a file that holds an object, and changes it.
func Edit(path string, change func(doc []Member, indent string) ([]Member, error)) (*File, error) {
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read: %w", err)
	}
	f := &File{Path: path, Before: before}
	var doc []Member
	if len(bytes.TrimSpace(before)) > 0 {
		if doc, err = Members(before, jsontext.KindBeginObject); err != nil {
			return nil, fmt.Errorf("%s is not a JSON object, and is left alone: %w", path, err)
		}
	}
	indent := indentOf(before)
	old := Write(doc, jsontext.KindBeginObject, indent, 0)
	doc, err = change(doc, indent)
	if err != nil {
		return nil, fmt.Errorf("%s is left alone: %w", path, err)
	}
	f.After = append(Write(doc, jsontext.KindBeginObject, indent, 0), '\n')
	if before != nil && bytes.Equal(old, bytes.TrimSuffix(f.After, []byte("\n"))) {
		f.After = before // only blanks may have changed
	}
	return f, nil
}

// Save replaces the file at once: a reader sees the old file or the new one.
func (f *File) Save() (err error) {
	path := f.place()
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
	_, err = temporary.Write(f.After)
	if err = errors.Join(err, temporary.Chmod(mode), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// Remove removes the file.
func (f *File) Remove() error { return os.Remove(f.place()) }

// longestWay is how many links are followed.
const longestWay = 40

// place returns where the file itself is: a link to it stays, also one to a file that is not
// there.
func (f *File) place() string {
	path := f.Path
	for range longestWay {
		target, err := os.Readlink(path)
		if err != nil {
			return path
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(folderOf(path), target)
		}
		path = target
	}
	return f.Path
}

// folderOf returns the folder that a relative link in it is relative to.
func folderOf(path string) string {
	folder := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		return real
	}
	return folder
}
