package shell

import (
	"strings"
	"sync"
)

// The effects of programs are data: one line of text per program or subcommand, in the
// tables. A line is a list of options and of properties:
//
//	-o,--output=out   an option by its names, that takes an argument, with a role
//	-i?=writes        its argument is optional, and attached
//	--arg==           it takes two arguments
//	--delete:writes   an option without an argument, with a role
//	-k=               an argument and no role: only known so that it is skipped
//	@writes           a property of the program
//	!download         an operand that says that it writes, at any place
//
// An option that a line does not name has no argument and no role.

// role is the effect of an option on a program.
type role uint8

const (
	roleNone      role = iota
	roleWrites         // it writes, with any argument
	roleOut            // it writes the file that its argument names
	roleOutDash        // the same, and - is the output
	roleToStdout       // it writes the file that its argument names, or the output
	roleUnseen         // its argument is a file or a setting with code that is not seen
	roleCode           // its argument is code in the program's language
	roleProgram        // its argument is a file with a program, for sed and awk
	roleFilter         // its argument is a file with a program that can only read, for jq
	roleScript         // its argument is a script that a shell runs
	roleRun            // its argument is a command that is run with arguments
	roleHidden         // it runs a shell that reads its input
	roleQuiet          // the program does not write after all
	roleDump           // it shows the environment
	roleReads          // its argument names variables that are read
	rolePasses         // its argument names a variable that is passed on, or sets one
	roleModule         // its argument is a program, those that follow are its words
	roleEval           // its argument is a program for sed, awk or jq, or a setting of git
	roleSplit          // its argument is split into further words
	roleStop           // the rest belongs to another program
	roleFile           // its argument is a script
	roleData           // its argument is a module that runs, or code in an address
	roleLoads          // its argument is a module that runs
	roleName           // its argument is the name of a module, or code
	roleFormat         // its argument is a format of curl, which can name files
	roleSSH            // its argument is an option of ssh, which can run commands
	roleUploads        // it sends to the addresses of the line, which may be files
	roleWorkspace      // its argument is a file or folder, with code as any of the workspace
	roleFolder         // its argument is the folder that a command runs in
	roleChecks         // its operands are read and not run
	rolePlugin         // its argument is a plugin of pytest
	roleSetting        // its argument is a setting of pytest
	roleProject        // the program follows files of the workspace, and reads no code from its input
	roleReport         // its argument is a report of pytest-cov, which can name a file
	roleIsolates       // the program does not load from the folder that it is in
	roleSwitch         // as roleQuiet, and the next word may be its value
	roleActs           // the program acts, against an option before
	rolePipes          // it writes to its output and nowhere else, also next to roleActs
	roleGoFlags        // its argument is options of a tool of go, which can write
	roleModMode        // its argument is -mod of go, which can write go.mod
	roleConfig         // its argument is a file whose settings choose programs to run
	roleElsewhere      // the program acts on another machine or service
	roleSends          // it sends data, which acts elsewhere unless the address is of this machine
	roleMethod         // its argument is the method of a request
	roleDryRun         // the program only describes its effects, if its argument says so
	roleSignals        // it reaches processes that the line did not start
	roleProperty       // its argument is a setting of a build, NAME=VALUE
	rolePython         // its argument is a program in Python
	roleChoice         // its argument is how a report is shown, which can be a file or code
	roleRest           // the rest is for a program of the workspace
	roleOverride       // its argument is a file of settings, or a setting of ruff
	roleVirtual        // its argument is an option of a virtual machine of Java
	roleWord           // its argument is a name, or the name of a file with code
	roleNoFile         // its argument is settings, of which some name a file that it writes
)

var roles = sync.OnceValue(func() map[string]role {
	return map[string]role{
		"": roleNone, "writes": roleWrites, "out": roleOut, "outdash": roleOutDash, "tostdout": roleToStdout, "unseen": roleUnseen, "code": roleCode,
		"program": roleProgram, "filter": roleFilter, "script": roleScript, "run": roleRun, "hidden": roleHidden, "quiet": roleQuiet,
		"dump": roleDump, "reads": roleReads, "passes": rolePasses, "module": roleModule, "eval": roleEval, "split": roleSplit,
		"stop": roleStop, "script_file": roleFile, "datacode": roleData, "loads": roleLoads, "module_name": roleName, "format": roleFormat, "sshoption": roleSSH,
		"uploads": roleUploads, "workspace": roleWorkspace, "plugin": rolePlugin, "folder": roleFolder, "checks": roleChecks, "setting": roleSetting, "report": roleReport, "project": roleProject,
		"isolates": roleIsolates, "config": roleConfig, "switch": roleSwitch, "acts": roleActs, "pipes": rolePipes, "goflags": roleGoFlags, "modmode": roleModMode,
		"elsewhere": roleElsewhere, "sends": roleSends, "method": roleMethod, "dryrun": roleDryRun, "signals": roleSignals, "property": roleProperty, "virtual": roleVirtual, "override": roleOverride, "choice": roleChoice, "python": rolePython, "rest": roleRest,
		"word": roleWord, "nofile": roleNoFile,
	}
})

