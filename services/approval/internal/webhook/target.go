package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// target is a receiver.
type target struct {
	name string
	// shown names the receiver to a person, without its secrets.
	shown string
	// people means that people read its messages.
	people bool
	routes []route
	send   func(ctx context.Context, n app.Notice, t text) error
}

// secretText reads a text that may be a secret: "env:NAME" is the variable, "file:PATH" the file, and
// any other text is itself. No error quotes it.
func secretText(text string, read func(file string) ([]byte, error)) (string, error) {
	switch {
	case strings.HasPrefix(text, "env:"):
		value := strings.TrimSpace(os.Getenv(text[4:]))
		if value == "" {
			return "", fmt.Errorf("the environment has no variable %s", text[4:])
		}
		return value, nil
	case strings.HasPrefix(text, "file:"):
		data, err := read(text[5:])
		if err != nil {
			return "", err
		}
		if len(data) == 0 {
			return "", fmt.Errorf("%s is empty", text[5:])
		}
		return string(data), nil
	default:
		return text, nil
	}
}

// channels make the receivers that people read, by the word before the colon.
var channels = map[string]struct {
	settings []string
	open     func(r *Receivers, address string, set map[string]string) (shown string, send func(context.Context, app.Notice, text) error, err error)
}{
	"slack":    {nil, openSlack},
	"teams":    {nil, openTeams},
	"ntfy":     {[]string{"token"}, openNtfy},
	"smtp":     {[]string{"from", "to", "user", "password", "tls"}, openSMTP},
	"template": {[]string{"url", "type"}, openTemplate},
}

// channel adds a receiver of --notify.
func (r *Receivers) channel(given string) error {
	kind, rest, ok := strings.Cut(given, ":")
	open, known := channels[kind]
	if !ok || !known {
		return errors.New("--notify needs slack:URL, teams:URL, ntfy:URL, smtp:HOST:PORT or template:FILE")
	}
	address, words, _ := strings.Cut(rest, "#")
	if address == "" {
		return fmt.Errorf("--notify %s: has no address", kind)
	}
	way, err := parseRoute(words, open.settings...)
	if err != nil {
		return fmt.Errorf("--notify %s: %w", kind, err)
	}
	// The same address with other settings is another receiver: mail to another person.
	name := nameOf(kind + ":" + address + fmt.Sprintf("%q", way.settings))
	if t := r.target(name); t != nil {
		t.routes = append(t.routes, way)
		return nil
	}
	shown, send, err := open.open(r, address, way.settings)
	if err != nil {
		return fmt.Errorf("--notify %s: %w", kind, err)
	}
	r.targets = append(r.targets, &target{name: name, shown: kind + " " + shown, people: true, routes: []route{way}, send: send})
	return nil
}

// address returns the URL of a receiver, and its host to show: the rest may be a secret.
func (r *Receivers) address(text string) (*url.URL, error) {
	text, err := secretText(text, r.read)
	if err != nil {
		return nil, err
	}
	if err := checkReceiver(text, r.allowHTTP); err != nil {
		return nil, err
	}
	return url.Parse(text)
}

// post sends a body, and returns an error for any answer but 2xx. The error has no part of the URL.
func (r *Receivers) post(ctx context.Context, to, contentType string, body []byte, header http.Header) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return hide(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "interlock-approval")
	resp, err := r.client.Do(req)
	if err != nil {
		return hide(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, mostAnswer)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("it returned %s", resp.Status)
	}
	return nil
}
