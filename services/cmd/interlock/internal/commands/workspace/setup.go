package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/diff"
	"google.golang.org/grpc/status"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jsonfile"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/shellwords"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// setup has the common parts of `init` for all agents.
type setup struct {
	Workflow string `help:"Definition that sessions are put on: its file, or the name of a registered workflow." type:"path" placeholder:"FILE"`
	Observe  bool   `help:"Only observe: record every call of sessions that drive no run, and enforce no workflow. Policies apply as ever. interlock suggest --observed then writes a first workflow."`
	Dir      string `arg:"" optional:"" help:"The workspace." default:"." type:"path"`
	Data     string `name:"data-dir" help:"Data folder of the server on this machine; by default one outside of the workspace." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	Binary   string `help:"The interlock command to call; by default the absolute path of this one." placeholder:"PATH"`
	Yes      bool   `short:"y" help:"Write without asking."`
	Undo     bool   `help:"Remove only the changes of init."`

	// quiet leaves the differences out, and preview ends before the question.
	quiet, preview bool

	def  *workflow.Definition // nil for none
	data string               // the data folder, absolute
}

// edit is one file that init changes: add puts our part into it, remove takes it out. Both
// leave a file without it, or with it, as it is. Where add is nil, it is taken out always.
type edit struct {
	path        string
	add, remove change
}

type change func(doc []jsonfile.Member, indent string) ([]jsonfile.Member, error)

// write shows the changes, asks, and writes. next is the advice for afterwards.
func (s *setup) write(ctx context.Context, io console.Streams, edits []edit, next string) ([]*jsonfile.File, error) {
	var files, changed []*jsonfile.File
	for _, e := range edits {
		file, err := s.edited(e)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
		switch {
		case file.Changed():
			changed = append(changed, file)
			if !s.quiet {
				fmt.Fprintf(io.Out, "%s\n", difference(file))
			}
		case e.add != nil || s.Undo:
			fmt.Fprintf(io.Out, "%s: no change\n", file.Path)
		}
	}
	if s.preview {
		return changed, nil
	}
	if len(changed) == 0 {
		return files, s.settle()
	}
	if folder, file := above(s.Dir); folder != "" && !s.Undo {
		fmt.Fprintf(io.Out, "note: %s is set up, too (%s). An agent that starts there is held by that set-up, and one that starts in %s by this one, with a server of its own\n",
			folder, file, s.Dir)
	}
	if !s.Yes && !io.Confirm("Write these files?") {
		fmt.Fprintln(io.Out, "not written; answer yes, or give --yes")
		return nil, console.ErrNo
	}
	for _, file := range changed {
		if err := s.save(file); err != nil {
			return nil, err
		}
	}
	if s.Undo {
		fmt.Fprintln(io.Out, "taken out; restart the agent")
		return files, s.settle()
	}
	if err := s.settle(); err != nil {
		return nil, err
	}
	fmt.Fprintf(io.Out, "written; %sstart `interlock up%s unless it runs, and %s\n", s.register(ctx, io), s.upHere(), next)
	return files, nil
}

// edited is a file as it is to be. It has no text when it is to go: what init wrote was all
// that it had. What it was before init wrote it comes back byte for byte.
func (s *setup) edited(e edit) (*jsonfile.File, error) {
	path := filepath.Join(s.Dir, e.path)
	if !s.Undo && e.add != nil {
		return jsonfile.Edit(path, e.add)
	}
	file, err := jsonfile.Edit(path, e.remove)
	if err != nil || !file.Changed() {
		return file, err
	}
	before, known, err := datadir.Dir(s.data).Replaced(path, string(file.Before))
	switch {
	case err != nil:
		return nil, err
	case known && before != nil && !setUp([]byte(*before)):
		file.After = []byte(*before)
	case known && before == nil, strings.TrimSpace(string(file.After)) == "{}":
		file.After = nil
	}
	return file, nil
}

