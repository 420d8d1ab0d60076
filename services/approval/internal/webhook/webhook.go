// Package webhook sends events of approvals to receivers outside of Interlock, as signed
// JSON over HTTP.
package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/interlock-run/interlock/pkg/webhook"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// Config of the receivers.
type Config struct {
	// URLs of the receivers: https, or http on loopback.
	URLs []string
	// Secret that messages are signed with.
	Secret []byte
	// AllowHTTP allows http to anywhere, where the network itself is trusted.
	AllowHTTP bool
	// PublicURL is where people reach the gateway; empty for no links.
	PublicURL string
}

// Receivers are the addresses that messages are sent to. It is immutable.
type Receivers struct {
	names  []string
	urls   map[string]string // by name
	secret []byte
	public string
	client *http.Client
}

var _ app.Webhooks = (*Receivers)(nil)

// New makes receivers, or describes the problem with the configuration.
func New(cfg Config) (*Receivers, error) {
	r := &Receivers{urls: map[string]string{}, secret: cfg.Secret, client: client()}
	for _, text := range cfg.URLs {
		if err := checkReceiver(text, cfg.AllowHTTP); err != nil {
			return nil, err
		}
		if name := nameOf(text); r.urls[name] == "" {
			r.names, r.urls[name] = append(r.names, name), text
		}
	}
	if err := webhook.CheckSecret(cfg.Secret); err != nil {
		return nil, fmt.Errorf("%w: receivers trust any sender that has it, so use a long random one", err)
	}
	var err error
	r.public, err = publicBase(cfg.PublicURL)
	return r, err
}

// client does not follow redirects: a message goes where it was sent to, or nowhere.
func client() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// nameOf returns a receiver's name: it does not reveal the URL, which may hold a secret.
func nameOf(url string) string {
	sum := sha256.Sum256([]byte(url))
	return hex.EncodeToString(sum[:6])
}

// Receivers implements app.Webhooks.
func (r *Receivers) Receivers() []string { return slices.Clone(r.names) }

// Close frees the connections.
func (r *Receivers) Close() { r.client.CloseIdleConnections() }

// mostAnswer is how much of an answer is read, so that the connection can be used
// again.
const mostAnswer = 64 << 10

// Send implements app.Webhooks.
func (r *Receivers) Send(ctx context.Context, receiver string, n app.Notice) error {
	body, err := r.message(n)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.urls[receiver], bytes.NewReader(body))
	if err != nil {
		return hide(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "interlock-approval")
	webhook.Sign(req.Header, r.secret, n.ID, n.SentAt, body)
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
