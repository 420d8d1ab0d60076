package shell

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// A compiler of C writes a program, and its options show whether it only checks or expands
// a file. The rest of them must be known to neither write nor run anything: there are too
// many that do to name them.

// checkOptions are such options, and how they begin where they end with a *.
var checkOptions = strings.Fields(`
-E -M -MM -MP -MG -MT* -MQ* -P -C -CC -H -w -I* -D* -U* -L* -l* -W* -O* -m* -g -g0 -g1 -g2 -g3 -ggdb* -gdwarf* -std=*
--std=* -ansi -pedantic* -pipe -pthread -trigraphs -undef -traditional* -nostdinc* -x* -include -imacros
-isystem* -iquote* -idirafter* -iprefix* -iwithprefix* -iframework* -F* --target=* -target -arch -dM -dD -dN -dI -dU
-dumpversion -dumpfullversion -dumpmachine -dumpspecs -Q --help=* -version --version -print-search-dirs -print-libgcc-file-name
 -print-file-name=* -print-prog-name=* -print-multi* -print-sysroot* -print-resource-dir -print-target-triple
-fsyntax-only -fno-* -fPIC -fpic -fPIE -fpie -fopenmp* -fopenacc* -fexceptions -frtti -fsigned-* -funsigned-*
-fvisibility* -fstack-protector* -fstack-clash-protection -ffreestanding -fhosted -fwrapv* -fstrict-* -fcommon
-fdirectives-only -fpreprocessed -fdollars-in-identifiers -fextended-identifiers -finput-charset=* -fexec-charset=*
-fwide-exec-charset=* -fmessage-length=* -fdiagnostics-color* -fdiagnostics-show* -fmax-errors=* -ferror-limit=*
-fcolor-diagnostics -fansi-escape-codes -fsanitize* -fpermissive -fconcepts* -fcoroutines* -fchar8_t -fgnu* -fms-extensions
 -fms-compatibility* -fdeclspec -fblocks -fast-math -ffast-math -fomit-frame-pointer -fshort-* -fpack-struct*
 -ftemplate-depth* -fconstexpr-* -ftabstop=* -ftrack-macro-expansion* -fobjc-* -fanalyzer -fcf-protection*
-finline* -funroll-* -fdata-sections -ffunction-sections -flto* -fuse-cxa-atexit -fwhole-program
`)

// writingChecks begin as one of those, and write or run something all the same.
var writingChecks = strings.Fields(`-fno-syntax-only* -Wp,* -Wa,* -Wl,* -Wz,* -load -mllvm* -module* -MD* -MMD* -MF* -MJ* -MV*`)

// sourceEndings are those of the files that a compiler of C checks. One of another language,
// such as Fortran, writes modules that others import.
var sourceEndings = sync.OnceValue(func() map[string]bool {
	return wordSet(`
.c .h .i .cc .cp .cxx .cpp .CPP .c++ .C .hh .H .hp .hxx .hpp .HPP .h++ .tcc .ii .m .M .mm .mi .mii .S .cu .cl
`)
})

// sourceLanguages are those that -x may name.
var sourceLanguages = sync.OnceValue(func() map[string]bool {
	return wordSet(`
c c++ c-header c++-header objective-c objective-c++ objective-c-header objective-c++-header cpp-output c++-cpp-output
c-cpp-output assembler-with-cpp cuda cl
`)
})

func matches(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		begins, open := strings.CutSuffix(p, "*")
		return text == p || open && strings.HasPrefix(text, begins)
	})
}

// onlyChecks finds possible writes in a command of a compiler that checks or expands a
// file.
func (s *scan) onlyChecks(at int) {
	named := len(s.words) // from here on -x names the language
	for i := at + 1; i < len(s.words); i++ {
		w := s.words[i]
		o, known := s.spec.options[w.Text]
		argument := i
		if known && o.takes == takesNext {
			argument = i + 1
		}
		switch {
		case !isOption(w), w.Text == "-o": // judged by its role
		case !matches(checkOptions, w.Text) || matches(writingChecks, w.Text):
			s.builtinPart().note(Writes, s.c, i, "has an option by which a compiler may write or run something")
		case strings.HasPrefix(w.Text, "-x"):
			name := w.Text[2:]
			if argument > i && argument < len(s.words) {
				name = s.words[argument].Text
			}
			named = min(named, i)
			if !sourceLanguages()[name] {
				s.builtinPart().note(Writes, s.c, i, "has a language whose compiler may write what others import")
			}
		}
		i = argument
	}
	for _, place := range s.operands {
		w := s.words[place]
		if w.Static && place < named && w.Text != "-" && !sourceEndings()[path.Ext(w.Text)] {
			s.builtinPart().note(Writes, s.c, place, "has a file whose compiler may write what others import")
		}
	}
}