// setUp reports that a text has hooks or a server of ours: it is one that init wrote before, for
// another data folder.
func setUp(text []byte) bool {
	var doc struct {
		Hooks   any `json:"hooks"`
		Servers map[string]struct {
			Args []string `json:"args"`
		} `json:"mcpServers"`
	}
	if json.Unmarshal(text, &doc) != nil {
		return false
	}
	args := doc.Servers["interlock"].Args
	return len(hooksIn(doc.Hooks)) > 0 || len(args) > 0 && args[0] == "mcp"
}

// difference is what changes in a file.
func difference(file *jsonfile.File) string {
	const none = "/dev/null"
	from, to := file.Path, file.Path
	if file.Before == nil {
		from = none
	}
	if file.After == nil {
		to = none
	}
	_, text, _ := strings.Cut(string(diff.Diff(from, file.Before, to, file.After)), "\n") // of the command
	return strings.TrimRight(text, "\n")
}

// save writes a file, and keeps what it was before in the data folder, for --undo.
func (s *setup) save(file *jsonfile.File) error {
	switch {
	case file.After == nil && s.Undo:
		if err := file.Remove(); err != nil {
			return err
		}
		made, err := datadir.Dir(s.data).Made(file.Path)
		for _, folder := range made {
			_ = os.Remove(folder) // which fails where something else is in it
		}
		return err
	case file.After == nil:
		return file.Remove()
	case s.Undo:
		return file.Save()
	}
	folder := datadir.Dir(s.data)
	if err := folder.Make(); err != nil {
		return err
	}
	if err := folder.SetReplaced(file.Path, file.Before, string(file.After), missing(file.Path, s.Dir)); err != nil {
		return err
	}
	return file.Save()
}

