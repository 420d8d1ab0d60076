package toolinput

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// LongestDraft bounds a draft, and LongestOthers the list of arguments beside it, in bytes.
const (
	LongestDraft  = 1024
	LongestOthers = 512
)

// draft is a description in JSON, as far as a schema suggests one.
type draft struct {
	Reads      []string          `json:"reads,omitempty"`
	Writes     []string          `json:"writes,omitempty"`
	URLs       []string          `json:"urls,omitempty"`
	Hosts      []string          `json:"hosts,omitempty"`
	Method     string            `json:"method,omitempty"`
	Command    string            `json:"command,omitempty"`
	SQL        map[string]string `json:"sql,omitempty"`
	Money      map[string]string `json:"money,omitempty"`
	Recipients []string          `json:"recipients,omitempty"`
	Senders    []string          `json:"senders,omitempty"`
	Git        map[string]string `json:"git,omitempty"`
}

// names of arguments by what they usually mean, without case, _ and -.
var (
	pathNames      = []string{"path", "paths", "file", "files", "filename", "filepath", "directory", "dir", "folder", "source", "destination"}
	urlNames       = []string{"url", "urls", "uri", "uris", "link", "href", "endpoint"}
	hostNames      = []string{"host", "hosts", "hostname", "domain"}
	recipientNames = []string{"to", "cc", "bcc", "recipient", "recipients"}
	senderNames    = []string{"from", "sender", "replyto"}
	commandNames   = []string{"command", "cmd", "commandline"}
	branchNames    = []string{"branch", "ref", "branchname"}
	readingVerbs   = []string{"read", "get", "list", "search", "find", "view", "stat"}
)

// Draft proposes a description of a tool by the names and formats in its input schema (S21.14), as JSON of
// "meta.tools"; it is empty when they suggest nothing. others lists the arguments that it says nothing about: a list of
// a description counts as complete, so a person must look at them. A file is both read and written, unless the name of
// the tool begins with a verb of reading.
func Draft(tool string, schema []byte) (description, others string) {
	v, problem := document.Parse(schema, document.Limits{})
	if problem != nil {
		return "", "its input schema cannot be read"
	}
	var d draft
	var left []string
	properties, _ := v.Get("properties")
	d.money(properties)
	for name, property := range properties.Members() {
		pointer := "/" + document.EscapeSegment(name)
		if !d.argument(tool, name, pointer, property) && (d.Money == nil || pointer != d.Money["amount"] && pointer != d.Money["currency"]) {
			left = append(left, pointer)
		}
	}
	others = strings.Join(left, ", ")
	if len(others) > LongestOthers {
		others = fmt.Sprintf("%d arguments", len(left))
	}
	text, err := json.Marshal(d)
	switch {
	case err != nil, len(text) > LongestDraft:
		return "", fmt.Sprintf("%d arguments", properties.Len())
	case string(text) == "{}":
		return "", others
	}
	return string(text), others
}

// Arguments returns the names of a tool's arguments, as sorted pointers, from what Draft
// made of its schema. There are none when a part of them is not known.
func Arguments(description, others string) []string {
	var all []string
	if others != "" {
		all = strings.Split(others, ", ")
	}
	if description != "" {
		v, problem := document.Parse([]byte(description), document.Limits{})
		if problem != nil {
			return nil
		}
		all = appendPointers(all, v)
	}
	for i, pointer := range all {
		name, ok := strings.CutPrefix(pointer, "/")
		if !ok {
			return nil // a number of arguments, or words
		}
		name, _, _ = strings.Cut(name, "/")
		all[i] = "/" + name
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// appendPointers adds the pointers in a description.
func appendPointers(all []string, v document.Value) []string {
	if text := v.Str(); strings.HasPrefix(text, "/") {
		return append(all, text)
	}
	for _, member := range v.Members() {
		all = appendPointers(all, member)
	}
	for _, element := range v.Elements() {
		all = appendPointers(all, element)
	}
	return all
}

// argument adds what an argument suggests, and reports whether it suggests anything.
func (d *draft) argument(tool, name, pointer string, schema document.Value) bool {
	kind, format := textOf(schema, "type"), textOf(schema, "format")
	list := kind == "array"
	if list {
		items, _ := schema.Get("items")
		pointer, kind, format = pointer+"/*", textOf(items, "type"), textOf(items, "format")
	}
	if kind != "string" {
		return false
	}
	means := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
	is := func(names []string) bool { return slices.Contains(names, means) }
	switch {
	case format == "uri", format == "url", is(urlNames), strings.HasSuffix(means, "url"):
		d.URLs = append(d.URLs, pointer)
	case is(pathNames), strings.HasSuffix(means, "path"), strings.HasSuffix(means, "file"):
		d.file(tool, pointer)
	case format == "hostname", is(hostNames):
		d.Hosts = append(d.Hosts, pointer)
	case is(recipientNames):
		d.Recipients = append(d.Recipients, pointer)
	case is(senderNames) && (format == "email" || means != "from"):
		d.Senders = append(d.Senders, pointer)
	case list:
		return false
	default:
		return d.single(tool, means, pointer, schema)
	}
	return true
}

// single adds what an argument suggests of which a description has one. The first of several stays, and the others are
// left to a person.
func (d *draft) single(tool, means, pointer string, schema document.Value) bool {
	switch {
	case d.SQL == nil && (means == "sql" || means == "query" && suggestsSQL(tool, schema)):
		d.SQL = map[string]string{"text": pointer}
	case d.Command == "" && slices.Contains(commandNames, means):
		d.Command = pointer
	case d.Method == "" && means == "method":
		d.Method = pointer
	case d.Git == nil && slices.Contains(branchNames, means):
		d.Git = map[string]string{"refs": pointer}
	default:
		return false
	}
	return true
}

// file adds an argument that names a file.
func (d *draft) file(tool, pointer string) {
	d.Reads = append(d.Reads, pointer)
	verb, _, _ := strings.Cut(strings.ToLower(tool), "_")
	if !slices.Contains(readingVerbs, verb) {
		d.Writes = append(d.Writes, pointer)
	}
}

// money adds an amount with its currency. Whole numbers are taken for the minor unit, as payment services count.
func (d *draft) money(properties document.Value) {
	amount, _ := properties.Get("amount")
	currency, _ := properties.Get("currency")
	unit := map[string]string{"integer": "minor", "number": "major"}[textOf(amount, "type")]
	if unit != "" && textOf(currency, "type") == "string" {
		d.Money = map[string]string{"amount": "/amount", "currency": "/currency", "unit": unit}
	}
}

// suggestsSQL reports that a query is one of SQL, and no search for words.
func suggestsSQL(tool string, schema document.Value) bool {
	return strings.Contains(strings.ToLower(tool+" "+textOf(schema, "description")), "sql")
}

func textOf(v document.Value, name string) string {
	member, _ := v.Get(name)
	return member.Str()
}
