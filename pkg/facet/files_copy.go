package facet

import (
	"path"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/shell"
)

// Programs that copy, move and pack files.

// toFolder are the options of cp and the like that name the folder of the copies, exactly those that say that there is
// none.
var (
	toFolder = wordSet("-t --target-directory")
	exactly  = wordSet("-T --no-target-directory")
)

// into notes the copies of sources: a file of the name, or one in the folder of the name.
func (l *lineReader) into(g *given, from use) {
	if g.unknown != nil {
		l.unclearWord(*g.unknown)
	}
	sources := g.operands
	target, folder := g.value(toFolder)
	if !folder {
		if len(sources) < 2 {
			l.unclear(l.name + " has no target")
			return
		}
		target, sources = sources[len(sources)-1], sources[:len(sources)-1]
	}
	for _, w := range sources {
		l.word(w, from)
	}
	if !target.Static {
		l.word(target, writes) // a pattern stands for all below its folder
		if _, pattern := target.Within(); !pattern {
			l.unknown(target, writes)
		}
		return
	}
	if g.has(exactly) {
		l.word(target, writes)
		return
	}
	folder = folder || len(sources) > 1 || strings.HasSuffix(target.Text, "/") || path.Base(target.Text) == "." || path.Base(target.Text) == ".."
	for _, w := range sources {
		name := path.Base(w.Text)
		switch below := l.below; {
		case !w.Static || name == "." || name == ".." || name == "/":
			l.named(target.Text, writes, true)
		case folder:
			l.named(target.Text+"/"+name, writes, below)
		default:
			l.either(target.Text, target.Text+"/"+name, writes, below)
		}
	}
}

// either notes a file that has one of two names.
func (l *lineReader) either(one, other string, u use, below bool) {
	l.named(one, u, below)
	l.named(other, u, below)
}

func (l *lineReader) copies(p fileProgram, list []shell.Word) {
	g := p.read(list)
	l.below = g.has(p.deep)
	from := reads
	if g.has(wordSet("-l -s --link --symbolic-link")) {
		from = changes // later writes go to the original
	}
	l.into(&g, from)
}

// moves notes both names: a folder is moved with everything under it.
func (l *lineReader) moves(p fileProgram, list []shell.Word) {
	g := p.read(list)
	l.below = true
	l.into(&g, changes)
}

func (l *lineReader) installs(p fileProgram, list []shell.Word) {
	g := p.read(list)
	if !g.has(wordSet("-d --directory")) {
		l.into(&g, reads)
		return
	}
	if g.unknown != nil {
		l.unclearWord(*g.unknown)
	}
	for _, w := range g.operands {
		l.word(w, writes)
	}
}

// links notes the link and what it leads to, which later writes change.
func (l *lineReader) links(p fileProgram, list []shell.Word) {
	g := p.read(list)
	l.below = true
	if len(g.operands) == 1 && g.unknown == nil {
		l.word(g.operands[0], changes)
		if name := path.Base(g.operands[0].Text); g.operands[0].Static && !strings.HasSuffix(name, ".") && name != "/" {
			l.named(name, writes, true)
		} else {
			l.unclearWord(g.operands[0])
		}
		return
	}
	l.into(&g, changes)
	if len(g.operands) < 2 || !g.has(wordSet("-s --symbolic")) {
		return
	}
	last := g.operands[len(g.operands)-1]
	for _, w := range g.operands[:len(g.operands)-1] { // relative to the folder of the link
		if w.Static && last.Static && !l.names.absolute(w.Text) {
			l.either(path.Dir(last.Text)+"/"+w.Text, last.Text+"/"+w.Text, changes, true)
		}
	}
}

// ddWords are the operands of dd that name no file.
var ddWords = wordSet("bs cbs conv count ibs iflag obs oflag seek skip status")

func (l *lineReader) dd(_ fileProgram, list []shell.Word) {
	for _, w := range list {
		name, value, ok := strings.Cut(w.Text, "=")
		file := shell.Word{Text: value, Static: true}
		switch {
		case !ok || !w.Static:
			l.unclearWord(w)
		case name == "if":
			l.word(file, reads)
		case name == "of":
			l.word(file, writes)
		case !ddWords.has(name):
			l.unclearWord(w)
		}
	}
}

// mktemp writes a new file, in the folder of temporary files unless its words say where.
func (l *lineReader) mktemp(p fileProgram, list []shell.Word) {
	g := p.read(list)
	if len(g.operands) > 0 || len(g.options) > 0 && g.has(wordSet("-p")) || g.unknown != nil {
		l.doubt("mktemp chooses the name of a file; write to a file that the line names", condition.Writes)
		return
	}
	l.named("/tmp", writes, true)
}

// tarFlags are the letters of tar that name no file.
const tarFlags = "zjJvaphkmOwWS"