// missing are the folders of a workspace that a file needs and that are not there, the innermost first.
func missing(file, workspace string) (folders []string) {
	for folder := filepath.Dir(file); folder != workspace && strings.HasPrefix(folder, workspace); folder = filepath.Dir(folder) {
		if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// settle makes the data folder and the pointer to it. After the last agent's set-up of a workspace was taken out, it removes the
// pointer, and the data folder where only init has written to it.
func (s *setup) settle() error {
	folder := datadir.Dir(s.data)
	switch {
	case !s.Undo:
		return errors.Join(folder.Make(), folder.Claim(s.Dir))
	case len(Uses(s.Dir)) > 0:
		return nil
	}
	return errors.Join(datadir.Unpoint(s.Dir), folder.RemoveUnused())
}

// prepare reads the definition, and where the data folder is.
func (s *setup) prepare(ctx context.Context, io console.Streams) (err error) {
	s.Dir = workspaceName(s.Dir)
	folder, err := folderOf(s.Dir, s.Data)
	if err != nil && s.Undo { // of a copy, or of a workspace that was moved
		folder, err = datadir.Of(s.Dir)
	}
	if err != nil {
		return err
	}
	s.data = string(folder)
	if s.Observe && s.Workflow != "" {
		return console.Misusedf("give --observe or --workflow, not both: with a workflow, calls are recorded, too")
	}
	if s.Workflow == "" || s.Undo {
		return nil
	}
	src, err := input.Definition(s.Workflow, io)
	if errors.Is(err, fs.ErrNotExist) {
		return s.fromServer(ctx, io, err)
	}
	if err != nil {
		return err
	}
	src.Wanted = "workflow"
	def, problems := workflow.Parse(src.JSON)
	if problems.HasErrors() {
		return src.Refuse(problems, io)
	}
	src.Problems(io.Err, slices.DeleteFunc(problems, func(p document.Problem) bool { return p.Code != workflow.CodeWhileRunning }))
	s.def = def
	return nil
}

// fromServer takes the definition from the server, where --workflow names a workflow and no file.
func (s *setup) fromServer(ctx context.Context, io console.Streams, missing error) error {
	name := filepath.Base(s.Workflow)
	found, err := s.ask(ctx, io, name)
	if err != nil {
		return fmt.Errorf("--workflow takes the file of a definition or the name of a registered workflow: %w, and the server has no workflow %q: %s",
			missing, name, status.Convert(err).Message())
	}
	def, problems := workflow.Parse(found.GetDefinition())
	if problems.HasErrors() {
		return fmt.Errorf("the workflow %q of the server is not valid here: %v; give its file", name, problems)
	}
	s.def = def
	return nil
}

// folderOf returns the data folder as given, or else that of the workspace.
func folderOf(workspace, given string) (datadir.Dir, error) {
	if given != "" {
		return datadir.At(given)
	}
	return datadir.New(workspace)
}

// hook is the command of the hook: of an agent, if that is not Claude Code, and for a session
// instead of the agent's, if one is named.
func (s *setup) hook(agent, session string) []string {
	words := []string{s.binary(), "hook"}
	if agent != "" {
		words = append(words, "--agent", agent)
	}
	words = append(words, "--data-dir", s.data)
	if session != "" {
		words = append(words, "--session", session)
	}
	return append(words, s.rules()...)
}

// rules returns the words of a hook for the workflow of sessions, or for observing.
func (s *setup) rules() []string {
	switch {
	case s.def != nil:
		return []string{"--workflow", s.def.ID}
	case s.Observe:
		return []string{"--observe"}
	default:
		return nil
	}
}

// wait is how long the workflow has its agent wait for people, in seconds.
func (s *setup) wait() int {
	if s.def == nil {
		return 0
	}
	return int(s.def.Meta.ApprovalWait / time.Second)
}

// patient is the command of the event that people are asked for, and its time in seconds.
func patient(command []string, wait int) ([]string, int) {
	if wait <= 0 {
		return command, hookTimeout
	}
	patience := wait + hookTimeout
	return append(slices.Clone(command), "--patience", strconv.Itoa(patience)), patience + hookTimeout
}

// workspaceName is the absolute path of a workspace, without links.
func workspaceName(dir string) string {
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// session names the one session of a workspace, of agents whose MCP servers are not told
// the session of the conversation.
func (s *setup) session(agent string) string {
	return agent + "-" + datadir.Digest(s.Dir)[:8]
}

// upHere is how to start the server after the words `interlock up`.
func (s *setup) upHere() string {
	if s.Data == "" {
		return "` in this workspace"
	}
	return " --data-dir " + shellwords.Join([]string{s.data}) + "`"
}

// register says how to register the workflow, unless a server has it.
func (s *setup) register(ctx context.Context, io console.Streams) string {
	if s.def == nil || s.registered(ctx, io) {
		return ""
	}
	return "register the workflow with `interlock workflow register " + shellwords.Join([]string{s.Workflow}) + "`, "
}

// registered reports that the server of the data folder has the workflow.
func (s *setup) registered(ctx context.Context, io console.Streams) bool {
	_, err := s.ask(ctx, io, s.def.ID)
	return err == nil
}

// ask returns a workflow of the server of the data folder.
func (s *setup) ask(ctx context.Context, io console.Streams, name string) (*enginev1.Workflow, error) {
	at := client.Connection{Data: s.data}
	conn, err := at.Dial(ctx, io, auth.Agent)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	resp, err := enginev1.NewWorkflowServiceClient(conn).GetWorkflow(ctx, &enginev1.GetWorkflowRequest{Name: name})
	return resp.GetWorkflow(), err
}

// binary returns the command to call, on this machine: an absolute path, since hooks and MCP
// servers are started with the PATH of the agent's client.
func (s *setup) binary() string {
	if s.Binary != "" {
		return s.Binary
	}
	if own, err := os.Executable(); err == nil {
		return own
	}
	return "interlock"
}

// server adds our MCP server, and withoutServer takes it out.
func (s *setup) server(session string) change {
	args := []string{"mcp", "--data-dir", s.data}
	if session != "" {
		args = append(args, "--session", session)
	}
	return func(doc []jsonfile.Member, indent string) ([]jsonfile.Member, error) {
		return addServer(doc, s.binary(), args, indent)
	}
}

func withoutServer(doc []jsonfile.Member, indent string) ([]jsonfile.Member, error) {
	servers, err := inside(doc, "mcpServers", jsontext.KindBeginObject)
	if err != nil || !ourServer(servers) {
		return doc, err
	}
	return emptied(doc, "mcpServers", dropped(servers, "interlock"), jsontext.KindBeginObject, indent, 1), nil
}
