package shell

import (
	"slices"
	"strings"
	"sync"
)

// An option such as -n, --dry-run or --check can make a command harmless, and another one can
// take it back: --no-dry-run, any beginning of that, --dry-run=false, "--noEmit null". So where a
// harmless option decides, every other option of the command has to be known, and by its whole name.

// looksOnly reports that an option makes the command harmless, and that no other may take it back.
func (s remoteScan) looksOnly() bool {
	return (s.quiet || s.pipes) && (s.doubted == 0 || s.spec.compiler || s.spec.asks) // those have closed lists of their own
}

// doubt remembers the place of an option that may take back a harmless one.
func (s remoteScan) doubt(unsure bool, at int) {
	if unsure && s.doubted == 0 {
		s.doubted = at
	}
}

// exact reports an option that the line of the program names, not only begins.
func (s remoteScan) exact(name string) bool {
	_, ok := s.spec.options[name]
	if !ok && s.spec.single {
		_, ok = s.spec.options["-"+strings.TrimLeft(name, "-")]
	}
	return ok
}

var (
	affirms = wordSet(`true True TRUE t T 1 yes y on`)
	refuses = wordSet(`false False FALSE f F 0 no n off none null undefined never`)
)

// denies reports a value by which a harmless option without an argument may say that it does not
// hold: one that is attached, or the next word, which some programs take.
func (s remoteScan) denies(o option, attached Word, at int) bool {
	if o.takes != takesNothing {
		return false
	}
	if _, _, ok := strings.Cut(s.words[at].Text, "="); ok && (!attached.Static || !affirms[attached.Text]) {
		return true
	}
	if at+1 >= len(s.words) {
		return false
	}
	next := s.words[at+1]
	if o.role == roleSwitch && !next.Static {
		return next.start > startsSafe || slices.ContainsFunc([]string{"false", "null", "no", "0"}, func(v string) bool { return couldBe(next.Text, v) })
	}
	return next.Static && refuses[strings.ToLower(next.Text)]
}

const mayTakeBack = "has, next to the option that makes it harmless, another one that is not known and may take that back; leave it out, or write its whole name:"

// unlessHarmless notes the effect of a command, or the option that may take back a harmless
// one.
func (s remoteScan) unlessHarmless(kind Kind, at int, what string) {
	if s.looksOnly() {
		return
	}
	f := s.builtinPart().finding(kind, s.c, at, what)
	if s.quiet || s.pipes {
		f.What, f.About = mayTakeBack, s.words[s.doubted].String()
	}
	s.add(f)
}

// takesBack reports that words behind those that an entry of a list names take back a harmless
// option of the entry.
func takesBack(words []Word, named int) bool {
	if named == 0 {
		return false
	}
	sc := scan{words: words, spec: tableLine(words[:named])}
	if sc.spec == nil {
		return false
	}
	harmless := false
	for i, w := range words {
		switch {
		case i == 0:
		case w.Static && w.Text == "--":
			return false
		case i >= named && harmless && sc.remotePart().mayTakeBack(w, i):
			return true
		case i < named && isOption(w):
			if o, arg, known := sc.remotePart().named(w); known && o.role.harmless() {
				harmless = true
				if i+1 == named && sc.remotePart().denies(o, arg, i) {
					return true
				}
			}
		}
	}
	return false
}

// mayTakeBack reports a word that may take back a harmless option before it.
func (s remoteScan) mayTakeBack(w Word, at int) bool {
	if !isOption(w) {
		return !w.Static && w.start >= startsWithVariable
	}
	o, arg, known := s.named(w)
	if known && o.role.harmless() {
		return s.denies(o, arg, at) || o.role == roleDryRun && arg.Text != "" && !affirms[arg.Text]
	}
	return !known && (!w.Static || strings.HasPrefix(strings.TrimLeft(w.Text, "-"), "no"))
}

// named finds an option by its whole name, and its attached value.
func (s remoteScan) named(w Word) (o option, arg Word, known bool) {
	name, _, _ := strings.Cut(w.Text, "=")
	if s.spec.folds {
		name = strings.ToLower(name)
	}
	if s.exact(name) {
		o, _ = s.lookup(name)
		return o, part(w, len(name)+1), true
	}
	o, known, attached := s.spec.optionOf(w)
	return o, part(w, max(attached, 0)), known
}

// harmless reports a role that makes a command harmless.
func (r role) harmless() bool {
	switch r {
	case roleQuiet, roleSwitch, rolePipes, roleToStdout, roleDryRun:
		return true
	default:
		return false
	}
}

// tableLine returns the line of the program, or of its subcommand, that words name, or
// nil.
func tableLine(words []Word) *spec {
	name := programName(words[0].Text[strings.LastIndexByte(words[0].Text, '/')+1:])
	s := specOf(name)
	for _, w := range words[1:] {
		if s == nil || !s.sub {
			break
		}
		if sub := specOf(name + " " + w.Text); sub != nil {
			name, s = name+" "+w.Text, sub
		}
	}
	return s
}

// choicesOfReport are forms of reports that go to the output.
var choicesOfReport = sync.OnceValue(func() map[string]bool {
	return wordSet(`default console basic verbose dot dots tap tap-flat spec list line min minimal summary progress nyan landing doc github
github-actions agent tree compact expanded stylish unix json jsonl text text-summary colorized parseable msvs pretty quiet documentation silent gitlab full concise
grouped pylint sarif colored-line-number line-number tab code-climate junit-xml checkstyle visualstudio codeframe string teamcity short tty failures-only hanging-process p d f`)
})

// harmlessOverrides are the beginnings of settings of ruff that choose its checks.
var harmlessOverrides = []string{"line-length", "indent-width", "target-version", "preview", "select", "ignore", "extend-select", "extend-ignore", "lint.", "format.", "exclude", "extend-exclude", "src"}

// writingSettings are parts of the names of settings of pytest that write or run.
var writingSettings = []string{"addopts", "log_file", "_dir", "path", "plugin", "report", "log_auto"}

// harmlessPlugins of pytest change neither files nor the code that runs.
var harmlessPlugins = sync.OnceValue(func() map[string]bool {
	return wordSet(`pytester xdist xdist.plugin pytest_cov pytest_asyncio pytest_timeout pytest_mock
pytest_django randomly pytest_randomly terminal`)
})
