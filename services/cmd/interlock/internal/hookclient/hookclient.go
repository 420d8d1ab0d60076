// Package hookclient carries one hook event of a coding agent to the server and the
// answer back. It makes no decision, and it must fail closed: any failure blocks the act
// of the agent.
//
// Agents start it before every tool call, so it imports no package that is slow to start or that Go initialises late: no net,
// os/exec, path/filepath, crypto/rand or log/slog (ADR 008).
package hookclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	strict "github.com/go-json-experiment/json"

	"github.com/interlock-run/interlock/pkg/auth/tokenfile"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/hookevent"
	"github.com/interlock-run/interlock/services/internal/hookwire"
)

// Exit codes of a hook command. Agents continue after any code but 2.
const (
	ExitDone  = 0
	ExitBlock = 2
)

const (
	// Timeout bounds the whole hook. It is below the limit that `interlock init`
	// gives the agent, after which the agent would continue as if there were no hook.
	Timeout = 10 * time.Second
	// maxMessage bounds an event, and an answer.
	maxMessage = 8 << 20
)

// Client is one run of the hook: its command line, with the environment as its defaults.
type Client struct {
	Agent    string
	Workflow string // for sessions that drive no run; may be empty
	Session  string // to work on instead of the event's; may be empty
	Server   string // http:// or https:// address of the edge; empty to find it
	Token    string // empty to find it in the data folder
	CA       string // file with the CA of an https:// server; empty for the system's
	Data     string // empty to find it upwards from the project
	Project  string // where to look from; empty for the working folder

	Namespace string // empty for the default

	// Patience is how long it waits in all for an answer, in seconds: longer than
	// Timeout where people may be asked first. Empty for Timeout.
	Patience string

	// Strict blocks events that only inform, too, when Interlock cannot be reached.
	Strict bool

	// Observe records calls of sessions without a run, also where no policy applies.
	Observe bool

	// Prices is a file with the prices of models; empty for the table that is shipped.
	Prices string

	// BreakGlass is a grant that lets calls pass while no connection can be made; empty for none. See breakglass.Settings.
	BreakGlass, BreakGlassKey, BreakGlassSpool, Principal string

	// Trace is the W3C traceparent of the agent's act; other text is left out.
	Trace string

	// Program is the one that runs the hook and its version, as Claude Code says it in AI_AGENT.
	Program string

	// Jail finds out the jail of this machine; nil if there is none.
	Jail Prober
	// Glass opens the break-glass grant; nil where none is used.
	Glass Opener
}

// FromEnv returns a client with the settings of the environment.
func FromEnv(getenv func(string) string) Client {
	c := Client{
		Agent: hookevent.ClaudeCode, Workflow: getenv("INTERLOCK_WORKFLOW"), Server: getenv("INTERLOCK_HTTP_SERVER"),
		Token: getenv("INTERLOCK_TOKEN"), CA: getenv("INTERLOCK_CA"), Data: getenv("INTERLOCK_DATA"),
		Project:   getenv("CLAUDE_PROJECT_DIR"),
		Namespace: getenv("INTERLOCK_NAMESPACE"), Patience: getenv("INTERLOCK_HOOK_PATIENCE"),
		Prices: getenv("INTERLOCK_PRICES"), Trace: getenv("TRACEPARENT"), Program: getenv("AI_AGENT"),
		BreakGlass: getenv("INTERLOCK_BREAKGLASS"), BreakGlassKey: getenv("INTERLOCK_BREAKGLASS_KEY"),
		BreakGlassSpool: getenv("INTERLOCK_BREAKGLASS_SPOOL"), Principal: getenv("INTERLOCK_PRINCIPAL"),
	}
	if c.Server == "" {
		c.Server = getenv("INTERLOCK_SERVER")
	}
	return c
}

// Parse takes the plain flags, those that `interlock init` writes among them. It
// answers false for anything else, which is for the full parser.
func (c *Client) Parse(args []string) bool {
	flags := map[string]*string{
		"--agent": &c.Agent, "--workflow": &c.Workflow, "--server": &c.Server, "--token": &c.Token, "--ca": &c.CA,
		"--data-dir": &c.Data, "--session": &c.Session, "--namespace": &c.Namespace, "--patience": &c.Patience,
		"--prices": &c.Prices, "--breakglass": &c.BreakGlass, "--breakglass-key": &c.BreakGlassKey, "--breakglass-spool": &c.BreakGlassSpool,
		"--principal": &c.Principal,
	}
	given := map[string]bool{}
	for ; len(args) > 0; args = args[1:] {
		if set, known := map[string]*bool{"--strict": &c.Strict, "--observe": &c.Observe}[args[0]]; known {
			*set = true
			continue
		}
		name, value, joined := strings.Cut(args[0], "=")
		target, known := flags[name]
		if !known {
			return false
		}
		if !joined {
			if len(args) < 2 || strings.HasPrefix(args[1], "-") {
				return false
			}
			args = args[1:]
			value = args[0]
		}
		*target = value
		given[name] = true
	}
	c.KeepTo(given["--data-dir"], given["--server"], given["--namespace"])
	if given["--data-dir"] {
		c.KeepGlass(given["--breakglass"], given["--breakglass-key"], given["--breakglass-spool"], given["--principal"])
	}
	return hookevent.Known(c.Agent)
}

