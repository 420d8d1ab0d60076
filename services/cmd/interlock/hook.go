package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// Agents start a hook before every tool call, so it must start fast: it only
// carries the event to the server and the answer back.

const (
	// hookTimeout is below the agents' own limit, after which they go on as if
	// there were no hook.
	hookTimeout  = 10 * time.Second
	maxHookEvent = 8 << 20
	exitBlock    = 2
	// workflowHeader names the workflow for sessions that drive no run.
	workflowHeader = "X-Interlock-Workflow"
)

type hookCommand struct {
	Agent    string `help:"Which agent's hooks: claude-code or codex." enum:"claude-code,codex" default:"claude-code"`
	Workflow string `help:"Workflow for sessions that drive no run yet." env:"INTERLOCK_WORKFLOW" placeholder:"NAME"`
	Server   string `help:"The http:// address of the edge; found in the data folder by default." env:"INTERLOCK_HTTP_SERVER" placeholder:"URL"`
	Token    string `help:"Token to call with; by default that of the agent in the data folder." env:"INTERLOCK_TOKEN" placeholder:"TOKEN"`
	Data     string `name:"data-dir" help:"Data folder of the server on this machine." env:"INTERLOCK_DATA" placeholder:"DIR"`
}

// errBlocked ends the hook with the exit code that blocks.
var errBlocked = errors.New("blocked")

// Run is what the parser calls; fastHook takes the usual command lines before.
func (c *hookCommand) Run(ctx context.Context, io streams) error {
	if c.carry(ctx, io.in, io.out, io.err) != exitDone {
		return errBlocked // what there is to say has been said
	}
	return nil
}

// fastHook answers `interlock hook` without the command-line parser, when its
// flags are the plain ones that `init` writes.
func fastHook(args []string, in io.Reader, out, errs io.Writer) (code int, ok bool) {
	if len(args) == 0 || args[0] != "hook" {
		return 0, false
	}
	c := hookCommand{
		Agent: "claude-code", Workflow: os.Getenv("INTERLOCK_WORKFLOW"), Server: os.Getenv("INTERLOCK_HTTP_SERVER"),
		Token: os.Getenv("INTERLOCK_TOKEN"), Data: os.Getenv("INTERLOCK_DATA"),
	}
	flags := map[string]*string{
		"--agent": &c.Agent, "--workflow": &c.Workflow, "--server": &c.Server, "--token": &c.Token, "--data-dir": &c.Data,
	}
	for args = args[1:]; len(args) > 0; args = args[1:] {
		name, value, joined := strings.Cut(args[0], "=")
		target, known := flags[name]
		if !known {
			return 0, false
		}
		if !joined {
			if len(args) < 2 {
				return 0, false
			}
			args = args[1:]
			value = args[0]
		}
		*target = value
	}
	if c.Agent != "claude-code" && c.Agent != "codex" {
		return 0, false
	}
	return c.carry(context.Background(), in, out, errs), true
}

// carry takes the event to the server. Whatever goes wrong blocks.
func (c *hookCommand) carry(ctx context.Context, in io.Reader, out, errs io.Writer) int {
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	answer, err := c.ask(ctx, in)
	if err != nil {
		fmt.Fprintf(errs, "Interlock blocks this: no decision could be had: %v\n", err)
		return exitBlock
	}
	_, err = io.WriteString(out, answer.Stdout)
	if err != nil {
		return exitBlock
	}
	if answer.Stderr != "" {
		fmt.Fprintln(errs, answer.Stderr)
	}
	if answer.Exit != exitDone {
		return exitBlock
	}
	return exitDone
}

// hookAnswer is what the edge answers: what to print, and how to end.
type hookAnswer struct {
	Exit   int    `json:"exit"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

func (c *hookCommand) ask(ctx context.Context, in io.Reader) (*hookAnswer, error) {
	event, err := io.ReadAll(io.LimitReader(in, maxHookEvent+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the event: %w", err)
	case len(event) > maxHookEvent:
		return nil, fmt.Errorf("the event has more than %d bytes", maxHookEvent)
	}
	client, base, err := c.edge()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/hook", bytes.NewReader(event))
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	token, err := c.token()
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	if c.Workflow != "" {
		req.Header.Set(workflowHeader, c.Workflow)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w; is `interlock up` running?", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %s", resp.Status)
	}
	var answer *hookAnswer
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxHookEvent)).Decode(&answer); err != nil || answer == nil {
		return nil, errors.New("the server's answer can not be read")
	}
	return answer, nil
}

// edge answers how to reach the server: by its socket where there is one.
func (c *hookCommand) edge() (client *http.Client, base string, err error) {
	if c.Server != "" {
		return http.DefaultClient, strings.TrimSuffix(c.Server, "/"), nil
	}
	endpoints, err := c.folder().ReadEndpoints()
	if err != nil {
		return nil, "", err
	}
	if endpoints.Socket == "" {
		if endpoints.HTTP == "" {
			return nil, "", fmt.Errorf("no server has its data in %s; start `interlock up` there", c.folder())
		}
		return http.DefaultClient, endpoints.HTTP, nil
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", endpoints.Socket)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial}}, "http://interlock", nil
}

// folder is the data folder: as told, else the nearest one upwards, because
// agents run hooks in whatever folder they are in.
func (c *hookCommand) folder() datadir.Dir {
	if c.Data != "" {
		return datadir.Dir(c.Data)
	}
	start := os.Getenv("CLAUDE_PROJECT_DIR")
	if start == "" {
		start, _ = os.Getwd()
	}
	for folder := start; ; folder = filepath.Dir(folder) {
		dir := datadir.Dir(filepath.Join(folder, datadir.Default))
		if _, err := os.Stat(dir.Tokens()); err == nil {
			return dir
		}
		if folder == filepath.Dir(folder) {
			return datadir.Dir(filepath.Join(start, datadir.Default))
		}
	}
}

func (c *hookCommand) token() (string, error) {
	if c.Token != "" {
		return c.Token, nil
	}
	return auth.FileToken(c.folder().Tokens(), auth.Agent)
}
