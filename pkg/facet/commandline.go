package facet

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
)

// parts are the values of the facets of one program, collected over the commands of a line. A part
// that is in doubt has its reason.
type parts map[condition.Facet]*part

type part struct {
	values []condition.Element
	why    string
}

func (p parts) of(name condition.Facet) *part {
	if p[name] == nil {
		p[name] = &part{}
	}
	return p[name]
}

// add notes a value once.
func (p parts) add(name condition.Facet, e condition.Element) {
	one := p.of(name)
	same := func(o condition.Element) bool {
		return document.Equal(o.Value, e.Value) && o.Unsure == e.Unsure
	}
	if !slices.ContainsFunc(one.values, same) {
		one.values = append(one.values, e)
	}
}

// one notes a value with its other readings.
func (p parts) one(name condition.Facet, e condition.Element) {
	p.of(name).values = append(p.of(name).values, e)
}

func (p parts) text(name condition.Facet, value string) {
	p.add(name, condition.Element{Value: stringValue(value)})
}

// doubt notes why facets are not known; the first reason stays.
func (p parts) doubt(why string, names ...condition.Facet) {
	for _, name := range names {
		if one := p.of(name); one.why == "" {
			one.why = why
		}
	}
}

// set returns the Set of a facet.
func (p parts) set(name condition.Facet) condition.Set {
	one := p.of(name)
	if one.why != "" { // that something is not done is then not certain
		one.values = slices.DeleteFunc(one.values, func(e condition.Element) bool { return document.Equal(e.Value, boolValue(false)) })
	}
	return condition.Set{Known: one.why == "", Why: one.why, Values: one.values}
}

// overCommands judges each command of the call's line. The facets are in doubt where the line does
// not show all commands, and for a tool that is neither known nor a shell, unless its description says
// the facets.
func (f *Facts) overCommands(says bool, names []condition.Facet, judge func(parts, *shell.Plan, shell.Command)) parts {
	all := parts{}
	if why := f.silent(says, parent(names)); why != "" {
		all.doubt(why, names...)
	}
	plan, err := f.plan()
	switch {
	case err != nil:
		all.doubt(err.Error(), names...)
		return all
	case plan == nil:
		return all
	}
	for _, finding := range plan.Findings {
		statements := finding.Command >= 0 && isSQLClient(plan.Commands[finding.Command])
		if finding.Kind == shell.Hidden || finding.Kind == shell.Code && !statements {
			all.doubt("the command line "+finding.What, names...)
		}
	}
	for _, c := range plan.Commands {
		if c.Assigns < len(c.Words) {
			if program := passedOn(plan, c, passed[names[0]]); program != "" {
				all.doubt(c.Program()+" may run "+program+", which is not judged there; run it in a line of its own", names...)
			}
			judge(all, plan, c)
		}
	}
	return all
}

// passed are programs that the facets of a family judge, by the first of the family: others may be given their commands.
var passed = map[condition.Facet]wordSet{
	condition.GitVerb:  wordSet("git gh hub"),
	condition.SQLKinds: wordSet("psql mysql mariadb sqlite3 sqlcmd pgcli mycli litecli duckdb sqlplus"),
	condition.K8sVerb:  wordSet("kubectl oc kubecolor k3s minikube microk8s helm helmfile kustomize k9s flux argocd istioctl"),
}

// passedOn returns one of the programs that a command hands to another program, which may run it elsewhere: docker exec db psql.
// What the line's own programs run is among its commands.
func passedOn(plan *shell.Plan, c shell.Command, programs wordSet) string {
	if _, known := programOfFiles(c); known || programs.has(c.Program()) {
		return ""
	}
	for i, w := range c.Words[c.Assigns+1:] {
		text := w.Text
		if name, value, attached := strings.Cut(text, "="); attached && strings.HasPrefix(name, "-") {
			text = value
		}
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		program := fields[0]
		if at := strings.LastIndex(program, "bin/"); at >= 0 {
			program = program[at+len("bin/"):]
		}
		family, _, _ := strings.Cut(program, "-") // git-push, kubectl-secrets
		if (programs.has(program) || programs.has(family) && (family == "git" || family == "kubectl")) && !slices.ContainsFunc(plan.Commands, ends(c.Words[c.Assigns+1+i:])) {
			return program
		}
	}
	return ""
}

