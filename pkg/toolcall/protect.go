package toolcall

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// What stands between agents and their tools must not be within reach of those tools
// (S13): no state and no policy allows a call that would read Interlock's data folder,
// change what hooks it in, or run the commands that are for people. This is a second
// line. The boundary is the operating system's, see docs/security.md.

// Places are where Interlock itself is on the machine of a call, by absolute path. A
// data folder with the name of the default one is protected wherever it is.
type Places struct {
	// Folder is where relative names begin; empty when that is not known.
	Folder string
	// Data are data folders: calls neither read nor change them.
	Data []string
	// Programs are files that no call changes.
	Programs []string
	// Real is an absolute path without links, of a file that may not be there. Nil where
	// the files of the call are not this machine's.
	Real func(path string) string
}

// Protected judges a call by S13 alone. It returns no code when nothing is against it.
// m and state may be nil, where there is no run.
func Protected(m *workflow.Machine, state *workflow.StateView, call Call) (Code, string) {
	if Own(call.Tool) {
		return "", ""
	}
	if bytes.Contains(call.Input, tokenBytes) && isToken(string(call.Input)) {
		return CodeSelfProtected, holdsToken
	}
	if Shell(state, call.Tool) {
		return call.Places.shellCall(call)
	}
	return call.Places.fileCall(m, call)
}

// ProtectedMessage is the sentence for an agent on a call that S13 denies where there
// is no run.
func ProtectedMessage(tool, why string) string {
	return fmt.Sprintf("Tool %s is denied: %s. This holds in every state; do the task without it, or ask the person you work for.",
		document.Quote(tool), why)
}

// What denials say.
const (
	ownFolder   = "it names Interlock's data folder, which calls neither read nor change"
	ownSearch   = "its pattern could be a file of Interlock's data folder, which is below the folder that it searches; search a folder below, or for a narrower pattern"
	ownSettings = "it may change files that hook Interlock in, or Interlock itself: %s"
	ownProcess  = "it may read the environment or the memory of a process"
	holdsToken  = "its input holds a token of Interlock"
	ownCommand  = "only a person may run this command of Interlock: %s"
	ownSignal   = "it may stop Interlock: %s"
	anyProgram  = "it %s, which could be Interlock's own commands; write out the program and its arguments"
	unreadable  = "its command line cannot be read, and could reach Interlock itself: %s"
)

// dataFolder is the name of the pointer in a workspace to its data folder, and of a data folder
// that is in the workspace. Writing the pointer would change which server judges.
const dataFolder = ".interlock"

// The data folders of a user's workspaces are by default in state/interlock of the home folder,
// or in the folder interlock of a variable.
const (
	stateFolder = "state"
	stateHome   = "$xdg_state_home"
	stateBraces = "${xdg_state_home"
)

// ownFiles are what a data folder has. They give away a folder whose own name is not
// known.
var ownFiles = []string{"tokens.json", "token.key", "endpoints.json", "interlock.db", "hook.sock", "grpc.sock", "webhook.secret", "contexts.json", "receipt.key"}

// settings are files that hook Interlock into clients, by the folder that they are in
// and the beginning of their name; those of no folder are anywhere.
var settings = []struct{ folder, file string }{
	{".claude", "settings"},
	{"claude-code", "managed-"},
	{"", ".mcp.json"},
	{"", ".claude.json"},
	{".codex", "hooks.json"},
	{".codex", "config.toml"},
	{".cursor", "hooks.json"},
	{".cursor", "mcp.json"},
	{".gemini", "settings.json"},
	{".github", "hooks"},
	{".github", "copilot"},
}