// takes is whether an option has an argument.
type takes uint8

const (
	takesNothing takes = iota
	takesNext          // attached, or the next word
	takesAttached
	takesTwo // the next two words
)

type option struct {
	name  string // the first of its names
	role  role
	takes takes
}

// spec is the entry of a program.
type spec struct {
	name    string // the first of its names
	options map[string]option
	long    []string // long options with a role or an argument

	writes       bool            // it writes
	operands     int             // it writes when it has this many operands; 0 is never
	outs         int             // its operands from this one on are files that it writes; 0 is none
	bare         bool            // it writes when it has no operand
	code         bool            // an interpreter: its first operand is a script, else it reads one
	verbs        map[string]bool // operands that say that it writes
	inline       bool            // it runs code, with any words
	stops        bool            // options end at the first operand
	through      bool            // options after -- count too: it hands them on
	single       bool            // long options have one dash
	strict       bool            // an option without a line makes its program unknown
	sub          bool            // its first operand is a subcommand with a line of its own
	closed       bool            // a subcommand without a line writes
	wraps        bool            // the operands from runs on are a command
	runs         int
	dashes       bool // it may take a -- from the command
	programs     int  // its operand of this place may be a program; 0 is none
	clusters     bool // its options of one letter can be joined, those of one dash too
	folds        bool // letter case of options does not count
	assigns      bool // it writes when an operand has a =
	architecture bool // the command may come after the name of an architecture
	joins        bool // the command is joined to a script
	shell        bool // without a command it runs a shell
	hides        bool // it runs unknown programs
	again        bool // its operands are a subcommand of its program
	dumps        bool // it shows the environment
	remote       bool // its program runs elsewhere
	macros       bool // operands with a backslash are code
	compiler     bool // it writes, and its options show whether it only checks, see onlyChecks
	asks         bool // it does not write only when an option asks about it and it has no operand
	colons       bool // options have their argument after a colon
	plus         bool // an operand that begins with + is commands of its own language
	expands      bool // --expand-x is as --x, with variables in its argument
	response     bool // an operand @file holds further options
	opaque       bool // it builds or tests by files of the workspace
	elsewhere    bool // it acts on another machine or service
	client       bool // a subcommand without a line acts elsewhere
	listed       bool // an option without a line is not known to be harmless
	mild         bool // such an option may write; without, it may run something too
	signals      bool // it reaches processes that the line did not start
	cloud        bool // a client whose verbs show whether it reads, see verbs.go
	targets      int  // its operands from this one on are targets, each of which does something; 0 is never
	prefixes     []string
	doubt        Kind // the kind for a word that may be any option
}

// specOf returns the line of a program or subcommand.
func specOf(name string) *spec { return specs()[name] }

var specs = sync.OnceValue(func() map[string]*spec {
	all := make(map[string]*spec, 1024)
	for _, table := range []string{writerTable, coreTable, networkTable, formatterTable, packageTable, gitTable, interpreterTable, wrapperTable, toolTable, runnerTable, clientTable} {
		for line := range strings.Lines(table) {
			names, text, ok := strings.Cut(strings.TrimSpace(line), "::")
			if !ok {
				if names != "" {
					panic("shell: no :: in " + line)
				}
				continue
			}
			s := newSpec(text)
			s.name, _, _ = strings.Cut(names, "|")
			for name := range strings.SplitSeq(names, "|") {
				if all[name] != nil {
					panic("shell: two lines for " + name)
				}
				all[name] = s
			}
		}
	}
	return all
})

// projectLine is the line of all programs of opaqueTable.
var projectLine = sync.OnceValue(func() *spec { return newSpec(projectOptions) })

// newSpec reads a line of a table.
func newSpec(line string) *spec {
	s := &spec{options: make(map[string]option)}
	for token := range strings.FieldsSeq(line) {
		if strings.HasPrefix(token, "@") {
			s.property(token)
			continue
		}
		if verb, ok := strings.CutPrefix(token, "!"); ok {
			if s.verbs == nil {
				s.verbs = make(map[string]bool)
			}
			s.verbs[verb] = true
			continue
		}
		names, o := newOption(token)
		s.doubt = either(s.doubt, o.role.doubt())
		for name := range strings.SplitSeq(names, ",") {
			if begin, ok := strings.CutSuffix(name, "*"); ok { // all that begin so; the rest is the argument
				s.prefixes = append(s.prefixes, begin)
				name = begin
			}
			s.options[name] = o
			if strings.HasPrefix(name, "--") && (o.role != roleNone || o.takes != takesNothing) {
				s.long = append(s.long, name)
			}
		}
	}
	switch {
	case s.mild:
		s.doubt = either(s.doubt, Writes)
	case s.wraps || s.sub && s.closed || s.strict:
		s.doubt = Hidden
	case s.code:
		s.doubt = Code
	case s.outs > 0:
		s.doubt = either(s.doubt, Writes)
	}
	return s
}

