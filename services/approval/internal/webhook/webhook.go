// Package webhook sends events of approvals and runs to receivers outside of Interlock: to programs as signed
// JSON over HTTP, and to people over the channels that they read. It only
// informs: no message is a decision, and no answer is read.
package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/webhook"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/internal/redact"
	"github.com/interlock-run/interlock/services/internal/runnotice"
)

// Config of the receivers.
type Config struct {
	// URLs of the receivers of signed messages: https, or http on loopback, each with a route after a #.
	URLs []string
	// Notify are the channels that people read: slack:URL, teams:URL, ntfy:URL, smtp:HOST:PORT, template:FILE.
	Notify []string
	// Secret that messages are signed with.
	Secret []byte
	// AllowHTTP allows http to anywhere, where the network itself is trusted.
	AllowHTTP bool
	// PublicURL is where people reach the gateway; empty for no links.
	PublicURL string
	// Masks find the secrets in texts.
	Masks redact.Masks
	// Read reads a file with a secret.
	Read func(file string) ([]byte, error)
}

// Receivers are the addresses that messages are sent to. It is immutable.
type Receivers struct {
	targets   []*target
	secret    []byte
	public    string
	allowHTTP bool
	masks     redact.Masks
	read      func(file string) ([]byte, error)
	client    *http.Client
}

var _ app.Webhooks = (*Receivers)(nil)

// New makes receivers, or describes the problem with the configuration.
func New(cfg Config) (*Receivers, error) {
	r := &Receivers{secret: cfg.Secret, client: client(), allowHTTP: cfg.AllowHTTP, masks: cfg.Masks, read: cfg.Read}
	if r.read == nil {
		r.read = os.ReadFile
	}
	for _, text := range listed(cfg.URLs) {
		if err := r.signed(text); err != nil {
			return nil, err
		}
	}
	if len(cfg.URLs) > 0 || len(cfg.Secret) > 0 {
		if err := webhook.CheckSecret(cfg.Secret); err != nil {
			return nil, fmt.Errorf("%w: receivers trust any sender that has it, so use a long random one", err)
		}
	}
	for _, text := range listed(cfg.Notify) {
		if err := r.channel(text); err != nil {
			return nil, err
		}
	}
	var err error
	r.public, err = publicBase(cfg.PublicURL)
	return r, err
}

// listed returns each receiver of a list. A variable that is read from a file may have them in lines, and ends with one. An
// empty text stays, and is refused.
func listed(given []string) (all []string) {
	for _, text := range given {
		if words := strings.Fields(text); len(words) > 0 {
			all = append(all, words...)
			continue
		}
		all = append(all, text)
	}
	return all
}

// signed adds a receiver of signed messages.
func (r *Receivers) signed(given string) error {
	address, words, _ := strings.Cut(given, "#")
	if err := checkReceiver(address, r.allowHTTP); err != nil {
		return err
	}
	way, err := parseRoute(words)
	if err != nil {
		return err
	}
	name := nameOf(address)
	if t := r.target(name); t != nil {
		t.routes = append(t.routes, way)
		return nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return hide(err)
	}
	r.targets = append(r.targets, &target{name: name, shown: "webhook " + u.Host, routes: []route{way}, send: func(ctx context.Context, n app.Notice, _ text) error {
		body, err := r.message(n)
		if err != nil {
			return err
		}
		header := http.Header{}
		webhook.Sign(header, r.secret, n.ID, n.SentAt, body)
		return r.post(ctx, address, "application/json", body, header)
	}})
	return nil
}

// target returns the receiver of a name, or nil.
func (r *Receivers) target(name string) *target {
	for _, t := range r.targets {
		if t.name == name {
			return t
		}
	}
	return nil
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
func (r *Receivers) Receivers() []string {
	names := make([]string, len(r.targets))
	for i, t := range r.targets {
		names[i] = t.name
	}
	return names
}

// Shown names a receiver to a person, without its secrets.
func (r *Receivers) Shown(receiver string) string { return r.target(receiver).shown }

// Plan implements app.Webhooks. The first route that takes an event counts. An escalated approval does not
// wait for the end of quiet hours.
func (r *Receivers) Plan(receiver string, record *app.Record, event string, now time.Time) app.Plan {
	t := r.target(receiver)
	for i := range t.routes {
		way := &t.routes[i]
		if !way.takes(record, event, t.people) {
			continue
		}
		plan := app.Plan{Takes: true, Remind: way.remind}
		if !record.Escalated {
			plan.NotBefore = way.quiet.until(now)
		}
		return plan
	}
	return app.Plan{}
}

// PlanRun implements app.Webhooks.
func (r *Receivers) PlanRun(receiver, namespace string, n *runnotice.Notice, now time.Time) app.Plan {
	t := r.target(receiver)
	for i := range t.routes {
		if way := &t.routes[i]; way.takesRun(namespace, n, t.people) {
			return app.Plan{Takes: true, NotBefore: way.quiet.until(now)}
		}
	}
	return app.Plan{}
}

// HearRuns implements app.Webhooks.
func (r *Receivers) HearRuns() bool {
	return slices.ContainsFunc(r.targets, func(t *target) bool {
		return slices.ContainsFunc(t.routes, func(way route) bool { return way.runs() })
	})
}

// Ordered implements app.Webhooks.
func (r *Receivers) Ordered(receiver string) bool { return r.target(receiver).people }

// Close frees the connections.
func (r *Receivers) Close() { r.client.CloseIdleConnections() }

// mostAnswer is how much of an answer is read, so that the connection can be used
// again.
const mostAnswer = 64 << 10

// Send implements app.Webhooks.
func (r *Receivers) Send(ctx context.Context, receiver string, n app.Notice) error {
	return r.target(receiver).send(ctx, n, r.text(n))
}

func (r *Receivers) text(n app.Notice) text {
	if n.Run != nil {
		return runText(n.Run, r.masks, r.link("runs", n.Run.RunID))
	}
	return textOf(n, r.masks, r.link("approvals", n.Record.ID))
}

// link returns the page of an approval or a run; empty without a public URL.
func (r *Receivers) link(list, id string) string {
	if r.public == "" {
		return ""
	}
	return r.public + "/ui/" + list + "/" + url.PathEscape(id)
}
