package toolinput

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/sqlscan"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// Description says which arguments of a tool have which meaning (S21.14). Each text is a JSON Pointer into the
// input, in which * stands for every element of a list. A list that is nil is not described, so its facets are not
// known; a list that is empty says that the tool has none of them.
type Description struct {
	// Reads and Writes point to names of files or folders that the tool reads or changes.
	Reads, Writes []string
	// URLs point to URLs that the tool fetches, Hosts to names of hosts or addresses without a scheme.
	URLs, Hosts []string
	// Method points to the method of the request, or is = with the method itself.
	Method string
	// Command points to a command line for bash.
	Command string
	SQL     *SQLText
	Money   *Amount
	// Recipients and Senders point to addresses of mail.
	Recipients, Senders []string
	// Git and K8s have pointers, or = with the value itself, by the names of the parts of those facets:
	// {"verb": "=push", "refs": "/branch"}.
	Git, K8s map[string]string
	// Closed is true for a tool whose arguments are all described: another member puts every facet in doubt.
	Closed bool
}

// SQLText describes an argument that is SQL.
type SQLText struct {
	Text string
	// Dialect is the one of the database, or Undeclared.
	Dialect sqlscan.Dialect
}

// Amount describes an argument that is money.
type Amount struct {
	// Amount points to the number. Currency points to its ISO 4217 code, or is = with the code itself.
	Amount, Currency string
	// Minor is true for an amount in the minor unit, such as cents.
	Minor bool
	// Negative is true for a tool that takes amounts below 0.
	Negative bool
}

// Tools has the descriptions of tools by their names.
type Tools map[string]Description

// Fixed returns the value that a text of a description has itself: a text that begins with =.
func Fixed(text string) (value string, ok bool) { return strings.CutPrefix(text, "=") }

// descriptionFields are the fields of a description in JSON.
var descriptionFields = []string{
	"reads", "writes", "urls", "hosts", "method", "command", "sql", "money", "recipients", "senders", "git", "k8s", "closed",
}

// mostPointers bounds each list of a description.
const mostPointers = 32

// ReadTools reads "tools" of "meta" and reports the problems with it: a list of the names of the author's own tools,
// or an object that describes them by their names.
func ReadTools(meta document.Fields, most int) (names []string, described Tools) {
	v, _ := meta.Value.Get("tools")
	if v.Kind() != document.Object {
		meta.Fix = "; list names of tools, or describe them: {\"mcp__web__get\": {\"urls\": [\"/url\"]}}"
		return toolname.Read(meta, most), nil
	}
	at := meta.At.Key("tools")
	if n := v.Len(); n > most {
		meta.Report.Errorf(at, document.CodeTooMany, "\"tools\" has %d items, the limit is %d", n, most)
		return nil, nil
	}
	described = make(Tools, v.Len())
	for name, member := range v.Members() {
		names = append(names, name)
		here := at.Key(name)
		toolname.Check(meta.Report, name, here)
		if d, ok := ReadDescription(meta.Report, member, here); ok {
			described[name] = d
		}
		if member.Len() > 0 && (toolname.Known(name) || toolname.Own(name)) {
			meta.Report.Errorf(here, document.CodeName, "the arguments of %s are known, and cannot be described otherwise; leave it {}, or remove it", document.Quote(name))
		}
	}
	return names, described
}

// ReadDescription reads the description of one tool and reports its problems.
func ReadDescription(r *document.Report, v document.Value, at *document.Path) (d Description, ok bool) {
	f, ok := r.Object(v, at, "the description of a tool")
	if !ok {
		return d, false
	}
	f.Known("the description of a tool", descriptionFields...)
	d.Reads, d.Writes = pointers(f, "reads"), pointers(f, "writes")
	d.URLs, d.Hosts = pointers(f, "urls"), pointers(f, "hosts")
	d.Recipients, d.Senders = pointers(f, "recipients"), pointers(f, "senders")
	d.Command = onePointer(f, "command")
	d.Method = pointerOrValue(f, "method", "=GET")
	if method, fixed := Fixed(d.Method); fixed && method != strings.ToUpper(method) {
		r.Errorf(f.At.Key("method"), document.CodeName, "methods are written in capitals; write %q", "="+strings.ToUpper(method))
	}
	d.SQL, d.Money = readSQL(f), readMoney(f)
	d.Git, d.K8s = readParts(f, "git"), readParts(f, "k8s")
	d.Closed = f.Bool("closed")
	return d, true
}

