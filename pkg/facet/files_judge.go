package facet

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/shell"
)

// fileJudges read the words of programs that the table alone does not describe.
var fileJudges = map[string]func(*lineReader, fileProgram, []shell.Word){
	"sed": (*lineReader).sed, "gsed": (*lineReader).sed, "awk": (*lineReader).awk, "gawk": (*lineReader).awk, "mawk": (*lineReader).awk,
	"nawk": (*lineReader).awk, "jq": (*lineReader).jq, "uniq": (*lineReader).inAndOut, "guniq": (*lineReader).inAndOut, "xxd": (*lineReader).inAndOut,
	"find": (*lineReader).find, "gfind": (*lineReader).find, "xargs": (*lineReader).xargs,
	"cp": (*lineReader).copies, "gcp": (*lineReader).copies, "mv": (*lineReader).moves, "gmv": (*lineReader).moves,
	"install": (*lineReader).installs, "ginstall": (*lineReader).installs, "ln": (*lineReader).links, "gln": (*lineReader).links, "link": (*lineReader).links,
	"dd": (*lineReader).dd, "mktemp": (*lineReader).mktemp, "tar": (*lineReader).tar, "gtar": (*lineReader).tar, "bsdtar": (*lineReader).tar,
	"rsync": (*lineReader).rsync, "gzip": (*lineReader).compresses, "gunzip": (*lineReader).compresses, "bzip2": (*lineReader).compresses,
	"bunzip2": (*lineReader).compresses, "xz": (*lineReader).compresses, "unxz": (*lineReader).compresses, "zstd": (*lineReader).compresses,
	"unzstd": (*lineReader).compresses, "lz4": (*lineReader).compresses, "compress": (*lineReader).compresses, "uncompress": (*lineReader).compresses,
	"unzip": (*lineReader).unzip, "zip": (*lineReader).zip, "curl": (*lineReader).curl, "wget": (*lineReader).wget, "git": (*lineReader).git,
	"sh": (*lineReader).shell, "bash": (*lineReader).shell, "dash": (*lineReader).shell, "zsh": (*lineReader).shell,
	"date": (*lineReader).date, "gdate": (*lineReader).date, "chmod": (*lineReader).chmod, "gchmod": (*lineReader).chmod,
}

// unclearWord notes a word whose meaning is not known.
func (l *lineReader) unclearWord(w shell.Word) {
	l.unclear(l.name + " has " + w.String() + ", and it is not known which files it means; leave it out")
}

// wraps reads the options of a program that runs the command behind them.
func wraps(l *lineReader, _ fileProgram, list []shell.Word) {
	if l.name != "env" && l.name != "sudo" && l.name != "doas" {
		return
	}
	for i := 0; i < len(list); i++ {
		switch w := list[i]; {
		case !w.Static:
			l.unclearWord(w)
			return
		case w.Text == "-u", w.Text == "-g":
			i++
		case w.Text == "-i" && l.name == "env", w.Text == "-E", w.Text == "-H", w.Text == "-n" && l.name == "sudo", w.Text == "-0", strings.Contains(w.Text, "=") && w.Text[0] != '-':
		case w.Text == "-", strings.HasPrefix(w.Text, "-") && w.Text != "--":
			l.unclearWord(w)
			return
		default:
			return
		}
	}
}

// shell reads a shell that is given its script: the commands of the script are judged by themselves.
func (l *lineReader) shell(_ fileProgram, list []shell.Word) {
	if len(list) < 2 || !list[0].Static || !list[1].Static || !strings.HasPrefix(list[0].Text, "-") || !strings.HasSuffix(list[0].Text, "c") || strings.Trim(list[0].Text, "-celux") != "" {
		l.unclear(l.name + " runs a script, and its files do not show; write its commands in the line")
	}
}

func (l *lineReader) date(p fileProgram, list []shell.Word) {
	if g := p.read(list); g.unknown != nil && g.unknown.Static {
		l.unclearWord(*g.unknown)
	}
}

// chmod takes -x for a mode.
func (l *lineReader) chmod(p fileProgram, list []shell.Word) {
	if len(list) > 0 && list[0].Static && len(list[0].Text) > 1 && list[0].Text[0] == '-' && strings.Trim(list[0].Text[1:], "rwxXstugo") == "" {
		p.skipped, list = 0, list[1:]
	}
	l.plain(p, list)
}

// sed reads files, and with -i changes them.
func (l *lineReader) sed(p fileProgram, list []shell.Word) {
	var kept []shell.Word
	inPlace := false
	suffix := ""
	for i := 0; i < len(list); i++ {
		w := list[i]
		rest, attached := strings.CutPrefix(w.Text, "--in-place=")
		if short, ok := strings.CutPrefix(w.Text, "-i"); ok && !attached {
			rest, attached = short, true
		} else if at := strings.IndexByte(w.Text, 'i'); !attached && at > 0 && w.Text[0] == '-' && w.Text[1] != '-' && strings.Trim(w.Text[1:at], "nErsuz") == "" {
			rest, attached = w.Text[at+1:], true
			kept = append(kept, shell.Word{Text: w.Text[:at], Static: true})
		}
		switch {
		case w.Static && w.Text == "--in-place":
			inPlace = true
		case w.Static && attached:
			inPlace, suffix = true, rest
			if rest == "" && i+1 < len(list) && list[i+1].Static && list[i+1].Text == "" {
				i++ // of BSD
			}
		case w.Static && w.Text == "--":
			kept = append(kept, list[i:]...)
			i = len(list)
		default:
			kept = append(kept, w)
		}
	}
	if inPlace {
		p.operands = changes
	}
	g := p.read(kept)
	programs := 0
	for _, o := range g.options {
		switch o.name {
		case "-e", "--expression":
			programs++
			l.sedProgram(o.value)
		case "-f", "--file":
			programs++
			l.unclear("sed runs a program from a file, and the files that it names do not show; give the program with -e")
		}
	}
	if programs == 0 && len(g.operands) > 0 {
		l.sedProgram(g.operands[0])
	}
	l.plain(p, kept)
	if !inPlace {
		return
	}
	l.writes++ // without a file, none is written
	operands := g.operands
	if programs == 0 {
		operands = operands[min(1, len(operands)):]
	}
	for _, w := range operands {
		switch {
		case suffix == "":
		case !w.Static || strings.ContainsAny(suffix, "*/"):
			l.unknown(w, writes)
		default:
			l.named(w.Text+suffix, writes, false)
		}
	}
}

