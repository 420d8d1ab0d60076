package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Programs have many names: git-reset is git reset, perl5.36.0 is perl,
// x86_64-linux-gnu-gcc-12 is gcc, vim.tiny is vim. The tables know the plain one.

// walkerTable holds the programs that code of this package walks, by the name of
// their walker in planner.program.
const walkerTable = `
env:: env genv
printenv:: printenv gprintenv
envsubst:: envsubst
ps:: ps
shell:: bash sh dash ash rbash zsh ksh ksh93 mksh oksh yash fish csh tcsh nu elvish xonsh rksh lksh pdksh ksh88 rzsh posh sash bsh bosh hush
find:: find gfind bfs
fd:: fd fdfind
xargs:: xargs gxargs
sed:: sed gsed
awk:: awk gawk mawk nawk original-awk goawk
jq:: jq gojq jaq yq
dd:: dd gdd
tar:: tar gtar bsdtar
git:: git
make:: make gmake
parallel:: parallel
script:: script
flock:: flock
`

// walkers maps names to their walker.
var walkers = sync.OnceValue(func() map[string]string {
	all := make(map[string]string)
	for line := range strings.Lines(walkerTable) {
		walker, names, _ := strings.Cut(strings.TrimSpace(line), "::")
		for name := range strings.FieldsSeq(names) {
			all[name] = walker
		}
	}
	return all
})

// readers only read, and projectTools run commands of a project (see their tables).
var (
	readers      = sync.OnceValue(func() map[string]bool { return wordSet(readerTable) })
	projectTools = sync.OnceValue(func() map[string]bool { return wordSet(opaqueTable) })
)

// known reports a program that the tables have.
func known(name string) bool { return hasLine(name) || readers()[name] || projectTools()[name] }

// Knows reports a program that this package knows, by a name without a folder.
func Knows(name string) bool { return known(programName(name)) }

// hasLine reports a program that is judged by more than its name.
func hasLine(name string) bool {
	return walkers()[name] != "" || specOf(name) != nil || strings.HasPrefix(name, "git-")
}

// variants match the suffixes of names that denote a build of a program.
var variants = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		// perl5.36-x86_64-linux-gnu, x86_64-linux-gnu-gcc
		regexp.MustCompile(`^(.+?)-(?:[a-z0-9_]+-)+(?:gnu|musl)[a-z0-9]*$`),
		regexp.MustCompile(`^(?:[a-z0-9_]+-)+(?:gnu|musl|eabi|elf|mingw32|darwin|android|freebsd|none)[a-z0-9.]*-(.+)$`),
		// vim.tiny, busybox.static, emacs-nox
		regexp.MustCompile(`^(.+)[.-](?:tiny|basic|default|static|minimal|small|full|nox|gtk[23]?|athena|lucid|motif|snapshot` +
			`|traditional|openbsd|distrib|real|orig|bin|exe|dbg|debug)$`),
		// perl5.36.0, php8.2, gcc-12, python3.13t, ruby3.4.0-rc1
		regexp.MustCompile(`^(.+?)[-_]?v?[0-9]+(?:\.[0-9]+)*(?:[a-z]|-?(?:dev|alpha|beta|rc)[0-9]*)?$`),
	}
})

// programName returns the name under which the tables know the program of a file
// name, or the file name where they do not.
func programName(file string) string {
	if known(file) {
		return file
	}
	if name, ok := plainName(file); ok {
		return name
	}
	if name, ok := plainName(strings.ToLower(file)); ok { // file systems may ignore letter case
		return name
	}
	return file
}

// programName returns the function programName of a file, and remembers it: a line may
// name a program often.
func (p programReader) programName(file string) string {
	if known(file) {
		return file
	}
	name, ok := p.plain[file]
	if !ok {
		name = programName(file)
		if p.plain == nil {
			p.plain = make(map[string]string)
		}
		p.plain[file] = name
	}
	return name
}

// plainName takes marks of a build off a name until it has a line. Programs that only
// read have no such names: w3m is not w.
func plainName(name string) (plain string, ok bool) {
	for range 4 {
		if hasLine(name) {
			return name, true
		}
		shorter := withoutVariant(name)
		if shorter == name {
			break
		}
		name = shorter
	}
	return "", false
}

// withoutVariant takes one mark of a build off a name.
func withoutVariant(name string) string {
	for _, v := range variants() {
		if m := v.FindStringSubmatch(name); m != nil {
			return m[1]
		}
	}
	return name
}

// namesProcess reports the path of a program in /proc or /dev, which may be any
// program, or the shell itself.
func namesProcess(file string) bool {
	parts := strings.Split(path.Clean(file), "/")
	at := slices.IndexFunc(parts, func(part string) bool { return part == "proc" || part == "dev" })
	return at > 0 && (at == 1 && parts[0] == "" || parts[at-1] == "..") && at+1 < len(parts)
}