// pointers reads a list of pointers; nil when there is none.
func pointers(f document.Fields, name string) []string {
	f.Fix = "; list pointers into the input, such as [\"/path\"], or [] for a tool that has none"
	items, ok := f.Strings(name, mostPointers)
	if !ok {
		return nil
	}
	for _, item := range items {
		checkPointer(f, item.Text, item.At)
	}
	f.Report.Duplicates(items)
	return document.Texts(items)
}

func checkPointer(f document.Fields, text string, at *document.Path) bool {
	fault := condition.PointerFault(text)
	if fault != "" {
		f.Report.Errorf(at, document.CodePointer, "%s %s", document.Quote(text), fault)
	}
	return fault == ""
}

// onePointer reads a pointer to one value.
func onePointer(f document.Fields, name string) string {
	text, ok := f.Text(name)
	switch {
	case !ok || !checkPointer(f, text, f.At.Key(name)):
		return ""
	case slices.Contains(strings.Split(text, "/"), "*"):
		f.Report.Errorf(f.At.Key(name), document.CodePointer, "%s leads to several values, and %q is one; point to one", document.Quote(text), name)
		return ""
	}
	return text
}

// pointerOrValue reads a pointer to one value, or = with the value itself.
func pointerOrValue(f document.Fields, name, example string) string {
	text, ok := f.Text(name)
	switch value, fixed := Fixed(text); {
	case !ok:
		return ""
	case fixed && value != "":
		return text
	case fixed || text[0] != '/':
		f.Report.Errorf(f.At.Key(name), document.CodePointer, "%s is no pointer into the input; write one, such as %q, or the value itself behind =, such as %q",
			document.Quote(text), "/"+name, example)
		return ""
	}
	return onePointer(f, name)
}

func readSQL(f document.Fields) *SQLText {
	s, ok := f.Object("sql")
	if !ok {
		return nil
	}
	s.Known("\"sql\" of a tool", "text", "dialect")
	s.Require("text")
	d := &SQLText{Text: onePointer(s, "text")}
	if name, ok := s.Enum("dialect", sqlscan.Dialects()...); ok {
		d.Dialect, _ = sqlscan.Named(name)
	}
	return d
}

func readMoney(f document.Fields) *Amount {
	m, ok := f.Object("money")
	if !ok {
		return nil
	}
	m.Known("\"money\" of a tool", "amount", "currency", "unit", "negative")
	m.Require("amount", "currency", "unit")
	d := &Amount{Amount: onePointer(m, "amount"), Currency: pointerOrValue(m, "currency", "=USD"), Negative: m.Bool("negative")}
	if code, fixed := Fixed(d.Currency); fixed {
		if _, known := MinorDigits(code); !known {
			m.Report.Errorf(m.At.Key("currency"), document.CodeName, "%s is no currency that is known; write its ISO 4217 code, such as \"=USD\"", document.Quote(code))
		}
	}
	unit, _ := m.Enum("unit", "minor", "major")
	d.Minor = unit == "minor"
	return d
}

// readParts reads the parts of git or k8s; nil when there are none.
func readParts(f document.Fields, name string) map[string]string {
	p, ok := f.Object(name)
	if !ok {
		return nil
	}
	var known []string
	for _, facet := range condition.Facets() {
		if part, found := strings.CutPrefix(string(facet), name+"."); found {
			known = append(known, part)
		}
	}
	p.Known("\""+name+"\" of a tool", known...)
	parts := make(map[string]string, p.Value.Len())
	for _, part := range known {
		if p.Has(part) {
			parts[part] = pointerOrValue(p, part, "=push")
		}
	}
	for _, part := range []string{"force", "delete"} {
		if value, fixed := Fixed(parts[part]); fixed && value != "true" && value != "false" {
			p.Report.Errorf(p.At.Key(part), document.CodeEnum, "%q is true or false; write \"=true\", \"=false\" or a pointer", part)
		}
	}
	return parts
}
