package shell

import (
	"slices"
	"strings"
	"sync"
)

// Builders run several targets that one line names, each of which may do anything. Settings that
// the line gives them become part of their commands.

const (
	unknownGoal       = "has a goal that is not known to only build or read, and may act on another machine or service"
	unknownSubcommand = "has a subcommand that is not known to only read, and may act on another machine or service"
)

const givesSetting = "gives a setting to a build, which may become code"

// harmlessPropertyNames are the beginnings of names of settings that choose targets to build or
// test, and never how.
var harmlessPropertyNames = strings.Fields(`test Test TEST it.test skip groups excludedGroups spring.profiles failIfNo surefire.failIfNo maven.test. style color
pkg PKG package PACKAGE run RUN filter FILTER module MODULE version VERSION count COUNT verbose VERBOSE`)

// harmlessProperty reports NAME=VALUE with a value that chooses and does not run.
func harmlessProperty(w Word) bool {
	name, v, _ := strings.Cut(w.Text, "=")
	name = strings.TrimRight(name, ":+?")
	if !w.Static || strings.Trim(name, nameCharacters) != "" || name == "" || name[0] == '.' || strings.Trim(v, plainCharacters) != "" {
		return false
	}
	if what, _ := influence(name); what != "" {
		return false
	}
	if choices()[strings.ToLower(v)] || strings.Trim(v, "0123456789.") == "" {
		return true
	}
	return slices.ContainsFunc(harmlessPropertyNames, func(begin string) bool { return strings.HasPrefix(name, begin) })
}

// plainCharacters make a value that neither a shell nor a build expands.
const plainCharacters = nameCharacters + "/+*@"

// choices are values that choose one of few ways.
var choices = sync.OnceValue(func() map[string]bool {
	return wordSet(`on off true false yes no y n -o0 -o1 -o2 -o3 -os -g debug release relwithdebinfo minsizerel all none auto always never default plain`)
})

// verbs of targets that builders have of their own: they send the build elsewhere, or change the project.
var (
	publishing  = strings.Fields(`deploy publish upload site-deploy release close nexus-`)
	rebuilding  = strings.Fields(`init wrapper clean updateDaemonJvm`)
	mavenPhases = sync.OnceValue(func() map[string]bool {
		return wordSet(`validate initialize generate-sources process-sources generate-resources process-resources compile process-classes
generate-test-sources process-test-sources generate-test-resources process-test-resources test-compile process-test-classes test prepare-package
package pre-integration-test integration-test post-integration-test verify
dependency:tree dependency:list dependency:analyze dependency:analyze-only dependency:resolve dependency:build-classpath dependency:display-ancestors
help:effective-pom help:effective-settings help:active-profiles help:all-profiles help:describe help:evaluate help:system versions:display-dependency-updates
versions:display-plugin-updates versions:display-property-updates versions:display-parent-updates surefire:test failsafe:integration-test failsafe:verify
compiler:compile compiler:testCompile checkstyle:check pmd:check pmd:cpd-check spotbugs:check spotless:check enforcer:enforce jacoco:check formatter:validate
fmt:check license:check spring-boot:run quarkus:dev`)
	})
)

// settings judges operands NAME=VALUE of a builder, and targets that it has of its own.
func (s *scan) settings() {
	for _, i := range s.operands {
		w := s.words[i]
		target := w.Text[strings.LastIndexByte(w.Text, ':')+1:]
		publishes := slices.ContainsFunc(publishing, func(begin string) bool { return strings.HasPrefix(target, begin) })
		switch s.spec.name {
		case "mvn":
			switch {
			case publishes:
				s.builtinPart().note(Elsewhere, s.c, i, actsElsewhere)
			case target == "clean", w.Text == "install":
				s.builtinPart().note(Writes, s.c, i, "has a phase that deletes files, or installs them outside of the workspace")
			case !w.Static || !mavenPhases()[w.Text]:
				s.builtinPart().note(Elsewhere, s.c, i, unknownGoal)
			}
		case "gradle":
			switch {
			case !w.Static, abbreviates(target, publishing):
				s.builtinPart().note(Elsewhere, s.c, i, actsElsewhere)
			case abbreviates(target, rebuilding):
				s.builtinPart().note(Writes, s.c, i, "has a task that changes the project")
			}
		case "lein", "rake": // their own, in any form: ";publish", __.publish, "do clean, deploy"
			if publishes || slices.ContainsFunc(strings.FieldsFunc(w.Text, notAlphanumeric), func(part string) bool { return slices.Contains(publishing, part) || strings.HasPrefix(part, "publish") }) {
				s.builtinPart().note(Elsewhere, s.c, i, actsElsewhere)
			}
		}
		if (strings.Contains(w.Text, "=") || !w.Static && s.spec.name == "make") && !harmlessProperty(w) {
			s.builtinPart().note(Code, s.c, i, givesSetting)
		}
	}
}