// fileCall judges a call of a tool that is no shell.
func (p Places) fileCall(m *workflow.Machine, call Call) (Code, string) {
	if !p.mayName(call.Input) {
		return "", ""
	}
	var c *change
	if m != nil {
		c = measure(m, call)
	} else if forms := formsOf(call.Tool); forms != 0 {
		c = measureKnown(forms, call.Input)
	}
	input, ok := readInput(call.Input)
	if !ok {
		return CodeSelfProtected, "its input cannot be read, and could name Interlock's own files"
	}
	var named []string
	if c != nil {
		named = c.paths
	}
	if !textTools[toolWord(call.Tool)] {
		eachName(input, c != nil, toolWord(call.Tool) == "grep", &named)
	}
	if c != nil && c.wrong != "" { // a tool may still find in it what it is to change
		var texts []string
		eachText(input, &texts)
		for _, text := range texts {
			named = slices.AppendSeq(named, strings.FieldsFuncSeq(text, betweenNames))
		}
	}
	if is, found := p.inTexts(call.Tool, input, c != nil); found {
		switch {
		case p.isProcess(is):
			return CodeSelfProtected, ownProcess
		case p.isDataText(is):
			return CodeSelfProtected, ownFolder
		}
		return CodeSelfProtected, fmt.Sprintf(ownSettings, document.Quote(is))
	}
	if p.searchesData(call.Tool, input) {
		return CodeSelfProtected, ownSearch
	}
	for _, name := range named {
		switch {
		case p.isData(name, true):
			return CodeSelfProtected, ownFolder
		case p.isProcess(name):
			return CodeSelfProtected, ownProcess
		case reads(call.Tool):
		case p.isSetting(name, true):
			return CodeSelfProtected, fmt.Sprintf(ownSettings, document.Quote(name))
		}
	}
	return "", ""
}

// hints are in every input that names a file which is protected, in any letter case,
// or could: escapes of JSON hide letters, patterns stand for them, and some file systems
// take the last ones for letters of ASCII.
var hints = []string{"interlock", "claude", "mcp.json", "codex", "cursor", "gemini", ".github", "file:", "json", "proc", "/fd", "%", `\x`, `\u`, "*", "?", "\u017f", "\u212a", "\u0130"}

// hintsBy are the hints by their first byte, in either letter case.
var hintsBy = func() (by [256][]string) {
	for _, hint := range hints {
		by[hint[0]] = append(by[hint[0]], hint)
		if upper := hint[0] - 'a' + 'A'; 'a' <= hint[0] && hint[0] <= 'z' {
			by[upper] = append(by[upper], hint)
		}
	}
	return by
}()

// mayName is a fast look at an input: false is certain.
func (p Places) mayName(input []byte) bool {
	if p.Real != nil { // a link has any name
		return true
	}
	for i, b := range input {
		if opensPattern(input, i) {
			return true
		}
		for _, hint := range hintsBy[b] {
			if beginsFold(input[i:], hint) {
				return true
			}
		}
	}
	own := func(file string) bool { return containsFold(input, path.Base(file)) }
	return slices.ContainsFunc(p.Data, own) || slices.ContainsFunc(p.Programs, own)
}

// opensPattern reports a bracket in a text of an input, which could be a class or a list of
// alternatives of a pattern. Those of JSON itself stand next to other signs.
func opensPattern(input []byte, i int) bool {
	const signs = " \t\r\n:,[]{}"
	switch input[i] {
	case '[', '{':
		return i > 0 && strings.IndexByte(signs, input[i-1]) < 0
	case ']', '}':
		return i+1 < len(input) && strings.IndexByte(signs, input[i+1]) < 0
	}
	return false
}

// beginsFold reports that a text begins with a word, in any case of its ASCII letters.
func beginsFold(text []byte, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := range len(word) {
		b := text[i]
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b != word[i] {
			return false
		}
	}
	return true
}

