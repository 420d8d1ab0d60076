package packs

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/interlock-run/interlock/pkg/document"
)

// Parameter is a value of a pack that its user may choose.
type Parameter struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Meaning string `json:"meaning"`
	// Default is the value where none is set, as JSON.
	Default json.RawMessage `json:"default"`
	// Detect has other defaults for folders that have a file of that name, as JSON.
	Detect map[string]json.RawMessage `json:"detect,omitempty"`

	order []string // of Detect
}

// kind is what values of a parameter may be.
type kind struct {
	list    bool
	valid   *regexp.Regexp // of the text of the value, or of each value of a list
	meaning string
}

var kinds = sync.OnceValue(func() map[string]kind {
	return map[string]kind{
		"globs":     {true, regexp.MustCompile(`^/?[A-Za-z0-9_.@*?+-]+(/[A-Za-z0-9_.@*?+-]+)*$`), "patterns of files in the workspace, such as src/**"},
		"file":      {false, regexp.MustCompile(`^[A-Za-z0-9_.@+-]+(/[A-Za-z0-9_.@+-]+)*$`), "a file in the workspace"},
		"name":      {false, regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`), "a name of letters, digits, . _ and -"},
		"names":     {true, regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`), "names of letters, digits, . _ and -"},
		"repo":      {false, regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$`), "OWNER/NAME of a repository"},
		"refs":      {true, regexp.MustCompile(`^refs/heads/[A-Za-z0-9][A-Za-z0-9._*-]*(/[A-Za-z0-9._*-]+)*$`), "branches by their full names, such as refs/heads/agent/**"},
		"hosts":     {true, regexp.MustCompile(`^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)+$`), "names of hosts, such as docs.example.com or *.example.com"},
		"host":      {false, regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`), "the name of a host"},
		"senders":   {true, regexp.MustCompile(`^[A-Za-z0-9._%+*-]+@[A-Za-z0-9.-]+$`), "addresses of mail, such as *@example.com"},
		"tables":    {true, regexp.MustCompile(`^[A-Za-z0-9_*]+(\.[A-Za-z0-9_*]+)?$`), "names of tables, such as public.orders or hr.*"},
		"tools":     {true, regexp.MustCompile(`^(@client|[A-Za-z][A-Za-z0-9_-]*\*?)$`), "names of tools"},
		"tool":      {false, regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`), "the name of a tool"},
		"commands":  {true, regexp.MustCompile(`^[^\p{Cc}]+$`), "commands as rules of policies name them, such as npm publish"},
		"command":   {false, regexp.MustCompile(`^[A-Za-z0-9_./-]+( [A-Za-z0-9_./:=@+,-]+)*$`), "one plain command without quotes, variables and operators"},
		"number":    {false, regexp.MustCompile(`^(0|[1-9][0-9]{0,11})(\.[0-9]{1,6})?$`), "a number from 0"},
		"count":     {false, regexp.MustCompile(`^[1-9][0-9]{0,6}$`), "a whole number from 1"},
		"level":     {false, regexp.MustCompile(`^[0-3]$`), "a level of the jail, 0 to 3"},
		"duration":  {false, regexp.MustCompile(`^([1-9][0-9]{0,3}[dhms])+$`), "a duration, such as 45m or 8h"},
		"variables": {true, regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`), "names of variables of the environment"},
		"choice":    {false, regexp.MustCompile(`^(allow|deny)$`), "allow or deny"},
		"zone":      {false, regexp.MustCompile(`^[A-Za-z]+(/[A-Za-z0-9_+-]+)*$`), "a time zone, such as Europe/Berlin"},
		"currency":  {false, regexp.MustCompile(`^([a-z]{3}|[A-Z]{3})$`), "a currency as the tool spells it, such as usd"},
	}
})

// numeric kinds are numbers in JSON.
var numeric = []string{"number", "count", "level"}

// maxItems bounds the values of a list, and maxText the length of one.
const (
	maxItems = 256
	maxText  = 200
)

