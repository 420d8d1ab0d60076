package facet

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/sqlscan"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// notDescribed says why the facets of a tool are not known.
const notDescribed = "the tool is not described"

// described returns the description of the tool; ok is false when there is none, or the tool has a form of its own.
func (f *Facts) described() (d Description, ok bool) {
	if toolname.Known(f.of.Tool) || len(f.of.Tools) == 0 {
		return d, false
	}
	if d, ok = f.of.Tools[f.of.Qualified]; !ok {
		d, ok = f.of.Tools[f.of.Tool]
	}
	return d, ok
}

// silent returns why the parts of a facet are not known that neither a command line nor a described argument shows; it is
// empty when there are none. says is true when the description of the tool has the facet.
func (f *Facts) silent(says bool, subject string) string {
	d, described := f.described()
	switch {
	case f.runsLine(), says && described, described && d.Closed, !described && toolname.Known(f.of.Tool) && !toolinput.TakesCode(f.of.Tool):
		return ""
	case described:
		return "the description of the tool does not say " + subject
	default:
		return notDescribed
	}
}

// undescribed returns an argument that the description of a closed tool lacks; found is false when there is none.
func (f *Facts) undescribed() (name string, found bool) {
	d, ok := f.described()
	if !ok || !d.Closed {
		return "", false
	}
	input, ok := f.Input()
	if !ok {
		return "", false
	}
	all := paths{}
	for _, pointer := range pointersOf(&d) {
		all.add(strings.Split(pointer[1:], "/"))
	}
	return all.lacks(input, "")
}

// pointersOf returns all pointers of a description.
func pointersOf(d *Description) []string {
	all := slices.Concat(d.Reads, d.Writes, d.URLs, d.Hosts, d.Recipients, d.Senders, []string{d.Method, d.Command})
	if d.SQL != nil {
		all = append(all, d.SQL.Text)
	}
	if d.Money != nil {
		all = append(all, d.Money.Amount, d.Money.Currency)
	}
	all = slices.AppendSeq(slices.AppendSeq(all, maps.Values(d.Git)), maps.Values(d.K8s))
	return slices.DeleteFunc(all, func(text string) bool { return !strings.HasPrefix(text, "/") })
}

// paths are the steps of pointers; one without steps stands for any value.
type paths map[string]paths

func (p paths) add(steps []string) {
	if len(steps) == 0 {
		return
	}
	name, _ := document.UnescapeSegment(steps[0])
	if p[name] == nil {
		p[name] = paths{}
	}
	p[name].add(steps[1:])
}

// lacks returns the pointer of a member that no path leads to or through.
func (p paths) lacks(v document.Value, at string) (pointer string, found bool) {
	for name, member := range v.Members() {
		here := at + "/" + document.EscapeSegment(name)
		next := p[name]
		if next == nil {
			return here, true
		}
		if len(next) == 0 {
			continue
		}
		if pointer, found = next.lacks(member, here); found {
			return pointer, true
		}
	}
	for i, element := range v.Elements() {
		next := p["*"]
		if next == nil {
			next = p[strconv.Itoa(i)]
		}
		if len(next) == 0 {
			if next == nil && element.Kind() == document.Object {
				return at + "/" + strconv.Itoa(i), true
			}
			continue
		}
		if pointer, found = next.lacks(element, at+"/"+strconv.Itoa(i)); found {
			return pointer, true
		}
	}
	return "", false
}

// pointed returns the values at pointers. why says why there may be others; it is empty when all are known.
func (f *Facts) pointed(pointers []string) (values []document.Value, why string) {
	input, ok := f.Input()
	if !ok {
		return nil, toolinput.NoObject
	}
	for _, pointer := range pointers {
		found, fault := condition.ValuesAt(pointer, input)
		if fault != "" && why == "" {
			why = pointer + " " + fault
		}
		values = append(values, found...)
	}
	return values, why
}

// valueOf returns the value of a text of a description: a pointer to it, or = with the value itself. It is Missing
// where there is none; why is as pointed has it.
func (f *Facts) valueOf(text string) (v document.Value, why string) {
	if fixed, ok := toolinput.Fixed(text); ok {
		return document.StringValue(fixed), ""
	}
	values, why := f.pointed([]string{text})
	if len(values) == 0 {
		return document.Value{}, why
	}
	return values[0], why
}

// texts notes the texts at pointers by a function, and doubts the facets where there are other values.
func (f *Facts) texts(p parts, pointers []string, facets []condition.Facet, note func(string)) {
	values, why := f.pointed(pointers)
	for _, v := range values {
		if v.Kind() == document.String {
			note(v.Str())
		} else {
			why = "one of " + strings.Join(pointers, ", ") + " is " + v.Kind().String() + " and must be a text"
		}
	}
	if why != "" {
		p.doubt(why, facets...)
	}
}

// sqlDescribed notes the statements that the description of the tool points to, and returns how many there are.
func (f *Facts) sqlDescribed(p parts) (count int) {
	d, ok := f.described()
	if !ok || d.SQL == nil {
		return 0
	}
	given := false
	f.texts(p, []string{d.SQL.Text}, sqlFacets, func(text string) {
		given = true
		count += p.sql(sqlscan.Scan(text, d.SQL.Dialect))
	})
	if !given {
		p.doubt("the call has no "+d.SQL.Text+", to which its description points", sqlFacets...)
	}
	return count
}

// partsDescribed notes the parts of git or k8s that the description of the tool gives; others of the family are not known
// unless it is closed.
func (f *Facts) partsDescribed(p parts, family []condition.Facet, texts map[string]string) {
	d, ok := f.described()
	if !ok || texts == nil {
		return
	}
	for _, name := range family {
		_, part, _ := strings.Cut(string(name), ".")
		text := texts[part]
		if text == "" {
			if !d.Closed && len(texts) > 0 {
				p.doubt("the description of the tool does not say "+string(name), name)
			}
			continue
		}
		v, why := f.valueOf(text)
		if why != "" {
			p.doubt(why, name)
		}
		f.partDescribed(p, name, v)
	}
}

// partDescribed notes one value of a part.
func (f *Facts) partDescribed(p parts, name condition.Facet, v document.Value) {
	isBool := name.Type() == condition.BoolType
	switch {
	case v.IsZero():
		if isBool {
			p.add(name, condition.Element{Value: boolValue(false)})
		} else {
			p.doubt("the call lacks the argument that says its "+string(name), name)
		}
	case isBool && v.Kind() == document.Bool:
		p.add(name, condition.Element{Value: v})
	case isBool && v.Kind() == document.String && (v.Str() == "true" || v.Str() == "false"):
		p.add(name, condition.Element{Value: boolValue(v.Str() == "true")})
	case v.Kind() != document.String || isBool || v.Str() == "":
		p.doubt("its value is of another kind than described", name)
	case name == condition.GitRefs:
		destination(p, v.Str(), "")
	case name == condition.K8sResource:
		p.text(name, folded(v.Str()))
	default:
		p.text(name, v.Str())
	}
}