// containsFold reports that a text has a word, in any case of its ASCII letters.
func containsFold(text []byte, word string) bool {
	low, high := word[0]|0x20, word[0]
	if 'a' <= low && low <= 'z' {
		high = low - 0x20
	} else {
		low = word[0]
	}
	for ; len(text) >= len(word); text = text[1:] {
		i := bytes.IndexByte(text, low)
		if low != high {
			if j := bytes.IndexByte(text[:max(i, 0)], high); j >= 0 || i < 0 {
				if i < 0 {
					j = bytes.IndexByte(text, high)
				}
				i = j
			}
		}
		if i < 0 || len(text)-i < len(word) {
			return false
		}
		text = text[i:]
		if strings.EqualFold(string(text[:len(word)]), word) {
			return true
		}
	}
	return false
}

// longestName is the longest text that is looked at as the name of a file.
const longestName = 4096

// eachName adds the texts in a value that could be the name of a file. The contents of
// an edit are not.
func eachName(v document.Value, edits, grep bool, names *[]string) {
	switch v.Kind() {
	case document.String:
		if s := v.Str(); len(s) <= longestName && !strings.ContainsRune(s, '\n') {
			*names = append(*names, s)
		}
	case document.Array:
		for _, e := range v.Elements() {
			eachName(e, edits, grep, names)
		}
	case document.Object:
		for key, e := range v.Members() {
			switch m := meaningOf(key); {
			case edits && (m == oldText || m == newText || m == contentText || m == patchText), m == note, grep && key == "pattern":
			default:
				eachName(e, edits, grep, names)
			}
		}
	}
}

// reads reports tools that change nothing, by the first word of their name.
func reads(tool string) bool {
	if formsOf(tool) != 0 {
		return false
	}
	var buf [longestFolded]byte
	name := string(folded(&buf, tool))
	return slices.ContainsFunc([]string{"read", "get", "list", "view", "search", "grep", "glob", "ls", "stat", "notebookread", "find"},
		func(verb string) bool { return strings.HasPrefix(name, verb) })
}

// shellCall judges a call of a shell.
func (p Places) shellCall(call Call) (Code, string) {
	line, why := commandLine(call.Input)
	if why == "" && !speaksOther(call.Tool) {
		return p.line(line)
	}
	input, ok := readInput(call.Input)
	if !ok && len(call.Input) > 0 {
		return CodeInvalidInput, noCommand
	}
	var lines []string
	eachText(input, &lines)
	for _, line := range lines {
		if code, why := p.text(line); code != "" {
			return code, why
		}
		if mentions(line) {
			return CodeSelfProtected, fmt.Sprintf(ownCommand, document.Quote(line[:min(len(line), 80)]))
		}
		if speaksOther(call.Tool) {
			continue
		}
		if _, err := shell.Parse(line); err != nil {
			continue // some text of the input, such as a reason
		}
		if code, why := p.line(line); code != "" {
			return code, why
		}
	}
	return "", ""
}

// toolWord is the last part of a tool's name, folded.
func toolWord(tool string) string {
	var buf [longestFolded]byte
	return string(folded(&buf, tool))
}

func eachText(v document.Value, texts *[]string) {
	switch v.Kind() {
	case document.String:
		*texts = append(*texts, v.Str())
	case document.Array: // a program and its arguments
		var words []string
		for _, e := range v.Elements() {
			if word, err := syntax.Quote(e.Str(), syntax.LangBash); e.Kind() == document.String && err == nil {
				words = append(words, word)
			} else {
				eachText(e, texts)
			}
		}
		*texts = append(*texts, strings.Join(words, " "))
	case document.Object:
		for key, e := range v.Members() {
			if meaningOf(key) != note {
				eachText(e, texts)
			}
		}
	}
}

// text judges a line by what stands in it, whatever it means.
func (p Places) text(line string) (Code, string) {
	text := squeezed(line)
	if isToken(text) {
		return CodeSelfProtected, holdsToken
	}
	for token := range strings.FieldsFuncSeq(text, betweenNames) {
		if slices.Contains(strings.Split(token, "/"), dataFolder) {
			return CodeSelfProtected, ownFolder
		}
	}
	if strings.Contains(text, stateHome) || strings.Contains(text, stateBraces) {
		return CodeSelfProtected, ownFolder
	}
	for _, folder := range p.Data {
		if strings.Contains(text, strings.ToLower(folder)) {
			return CodeSelfProtected, ownFolder
		}
	}
	return "", ""
}

