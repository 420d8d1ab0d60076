package demo

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

//go:embed demo.json
var definition string

// The guard of the draft believes the agent, and that of the workflow asks for evidence.
const (
	believes = `"tested": { "field": "tests", "op": "eq", "value": "pass" }`
	asks     = `"tested": { "evidence": "tests" }`
)

// The files of the demonstration.
const (
	workflowFile = "ship.json"
	receiptFile  = "run.receipt.json"
	keyFile      = "receipt.key.pub"
)

// walk shows the demonstration itself: a proof, a gated client, a person, and a receipt.
func (d *demonstration) walk(ctx context.Context, data string) error {
	upstream := fmt.Sprintf("workspace='%s' demo --tools", d.interlock)
	command := exec.Command(d.interlock, "mcp", "--data-dir", data, "--upstream", upstream)
	command.Stderr = d.errors
	client := mcp.NewClient(&mcp.Implementation{Name: "demo", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		return fmt.Errorf("connect to interlock mcp: %w", err)
	}
	defer session.Close()
	folder, err := os.MkdirTemp("", "interlock-demo-files-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	s := &stage{d, session, datadir.Dir(data), folder}
	for _, one := range acts {
		if err := one.play(ctx, s); err != nil {
			return err
		}
	}
	at, err := datadir.Dir(data).ReadEndpoints()
	if err != nil {
		return err
	}
	return d.showEvents(ctx, at.NATS)
}

// stage is where acts are played.
type stage struct {
	*demonstration
	session *mcp.ClientSession
	data    datadir.Dir
	folder  string // of the person's files
}

func (s *stage) file(name string) string { return filepath.Join(s.folder, name) }

// act is one part of the demonstration. It fails when its outcome is another one than it shows.
type act interface {
	play(ctx context.Context, s *stage) error
}

var acts = []act{
	chapter("1. A proof: can code that was not tested ship?"),
	draft{},
	command{args: []string{"verify", workflowFile}, refused: true, contains: []string{"COUNTEREXAMPLE", "NOTE", "SHIP"}},
	chapter("The guard believes the agent. One line changes: the guard asks for evidence, which Interlock observes."),
	change{},
	command{args: []string{"verify", workflowFile}, contains: []string{"PROVED"}},
	command{as: auth.Operator, args: []string{"workflow", "register", workflowFile}, contains: []string{"registered"}},
	chapter("2. An agent, over MCP: evidence that goes stale."),
	call{"load_workflow", object{"name": "ship"}, false, []string{"fixing"}},
	call{"mcp__workspace__publish", object{}, true, []string{"mcp__workspace__publish", "fixing"}},
	call{"mcp__workspace__edit", edit, false, []string{"edited"}},
	call{"mcp__workspace__test", object{}, false, []string{"PASS"}},
	call{"mcp__workspace__edit", edit, false, []string{"edited"}},
	call{"transition", object{"event": "SHIP", "data": object{"tests": "pass"}}, true, []string{"tested", "mcp__workspace__test"}},
	call{"mcp__workspace__test", object{}, false, []string{"PASS"}},
	call{"transition", object{"event": "SHIP"}, false, []string{"approval"}},
	chapter("3. A person."),
	command{as: auth.Approver, args: []string{"approval", "approve", "@last", "--yes"}, contains: []string{"GRANTED"}},
	call{"get_state", object{}, false, []string{"shipping"}},
	call{"mcp__workspace__publish", object{}, false, []string{"published"}},
	call{"transition", object{"event": "DONE"}, false, []string{"shipped", "COMPLETED"}},
	chapter("4. A receipt, which others check without this server; and one with one byte changed."),
	command{as: auth.Operator, args: []string{"receipt", "@last", "--out", receiptFile}},
	key{},
	command{args: []string{"receipt", "verify", receiptFile, "--key", keyFile}, contains: []string{"holds"}},
	forge{},
	command{args: []string{"receipt", "verify", receiptFile, "--key", keyFile}, refused: true, contains: []string{receiptFile}},
}

var edit = object{"file_path": "main.go", "old_string": "<=", "new_string": "<"}

type object = map[string]any

// chapter is a heading.
type chapter string

func (c chapter) play(_ context.Context, s *stage) error {
	fmt.Fprintf(s.out, "\n%s\n", string(c))
	return nil
}

// draft writes the workflow with the guard that believes the agent.
type draft struct{}

func (draft) play(_ context.Context, s *stage) error {
	return s.save(workflowFile, strings.Replace(definition, asks, believes, 1))
}

// change writes the workflow, and shows the line that is another one.
type change struct{}

func (change) play(_ context.Context, s *stage) error {
	fmt.Fprintf(s.out, "- %s\n+ %s\n", believes, asks)
	return s.save(workflowFile, definition)
}

func (s *stage) save(name, text string) error {
	if err := os.WriteFile(s.file(name), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// key gives the reader of the receipt the public key of the deployment.
type key struct{}

func (key) play(_ context.Context, s *stage) error {
	text, err := os.ReadFile(s.data.ReceiptKey() + ".pub")
	if err != nil {
		return fmt.Errorf("read the public key: %w", err)
	}
	return s.save(keyFile, string(text))
}

// forge changes one byte of the receipt: the name of a person, in the signed payload.
type forge struct{}

func (forge) play(_ context.Context, s *stage) error {
	text, err := os.ReadFile(s.file(receiptFile))
	if err != nil {
		return fmt.Errorf("read the receipt: %w", err)
	}
	const before, who = `"payload": "`, `"approver"`
	begin := bytes.Index(text, []byte(before)) + len(before)
	end := bytes.IndexByte(text[begin:], '"')
	if begin < len(before) || end < 0 {
		return errors.New("the receipt has no payload")
	}
	payload, err := base64.StdEncoding.DecodeString(string(text[begin : begin+end]))
	if err != nil {
		return fmt.Errorf("read the receipt: %w", err)
	}
	at := bytes.Index(payload, []byte(who))
	if at < 0 {
		return errors.New("the receipt does not name the approver")
	}
	payload[at+len(who)-2]++ // one bit, and so one byte of the file
	copy(text[begin:], base64.StdEncoding.EncodeToString(payload))
	fmt.Fprintf(s.out, "\nOne byte of %s is another now: it names %s in place of %s.\n", receiptFile, payload[at:at+len(who)], who)
	return s.save(receiptFile, string(text))
}

// call is a call of a tool by the MCP client.
type call struct {
	tool    string
	args    object
	refused bool
	// contains must all be in the answer.
	contains []string
}

func (c call) play(ctx context.Context, s *stage) error {
	fmt.Fprintf(s.out, "\n> %s\n", c.title())
	result, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: c.tool, Arguments: c.args})
	if err != nil {
		return fmt.Errorf("%s: %w", c.tool, err)
	}
	var text strings.Builder
	for _, content := range result.Content {
		if t, ok := content.(*mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	verdict := "ok"
	if result.IsError {
		verdict = "REFUSED"
	}
	fmt.Fprintf(s.out, "  %s: %s\n", verdict, strings.ReplaceAll(strings.TrimSpace(text.String()), "\n", "\n  "))
	return checked(c.title(), text.String(), result.IsError, c.refused, c.contains)
}

func (c call) title() string {
	if event, ok := c.args["event"]; ok {
		return fmt.Sprintf("%s %s", c.tool, event)
	}
	return c.tool
}

// command is a command of a person, as of a role; of no role without a server.
type command struct {
	as       auth.Role
	args     []string
	refused  bool
	contains []string
}

func (c command) play(ctx context.Context, s *stage) error {
	line := "interlock " + strings.Join(c.args, " ")
	fmt.Fprintf(s.out, "\n$ %s\n", line)
	program := exec.CommandContext(ctx, s.interlock, c.args...) //nolint:gosec // this program
	program.Dir = s.folder
	program.Env = append(os.Environ(), "INTERLOCK_DATA="+string(s.data), "INTERLOCK_TOKEN=")
	if c.as != "" {
		token, err := auth.FileToken(s.data.Local(), c.as)
		if err != nil {
			return err
		}
		program.Env = append(program.Env, "INTERLOCK_TOKEN="+token)
	}
	out, err := program.CombinedOutput()
	fmt.Fprintf(s.out, "  %s\n", strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", "\n  "))
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return fmt.Errorf("%s: %w", line, err)
	}
	return checked(line, string(out), err != nil, c.refused, c.contains)
}

// checked fails where an outcome is not the one that is shown.
func checked(what, text string, refused, wanted bool, contains []string) error {
	if refused != wanted {
		return fmt.Errorf("%s: refused is %t, not %t", what, refused, wanted)
	}
	for _, want := range contains {
		if !strings.Contains(text, want) {
			return fmt.Errorf("%s: the answer does not mention %q", what, want)
		}
	}
	return nil
}