// tar reads or writes an archive, and the files that go into it or come out of it.
func (l *lineReader) tar(_ fileProgram, list []shell.Word) {
	var modes, here string
	var archive *shell.Word
	var files []shell.Word
	var folders []string
	next := func(i int) (*shell.Word, int) {
		if i+1 < len(list) {
			return &list[i+1], i + 1
		}
		return nil, i
	}
	for i := 0; i < len(list); i++ {
		w := list[i]
		name, value, attached := strings.Cut(w.Text, "=")
		switch {
		case strings.HasPrefix(w.Text, "@"): // another archive
			l.unclearWord(w)
		case !w.Static:
			files, folders = append(files, w), append(folders, here)
		case name == "--exclude" || name == "--strip-components" || name == "--exclude-vcs":
			if !attached && name != "--exclude-vcs" {
				i++
			}
		case name == "--file" && attached:
			archive = &shell.Word{Text: value, Static: true}
		case name == "--directory" && attached:
			here = value
		case name == "--gzip" || name == "--verbose" || name == "--bzip2" || name == "--xz" || name == "--zstd" || name == "--no-same-owner" || name == "--totals":
		case name == "--create":
			modes += "c"
		case name == "--extract" || name == "--get":
			modes += "x"
		case name == "--list":
			modes += "t"
		case strings.HasPrefix(w.Text, "--"):
			l.unclearWord(w)
		case i == 0 || strings.HasPrefix(w.Text, "-") && len(w.Text) > 1:
			for at, letter := range strings.TrimPrefix(w.Text, "-") {
				rest := strings.TrimPrefix(w.Text, "-")[at+1:]
				switch {
				case strings.ContainsRune("cxt", letter):
					modes += string(letter)
				case letter == 'f' && rest != "" && strings.HasPrefix(w.Text, "-"):
					archive, rest = &shell.Word{Text: rest, Static: true}, "done"
				case letter == 'f':
					archive, i = next(i)
				case letter == 'C' && rest == "":
					var to *shell.Word
					if to, i = next(i); to != nil && to.Static {
						here = to.Text
					} else {
						l.unclearWord(w)
					}
				case !strings.ContainsRune(tarFlags, letter):
					l.unclearWord(w)
				}
				if rest == "done" {
					break
				}
			}
		default:
			files, folders = append(files, w), append(folders, here)
		}
	}
	use := map[string]use{"c": writes, "x": reads, "t": reads}[modes]
	if use == untouched || archive == nil {
		l.unclear(l.name + " is not given as a plain c, x or t with f and an archive")
		return
	}
	l.word(*archive, use)
	l.below = true
	switch modes {
	case "c":
		for i, w := range files {
			l.here = folders[i]
			l.word(w, reads)
		}
	case "x":
		l.here = here
		l.named(".", writes, true)
	}
}

// rsync copies trees; an operand with a colon is on another machine.
func (l *lineReader) rsync(p fileProgram, list []shell.Word) {
	g := p.read(list)
	if g.unknown != nil {
		l.unclearWord(*g.unknown)
	}
	l.below = true
	for i, w := range g.operands {
		before, _, remote := strings.Cut(w.Text, ":")
		switch {
		case w.Static && remote && !strings.Contains(before, "/"):
		case i+1 < len(g.operands):
			l.word(w, reads)
		default:
			l.word(w, writes)
		}
	}
}

// packed are the endings of packed files.
var packed = []string{".gz", ".bz2", ".xz", ".zst", ".lz4", ".Z", ".tgz", ".lzma"}

// compresses replaces a file by one with another ending.
func (l *lineReader) compresses(p fileProgram, list []shell.Word) {
	g := p.read(list)
	if g.unknown != nil {
		l.unclearWord(*g.unknown)
	}
	use := changes
	if g.has(wordSet("-c --stdout --to-stdout -l --list -t --test")) {
		use = reads
	}
	for _, w := range g.operands {
		l.word(w, use)
		if use == reads {
			continue
		}
		if !w.Static {
			l.unknown(w, writes)
			continue
		}
		for _, ending := range packed {
			if name, ok := strings.CutSuffix(w.Text, ending); ok {
				l.named(name, writes, false)
			} else {
				l.named(w.Text+ending, writes, false)
			}
		}
	}
}

func (l *lineReader) unzip(p fileProgram, list []shell.Word) {
	g := p.read(list)
	if g.unknown != nil || len(g.operands) == 0 {
		l.unclear("unzip is not given as a plain list or extraction")
		return
	}
	l.word(g.operands[0], reads)
	if g.has(wordSet("-l -p -t -v -z -Z")) {
		return
	}
	to, ok := g.value(wordSet("-d"))
	if !ok {
		to = shell.Word{Text: ".", Static: true}
	}
	l.below = true
	l.word(to, writes)
}