// line judges a command line by what bash would do with it.
func (p Places) line(line string) (Code, string) {
	if isToken(squeezed(line)) {
		return CodeSelfProtected, holdsToken
	}
	line = withoutProse(line)
	if code, why := p.text(line); code != "" {
		return code, why
	}
	plan, err := shell.Parse(line)
	if err != nil {
		return CodeCommandUnparsable, fmt.Sprintf(unreadable, err)
	}
	unseen := false
	for _, f := range plan.Findings {
		switch {
		case f.Process():
			return CodeSelfProtected, ownProcess
		case f.Blind() && !otherName(plan, f) && !knownCode(line, plan, f):
			return CodeSelfProtected, fmt.Sprintf(anyProgram, describe(f))
		case f.Kind == shell.Code, f.Kind == shell.Hidden:
			unseen = true
		}
	}
	if unseen && mentions(line) {
		return CodeSelfProtected, fmt.Sprintf(ownCommand, "it runs code that cannot be judged and names interlock")
	}
	if setting, why := p.names(plan); why != "" {
		return CodeSelfProtected, why
	} else if setting != "" && !onlyReads(plan) {
		return CodeSelfProtected, fmt.Sprintf(ownSettings, document.Quote(setting))
	}
	for _, c := range plan.Commands {
		if c.Assigns < len(c.Words) {
			name, args := baseOf(c.Words[c.Assigns]), c.Words[c.Assigns+1:]
			if signallers[name] && (mentions(line) || slices.ContainsFunc(args, meansServer)) {
				return CodeSelfProtected, fmt.Sprintf(ownSignal, document.Quote(c.String()))
			}
			if attachers[name] && slices.ContainsFunc(args, attaches) {
				return CodeSelfProtected, ownProcess
			}
		}
		if why := judgeOwn(c); why != "" {
			return CodeSelfProtected, why
		}
	}
	return "", ""
}

// otherName reports a finding of a command whose name is not known in full, and still
// cannot be Interlock or a shell.
func otherName(plan *shell.Plan, f shell.Finding) bool {
	if f.Command < 0 || f.Word != plan.Commands[f.Command].Assigns {
		return false
	}
	w := plan.Commands[f.Command].Words[f.Word]
	if w.Static {
		return false
	}
	base := w.Text[strings.LastIndexByte(w.Text, '/')+1:]
	if !strings.ContainsRune(base, shell.Unknown) {
		return !mentions(base)
	}
	return strings.Trim(base, string(shell.Unknown)) != "" && !slices.ContainsFunc(
		[]string{program, "sh", "bash", "dash", "zsh", "env", "eval", "sudo", "kill", "pkill", "killall", "xargs", "python3", "python", "perl"},
		func(name string) bool { return shell.CouldBe(strings.ToLower(base), name) })
}

// names looks at all that could be the name of a file: why it denies, or else a
// setting that it names.
func (p Places) names(plan *shell.Plan) (setting, why string) {
	look := func(w shell.Word) bool {
		for token := range strings.FieldsFuncSeq(w.Text, betweenNames) {
			if p.isData(token, false) {
				why = ownFolder
				return true
			}
			if p.isSetting(token, false) {
				setting = strings.ReplaceAll(token, string(shell.Unknown), "…")
			}
		}
		return false
	}
	if slices.ContainsFunc(plan.Names, look) {
		return "", why
	}
	for _, c := range plan.Commands {
		if slices.ContainsFunc(c.Words, look) {
			return "", why
		}
	}
	if p.goesToData(plan) {
		return "", ownFolder
	}
	return setting, ""
}

