package hookclient

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// unreachableError says that no connection to the server could be made.
type unreachableError struct{ error }

// Unwrap returns the cause.
func (e unreachableError) Unwrap() error { return e.error }

// Unreachable marks an error of a transport: no connection to the server could be made.
func Unreachable(err error) error { return unreachableError{err} }

// Opener opens the grant of a hook.
type Opener interface {
	Open(c *Client) (Glass, error)
}

// GlassCall is a call of a tool that may pass without contact.
type GlassCall struct {
	Tool, Session string
	// Input is a JSON object.
	Input json.RawMessage
}

// Glass is a break-glass grant with its spool (S23.50). Package breakglass has it; a hook that has contact does not wait for it.
type Glass interface {
	// Use writes a call down and lets it pass, or says why not; Lets says why it would not pass, or nil.
	Use(call GlassCall) error
	Lets(call GlassCall) error
	// Deny keeps a call that the server has refused from passing later.
	Deny(call GlassCall) error
	// ID names the grant.
	ID() string
}

// callOf returns the call of a tool that an event is about, in the form of Claude Code, Codex and Gemini CLI. No other
// agent's calls pass without contact.
func (c *Client) callOf(event []byte) (call GlassCall, kind hookevent.Kind, ok bool) {
	h, ok := kindFieldsOf(event)
	kind = hookevent.Of(c.Agent, h.Name)
	if !ok || h.Tool == "" || !kind.HasCall() || c.Agent == hookevent.Cursor || c.Agent == hookevent.Copilot {
		return call, kind, false
	}
	var of struct {
		Input   json.RawMessage `json:"tool_input"`
		Session string          `json:"session_id"`
	}
	if json.Unmarshal(event, &of) != nil {
		return call, kind, false
	}
	return GlassCall{Tool: h.Tool, Input: of.Input, Session: cmp.Or(c.Session, of.Session)}, kind, true
}

// throughGlass lets an event pass by the break-glass grant where no connection could be made, and keeps what the server has refused
// (S23.50).
func (c *Client) throughGlass(event []byte, a *answer, err error) (*answer, error) {
	if c.BreakGlass == "" || c.Glass == nil {
		return a, err
	}
	call, kind, ok := c.callOf(event)
	if away := (unreachableError{}); !ok || err != nil && !errors.As(err, &away) {
		return a, err
	}
	g, failed := c.Glass.Open(c)
	if err == nil {
		if failed == nil && kind == hookevent.Before && a.refuses() {
			failed = g.Deny(call)
			if failed != nil {
				a.Stderr = strings.TrimPrefix(a.Stderr+"\n"+failed.Error(), "\n")
			}
		}
		return a, nil
	}
	if failed == nil && kind == hookevent.Before {
		failed = g.Use(call)
	} else if failed == nil {
		failed = g.Lets(call)
	}
	if failed != nil {
		return nil, fmt.Errorf("%w; %w", err, failed)
	}
	return &answer{Exit: new(int), Stderr: "Interlock cannot be reached: break-glass grant " + g.ID() + " lets this call pass, and it is written down."}, nil
}

// refuses reports whether an answer may be anything but a permission.
func (a *answer) refuses() bool {
	return *a.Exit != ExitDone || strings.Contains(a.Stdout, `"deny"`) || strings.Contains(a.Stdout, `"ask"`) || strings.Contains(a.Stdout, `"block"`)
}