// either returns the kind of a finding that may be one of two: Code is refused where
// either is.
func either(a, b Kind) Kind {
	switch {
	case a == 0 || a == b:
		return b
	case b == 0:
		return a
	}
	return Code
}

// doubt returns the kind for a word that may be an option with the role.
func (r role) doubt() Kind {
	switch r {
	case roleWrites, roleOut, roleOutDash, roleToStdout, roleUnseen, roleScript, roleRun, roleFormat, roleWorkspace, roleSetting, roleReport, roleGoFlags, roleModMode,
		roleProperty, roleVirtual, roleOverride, roleChoice, roleRest, roleWord, roleNoFile:
		return Writes
	case roleElsewhere, roleSends, roleMethod:
		return Elsewhere
	case rolePlugin, roleCode, rolePython, roleProgram, roleData, roleName, roleSSH:
		return Code
	case roleDump, roleFilter:
		return Dumps
	}
	return 0
}

func newOption(token string) (names string, o option) {
	at := strings.IndexAny(token, "=:?")
	rest := ""
	if at < 0 {
		names = token
	} else {
		names, rest = token[:at], token[at:]
	}
	o.name, _, _ = strings.Cut(names, ",")
	switch {
	case strings.HasPrefix(rest, "=="):
		o.takes, rest = takesTwo, rest[2:]
	case strings.HasPrefix(rest, "?="):
		o.takes, rest = takesAttached, rest[2:]
	case strings.HasPrefix(rest, "="):
		o.takes, rest = takesNext, rest[1:]
	default:
		rest = strings.TrimPrefix(rest, ":")
	}
	role, ok := roles()[rest]
	if !ok {
		panic("shell: no such role in " + token)
	}
	o.role = role
	return names, o
}

var properties = sync.OnceValue(func() map[string]func(*spec) {
	return map[string]func(*spec){
		"@writes":       func(s *spec) { s.writes = true },
		"@operands":     func(s *spec) { s.operands = 1 },
		"@operands2":    func(s *spec) { s.operands = 2 },
		"@out1":         func(s *spec) { s.outs = 1 },
		"@out2":         func(s *spec) { s.outs = 2 },
		"@bare":         func(s *spec) { s.bare = true },
		"@code":         func(s *spec) { s.code, s.strict = true, true },
		"@inline":       func(s *spec) { s.inline = true },
		"@stops":        func(s *spec) { s.stops = true },
		"@through":      func(s *spec) { s.through = true },
		"@single":       func(s *spec) { s.single = true },
		"@strict":       func(s *spec) { s.strict = true },
		"@sub":          func(s *spec) { s.sub, s.stops = true, true },
		"@closed":       func(s *spec) { s.closed = true },
		"@runs0":        func(s *spec) { s.wraps, s.stops, s.strict = true, true, true },
		"@runs1":        func(s *spec) { s.wraps, s.stops, s.strict, s.runs = true, true, true, 1 },
		"@dashes":       func(s *spec) { s.dashes = true },
		"@programs":     func(s *spec) { s.programs = 1 },
		"@programs1":    func(s *spec) { s.stops, s.programs = true, 2 },
		"@clusters":     func(s *spec) { s.clusters = true },
		"@folds":        func(s *spec) { s.folds = true },
		"@assigns":      func(s *spec) { s.assigns = true },
		"@architecture": func(s *spec) { s.architecture = true },
		"@joins":        func(s *spec) { s.joins = true },
		"@shell":        func(s *spec) { s.shell = true },
		"@hidden":       func(s *spec) { s.hides = true },
		"@again":        func(s *spec) { s.again, s.stops, s.strict = true, true, true },
		"@dumps":        func(s *spec) { s.dumps = true },
		"@remote":       func(s *spec) { s.remote = true },
		"@macros":       func(s *spec) { s.macros = true },
		"@compiler":     func(s *spec) { s.compiler = true },
		"@asks":         func(s *spec) { s.asks = true },
		"@plus":         func(s *spec) { s.plus = true },
		"@expands":      func(s *spec) { s.expands = true },
		"@response":     func(s *spec) { s.response = true },
		"@colons":       func(s *spec) { s.colons = true },
		"@opaque":       func(s *spec) { s.opaque = true },
		"@elsewhere":    func(s *spec) { s.elsewhere = true },
		"@client":       func(s *spec) { s.client, s.closed = true, true },
		"@cloud":        func(s *spec) { s.cloud = true },
		"@listed":       func(s *spec) { s.listed, s.strict = true, true },
		"@harmless":     func(s *spec) { s.listed, s.strict, s.mild = true, true, true },
		"@signals":      func(s *spec) { s.signals = true },
		"@targets":      func(s *spec) { s.targets = 1 },
		"@targets1":     func(s *spec) { s.targets = 2 },
	}
})

func (s *spec) property(token string) {
	set, ok := properties()[token]
	if !ok {
		panic("shell: no such property: " + token)
	}
	set(s)
}