func (l *lineReader) sedProgram(w shell.Word) {
	if !w.Static || shell.SedNamesFiles(w.Text) {
		l.unclear("sed has a program that may name files; use one that only edits lines, written out")
	}
}

// awk reads the files behind its program. What a program opens by itself is not read.
func (l *lineReader) awk(p fileProgram, list []shell.Word) {
	g := p.read(list)
	if len(g.operands) == 0 || !g.operands[0].Static || strings.Contains(g.operands[0].Text, "getline") || strings.Contains(g.operands[0].Text, "@") ||
		strings.Contains(g.operands[0].Text, "ARGV") || strings.Contains(g.operands[0].Text, "SYMTAB") || strings.Contains(g.operands[0].Text, "system") {
		l.unclear("awk has a program that may name files; use one that only prints, written out")
	}
	for _, w := range g.operands[min(1, len(g.operands)):] {
		if strings.Contains(w.Text, "=") {
			l.doubt("awk has "+w.String()+", which may be a file or a variable; set variables with -v", condition.Reads)
		}
	}
	for _, o := range g.options {
		if o.name == "-v" && strings.Contains(o.value.Text, "ARG") {
			l.unclearWord(o.value)
		}
	}
	l.plain(p, list)
}

// jq reads the files behind its filter.
func (l *lineReader) jq(p fileProgram, list []shell.Word) {
	g := p.read(list)
	if len(g.operands) > 0 && (!g.operands[0].Static || strings.Contains(g.operands[0].Text, "import") || strings.Contains(g.operands[0].Text, "include")) {
		l.doubt("jq has a filter that may name files", condition.Reads)
	}
	l.plain(p, list)
}

// inAndOut reads the first operand and writes the second.
func (l *lineReader) inAndOut(p fileProgram, list []shell.Word) {
	g := p.read(list)
	if g.unknown != nil {
		l.unclearWord(*g.unknown)
	}
	for i, w := range g.operands {
		if i == 0 {
			l.word(w, reads)
		} else {
			l.word(w, writes)
		}
	}
}

// findTests are the tests of find that take a value which is no file of interest.
var findTests = wordSet(`-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size -perm -user -group -uid -gid
-inum -links -mtime -atime -ctime -mmin -amin -cmin -used -maxdepth -mindepth -fstype -printf -regextype -newer -anewer -cnewer -samefile`)

// findFlags are those without a value.
var findFlags = wordSet(`-H -L -P -a -and -o -or -not ! ( ) , -true -false -print -print0 -ls -prune -quit -depth -d -mount -xdev -empty -executable -readable
-writable -follow -daystart -noleaf -nouser -nogroup -warn -nowarn -E -X -s -x`)

// find reads the folders that it searches, and the commands that it runs follow by themselves.
func (l *lineReader) find(_ fileProgram, list []shell.Word) {
	var roots []shell.Word
	acts := false
	for i := 0; i < len(list); i++ {
		w := list[i]
		switch begins := w.Text != "" && strings.ContainsRune("-!(,)", rune(w.Text[0])); {
		case !begins && !acts:
			roots = append(roots, w)
			continue
		case !w.Static:
			l.unclearWord(w)
		case findTests.has(w.Text), strings.HasPrefix(w.Text, "-newer"):
			i++
		case w.Text == "-exec", w.Text == "-execdir", w.Text == "-ok", w.Text == "-okdir":
			for i++; i < len(list) && !endsExec(list, i); i++ {
			}
			if strings.HasSuffix(w.Text, "dir") {
				l.unclearWord(w)
			}
		case w.Text == "-fprint", w.Text == "-fprint0", w.Text == "-fls", w.Text == "-fprintf":
			if i++; i < len(list) {
				l.word(list[i], writes)
			}
			if w.Text == "-fprintf" {
				i++
			}
		case w.Text == "-delete":
			l.below = true
		case !findFlags.has(w.Text):
			l.unclearWord(w)
		}
		acts = acts || w.Text != "-H" && w.Text != "-L" && w.Text != "-P"
	}
	if len(roots) == 0 {
		roots = []shell.Word{{Text: ".", Static: true}}
	}
	for _, w := range roots {
		if l.below {
			l.word(w, changes)
		} else {
			l.word(w, reads)
		}
	}
}

// endsExec reports the word that ends the command of -exec.
func endsExec(list []shell.Word, i int) bool {
	return list[i].Static && (list[i].Text == ";" || list[i].Text == "+" && strings.HasSuffix(list[i-1].Text, "{}"))
}

// xargs adds words to the command that follows, which has one that is not known.
func (l *lineReader) xargs(_ fileProgram, list []shell.Word) {
	for _, w := range list {
		if strings.HasPrefix(w.Text, "-") && (!w.Static || strings.Contains(w.Text, "a")) { // words from a file
			l.unclearWord(w)
			return
		}
	}
}
