package facet

import (
	"path"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// looker is how a tool that only reads names its files.
type looker struct {
	// others are its texts that are no path.
	others wordSet
	// below is true where a folder stands for everything under it, and here where the present one is meant without any.
	below, here bool
	// pattern is true for a tool whose pattern says where it searches.
	pattern bool
	// writes is true for a tool that changes them.
	writes bool
}

var (
	pathWords = wordSet("path filepath filename file targetfile notebookpath absolutepath relativepath relativeworkspacepath directory dirpath targetdirectory directorypath imagepath paths files")
	noteWords = wordSet("description explanation reason pages encoding sort order sortby")
)

// lookers are the tools that name files and edit none, by their names as toolname.Folded gives them.
var lookers = map[string]looker{
	"read": {}, "readfile": {}, "notebookread": {}, "viewimage": {}, "readtextfile": {}, "readmediafile": {}, "readmultiplefiles": {},
	"getfileinfo": {}, "senduserfile": {}, "lsp": {others: wordSet("operation symbol query")},
	"ls": {here: true, others: wordSet("ignore")}, "listdirectory": {here: true, others: wordSet("ignore")}, "listdirectorywithsizes": {},
	"directorytree": {others: wordSet("excludepatterns")}, "searchfiles": {others: wordSet("pattern excludepatterns")},
	"glob":   {here: true, pattern: true, others: wordSet("pattern")},
	"grep":   {here: true, below: true, others: wordSet("pattern glob type outputmode")},
	"delete": {writes: true}, "createdirectory": {writes: true},
}

// fileless are tools of clients that touch no file.
var fileless = wordSet(`Agent AskUserQuestion BashOutput EndConversation EnterPlanMode ExitPlanMode KillBash KillShell ListAgents ListMcpResourcesTool
ProposeGoal PushNotification ReadNotifications RefreshMcpTools ScheduleWakeup SendFeedback SendMessage SendUserMessage SetGoal Task TaskCreate TaskGet
TaskList TaskOutput TaskStop TaskUpdate TodoRead TodoWrite ToolSearch WaitForMcpServers WebFetch WebSearch create_goal get_goal list_agents
list_background_processes list_bash read_agent read_background_output request_user_input tool_search update_goal update_topic web_search
mcp__filesystem__list_allowed_directories`)

// filesystem is the name of the servers of files whose tools are known.
const filesystem = "mcp__filesystem__"

// tool notes the files of a tool that is no shell. It returns false for one that is not known; the files that its
// name and input show are noted all the same.
func (t *touched) tool(name string, input document.Value) (known bool) {
	known = strings.HasPrefix(name, filesystem) || toolname.Known(name)
	var buf [toolname.LongestFolded]byte
	look, is := lookers[string(toolname.Folded(&buf, name))]
	switch forms := toolinput.FormsOf(name); {
	case fileless.has(name):
		return true
	case forms != 0:
		c := forms.MeasureValue(input)
		if c == nil { // it only looks
			t.looks(looker{others: wordSet("command")}, input)
			return known
		}
		t.edit(c, !forms.Looks(), forms.Moves())
		return known
	case is:
		t.looks(look, input)
		return known
	default:
		return false
	}
}

// edit notes the files of an edit. whole is true for one that replaces or deletes a file without a look at it, and moved
// for one that may move a folder.
func (t *touched) edit(c *toolinput.Change, whole, moved bool) {
	for _, name := range c.Paths {
		t.write(name, moved)
		if !whole {
			t.read(name, moved)
		}
		t.home(name)
	}
	if c.Wrong != "" {
		t.unclear(c.Wrong)
	}
}

const beginsHome = "the name of a file begins with ~; write it in full"

// home notes that tools differ in a name that begins with ~.
func (t *touched) home(name string) {
	if strings.HasPrefix(name, "~") {
		t.unclear(beginsHome)
	}
}

// looks notes the files of a tool that edits none.
func (t *touched) looks(look looker, input document.Value) {
	use := t.read
	if look.writes {
		use = t.change
	}
	pattern, last, named := "", "", 0
	note := func(name string) {
		t.home(name)
		if name != "" {
			use(name, look.below)
			last = name
			named++
		}
	}
	for key, v := range input.Members() {
		var buf [toolname.LongestFolded]byte
		switch word, kind := string(toolname.Folded(&buf, key)), v.Kind(); {
		case kind == document.Null || kind == document.Bool || kind == document.Number:
		case look.pattern && word == "pattern" && kind == document.String:
			pattern = v.Str()
		case pathWords.has(word) && kind == document.String:
			note(v.Str())
		case pathWords.has(word) && kind == document.Array:
			for _, e := range v.Elements() {
				if e.Kind() != document.String {
					t.unclear("its " + key + " has something that is no text")
				}
				note(e.Str())
			}
		case (look.others.has(word) || noteWords.has(word)) && kind != document.Object, len(key) == 2 && key[0] == '-' && kind == document.String:
		default:
			t.unclear("its argument " + key + " may name a file; leave it out")
		}
	}
	switch {
	case look.pattern:
		t.searched(pattern, last)
	case named == 0 && look.here:
		use(".", look.below)
	case named == 0:
		t.doubt("it names no file", condition.Reads)
	}
}

// searched notes the folder that a pattern of names begins in, which may be in another. The names below are no files that it reads.
func (t *touched) searched(pattern, in string) {
	t.home(pattern)
	at := strings.IndexAny(pattern, "*?[{")
	if at < 0 {
		at = len(pattern)
	}
	folder := path.Dir(pattern[:at] + "x")
	switch {
	case strings.Contains(pattern, ".."), strings.ContainsAny(pattern, "\\") && !t.names.root.Windows:
		t.doubt("its pattern may lead to another folder; write one without ..", condition.Reads)
	case strings.HasPrefix(pattern, "/"), in == "":
		t.read(folder, false)
	default:
		t.read(in+"/"+folder, false)
	}
}
