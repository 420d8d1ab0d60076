// Package pdp asks decision points outside of Interlock, by OpenID AuthZEN's Authorization API 1.0, whether they agree with a
// tool call (S21.19).
//
// Only a clear yes is one. It must never follow a redirect or read more than a bounded answer.
package pdp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// mostAnswer bounds an answer, in bytes.
const mostAnswer = 64 << 10

var _ enforcer.Points = (*Client)(nil)

// Client asks. It is safe for concurrent use.
type Client struct{ http *http.Client }

// New returns a client that follows no redirects and uses no proxy: a question goes where the policy says, or nowhere.
func New() *Client {
	return &Client{&http.Client{
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: time.Second, MaxResponseHeaderBytes: mostAnswer,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Ask implements enforcer.Points. The error says what came in place of an answer.
func (c *Client) Ask(ctx context.Context, at *rules.Point, q *enforcer.Question) (agrees bool, err error) {
	text, err := body(q)
	if err != nil {
		return false, errors.New("the question cannot be written")
	}
	ctx, cancel := context.WithTimeout(ctx, at.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.URL, bytes.NewReader(text))
	if err != nil {
		return false, errors.New("its URL cannot be asked")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return false, failed(ctx, at)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("the status %d", resp.StatusCode)
	}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return false, errors.New("an answer whose type is not application/json")
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer+1))
	switch {
	case err != nil:
		return false, failed(ctx, at)
	case len(answer) > mostAnswer:
		return false, fmt.Errorf("more than %d bytes", mostAnswer)
	}
	return read(answer)
}

// failed returns an error without the URL, which agents do not learn.
func failed(ctx context.Context, at *rules.Point) error {
	if ctx.Err() != nil {
		return fmt.Errorf("it took too long (its timeout is %s)", at.Timeout)
	}
	return errors.New("it could not be reached")
}

// read returns the decision of an answer. Duplicate names, and anything but true or false, are no decision.
func read(text []byte) (bool, error) {
	var answer struct {
		Decision jsontext.Value `json:"decision"`
	}
	if jsontext.Value(text).Kind() != '{' || json.Unmarshal(text, &answer) != nil {
		return false, errors.New("a text that is no JSON object without duplicate names")
	}
	switch answer.Decision.Kind() {
	case 't':
		return true, nil
	case 'f':
		return false, nil
	default:
		return false, errors.New("an object without the decision true or false")
	}
}

type entity struct {
	Type       string            `json:"type,omitzero"`
	ID         string            `json:"id,omitzero"`
	Name       string            `json:"name,omitzero"`
	Properties map[string]string `json:"properties,omitempty"`
}

// body returns a question as AuthZEN has it.
func body(q *enforcer.Question) ([]byte, error) {
	input := jsontext.Value(q.Input)
	if len(input) == 0 {
		input = jsontext.Value("{}")
	}
	return json.Marshal(map[string]any{
		"subject":  entity{Type: "principal", ID: q.Principal, Properties: map[string]string{"role": q.Role, "namespace": q.Namespace, "session": q.Session}},
		"action":   entity{Name: "tools/call"},
		"resource": entity{Type: "tool", ID: q.Tool, Properties: map[string]string{"capability": q.Capability}},
		"context":  map[string]any{"input": input, "run": q.RunID, "workflow": q.Workflow, "state": q.State},
	}, json.Deterministic(true))
}