func readParameter(v document.Value) (Parameter, error) {
	p := Parameter{Name: textOf(v, "name"), Kind: textOf(v, "kind"), Meaning: textOf(v, "meaning")}
	value, _ := v.Get("default")
	p.Default = value.AppendJSON(nil)
	if _, known := kinds()[p.Kind]; !known || p.Name == "" || p.Meaning == "" {
		return p, fmt.Errorf("the parameter %q needs a name, a known kind and a meaning", p.Name)
	}
	if err := p.check(value); err != nil {
		return p, err
	}
	detect, _ := v.Get("detect")
	for file, other := range detect.Members() {
		if err := p.check(other); err != nil {
			return p, err
		}
		if p.Detect == nil {
			p.Detect = map[string]json.RawMessage{}
		}
		p.Detect[file] = other.AppendJSON(nil)
		p.order = append(p.order, file)
	}
	return p, nil
}

// Read returns the value that a text of a command line stands for: JSON, or for lists also words with commas between them.
func (p *Parameter) Read(text string) (document.Value, error) {
	k := kinds()[p.Kind]
	var v document.Value
	switch {
	case k.list && strings.HasPrefix(text, "["):
		parsed, problem := document.Parse([]byte(text), document.Limits{})
		if problem != nil {
			return v, fmt.Errorf("%s: %w", p.Name, problem)
		}
		v = parsed
	case k.list:
		var items []document.Value
		for item := range strings.SplitSeq(text, ",") {
			items = append(items, document.StringValue(strings.TrimSpace(item)))
		}
		v = document.ArrayValue(items)
	case slices.Contains(numeric, p.Kind):
		if !k.valid.MatchString(text) {
			return v, p.refuse(text)
		}
		v = document.NumberValue(text)
	default:
		v = document.StringValue(text)
	}
	return v, p.check(v)
}

// check refuses a value that is not of the parameter's kind.
func (p *Parameter) check(v document.Value) error {
	k := kinds()[p.Kind]
	if !k.list {
		return p.checkOne(v)
	}
	if v.Kind() != document.Array || v.Len() == 0 || v.Len() > maxItems {
		return fmt.Errorf("%s must be a list of 1 to %d: %s", p.Name, maxItems, k.meaning)
	}
	for _, item := range v.Elements() {
		if err := p.checkOne(item); err != nil {
			return err
		}
	}
	return nil
}

func (p *Parameter) checkOne(v document.Value) error {
	text := v.Str()
	want := document.String
	if slices.Contains(numeric, p.Kind) {
		want, text = document.Number, string(v.AppendJSON(nil))
	}
	if v.Kind() != want || len(text) > maxText || !kinds()[p.Kind].valid.MatchString(text) || slices.Contains(strings.Split(text, "/"), "..") {
		return p.refuse(string(v.AppendJSON(nil)))
	}
	return nil
}

func (p *Parameter) refuse(value string) error {
	return fmt.Errorf("%s cannot be %s: it is %s", p.Name, value, kinds()[p.Kind].meaning)
}

// Settings are values of parameters by name.
type Settings map[string]document.Value

// Set reads NAME=VALUE, as a command line has it, into settings.
func (p *Pack) Set(to Settings, assignment string) error {
	name, text, found := strings.Cut(assignment, "=")
	if !found {
		return fmt.Errorf("%q is not NAME=VALUE", assignment)
	}
	param := p.parameter(name)
	if param == nil {
		return fmt.Errorf("the pack %s has no parameter %q; parameters: %s", p.Name, name, p.parameterNames())
	}
	value, err := param.Read(text)
	if err != nil {
		return err
	}
	to[name] = value
	return nil
}

// Detected returns the settings that the files of a workspace suggest, such as the command that runs its tests.
func (p *Pack) Detected(workspace fs.FS) Settings {
	found := Settings{}
	for i := range p.Parameters {
		param := &p.Parameters[i]
		for _, file := range param.order {
			if _, err := fs.Stat(workspace, file); err != nil {
				continue
			}
			value, problem := document.Parse(param.Detect[file], document.Limits{})
			if problem == nil {
				found[param.Name] = value
				break
			}
		}
	}
	return found
}

func (p *Pack) parameter(name string) *Parameter {
	i := slices.IndexFunc(p.Parameters, func(q Parameter) bool { return q.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Parameters[i]
}

func (p *Pack) parameterNames() string {
	if len(p.Parameters) == 0 {
		return "none"
	}
	names := make([]string, len(p.Parameters))
	for i, q := range p.Parameters {
		names[i] = q.Name
	}
	return strings.Join(names, ", ")
}