// betweenNames are characters that part the names of files in words of a line.
func betweenNames(c rune) bool { return strings.ContainsRune(" \t\n\"'`=,;:@<>|&(){}[]", c) }

// goesToData reports a line that names a data folder, to which it may go, and one of the
// files there by its name alone.
func (p Places) goesToData(plan *shell.Plan) bool {
	folder, file := false, false
	for _, c := range plan.Commands {
		for _, w := range c.Words {
			base := path.Base(plainName(w.Text))
			folder = folder || strings.Trim(base, "."+string(shell.Unknown)) != "" && p.couldBeData(base)
			file = file || isOwnFile(base)
		}
	}
	return folder && file
}

// isData reports a path that is the data folder, is in it, or could be. Whole is false
// for a word of a line, in which what is not known is marked already.
func (p Places) isData(name string, whole bool) bool {
	return p.either(name, func(name string) bool { return p.namesData(name, whole) })
}

// either judges a name, and where links lead from it.
func (p Places) either(name string, is func(name string) bool) bool {
	if is(name) {
		return true
	}
	if p.Real == nil {
		return false
	}
	real, ok := RealName(p.Folder, name, p.Real)
	return ok && is(real)
}

// RealName is what a function makes of a name, or of a file URL, that is relative to a
// folder. It is false for what is no name, or is relative to a folder that is not known.
func RealName(folder, name string, real func(path string) string) (string, bool) {
	if name == "" || len(name) > longestName || strings.ContainsRune(name, '\n') {
		return "", false
	}
	name = fromURL(name)
	if !strings.HasPrefix(name, "/") {
		if folder == "" {
			return "", false
		}
		name = folder + "/" + name
	}
	return real(name), true
}

// namesData is isData by the name alone.
func (p Places) namesData(name string, whole bool) bool {
	name = plainName(name)
	if p.inData(name) {
		return true
	}
	if whole {
		return slices.ContainsFunc(spread(name), p.partsNameData)
	}
	return p.partsNameData(name)
}

// partsNameData is namesData for a plain name in which all that is open is unknown.
func (p Places) partsNameData(name string) bool {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		fixed := strings.ReplaceAll(part, string(shell.Unknown), "")
		holdsOwn := i+1 < len(parts) && isOwnFile(parts[i+1])
		switch {
		case part == dataFolder, i > 0 && part == program && parts[i-1] == stateFolder, holdsOwn && p.couldBeData(part):
			return true
		case fixed == part:
		case (part[0] == '.' || len(fixed) >= 3) && shell.CouldBe(part, dataFolder), holdsOwn && strings.Trim(fixed, ".") == "",
			len(fixed) >= 3 && p.couldBeData(part):
			return true
		}
	}
	return false
}

// inData reports a plain name in a data folder whose place is known.
func (p Places) inData(name string) bool {
	if p.Folder != "" && !strings.HasPrefix(name, "/") {
		name = path.Join(plainName(p.Folder), name)
	}
	return slices.ContainsFunc(p.Data, func(folder string) bool { return within(name, plainName(folder)) })
}

// couldBeData reports a part of a path that is, or could be, the name of a data folder. That of
// the folder of all default ones is too common a word.
func (p Places) couldBeData(part string) bool {
	return slices.ContainsFunc(p.Data, func(folder string) bool {
		base := path.Base(plainName(folder))
		return base != program && shell.CouldBe(part, base)
	})
}

// isOwnFile reports a name that a file of the data folder has, or could.
func isOwnFile(part string) bool {
	return strings.Trim(part, string(shell.Unknown)) != "" &&
		slices.ContainsFunc(ownFiles, func(file string) bool { return shell.CouldBe(part, file) })
}

// isSetting reports a path that is a file which hooks Interlock in, the folder of one,
// or a program of Interlock.
func (p Places) isSetting(name string, whole bool) bool {
	return p.either(name, func(name string) bool { return p.namesSetting(name, whole) })
}

