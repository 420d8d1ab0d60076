package shell

import (
	"slices"
	"strings"
	"sync"
)

// An option that no line names may still say by its name that it writes or runs
// something. Such options are refused (R3, R4).

const (
	looksOutput = "has an option that looks like one which writes"
	looksCode   = "has an option that looks like one which runs something"
)

// writingOptions and runningOptions are the beginnings of such options; one that
// ends with a blank is whole.
var (
	writingOptions = []string{
		"--out ", "--outfile", "--out-file", "--outdir", "--out-dir", "--output", "--in-place ", "--inplace ",
		"--write", "--overwrite", "--fix ", "--fix-", "--save", "--export",
		"--update-snapshot", "--updateSnapshot", "--bless", "--init ", "--report-file", "--reportfile", "--log-file", "--logfile", "--log-junit",
		"--log ", "--logs-dir", "--log-dir ", "--logdir", "--profile-output", "--cursor-file", "--keylog",
		"--cache ", "--cache-dir ", "--cache-folder", "--cache-location", "--cache-file", "--cache-path", "--modules-folder",
		"--expand-", "--flags-file",
		"--junit", "--xunit-file", "--testdox-html", "--testdox-text", "--coverage-html", "--coverage-xml", "--coverage-clover",
	}
	// writingEndings are those of such options that name a file or a folder.
	writingEndings = []string{
		"-outfile", "-out-file", "-outdir", "-out-dir", "-output-file", "-output-dir", "-output-folder", "-output-path",
		"-log-file", "-logfile", "-log-dir",
	}
	// telling are options that name a file, unless their value is a word that says how much or in which form.
	telling        = wordSet("--trace --dump --report --stats --trace-file --dump-file --profile-file --stats-file")
	runningOptions = []string{"--eval", "--exec", "--preview ", "--preview-command", "--script", "--plugin"}
)

// harmlessLooks are options that only look so.
var harmlessLooks = sync.OnceValue(func() map[string]bool {
	return wordSet(`--output-delimiter --output-format --output-on-failure --output-width --output-duplicates --output-sync
--output-indicator-new --output-indicator-old --output-indicator-context --output-style --output-separator --output-encoding --output-type
--output-fields --output-tabs --output-separator --output-sep --output-field-separator --output-null --write-out --write-locks --exec-path`)
})

// formats are values of --output that name no file.
var formats = wordSet(`json yaml yml table text wide name csv tsv toml xml html markdown md sarif github pretty plain none raw short long jsonl ndjson`)

// amounts are values of an option of telling that name no file.
var amounts = sync.OnceValue(func() map[string]bool {
	return wordSet(`
0 1 2 3 all none true false yes no on off auto always never default full summary short long source diff info junit
checkstyle emacs code performance gitblame svnblame hgblame notifysource stdout stderr error warning warn debug trace
verbose quiet release dev test bench minimal basic detailed
`)
})

// looks guesses the effect of an unknown option. next is the word after it.
func looks(name, value string, attached bool, next Word) (kind Kind, what string) {
	begins := func(known string) bool { return strings.HasPrefix(name+" ", known) }
	switch {
	case harmlessLooks()[name]:
	case telling[name]:
		if attached && !formats[value] && !amounts()[value] {
			return Writes, looksOutput
		}
	case slices.ContainsFunc(writingEndings, func(end string) bool { return strings.HasSuffix(name, end) }):
		return Writes, looksOutput
	case slices.ContainsFunc(writingOptions, begins):
		if !attached && next.Static {
			value = next.Text
		}
		format, _, _ := strings.Cut(value, "=")
		if name == "--cache" && amounts()[value] {
			return 0, ""
		}
		if name == "--output" && (formats[value] || slices.Contains([]string{"jsonpath", "go-template", "custom-columns"}, format)) {
			return 0, ""
		}
		return Writes, looksOutput
	case slices.ContainsFunc(runningOptions, begins), strings.HasSuffix(name, "-hook") && !strings.HasPrefix(name, "--no-"):
		return Code, looksCode
	}
	return 0, ""
}

// dashO are programs without a line whose -o and --output are not a file.
var dashO = sync.OnceValue(func() map[string]bool {
	return wordSet(`grep egrep fgrep zgrep ls dir vdir lsblk df findmnt lsof netstat ss column join od hexdump strings nm pgrep pkill
test [ set shopt shellcheck top htop who free numfmt lscpu lsmem lsipc lslogins zramctl ulimit ps stat echo printf yes seq complete compgen
rgrep zegrep zfgrep bzgrep xzgrep zstdgrep agrep pcregrep pcre2grep ggrep gegrep gfgrep gls gdir god gstat exa eza lsd namei lsattr pmap
cmp iostat mpstat last ping ping6 traceroute tput stty diff gdiff type tokei sensors finger expr kill enable builtin gradle gradlew mvnw mvnd`)
})

// unknownOptions walks the options of a program, or a subcommand, that has no line.
// A program of the workspace may do anything already.
func (p programReader) unknownOptions(name string, c, at int) {
	words := p.plan.Commands[c].Words
	if strings.Contains(words[at].Text, "/") && !strings.HasPrefix(words[at].Text, "/") {
		return
	}
	for i := at + 1; i < len(words); i++ {
		w := words[i]
		if w.Static && w.Text == "--" {
			return
		}
		next := Word{}
		if i+1 < len(words) {
			next = words[i+1]
		}
		if dashO()[name] && strings.HasPrefix(w.Text, "--output") {
			continue // columns
		}
		p.unknownLook(c, i, w, next)
		if dashO()[name] || !strings.HasPrefix(w.Text, "-o") {
			continue
		}
		alone := w.Text == "-o"
		if alone && (!next.Static || next.Text != "" && next.Text[0] != '-') && !harmless(next) || !alone && !harmless(part(w, 2)) {
			p.builtinPart().note(Writes, c, i, looksOutput)
		}
	}
}

// unknownLook judges one option that no line names.
func (p programReader) unknownLook(c, at int, w, next Word) {
	if !strings.HasPrefix(w.Text, "--") {
		return
	}
	name, value, attached := strings.Cut(w.Text, "=")
	if attached && w.Static && harmless(Word{Text: value, Static: true}) || !attached && harmless(next) {
		return
	}
	if kind, what := looks(strings.ReplaceAll(name, "_", "-"), value, attached, next); kind != 0 {
		p.builtinPart().note(kind, c, at, what)
	}
}
