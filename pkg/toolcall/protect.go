package toolcall

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// The files and processes between agents and their tools must not be within reach of
// those tools (S13): no state and no policy allows a call that would read Interlock's
// data folder, change its hooks, or run the commands that are for people. This is a
// second line. The boundary is the operating system's, see docs/security.md.

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

// SelfProtected judges a call by S13 alone. It returns no code without an objection. m and
// state may be nil, where there is no run.
func SelfProtected(m *workflow.Machine, state *workflow.StateView, call Call) (Code, string) {
	if Own(call.Tool) {
		return "", ""
	}
	return selfProtected(m, state, call, Shell(state, call.Tool))
}

// selfProtected does the work of SelfProtected for a tool that is not Interlock's own. shell is what Shell returns.
func selfProtected(m *workflow.Machine, state *workflow.StateView, call Call, shell bool) (Code, string) {
	if bytes.Contains(call.Input, tokenBytes) && isToken(string(call.Input)) {
		return CodeSelfProtected, holdsToken
	}
	if shell {
		if state != nil {
			call.Jail = jailed(state, call)
		}
		return call.Places.shellCall(call)
	}
	return call.Places.fileCall(m, call)
}

// SelfProtectedMessage returns the sentence for an agent on a call that S13 denies where
// there is no run.
func SelfProtectedMessage(tool, why string) string {
	return fmt.Sprintf("Tool %s is denied: %s. This holds in every state; do the task without it, or ask the person you work for.",
		document.Quote(tool), why)
}

// Texts of denials.
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

// fileCall judges a call of a tool that is no shell.
func (p Places) fileCall(m *workflow.Machine, call Call) (Code, string) {
	if takes, _ := takesTrees(call.Tool); (!takes || len(call.Input) == 0) && !p.mayName(call.Input) {
		return "", ""
	}
	var c *toolinput.Change
	if m != nil {
		c = measure(m, call)
	} else if forms := toolinput.FormsOf(call.Tool); forms != 0 {
		c = forms.Measure(call.Input)
	}
	input, ok := toolinput.Read(call.Input)
	if !ok {
		return CodeSelfProtected, "its input cannot be read, and could name Interlock's own files"
	}
	var named []string
	if c != nil {
		named = c.Paths
	}
	if !textTools[toolWord(call.Tool)] {
		eachName(input, c != nil, toolWord(call.Tool) == "grep", &named)
	}
	if c != nil && c.Wrong != "" { // a tool may still find its edit in it
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
	if toolinput.FormsOf(call.Tool) == 0 && c == nil && !textTools[toolWord(call.Tool)] {
		if code, why := p.codeCall(call.Tool, input); code != "" {
			return code, why
		}
	}
	if p.searchesData(call.Tool, input) {
		return CodeSelfProtected, ownSearch
	}
	if code, why := p.treeCall(call.Tool, named); code != "" {
		return code, why
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
			switch m := toolinput.MeaningOf(key); {
			case edits && (m == toolinput.OldText || m == toolinput.NewText || m == toolinput.ContentText || m == toolinput.PatchText), m == toolinput.Note, grep && key == "pattern":
			default:
				eachName(e, edits, grep, names)
			}
		}
	}
}

// reads reports tools that only read, by the first word of their name.
func reads(tool string) bool {
	if toolinput.FormsOf(tool) != 0 {
		return false
	}
	var buf [toolname.LongestFolded]byte
	name := string(toolname.Folded(&buf, tool))
	return slices.ContainsFunc([]string{"read", "get", "list", "view", "search", "grep", "glob", "ls", "stat", "notebookread", "find"},
		func(verb string) bool { return strings.HasPrefix(name, verb) })
}