// abbreviates reports a task of gradle that is one with such a verb: gradle takes the beginnings of
// the parts of a name, as pTML for publishToMavenLocal.
func abbreviates(task string, verbs []string) bool {
	first := task
	if end := strings.IndexFunc(task, func(c rune) bool { return c >= 'A' && c <= 'Z' }); end > 0 {
		first = task[:end]
	}
	return slices.ContainsFunc(verbs, func(verb string) bool {
		return strings.HasPrefix(task, verb) || first != "" && strings.HasPrefix(verb, first)
	})
}

// virtualBeginnings are options of -XX and -Xlog that neither write nor run code.
var virtualBeginnings = strings.Fields(`+Use -Use MaxRAM InitialRAM MinRAM MaxMetaspace MetaspaceSize MaxHeap TieredStopAtLevel +TieredCompilation -TieredCompilation
+ExitOnOutOfMemoryError +ShowCodeDetails MaxGCPauseMillis ReservedCodeCache ParallelGCThreads ActiveProcessorCount +EnableDynamicAgentLoading`)

// harmlessVirtual judges -XX:option and -Xlog:what.
func harmlessVirtual(name string, w Word) bool {
	switch {
	case !w.Static, strings.Trim(w.Text, plainCharacters) != "":
		return false
	case name == "-Xlog":
		return !strings.Contains(w.Text, "file") && strings.Count(w.Text, ":") == 0
	default:
		return slices.ContainsFunc(virtualBeginnings, func(begin string) bool { return strings.HasPrefix(w.Text, begin) })
	}
}

// consoles are subcommands of programs of a workspace that run code which the line or its input has.
var consoles = wordSet(`shell shell_plus dbshell tinker eval console repl runner runscript`)

// console finds a program of the workspace that is asked to run code. at is the place of the
// program.
func (p programReader) console(c, at int) {
	words := p.plan.Commands[c].Words
	if at+1 >= len(words) || !words[at+1].Static {
		return
	}
	if name, _, _ := strings.Cut(words[at+1].Text, ":"); consoles[name] {
		p.builtinPart().note(Code, c, at+1, "has a subcommand that runs code which is given to it")
	}
}

// console calls planner.console for a script that an interpreter runs.
func (s *scan) console(at int) { s.planner.programPart().console(s.c, at) }

// addressOfCode reports an address from which some interpreters take code.
func addressOfCode(text string) bool {
	scheme, _, _ := strings.Cut(text, ":")
	return slices.Contains([]string{"http", "https", "npm", "jsr", "data", "blob", "node"}, strings.ToLower(scheme))
}

// libraryModules are those of python's library without a line in a table.
var libraryModules = sync.OnceValue(func() map[string]bool { return wordSet(libraryNames) })

// moreTargets reports that a command has a further target behind the words that an entry of a list names.
func moreTargets(words []Word, named int) bool {
	first := words[0]
	if !first.Static {
		return false
	}
	name := programName(first.Text[strings.LastIndexByte(first.Text, '/')+1:])
	s := specOf(name)
	if s == nil || s.targets == 0 {
		return false
	}
	targets := 0
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case w.Static && w.Text == "--":
			if i >= named && targets >= s.targets && i+1 < len(words) {
				return true
			}
			continue
		case isOption(w):
			o, known, attached := s.optionOf(w)
			if !known && i >= named && targets >= s.targets {
				return true
			}
			if (o.role == roleProperty) && i >= named && targets >= s.targets {
				arg := part(w, len(w.Text))
				if attached >= 0 {
					arg = part(w, attached)
				} else if i+1 < len(words) {
					arg = words[i+1]
				}
				if !harmlessProperty(arg) {
					return true
				}
			}
			if o.role != roleNone && o.role != roleProperty && o.role != roleQuiet && i >= named && targets >= s.targets {
				return true
			}
			if known && o.takes == takesNext && attached < 0 {
				i++
			}
			continue
		case strings.Contains(w.Text, "="):
			if i >= named && targets >= s.targets && !harmlessProperty(w) {
				return true
			}
			continue
		}
		if i >= named && targets >= s.targets {
			return true
		}
		targets++
	}
	return false
}

