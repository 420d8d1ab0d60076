//go:build unix

package hookclient

import (
	"cmp"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/sdk/breakglass"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

type glassKey struct{ ed25519.PrivateKey }

func (k glassKey) Public() ed25519.PublicKey { return k.PrivateKey.Public().(ed25519.PublicKey) }

func (k glassKey) Sign(message []byte) ([]byte, error) {
	return ed25519.Sign(k.PrivateKey, message), nil
}

// grantFile writes a grant of Bash for an hour with its key.
func grantFile(t *testing.T) string {
	t.Helper()
	key := glassKey{ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}
	now := time.Now()
	token, err := breakglass.New(breakglass.Grant{
		ID: "bg_1", Namespace: "default", Principal: "agent", Tools: []string{"Bash"}, IssuedAt: now.Unix(), Expires: now.Add(time.Hour).Unix(), Reason: "r", By: "olga",
	}).Token(key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "g.jws")
	for name, text := range map[string]string{file: token, file + ".pub": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// opened is a grant as package hookglass opens it, which imports this one.
type opened struct{ *breakglass.Glass }

type opener struct{}

func (opener) Open(c *Client) (Glass, error) {
	g, err := breakglass.Open(breakglass.Settings{
		Grant: c.BreakGlass, Key: c.BreakGlassKey, Spool: c.BreakGlassSpool, Namespace: cmp.Or(c.Namespace, "default"), Principal: c.Principal, Client: "interlock-hook",
	}, time.Now)
	return opened{g}, err
}

func (g opened) call(c GlassCall) breakglass.Call {
	return breakglass.Call{Tool: c.Tool, Input: c.Input, Session: c.Session}
}

func (g opened) Use(c GlassCall) error  { return g.Glass.Use(g.call(c)) }
func (g opened) Deny(c GlassCall) error { return g.Glass.Deny(g.call(c)) }
func (g opened) ID() string             { return g.Glass.ID }

func (g opened) Lets(c GlassCall) error {
	if _, lets := g.Glass.Lets(c.Tool, c.Input); !lets {
		return breakglass.ErrNotGranted
	}
	return nil
}

func bashEvent(name string) string {
	return fmt.Sprintf(`{"hook_event_name":%q,"session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"}}`, name)
}

func spooledCalls(t *testing.T, file string) []breakglass.Entry {
	t.Helper()
	lines, err := breakglass.Lines(file + ".spool")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	read := breakglass.ReadSpool("bg_1", lines)
	if err != nil || read.Altered != "" {
		t.Fatalf("%v, %s", err, read.Altered)
	}
	return read.Entries
}

// S23.50: calls pass by a grant only where no connection could be made, and each is written down.
func TestGlassOnlyWithoutConnection(t *testing.T) {
	t.Parallel()
	failing := func(err error) Transport {
		return func(time.Time, Target, Request, int64) (int, []byte, error) { return 0, nil, err }
	}
	away := failing(Unreachable(errors.New("connection refused")))
	for name, row := range map[string]struct {
		post   Transport
		event  string
		change func(*Client)
		passes bool
		calls  int
	}{
		"no connection":          {post: away, passes: true, calls: 1},
		"after the call":         {post: away, event: bashEvent("PostToolUse"), passes: true},
		"no grant":               {post: away, change: func(c *Client) { c.BreakGlass = "" }},
		"another principal":      {post: away, change: func(c *Client) { c.Principal = "deployer" }},
		"no principal":           {post: away, change: func(c *Client) { c.Principal = "" }},
		"another namespace":      {post: away, change: func(c *Client) { c.Namespace = "other" }},
		"another agent's events": {post: away, change: func(c *Client) { c.Agent = hookevent.Cursor }},
		"another tool":           {post: away, event: `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Edit","tool_input":{}}`},
		"another tool, after":    {post: away, event: `{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Edit","tool_input":{}}`},
		"an ambiguous event":     {post: away, event: `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_name":"Edit","tool_input":{}}`},
		"the end of a turn":      {post: away, event: `{"hook_event_name":"Stop","session_id":"s"}`},
		"a lost connection":      {post: failing(io.ErrUnexpectedEOF)},
		"no answer in time":      {post: failing(os.ErrDeadlineExceeded)},
		"a server that is busy":  {post: answering(503, ``)},
		"a wrong token":          {post: answering(401, `{}`)},
		"another server":         {post: answering(200, `{}`)},
		"a denial":               {post: answering(200, `{"exit":2,"stderr":"no"}`), calls: 1},
	} {
		file := grantFile(t)
		c := Client{Agent: hookevent.ClaudeCode, Server: "http://edge", Token: token, BreakGlass: file, Principal: "agent", Glass: opener{}}
		if row.change != nil {
			row.change(&c)
		}
		event := row.event
		if event == "" {
			event = bashEvent("PreToolUse")
		}
		code, out, errs := hook(c, event, row.post)
		if (code == ExitDone) != row.passes || out != "" {
			t.Errorf("%s: exit %d, %q, %q", name, code, out, errs)
		}
		if got := spooledCalls(t, file); len(got) != row.calls || row.passes && len(got) > 0 && got[0].Kind != breakglass.Used {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// S23.50: what the server has denied does not pass when it is away, in any form of its answer.
func TestGlassKeepsDenials(t *testing.T) {
	t.Parallel()
	away := func(time.Time, Target, Request, int64) (int, []byte, error) {
		return 0, nil, Unreachable(errors.New("away"))
	}
	for _, answer := range []string{
		`{"exit":2,"stderr":"no"}`,
		`{"exit":0,"stdout":"{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\"}}"}`,
		`{"exit":0,"stdout":"{\"hookSpecificOutput\":{\"permissionDecision\":\"ask\"}}"}`,
		`{"exit":0,"stdout":"{\"decision\":\"block\"}"}`,
	} {
		c := Client{Agent: hookevent.ClaudeCode, Server: "http://edge", Token: token, BreakGlass: grantFile(t), Principal: "agent", Glass: opener{}}
		hook(c, bashEvent("PreToolUse"), answering(200, answer))
		code, _, errs := hook(c, bashEvent("PreToolUse"), away)
		if code != ExitBlock || !strings.Contains(errs, "denied it") {
			t.Errorf("%s: exit %d, %s", answer, code, errs)
		}
	}
	c := Client{Agent: hookevent.ClaudeCode, Server: "http://edge", Token: token, BreakGlass: grantFile(t), Principal: "agent", Glass: opener{}}
	hook(c, bashEvent("PreToolUse"), answering(200, `{"exit":0}`))
	if code, _, errs := hook(c, bashEvent("PreToolUse"), away); code != ExitDone {
		t.Errorf("what was allowed: exit %d, %s", code, errs)
	}
}

// S23.50: a socket that is not there is no connection, and one that is closed at once is.
func TestGlassOfSockets(t *testing.T) {
	t.Parallel()
	file := grantFile(t)
	gone := folder(t, datadir.Endpoints{Socket: filepath.Join(t.TempDir(), "s")})
	stopped := folder(t, datadir.Endpoints{})
	closing := serve(t, func(conn net.Conn) { conn.Close() })
	for name, row := range map[string]struct {
		data   string
		passes bool
	}{"gone": {string(gone), true}, "stopped": {string(stopped), true}, "closing": {closing.Data, false}} {
		c := Client{Agent: hookevent.ClaudeCode, Data: row.data, BreakGlass: file, Principal: "agent", Glass: opener{}}
		if code, _, errs := hook(c, bashEvent("PreToolUse"), Socket); (code == ExitDone) != row.passes {
			t.Errorf("%s: exit %d, %s", name, code, errs)
		}
	}
}

// S23.49: where the command line names the data folder, no variable of a workspace brings a grant.
func TestVariablesBringNoGrant(t *testing.T) {
	t.Parallel()
	env := map[string]string{"INTERLOCK_BREAKGLASS": "/evil", "INTERLOCK_BREAKGLASS_KEY": "/evil.pub", "INTERLOCK_BREAKGLASS_SPOOL": "/dev/null", "INTERLOCK_PRINCIPAL": "root"}
	for _, row := range []struct {
		args []string
		want [4]string
	}{
		{[]string{"--data-dir", "/d"}, [4]string{}},
		{[]string{"--data-dir", "/d", "--breakglass", "/mine", "--principal", "agent"}, [4]string{"/mine", "", "", "agent"}},
		{nil, [4]string{"/evil", "/evil.pub", "/dev/null", "root"}},
	} {
		c := FromEnv(func(name string) string { return env[name] })
		if !c.Parse(row.args) || [4]string{c.BreakGlass, c.BreakGlassKey, c.BreakGlassSpool, c.Principal} != row.want {
			t.Errorf("%v: %+v", row.args, c)
		}
	}
}
