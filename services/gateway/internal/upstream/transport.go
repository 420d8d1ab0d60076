package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// transport makes the way to the server; env is that of its process, and peer the client
// that it serves alone, if it does. ended stops the process that was started for it, or,
// without stop, returns how it ended by itself.
func (c *connection) transport(env environment, peer *Peer) (t sdk.Transport, ended func(stop bool) error, err error) {
	in := &inbound{log: c.log, limit: 4*c.options.MaxResultBytes + 1<<20}
	in.notices = map[string]func(json.RawMessage){"notifications/progress": c.progress.relay, "notifications/message": c.message}
	if peer != nil {
		in.notices["notifications/message"] = peer.message
	}
	if len(c.server.Command) > 0 {
		p, err := startProcess(c.server, c.options, env)
		if err != nil {
			return nil, nil, err
		}
		return newLines(in, p.stdout, p.stdin), p.end, nil
	}
	endpoint, err := url.Parse(c.server.URL)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return nil, nil, errors.New("its URL is not one of http or https")
	}
	pool := http.DefaultTransport.(*http.Transport).Clone() // it is one
	client := &http.Client{
		Transport: &headerTransport{
			base: pool, endpoint: endpoint, headers: c.server.Headers, in: in,
			patience: c.options.ConnectTimeout / 4,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a redirect could lead the headers elsewhere
		},
	}
	// Errors name the URL, and are for agents and logs: it may hold a secret.
	shown := url.URL{Scheme: endpoint.Scheme, Host: endpoint.Host}
	return &sdk.StreamableClientTransport{Endpoint: shown.String(), HTTPClient: client, MaxEventSize: in.limit + 1<<10},
		func(stop bool) error {
			if stop {
				pool.CloseIdleConnections()
			}
			return nil
		}, nil
}

// headerTransport adds the rest of an upstream's URL and its headers, for its own host only,
// and reads its answers.
type headerTransport struct {
	base     http.RoundTripper
	endpoint *url.URL
	headers  map[string]string
	in       *inbound // reads the answers
	// patience is how long a server may take to begin the stream on which it may speak first.
	patience time.Duration
}

func (t *headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == t.endpoint.Scheme && r.URL.Host == t.endpoint.Host {
		r = r.Clone(r.Context())
		whole := *t.endpoint
		r.URL = &whole
		if user := whole.User; user != nil && r.Header.Get("Authorization") == "" {
			password, _ := user.Password()
			r.SetBasicAuth(user.Username(), password)
		}
		for name, value := range t.headers {
			r.Header.Set(name, value)
		}
	}
	exchange, err := t.in.begin(r)
	if err != nil {
		return nil, err
	}
	res, err := t.begin(r)
	if err != nil {
		return nil, err
	}
	return exchange.end(res)
}

// begin makes a request. The SDK waits for the beginning of a server's stream before anything
// else, and for any time. A server that takes too long for it has none, as far as we know: it is
// as if it had said so.
func (t *headerTransport) begin(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || r.Header.Get("Last-Event-ID") != "" {
		return t.base.RoundTrip(r)
	}
	ctx, cancel := context.WithCancel(r.Context())
	late := time.AfterFunc(t.patience, cancel)
	res, err := t.base.RoundTrip(r.WithContext(ctx))
	if late.Stop() {
		if err != nil {
			cancel()
			return nil, err
		}
		res.Body = stream{res.Body, cancel}
		return res, nil
	}
	if err == nil {
		res.Body.Close() // it ends, or has ended
	}
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	return &http.Response{
		StatusCode: http.StatusMethodNotAllowed, Status: http.StatusText(http.StatusMethodNotAllowed), Proto: r.Proto, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: r,
	}, nil
}

// stream ends its request when it is closed.
type stream struct {
	io.ReadCloser
	end context.CancelFunc
}

// Close implements io.Closer.
func (s stream) Close() error {
	s.end()
	return s.ReadCloser.Close()
}
