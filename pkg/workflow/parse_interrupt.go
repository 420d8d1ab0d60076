package workflow

import (
	"path"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/pathglob"
)

// handlerFacts is one interrupt as the graph sees it.
type handlerFacts struct {
	target int
	at     *document.Path
}

func (r transitionSection) interrupts(f document.Fields) {
	interrupts, ok := f.Object("interrupts")
	if !ok {
		return
	}
	if n := interrupts.Value.Len(); n > maxInterrupts {
		r.report.Errorf(interrupts.At, document.CodeTooMany, "there are %d interrupts, the limit is %d", n, maxInterrupts)
		return
	}
	interrupts.SameNames("interrupt")
	patterns := make(map[string]Interrupt)
	everything := ""
	for name, v := range interrupts.Value.Members() {
		at := interrupts.At.Key(name)
		r.report.CheckName(name, at, otherRule)
		i := Interrupt{Name: name}
		if fields, ok := r.report.Object(v, at, "an interrupt"); ok {
			r.interrupt(fields, &i)
		}
		r.def.Interrupts = append(r.def.Interrupts, i)
		if i.FilePattern == "" {
			continue
		}
		pattern := path.Clean(i.FilePattern)
		before, same := patterns[pattern]
		switch {
		case same && before.Target != i.Target:
			r.report.Warnf(at, CodeInterruptOverlap, "%q has the same pattern and comes first, so this one never fires; merge them", before.Name)
		case same:
			r.report.Warnf(at, document.CodeDuplicateItem, "%q is the same; remove one", before.Name)
		case everything != "":
			r.report.Warnf(at, CodeInterruptOverlap, "%q comes first and matches every file, so this one never fires; put it before", everything)
		default:
			patterns[pattern] = i
		}
		if matchesAll(pattern) {
			everything = name
		}
	}
}

func (r transitionSection) interrupt(f document.Fields, i *Interrupt) {
	f.Known("an interrupt", "trigger", "target")
	f.Require("trigger", "target")
	if trigger, ok := f.Object("trigger"); ok {
		trigger.Known("a trigger", "file_pattern")
		trigger.Require("file_pattern")
		if pattern, ok := trigger.Text("file_pattern"); ok {
			i.FilePattern = pattern
			r.pattern(pattern, trigger.At.Key("file_pattern"))
		}
	}
	target, ok := f.Str("target")
	if !ok {
		return
	}
	at := f.At.Key("target")
	i.Target = target
	place := r.lookup(target, at)
	if place == unknownState {
		return
	}
	if r.facts[place].final {
		r.report.Errorf(at, CodeInterruptFinal, "%q is final, so changing a file would end enforcement; name a state that handles it", target)
	}
	r.handlers = append(r.handlers, handlerFacts{place, at})
}

// matchesAll reports a cleaned pattern that every file matches.
func matchesAll(pattern string) bool {
	return pattern == "**" || pattern == "**/*" || pattern == "**/**"
}

// pattern checks a glob. One that can match no changed file is an error: the
// interrupt would never protect anything.
func (r transitionSection) pattern(pattern string, at *document.Path) {
	if _, err := pathglob.Compile(pattern); err != nil {
		r.report.Errorf(at, CodeGlob, "%s never matches a changed file, or is not a pattern; %s", document.Quote(pattern), err)
	} else if matchesAll(path.Clean(pattern)) {
		r.report.Warnf(at, CodeTooBroad, "%s matches every changed file; name the files that matter", document.Quote(pattern))
	}
}
