package document

import (
	"slices"
	"strings"
)

// Fields reads the fields of one object and reports their problems. A field that is
// missing or wrong reads as the zero value and false; the problem has been reported.
type Fields struct {
	Report *Report
	Value  Value
	At     *Path
	// Fix ends the message about a field of the wrong kind: "; name a guard".
	Fix string
}

// Object returns the fields of v, or reports that v is not an object.
func (r *Report) Object(v Value, at *Path, what string) (Fields, bool) {
	if v.Kind() != Object {
		r.Errorf(at, CodeType, "%s must be an object, not %s", what, article(v.Kind()))
		return Fields{Report: r, At: at}, false
	}
	return Fields{Report: r, Value: v, At: at}, true
}

// article names a kind with the article that a sentence wants.
func article(k Kind) string {
	switch k {
	case Null, Missing:
		return k.String()
	case Object:
		return "an object"
	default:
		return "a " + k.String()
	}
}

// Has reports whether the field is there, with any value.
func (f Fields) Has(name string) bool {
	_, ok := f.Value.Get(name)
	return ok
}

// Require reports REQUIRED for every name that is missing.
func (f Fields) Require(names ...string) {
	for _, name := range names {
		if !f.Has(name) {
			f.Report.Errorf(f.At.Key(name), CodeRequired, "%q is missing; add it", name)
		}
	}
}

// ofKind returns the field if it is there and of that kind.
func (f Fields) ofKind(name string, want Kind) (Value, bool) {
	v, ok := f.Value.Get(name)
	if !ok {
		return Value{}, false
	}
	if v.Kind() != want {
		f.Report.Errorf(f.At.Key(name), CodeType, "%q must be %s, not %s%s", name, article(want), article(v.Kind()), f.Fix)
		return Value{}, false
	}
	return v, true
}

// Str returns a string field.
func (f Fields) Str(name string) (string, bool) {
	v, ok := f.ofKind(name, String)
	return v.Str(), ok
}

// Text returns a string field that must not be empty.
func (f Fields) Text(name string) (string, bool) {
	s, ok := f.Str(name)
	if ok && s == "" {
		f.Report.Errorf(f.At.Key(name), CodeEmpty, "%q is empty; fill it in", name)
		return "", false
	}
	return s, ok
}

// Bool returns a boolean field.
func (f Fields) Bool(name string) bool {
	v, _ := f.ofKind(name, Bool)
	return v.Bool()
}

// Object returns the fields of an object field.
func (f Fields) Object(name string) (Fields, bool) {
	v, ok := f.ofKind(name, Object)
	return Fields{Report: f.Report, Value: v, At: f.At.Key(name)}, ok
}

// List returns a list field of at most most elements (TOO_MANY).
func (f Fields) List(name string, most int) (Value, bool) {
	v, ok := f.ofKind(name, Array)
	if ok && v.Len() > most {
		f.Report.Errorf(f.At.Key(name), CodeTooMany, "%q has %d items, the limit is %d", name, v.Len(), most)
		return Value{}, false
	}
	return v, ok
}

// Enum returns a string field that must be one of options.
func (f Fields) Enum(name string, options ...string) (string, bool) {
	s, ok := f.Str(name)
	if !ok {
		return "", false
	}
	if !slices.Contains(options, s) {
		f.Report.Errorf(f.At.Key(name), CodeEnum, "%q is not a valid %s%s; use one of: %s",
			shorten(s), name, f.Report.DidYouMean(s, slices.Values(options)), quoteAll(options))
		return "", false
	}
	return s, true
}

// Integer returns an integer field of at least least. A number with a fraction
// is not an integer (TYPE); 5.0 and 5e0 are.
func (f Fields) Integer(name string, least int64) (int64, bool) {
	v, ok := f.ofKind(name, Number)
	if !ok {
		return 0, false
	}
	at := f.At.Key(name)
	if !v.Number().IsInteger() {
		f.Report.Errorf(at, CodeType, "%q must be a whole number, not %s", name, shorten(v.text))
		return 0, false
	}
	n, ok := v.Number().Int64()
	if !ok || n < least {
		f.Report.Errorf(at, CodeRange, "%q is %s; it must be at least %d and below 2^63", name, shorten(v.text), least)
		return 0, false
	}
	return n, true
}

