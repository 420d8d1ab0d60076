package workflow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// Narrowing is a list of entries that every call of a session must meet (S22.24). It allows
// no call, so one that has more entries never allows more.
type Narrowing []NarrowEntry

// NarrowEntry is an entry of a narrowing: a rule about the calls of some tools, as in the
// calls of a state, or the tools that may be called at all.
type NarrowEntry struct {
	CallRule
	// Tools are names, or prefixes of names with a trailing *; nil for a rule.
	Tools []string
}

// Bounds of a narrowing.
const (
	MostNarrowEntries = 32
	MostNarrowBytes   = 16 << 10
	mostNarrowTools   = 256
)

// ReadNarrowing reads a narrowing from JSON. It returns it with the problems that it has, and the same as
// compact JSON.
func ReadNarrowing(src []byte) (Narrowing, []byte, document.Problems) {
	r := reader{}
	if len(src) > MostNarrowBytes {
		r.report.Errorf(nil, document.CodeTooLarge, "\"only\" has %d bytes, the limit is %d; write fewer or shorter entries", len(src), MostNarrowBytes)
		return nil, nil, r.report.Problems()
	}
	v, problem := document.Parse(src, document.Limits{Bytes: MostNarrowBytes})
	if problem != nil {
		return nil, nil, document.Problems{*problem}
	}
	n := r.statePart().narrowing(v)
	if r.report.HasErrors() {
		return nil, nil, r.report.Problems()
	}
	return n, v.AppendJSON(nil), r.report.Problems()
}

func (r stateSection) narrowing(v document.Value) Narrowing {
	switch {
	case v.Kind() != document.Array || v.Len() == 0:
		r.report.Errorf(nil, document.CodeType, `"only" must be a list of entries, such as [{"tool": "mcp__db__query", "only": {"/region": "eu"}}, {"tools": ["Read", "mcp__db__*"]}]`)
		return nil
	case v.Len() > MostNarrowEntries:
		r.report.Errorf(nil, document.CodeTooMany, "\"only\" has %d entries, the limit is %d; write fewer", v.Len(), MostNarrowEntries)
		return nil
	}
	var n Narrowing
	base := (*document.Path)(nil)
	for i, each := range v.Elements() {
		f, ok := r.report.Object(each, base.At(i), "an entry of \"only\"")
		if !ok {
			continue
		}
		f.Known("an entry of \"only\"", "tool", "capability", "tools", "only")
		if f.Has("tools") {
			n = append(n, NarrowEntry{Tools: r.narrowTools(f)})
			continue
		}
		if rule, ok := r.callRule(f); ok {
			r.refuseNot(each, f.At.Key("only"))
			n = append(n, NarrowEntry{CallRule: rule})
		}
	}
	return n
}

// narrowTools reads the tools that may be called at all.
func (r stateSection) narrowTools(f document.Fields) []string {
	for _, other := range []string{"tool", "capability", "only"} {
		if f.Has(other) {
			r.report.Errorf(f.At.Key(other), document.CodeConflict, "an entry with \"tools\" has no %q; write two entries", other)
		}
	}
	list, ok := f.List("tools", mostNarrowTools)
	if !ok {
		return []string{}
	}
	tools := []string{}
	for i, v := range list.Elements() {
		at := f.At.Key("tools").At(i)
		if v.Kind() != document.String {
			r.report.Errorf(at, document.CodeType, "a tool is a text, such as \"Read\" or \"mcp__db__*\"")
			continue
		}
		r.toolName(v.Str(), at, toolname.Grants)
		tools = append(tools, v.Str())
	}
	return tools
}

// refuseNot reports a "not" over a facet that may be unknown: the entry would read as if all but some were
// allowed, and denies all of which that is not known.
func (r stateSection) refuseNot(entry document.Value, at *document.Path) {
	only, _ := entry.Get("only")
	for _, key := range condition.Negated(only) {
		if strings.HasPrefix(key, "/") || strings.HasPrefix(key, "caller.") {
			continue
		}
		r.report.Errorf(at, document.CodeConflict,
			"\"not\" is over %s, which is not known of every call: list the values that are allowed instead", document.Quote(key))
		return
	}
}

// covers reports that the tools of an entry include a tool. qualified is its full name, or empty: that counts then, and
// of a client's own tool both names do, so that neither stands for a call of the other.
func (e *NarrowEntry) covers(tool, qualified string) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(e.Tools, func(pattern string) bool { return toolCovers(pattern, name) })
	}
	switch {
	case qualified == "" || qualified == tool:
		return has(tool)
	case toolname.Known(tool) || !strings.HasSuffix(qualified, "__"+tool):
		return has(tool) && has(qualified)
	default:
		return has(qualified)
	}
}

// Lists reports an entry that says which tools may be called, and whether it has a tool. qualified is the full
// name of a tool of an MCP server that is called by its plain name, or empty.
func (e *NarrowEntry) Lists(tool, qualified string) (lists, has bool) {
	return e.Tools != nil, e.Tools != nil && e.covers(tool, qualified)
}

// Looks returns the pointers and facets that the entries name, each once.
func (n Narrowing) Looks() []string {
	var looks []string
	for i := range n {
		for _, name := range n[i].Only.Looks() {
			if !slices.Contains(looks, name) {
				looks = append(looks, name)
			}
		}
	}
	return looks
}

// String returns the entries as they were written, for people.
func (n Narrowing) String() string {
	texts := make([]string, len(n))
	for i := range n {
		switch e := &n[i]; {
		case e.Tools != nil:
			texts[i] = "tools " + strings.Join(e.Tools, ", ")
		default:
			texts[i] = fmt.Sprintf("%s %s", e.Pattern(), e.Only.Value())
		}
	}
	return strings.Join(texts, "; ")
}