func (l *lineReader) zip(p fileProgram, list []shell.Word) {
	g := p.read(list)
	if g.unknown != nil || len(g.operands) == 0 {
		l.unclear("zip is not given as a plain list of files")
		return
	}
	l.word(g.operands[0], changes)
	if w := g.operands[0]; w.Static {
		l.named(w.Text+".zip", changes, false)
	}
	l.below = g.has(p.deep)
	u := reads
	if g.has(wordSet("-m")) {
		u = changes
	}
	for _, w := range g.operands[1:] {
		l.word(w, u)
	}
}

// sends are the options of curl whose value can be a file behind @.
var (
	sends  = wordSet("-d --data --data-ascii --data-binary --json -H --header -w --write-out")
	webAt  = wordSet("--data-urlencode")
	forms  = wordSet("-F --form")
	cookie = wordSet("-b --cookie")
	named  = wordSet("-O -J --remote-name --remote-header-name --output-dir")
)

// curl reads the files that it sends and writes those that it is given.
func (l *lineReader) curl(p fileProgram, list []shell.Word) {
	g := p.read(list)
	l.settings(p, &g)
	if g.unknown != nil {
		l.unclearWord(*g.unknown)
	}
	for _, o := range g.options {
		text := o.value.Text
		switch {
		case sends.has(o.name) && strings.HasPrefix(text, "@"):
			l.word(shell.Word{Text: text[1:], Static: o.value.Static}, reads)
		case (sends.has(o.name) || webAt.has(o.name) || forms.has(o.name)) && !o.value.Static && (text[0] == byte(shell.Unknown) || !sends.has(o.name)):
			l.unknown(o.value, reads)
		case webAt.has(o.name) && strings.Contains(text, "@") && !strings.Contains(strings.SplitN(text, "@", 2)[0], "="):
			l.word(shell.Word{Text: strings.SplitN(text, "@", 2)[1], Static: true}, reads)
		case forms.has(o.name):
			_, value, _ := strings.Cut(text, "=")
			if strings.HasPrefix(value, "@") || strings.HasPrefix(value, "<") {
				file := strings.Trim(strings.SplitN(value[1:], ";", 2)[0], `"`)
				l.word(shell.Word{Text: file, Static: true}, reads)
				if strings.ContainsAny(file, `,"\`) {
					l.unknown(o.value, reads)
				}
			}
		case cookie.has(o.name) && !strings.Contains(text, "="):
			l.word(o.value, reads)
		case o.name == "-w" || o.name == "--write-out":
			if strings.Contains(text, "output{") {
				l.unclearWord(o.value)
			}
		case o.name == "-o" || o.name == "--output":
			if strings.Contains(text, "#") {
				l.unknown(o.value, writes)
			}
		case o.name == "-T" || o.name == "--upload-file":
			if strings.ContainsAny(text, "{}[]") { // curl reads it as a pattern
				l.unknown(o.value, reads)
			}
		case o.name == "--url":
			l.address(o.value)
		case o.name == "--unix-socket", o.name == "--proto-default":
			l.unclearWord(o.value)
		}
	}
	if folder, ok := g.value(wordSet("--output-dir")); ok { // it is put before the names of -o
		for _, o := range g.options {
			if !folder.Static {
				l.unknown(folder, writes)
			} else if (o.name == "-o" || o.name == "--output") && o.value.Static {
				l.named(folder.Text+"/"+o.value.Text, writes, false)
			}
		}
	}
	if g.has(named) {
		to, ok := g.value(wordSet("--output-dir"))
		if !ok {
			to = shell.Word{Text: ".", Static: true}
		}
		l.below = true
		l.word(to, writes)
	}
	for _, w := range g.operands {
		l.address(w)
	}
}

// address notes an address that may be a file of this machine.
func (l *lineReader) address(w shell.Word) {
	scheme, _, ok := strings.Cut(strings.ToLower(w.Text), ":")
	host := strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789.-/") == ""
	if ok && (scheme == "http" || scheme == "https") || host && scheme != "file" || strings.HasPrefix(w.Text, "[") {
		return
	}
	l.unknown(w, reads)
}

// wget writes a file of the address, unless it is given its name.
func (l *lineReader) wget(p fileProgram, list []shell.Word) {
	g := p.read(list)
	l.settings(p, &g)
	if g.unknown != nil {
		l.unclearWord(*g.unknown)
	}
	if !g.has(wordSet("-O --output-document --spider")) {
		to, ok := g.value(wordSet("-P --directory-prefix"))
		if !ok {
			to = shell.Word{Text: ".", Static: true}
		}
		l.below = true
		l.word(to, writes)
	}
	for _, w := range g.operands {
		l.address(w)
	}
}