// optionOf finds an option, and where in the word its argument begins: -1 when the next word is it.
func (s *spec) optionOf(w Word) (o option, known bool, attached int) {
	if begin := s.prefixOf(w.Text); begin != "" {
		return s.options[begin], true, len(begin)
	}
	name, _, has := strings.Cut(w.Text, "=")
	if o, known = s.options[name]; known {
		if has {
			return o, true, len(name) + 1
		}
		return o, true, -1
	}
	if s.single || strings.HasPrefix(w.Text, "--") {
		return option{}, false, -1
	}
	for i := 1; i < len(w.Text); i++ {
		o, known = s.options["-"+w.Text[i:i+1]]
		if !known {
			return option{}, false, -1
		}
		if o.takes != takesNothing || o.role != roleNone {
			if i+1 < len(w.Text) {
				return o, true, i + 1
			}
			return o, true, -1
		}
	}
	return option{}, true, -1
}

// aliases are options of clients that name one thing.
var aliases = [][]string{
	{"-n", "--namespace", "-A", "--all-namespaces"},
	{"-h", "-H", "--host", "--hostname"},
	{"-R", "--repo", "--repository"},
	{"-p", "-P", "--port", "--project", "--profile"},
	{"-C", "--directory", "--context", "--cwd"},
	{"-c", "--context", "--container", "--config"},
	{"-U", "-u", "--user", "--username"},
	{"-d", "-D", "--dbname", "--database"},
	{"-f", "--file", "--filename"},
	{"-s", "--server"},
	{"-g", "--resource-group"},
	{"-t", "--target", "--tag"},
	{"-w", "--workspace"},
	{"-a", "--app"},
	{"-S", "--socket"},
}

// retargets reports that words behind those that an entry names give an option of them again.
func retargets(words []Word, named int) bool {
	if named < 2 || !slices.ContainsFunc(words[1:named], isOption) || runsOthers(words[0]) {
		return false
	}
	for i := 1; i < named; i++ {
		given := words[i].Text
		name, _, attached := strings.Cut(given, "=")
		if len(name) < 2 || name[0] != '-' || name == "--" {
			continue
		}
		if !attached && (i+1 >= named || strings.HasPrefix(words[i+1].Text, "-")) {
			continue // it has no value in the entry
		}
		for j := named; j < len(words); j++ {
			if words[j].Static && words[j].Text == "--" {
				break
			}
			if sameOption(name, words[j]) {
				return true
			}
		}
	}
	return false
}

// runsOthers reports a program behind whose operand the options of another one begin.
func runsOthers(w Word) bool {
	name := programName(w.Text[strings.LastIndexByte(w.Text, '/')+1:])
	if s := specOf(name); s != nil && (s.wraps || s.code) {
		return true
	}
	return slices.Contains([]string{"env", "shell", "xargs", "find", "fd", "parallel", "flock", "script"}, walkers()[name])
}

// sameOption reports a word that gives an option, or one that names the same thing.
func sameOption(name string, w Word) bool {
	if !strings.HasPrefix(w.Text, "-") {
		return !w.Static && w.start >= startsWithVariable
	}
	given, _, _ := strings.Cut(w.Text, "=")
	names := []string{name}
	for _, group := range aliases {
		if slices.Contains(group, name) {
			names = append(names, group...)
		}
	}
	return slices.ContainsFunc(names, func(other string) bool {
		switch {
		case given == other:
			return true
		case strings.HasPrefix(other, "--"):
			return len(given) > 3 && strings.HasPrefix(other, given) // getopt takes beginnings
		default:
			return len(other) == 2 && !strings.HasPrefix(given, "--") && strings.HasPrefix(given, other) // -nprod
		}
	})
}