// ends returns whether a command consists of the words.
func ends(list []shell.Word) func(shell.Command) bool {
	return func(c shell.Command) bool {
		return slices.EqualFunc(c.Words[c.Assigns:], list, func(a, b shell.Word) bool { return a.Text == b.Text })
	}
}

// parent names what facets are about, for a sentence: which git.verb.
func parent(names []condition.Facet) string { return "its " + string(names[0]) }

// commandOptions says how the options of a program are read.
type commandOptions struct {
	flags  wordSet // take no argument
	values wordSet // take one
}

// option is one option of a command, or an operand, whose name is empty.
type option struct {
	name, value string
	static      bool // the value is certain
	single      bool // it is one word, whatever its value is
	known       bool
}

// read splits the words behind the name of a program. It stops before the first operand when that is
// asked for, and returns the words from there on.
func (o commandOptions) read(words []shell.Word, stop bool) (options []option, rest []shell.Word) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w.Static && w.Text == "--":
			for _, operand := range words[i+1:] {
				options = append(options, option{value: operand.Text, static: operand.Static, single: operand.Single(), known: true})
			}
			return options, nil
		case len(w.Text) < 2 || w.Text[0] != '-':
			if stop {
				return options, words[i:]
			}
			options = append(options, option{value: w.Text, static: w.Static, single: w.Single(), known: true})
		default:
			used, found := o.option(w, words[i+1:])
			options = append(options, found...)
			i += used
		}
	}
	return options, nil
}

// option reads one word of options and says how many of the next words it uses.
func (o commandOptions) option(w shell.Word, next []shell.Word) (used int, found []option) {
	argument := func(name string) (int, []option) {
		if len(next) == 0 {
			return 0, []option{{name: name}}
		}
		return 1, []option{{name: name, value: next[0].Text, static: next[0].Static, single: next[0].Single(), known: true}}
	}
	name, value, attached := cutOption(w.Text)
	switch {
	case !w.Static:
		return 0, []option{{name: name, single: w.Single(), known: o.values.has(name) && attached}}
	case attached && (o.flags.has(name) || o.values.has(name)):
		return 0, []option{{name: name, value: value, static: true, known: true}}
	case o.flags.has(name):
		return 0, []option{{name: name, static: true, known: true}}
	case o.values.has(name):
		return argument(name)
	case w.Text[1] == '-':
		return 0, []option{{name: name}}
	}
	for i := 1; i < len(w.Text); i++ {
		letter := "-" + w.Text[i:i+1]
		switch {
		case o.flags.has(letter):
			found = append(found, option{name: letter, static: true, known: true})
		case o.values.has(letter) && i+1 < len(w.Text):
			return 0, append(found, option{name: letter, value: w.Text[i+1:], static: true, known: true})
		case o.values.has(letter):
			used, last := argument(letter)
			return used, append(found, last...)
		default:
			return 0, append(found, option{name: w.Text})
		}
	}
	return 0, found
}

// cutOption splits --name=value and -x=value.
func cutOption(text string) (name, value string, attached bool) {
	return strings.Cut(text, "=")
}

// wordSet is a set of words with blanks between them; the zero wordSet is empty.
type wordSet string

func (s wordSet) has(word string) bool {
	if word == "" || strings.ContainsAny(word, " \n\t") {
		return false
	}
	for rest := string(s); ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return false
		}
		end := i + len(word)
		if (i == 0 || isBlank(rest[i-1])) && (end == len(rest) || isBlank(rest[end])) {
			return true
		}
		rest = rest[i+1:]
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }

func stringValue(s string) document.Value { return document.StringValue(s) }
func boolValue(b bool) document.Value     { return document.BoolValue(b) }