// namesSetting is isSetting by the name alone.
func (p Places) namesSetting(name string, whole bool) bool {
	name = plainName(name)
	for _, program := range p.Programs {
		if plainName(program) == name {
			return true
		}
	}
	parts := strings.Split(name, "/")
	is := func(part, word string) bool {
		fixed := strings.ReplaceAll(part, string(shell.Unknown), "")
		return part == word || !whole && (len(fixed) >= 3 || strings.HasPrefix(part, ".")) && shell.CouldBe(part, word)
	}
	for i, part := range parts {
		for _, s := range settings {
			switch {
			case s.folder == "":
				if is(part, s.file) {
					return true
				}
			case !is(part, s.folder):
			case i+1 == len(parts): // the folder itself, with all that is in it
				return s.folder != "claude-code"
			case strings.HasPrefix(parts[i+1], s.file), strings.ContainsAny(parts[i+1], string(shell.Unknown)+"*?"):
				return true
			}
		}
	}
	return false
}

// plainName is a path without what changes nothing about which file it names. Letter
// case may not count.
func plainName(name string) string {
	name = lower(strings.ReplaceAll(fromURL(name), `\`, "/"))
	if name == "" {
		return ""
	}
	return path.Clean(name)
}

// fromURL is the path of a file URL; any other text stays as it is.
func fromURL(name string) string {
	rest, ok := strings.CutPrefix(name, "file:")
	if !ok {
		return name
	}
	rest = "/" + strings.TrimLeft(rest, "/")
	if plain, err := url.PathUnescape(rest); err == nil {
		return plain
	}
	return rest
}

// lower is a text in lower case, as file systems fold it that do not tell letter case
// apart: they take a long s for an s.
func lower(text string) string { return strings.ReplaceAll(strings.ToLower(text), longS, "s") }

const longS = "\u017f"

func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

// readers run nothing of what they are given.
var readers = words(`cat head tail less more grep egrep fgrep rg ls stat wc jq yq diff cmp test [ [[ echo printf file
true false cd pwd sha256sum md5sum readlink realpath basename dirname sort uniq cut tr column nl`)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// onlyReads reports a line whose commands are all known to change nothing.
func onlyReads(plan *shell.Plan) bool {
	return !slices.ContainsFunc(plan.Findings, func(f shell.Finding) bool { return f.Kind != shell.Dumps })
}

// program is the name of Interlock's binary.
const program = "interlock"

// agentVerbs are the commands that are for agents too; of those with a list, only its
// subcommands.
var agentVerbs = map[string]map[string]bool{
	"check": nil, "report": nil, "validate": nil, "test": nil, "viz": nil, "fmt": nil, "verify": nil, "version": nil, "help": nil,
	"--version": nil, "--help": nil, "-h": nil,
	"run":       words("get transition --help"),
	"state":     words("create get list put patch history diff watch lock renew unlock --help"),
	"session":   words("create get list tree stop resume result --help"),
	"component": words("list get values begin commit --help"),
}

// humanVerbs are commands of Interlock that give them away where it is not known what a
// program does with its words.
var humanVerbs = words(`up approval token policy process run workflow decisions audit schema session task runner mcp hook init demo tail
backup store events upstream call migrate context env doctor`)

// signallers stop processes or services; the second group only with such a word.
var (
	signallers = words("kill pkill killall killall5 skill fuser xkill")
	managers   = words("systemctl service docker podman nerdctl kubectl launchctl supervisorctl pm2 rc-service initctl sc taskkill")
	stopping   = words("stop kill restart disable mask rm remove delete down pause unload bootout try-restart scale")
)

// attachers look into other processes.
var attachers = words("gdb gdb-multiarch gdbserver lldb gcore strace ltrace perf dlv rr reptyr bpftrace uftrace py-spy rbspy")

// attaches reports a word that names a process, or could.
func attaches(w shell.Word) bool {
	return !w.Static || w.Text == "attach" || strings.HasPrefix(w.Text, "-p") || strings.HasPrefix(w.Text, "--p") || strings.HasPrefix(w.Text, "--attach") ||
		w.Text != "" && strings.Trim(w.Text, "0123456789") == ""
}

// serverLine is how servers are usually started: what pkill -f compares.
const serverLine = program + " up --data-dir " + dataFolder + " --http 127.0.0.1:7420 --grpc 127.0.0.1:7421 --nats 127.0.0.1:7422"

// meansServer reports a pattern of a few words that meets serverLine.
func meansServer(w shell.Word) bool {
	return w.Static && len(w.Text) > 4 && w.Text[0] != '-' && strings.Contains(serverLine, strings.Trim(w.Text, "^$.*"))
}

// judgeOwn says why a command of Interlock, or one against it, is denied.
func judgeOwn(c shell.Command) string {
	if c.Assigns >= len(c.Words) {
		return ""
	}
	args := c.Words[c.Assigns:]
	name := baseOf(args[0])
	switch {
	case isProgram(name):
		return judgeVerb(c, args[1:])
	case managers[name] && slices.ContainsFunc(args[1:], namesProgram) &&
		slices.ContainsFunc(args[1:], func(w shell.Word) bool { return stopping[w.Text] || !w.Static }):
		return fmt.Sprintf(ownSignal, document.Quote(c.String()))
	}
	for i, w := range args[1:] { // a wrapper that is not known
		if isProgram(baseOf(w)) && i+2 < len(args) && (humanVerbs[args[i+2].Text] || !args[i+2].Static) && !readers[name] && name != "git" {
			return judgeVerb(c, args[i+2:])
		}
	}
	return ""
}

func judgeVerb(c shell.Command, args []shell.Word) string {
	if len(args) == 0 {
		return ""
	}
	denied := fmt.Sprintf(ownCommand, document.Quote(c.String()))
	subcommands, ok := agentVerbs[args[0].Text]
	switch {
	case !ok || !args[0].Static:
		return denied
	case subcommands == nil:
		return ""
	case len(args) < 2 || !args[1].Static || !subcommands[args[1].Text]:
		return denied
	}
	return ""
}

func baseOf(w shell.Word) string {
	return strings.ToLower(w.Text[strings.LastIndexByte(w.Text, '/')+1:])
}

func isProgram(base string) bool {
	return strings.TrimSuffix(base, ".exe") == program || strings.HasPrefix(base, "interlock@")
}

func namesProgram(w shell.Word) bool { return strings.Contains(strings.ToLower(w.Text), program) }

// mentions reports a text with the word interlock in it.
func mentions(text string) bool {
	text = squeezed(text)
	for {
		_, after, ok := strings.Cut(text, program)
		if !ok {
			return false
		}
		before := text[:len(text)-len(after)-len(program)]
		if !inWord(before, len(before)-1) && !inWord(after, 0) {
			return true
		}
		text = after
	}
}

func inWord(s string, i int) bool {
	if i < 0 || i >= len(s) {
		return false
	}
	c := s[i]
	return c == '_' || c == '-' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
}

// squeezed is a text in lower case without what a shell takes away.
func squeezed(text string) string {
	return strings.ToLower(strings.NewReplacer(`'`, "", `"`, "", "\\\n", "", `\`, "").Replace(text))
}

var tokenBytes = []byte(tokenPrefix)

const tokenPrefix = "ilk_"

// isToken reports a text with a static token of Interlock in it.
func isToken(text string) bool {
	const least = 32
	for {
		_, after, ok := strings.Cut(text, tokenPrefix)
		if !ok {
			return false
		}
		n := 0
		for n < len(after) && (inWord(after, n) || 'A' <= after[n] && after[n] <= 'Z') {
			n++
		}
		if n >= least {
			return true
		}
		text = after
	}
}
