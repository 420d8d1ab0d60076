package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// partialError names a part of a document that a view does not hold all of.
type partialError struct{ at string }

func (e *partialError) Error() string { return "does not hold all of \"" + e.at + "\"" }

// parse reads JSON into maps, slices and numbers as they are written.
func parse(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var doc any
	if err := decoder.Decode(&doc); err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read the state: it is more than one JSON value")
	}
	return doc, nil
}

// write writes a document, numbers as they were read.
func write(doc any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(doc); err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// merge returns the outcome of a document when a view of it goes from before to after. The
// view may have only a part of the document: it fails, with a [*partialError], when
// the rest would be lost.
func merge(at string, doc, before, after any) (any, error) {
	if equal(before, after) {
		return doc, nil
	}
	object, isObject := doc.(map[string]any)
	was, wasObject := before.(map[string]any)
	is, staysObject := after.(map[string]any)
	if isObject && wasObject && staysObject {
		return mergeObject(at, object, was, is)
	}
	return after, shown(at, doc, before)
}

func mergeObject(at string, doc, before, after map[string]any) (any, error) {
	merged := make(map[string]any, len(doc))
	for name, value := range doc {
		was, seen := before[name]
		is, stays := after[name]
		switch {
		case stays:
			next, err := merge(below(at, name), value, was, is)
			if err != nil {
				return nil, err
			}
			merged[name] = next
		case !seen: // the view lacks it
			merged[name] = value
		}
	}
	for name, is := range after {
		if _, there := doc[name]; there {
			continue
		}
		// A zero value that only the view has is not a change.
		if was, seen := before[name]; seen && equal(was, is) {
			continue
		}
		// encoding/json also reads a member into a field of almost its name.
		for other := range doc {
			if strings.EqualFold(name, other) {
				return nil, &partialError{below(at, other)}
			}
		}
		merged[name] = is
	}
	return merged, nil
}

// shown fails unless a view has all of a document. It may have more, zero values of
// missing fields; and empty values it may leave out, or have as another empty value.
func shown(at string, doc, view any) error {
	if equal(doc, view) || empty(doc) && empty(view) {
		return nil
	}
	switch d := doc.(type) {
	case map[string]any:
		v, same := view.(map[string]any)
		if !same {
			break
		}
		for name, value := range d {
			if err := shown(below(at, name), value, v[name]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		v, same := view.([]any)
		if !same || len(v) != len(d) {
			break
		}
		for i, value := range d {
			if err := shown(below(at, fmt.Sprint(i)), value, v[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return &partialError{at}
}

// below returns the JSON Pointer of a part.
func below(at, name string) string {
	return at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// empty reports whether a value is one that Go leaves out or has as zero.
func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case bool:
		return !v
	case json.Number:
		return decimalOf(v).digits == ""
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	default:
		return false
	}
}

// equal compares documents, and numbers by their value.
func equal(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, same := b.(json.Number)
		return same && (x == y || decimalOf(x) == decimalOf(y))
	case []any:
		y, same := b.([]any)
		if !same || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, same := b.(map[string]any)
		if !same || len(x) != len(y) {
			return false
		}
		for name, value := range x {
			if other, there := y[name]; !there || !equal(value, other) {
				return false
			}
		}
		return true
	default:
		return a == b
	}
}

// decimal is the value of a number, one for each: digits without zeros at their ends, and the
// power of ten of the last one. An exponent that no int holds stays as it is written.
type decimal struct {
	negative bool
	digits   string
	exponent int
	beyond   string
}

func decimalOf(number json.Number) (d decimal) {
	text, exponent, _ := strings.Cut(strings.ToLower(string(number)), "e")
	text, d.negative = strings.TrimPrefix(text, "-"), strings.HasPrefix(text, "-")
	whole, fraction, _ := strings.Cut(text, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(digits, "0")
	if d.digits == "" {
		return decimal{}
	}
	if exponent != "" {
		if n, err := strconv.ParseInt(exponent, 10, 32); err == nil {
			d.exponent = int(n)
		} else {
			d.beyond = exponent
		}
	}
	d.exponent += len(digits) - len(d.digits) - len(fraction)
	return d
}