// KeepTo drops the environment's settings of the server where the command line names the data
// folder: settings that come with a workspace can set variables, and would lead the hook to a server
// of their own. The namespace of the environment counts with a token of the environment only.
func (c *Client) KeepTo(data, server, namespace bool) {
	if !data {
		return
	}
	if !server {
		c.Server = ""
	}
	if !namespace && c.Token == "" {
		c.Namespace = ""
	}
}

// KeepGlass drops the environment's settings of break glass where the command line names the data folder, but those that it
// names too: a grant of the workspace's own would let anything pass.
func (c *Client) KeepGlass(grant, key, spool, principal bool) {
	for _, setting := range []struct {
		given bool
		value *string
	}{{grant, &c.BreakGlass}, {key, &c.BreakGlassKey}, {spool, &c.BreakGlassSpool}, {principal, &c.Principal}} {
		if !setting.given {
			*setting.value = ""
		}
	}
}

// folder returns the data folder. It is never searched for: an agent that may make a
// folder on the way up from the workspace could put a server of its own there.
func (c *Client) folder() (datadir.Dir, error) {
	switch {
	case c.Data == "":
		return "", errors.New("the hook does not say where the data folder is: give --data-dir with its absolute path, " +
			"or run `interlock init claude-code` again, which writes it")
	case !datadir.IsAbs(c.Data):
		return "", fmt.Errorf("--data-dir %s is not an absolute path: it would be another folder wherever the agent is", c.Data)
	}
	folder, err := datadir.At(c.Data)
	if err != nil {
		return "", err
	}
	return folder, folder.Guarded()
}

// Run reads the event, asks the edge and answers the exit code. It takes at most
// its patience, however slow its parts are.
func (c *Client) Run(in io.Reader, out, errs io.Writer, post Transport) int {
	patience, err := c.patience()
	if err != nil {
		fmt.Fprintf(errs, "Interlock blocks this: %v\n", err)
		return ExitBlock
	}
	return c.answerEvent(in, out, errs, post, time.Now().Add(patience))
}

// longestPatience is the longest that a workflow may have an agent wait for people,
// and some time to ask.
const longestPatience = 3660

func (c *Client) patience() (time.Duration, error) {
	if c.Patience == "" {
		return Timeout, nil
	}
	n, err := strconv.Atoi(c.Patience)
	if err != nil || n < 1 || n > longestPatience {
		return 0, fmt.Errorf("--patience must be 1 to %d seconds, not %q", longestPatience, c.Patience)
	}
	return max(Timeout, time.Duration(n)*time.Second), nil
}

func (c *Client) answerEvent(in io.Reader, out, errs io.Writer, post Transport, deadline time.Time) int {
	type result struct {
		answer *answer
		err    error
	}
	events, results := make(chan []byte, 1), make(chan result, 1)
	go func() {
		var r result
		event, err := read(in)
		events <- event
		switch r.err = err; {
		case err != nil:
		case c.passes(event):
			r.answer = &answer{Exit: new(int)}
		default:
			r.answer, r.err = c.send(deadline, event, post)
			r.answer, r.err = c.throughGlass(event, r.answer, r.err)
			if old := c.outdated(); old != nil {
				r.err = old // the server has it in its log, where it could be asked
			}
		}
		results <- r
	}()
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	var r result
	select {
	case r = <-results:
	case <-timer.C:
		r.err = errors.New("the server did not answer in time")
	}
	var event []byte // none while it has not been read
	select {
	case event = <-events:
	default:
	}
	informs := !c.Strict && c.Agent != hookevent.Codex && c.kind(event).Informs() && c.kind(event) != hookevent.SubagentStart
	switch {
	case r.err != nil && informs:
		return c.warn(out, errs, fmt.Sprintf("the server could not be asked: %v", r.err))
	case r.err != nil:
		fmt.Fprintf(errs, "Interlock blocks this: no decision could be had: %v\n", r.err)
		if c.stopped(event) {
			return ExitDone
		}
		return ExitBlock
	case informs && *r.answer.Exit != ExitDone:
		return c.warn(out, errs, strings.TrimPrefix(r.answer.Stderr, "Interlock blocks this: "))
	}
	return r.answer.give(out, errs)
}

// kindFields has the fields that show the kind of an event.
type kindFields struct {
	Name    string `json:"hook_event_name"`
	Tool    string `json:"tool_name"`
	OwnTool string `json:"toolName"` // of Copilot
	Active  bool   `json:"stop_hook_active"`
	Loops   int64  `json:"loop_count"` // of Cursor
}

// kindFieldsOf reads strictly: a key that is written twice, or in another case, could mean one
// thing here and another to the server.
func kindFieldsOf(event []byte) (h kindFields, ok bool) {
	ok = strict.Unmarshal(event, &h) == nil
	return h, ok
}