// Strings returns a list field of strings, those of its elements that are
// strings, with the path of each.
func (f Fields) Strings(name string, most int) ([]StringAt, bool) {
	list, ok := f.List(name, most)
	if !ok {
		return nil, false
	}
	items := make([]StringAt, 0, list.Len())
	base := f.At.Key(name)
	for i, e := range list.Elements() {
		at := base.At(i)
		if e.Kind() != String {
			f.Report.Errorf(at, CodeType, "an item of %q must be a string, not %s%s", name, article(e.Kind()), f.Fix)
			continue
		}
		items = append(items, StringAt{e.Str(), at})
	}
	return items, true
}

// StringAt is a string of a document and where it is.
type StringAt struct {
	Text string
	At   *Path
}

// Texts returns the strings alone; never nil, so that an empty list stays a
// list.
func Texts(items []StringAt) []string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = item.Text
	}
	return texts
}

// Duplicates warns of items that were there before (DUPLICATE_ITEM).
func (r *Report) Duplicates(items []StringAt) {
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		if seen[item.Text] {
			r.Warnf(item.At, CodeDuplicateItem, "%q is listed more than once; remove one", shorten(item.Text))
		}
		seen[item.Text] = true
	}
}

// Known reports as UNKNOWN_FIELD every field that is not in names: for objects where an
// unread field would drop protection (S1.4).
func (f Fields) Known(what string, names ...string) { f.known(what, false, names) }

// KnownOrNotes does the work of Known, and keeps notes: fields that begin with x- and are close to no name.
func (f Fields) KnownOrNotes(what string, names ...string) { f.known(what, true, names) }

func (f Fields) known(what string, notes bool, names []string) {
	for name := range f.Value.Members() {
		if slices.Contains(names, name) {
			continue
		}
		if _, near := NearField(name, names); notes && !near && strings.HasPrefix(name, "x-") {
			continue
		}
		near := f.Report.didYouMeanField(name, names)
		if advice := soundsProtective(name); advice != "" && near == "" {
			near = " and it has no effect here, although it sounds like a protection: " + advice
		}
		f.Report.Errorf(f.At.Key(name), CodeUnknownField, "%s has no field %q%s; fields: %s", what, shorten(name), near, quoteAll(names))
	}
}

// KnownOrHint warns of every field that is not in names, and reports those
// that are a near miss of one of names or of protective, fields that would
// protect something if they were read (S1.4).
func (f Fields) KnownOrHint(what string, names, protective []string) {
	for name := range f.Value.Members() {
		if slices.Contains(names, name) {
			continue
		}
		if slices.Contains(protective, name) {
			f.Report.Misplaced(f.At.Key(name), what, name)
			continue
		}
		if known, near := NearField(name, names, protective); near {
			f.Report.Errorf(f.At.Key(name), CodeUnknownField,
				"%s has no field %q, which is close to %q; write that, or choose a less similar name", what, shorten(name), known)
			continue
		}
		f.Report.Hint(f.At.Key(name), name)
	}
}

// Misplaced reports a field that would protect something in another object (S1.4).
func (r *Report) Misplaced(at *Path, what, name string) {
	r.Errorf(at, CodeUnknownField, "%s has no field %q: it belongs elsewhere, and has no effect here; remove it", what, shorten(name))
}

// Hint warns of a field that is kept and has no effect (S1.4). A name that begins with x- is a
// note, and gives no warning. A name that sounds like protection is an error.
func (r *Report) Hint(at *Path, name string) {
	if strings.HasPrefix(name, "x-") {
		return
	}
	if advice := soundsProtective(name); advice != "" {
		r.Errorf(at, CodeUnknownField, "%q has no effect here, although it sounds like a protection: %s; as a note, begin its name with x-", shorten(name), advice)
	} else {
		r.Warnf(at, CodeUnknownHint, "%q is kept and has no effect here; if that is intended, begin its name with x-", shorten(name))
	}
}