func (c *Client) kind(event []byte) hookevent.Kind {
	h, ok := kindFieldsOf(event)
	if !ok {
		return hookevent.Unknown
	}
	return hookevent.Of(c.Agent, h.Name)
}

// passes reports whether an event needs no question: it is neither about a call that Interlock
// judges, nor a report that it keeps. One that is not known passes when it cannot be about a
// call of a tool (S13.9). The server judges unreadable ones.
func (c *Client) passes(event []byte) bool {
	h, ok := kindFieldsOf(event)
	switch kind := hookevent.Of(c.Agent, h.Name); {
	case !ok:
		return false
	case kind == hookevent.Unknown:
		return h.Name != "" && h.Tool == "" && h.OwnTool == "" && !hookevent.CallLike(event)
	default:
		return kind == hookevent.Ignored && h.Tool == ""
	}
}

// warn shows the user why the agent got no text. The user's prompt needs no permission: each
// tool call after it does, and is asked about.
func (c *Client) warn(out, errs io.Writer, why string) int {
	message := "Interlock could not send the agent the state of its run: " + why + ". Tool calls are denied until it can be reached."
	if c.Agent != hookevent.ClaudeCode && c.Agent != hookevent.Gemini {
		fmt.Fprintln(errs, message)
		return ExitDone
	}
	text, _ := json.Marshal(map[string]string{"systemMessage": message}) // text always encodes
	if _, err := out.Write(text); err != nil {
		fmt.Fprintf(errs, "Interlock blocks this: the answer could not be written: %v\n", err)
		return ExitBlock
	}
	return ExitDone
}

func read(in io.Reader) ([]byte, error) {
	event, err := io.ReadAll(io.LimitReader(in, maxMessage+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the event: %w", err)
	case len(event) > maxMessage:
		return nil, fmt.Errorf("the event has more than %d bytes", maxMessage)
	case strings.TrimSpace(string(event)) == "":
		return nil, errors.New("there is no event on standard input; agents write one there")
	}
	return event, nil
}

// stopped reports whether the event is an agent's second try to stop. Blocking that too
// would keep it going forever (Claude Code's documentation of stop_hook_active).
func (c *Client) stopped(event []byte) bool {
	h, ok := kindFieldsOf(event)
	kind := hookevent.Of(c.Agent, h.Name)
	return ok && (h.Active || h.Loops > 0) && (kind == hookevent.Stop || kind == hookevent.SubagentStop)
}

// traceparent reports whether a text may be a W3C trace context; the server reads it.
func traceparent(text string) bool {
	return len(text) == 55 && strings.Trim(text, "0123456789abcdef-") == ""
}

// send sends an event to the server, after what else the server must know for its answer: witnesses and costs.
func (c *Client) send(deadline time.Time, event []byte, post Transport) (*answer, error) {
	refusal, observe := "", ""
	if c.Observe {
		observe = "true"
	}
	if old := c.outdated(); old != nil {
		refusal = old.Error()
	}
	req := Request{Path: hookwire.EventPath, Body: event}
	for _, h := range append(c.jailHeaders(), [][2]string{
		{hookwire.AgentHeader, c.Agent},
		{hookwire.WorkflowHeader, c.Workflow},
		{hookwire.SessionHeader, c.Session},
		{hookwire.PatienceHeader, c.Patience},
		{hookwire.ObserveHeader, observe},
		{hookwire.RefusedHeader, refusal},
	}...) {
		if h[1] != "" {
			req.Headers = append(req.Headers, h)
		}
	}
	if err := plain(req.Headers); err != nil {
		return nil, err
	}
	to, err := c.Connect(deadline, post)
	if err != nil {
		return nil, err
	}
	// Witnesses of jails from the time when the server was away count for the decision.
	unheard := strings.TrimSpace(c.putBack() + "\n" + c.HandIn(to))
	// The agent's costs until now count for the decision.
	warning, err := c.costs(event, func(path string, body []byte) (int, []byte, error) {
		return to.post(Request{Path: path, Body: body, Headers: req.Headers})
	})
	if err != nil {
		return nil, err
	}
	warning = strings.TrimPrefix(warning+"\n"+unheard, "\n")
	status, body, err := to.post(req)
	if err != nil {
		return nil, err
	}
	if status != 200 {
		return nil, fmt.Errorf("the server answered with status %d; is it Interlock's edge?", status)
	}
	a, err := parse(body)
	if warning = strings.TrimSpace(warning); err == nil && warning != "" {
		a.Stderr = strings.TrimSuffix(warning+"\n"+a.Stderr, "\n")
	}
	return a, err
}

// witness returns the token of the runtime, which vouches for the hook's reports (S14.4).
// It goes to the server of the data folder only, and is empty where there is no such
// file, or none that this user may read: then reports are the agent's word.
func (c *Client) witness() string {
	if c.Server != "" || c.Data == "" {
		return ""
	}
	folder, err := c.folder()
	if err != nil {
		return ""
	}
	token, err := tokenfile.Token(folder.Local(), tokenfile.Runtime)
	if err != nil {
		return ""
	}
	return token
}
