// Package slack shows approvals in a channel of Slack, and passes on the decisions of people there: it is a
// relay. It makes no decision itself. Every vote is that of a person whom Interlock knows by the user of
// Slack that clicked.
//
// Two things are trusted: requests that Slack has signed, or sent over the connection that this program has
// opened, and the answers of Interlock. Text in approvals is an agent's, and is shown as plain text.
package slack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
)

// Config of the relay.
type Config struct {
	Approvals approvalv1.ApprovalServiceClient
	// API is the address of Slack's Web API.
	API string
	// BotToken calls it, and AppToken opens Socket Mode; without one, Slack's requests are verified by SigningSecret.
	BotToken, AppToken, SigningSecret string
	// Team and App are those whose requests count, and Channel is where approvals are shown.
	Team, App, Channel string
	// PublicURL is where people reach the console; empty for no links.
	PublicURL string
	// State is the file that knows which message shows which approval.
	State string
	// Clock is time.Now by default.
	Clock func() time.Time
	Log   *slog.Logger
	// Every is how often all is compared, for changes that were missed; 30 s by default.
	Every time.Duration
	// Pause is how long a failed call waits, at first; a second by default.
	Pause time.Duration
}

// Relay is a relay to one channel.
type Relay struct {
	Config
	api   *api
	state *state
	dirty chan string
	// clicks are the requests that are being worked on, and seen those of the last minutes.
	clicks sync.WaitGroup
	seen   *seen
	life   context.Context
	// showing is held while a message changes: its content is known after that.
	showing sync.Mutex
}

// Bounds of requests.
const (
	maxBody   = 64 << 10
	tolerance = 5 * time.Minute
	// clickTime is how long a click is worked on, after it was acknowledged.
	clickTime = 30 * time.Second
	// mostClicks are worked on at once.
	mostClicks = 64
)

// New checks the configuration against Slack, and reads the state.
func New(ctx context.Context, cfg Config) (*Relay, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Every == 0 {
		cfg.Every = 30 * time.Second
	}
	if cfg.Pause == 0 {
		cfg.Pause = time.Second
	}
	cfg.PublicURL = strings.TrimRight(cfg.PublicURL, "/")
	switch {
	case cfg.Team == "" || cfg.App == "" || cfg.Channel == "":
		return nil, errors.New("the team, the app and the channel must be given: requests of others are refused")
	case cfg.BotToken == "":
		return nil, errors.New("the token of the bot is empty")
	case (cfg.AppToken == "") == (cfg.SigningSecret == ""):
		return nil, errors.New("give the token of the app, for Socket Mode, or the signing secret, for requests over HTTP; not both")
	}
	r := &Relay{
		Config: cfg, api: &api{base: strings.TrimRight(cfg.API, "/") + "/", client: &http.Client{Timeout: 20 * time.Second}},
		dirty: make(chan string, 1024), seen: newSeen(), life: ctx,
	}
	var who struct {
		TeamID string `json:"team_id"`
	}
	if err := r.api.call(ctx, cfg.BotToken, "auth.test", struct{}{}, &who); err != nil {
		return nil, fmt.Errorf("the bot's token is not accepted: %w", err)
	}
	if who.TeamID != cfg.Team {
		return nil, fmt.Errorf("the bot's token is of the team %s, not of %s", who.TeamID, cfg.Team)
	}
	var err error
	r.state, err = openState(cfg.State)
	return r, err
}

// Run shows approvals until ctx ends. In Socket Mode it also takes clicks; else Handler does.
func (r *Relay) Run(ctx context.Context) error {
	r.life = ctx
	var all sync.WaitGroup
	all.Go(func() { r.watch(ctx) })
	all.Go(func() { r.compare(ctx) })
	if r.AppToken != "" {
		all.Go(func() { r.listen(ctx) })
	}
	r.work(ctx)
	all.Wait()
	r.clicks.Wait()
	return r.state.close()
}

// note marks an approval as changed. When many are, the comparison finds the rest.
func (r *Relay) note(id string) {
	select {
	case r.dirty <- id:
	default:
	}
}

// watch follows changes.
func (r *Relay) watch(ctx context.Context) {
	for ctx.Err() == nil {
		stream, err := r.Approvals.WatchApprovals(ctx, &approvalv1.WatchApprovalsRequest{})
		for err == nil {
			var changed *approvalv1.WatchApprovalsResponse
			if changed, err = stream.Recv(); err == nil {
				r.note(changed.GetApproval().GetApprovalId())
			}
		}
		r.Log.LogAttrs(ctx, slog.LevelDebug, "the watch over approvals has ended, and begins again", slog.Any("cause", err))
		sleep(ctx, r.Pause)
	}
}

// compare looks at all that wait, and at all that are shown and not final, now and then: changes may be missed.
func (r *Relay) compare(ctx context.Context) {
	for ctx.Err() == nil {
		if err := r.compareOnce(ctx); err != nil && ctx.Err() == nil {
			r.Log.LogAttrs(ctx, slog.LevelWarn, "approvals cannot be read, and are read again later", slog.Any("cause", err))
		}
		sleep(ctx, r.Every)
	}
}

func (r *Relay) compareOnce(ctx context.Context) error {
	for _, id := range r.state.open() {
		r.note(id)
	}
	token := ""
	for {
		page, err := r.Approvals.ListApprovals(ctx, &approvalv1.ListApprovalsRequest{Filter: "status=PENDING", PageSize: 100, PageToken: token})
		if err != nil {
			return err
		}
		for _, a := range page.GetApprovals() {
			r.note(a.GetApprovalId())
		}
		if token = page.GetNextPageToken(); token == "" {
			r.state.prune(r.Clock())
			return nil
		}
	}
}

// work shows changed approvals, one after the other: so the newest is shown last.
func (r *Relay) work(ctx context.Context) {
	pause := r.Pause
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-r.dirty:
			err := r.show(ctx, id)
			if err == nil {
				pause = r.Pause
				continue
			}
			if ctx.Err() != nil {
				return
			}
			wait := pause
			var limited *limitedError
			if errors.As(err, &limited) {
				wait = max(limited.after, wait)
			}
			r.Log.LogAttrs(ctx, slog.LevelWarn, "an approval could not be shown in Slack, and is tried again",
				slog.String("approval_id", id), slog.Any("cause", err), slog.Duration("after", wait))
			sleep(ctx, wait)
			pause = min(2*pause, time.Minute)
			r.note(id)
		}
	}
}

// show makes the message of an approval say how it stands.
func (r *Relay) show(ctx context.Context, id string) error {
	r.showing.Lock()
	defer r.showing.Unlock()
	got, err := r.Approvals.GetApproval(ctx, &approvalv1.GetApprovalRequest{ApprovalId: id})
	if err != nil {
		if gone(err) {
			return r.state.drop(id)
		}
		return err
	}
	a := got.GetApproval()
	p, known := r.state.get(id)
	final := a.GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING
	face := fingerprint(a)
	switch {
	case !known && final:
		return nil // it was never shown here
	case known && p.Stamp != "" && p.Face == face:
		return nil
	case known && p.Stamp == "":
		// This program has ended while it posted: the message may be there.
		stamp, err := r.find(ctx, id, p.Begun)
		if err != nil {
			return err
		}
		p.Stamp = stamp
	}
	if p.Stamp == "" {
		return r.post(ctx, a, face)
	}
	err = r.api.call(ctx, r.BotToken, "chat.update", r.message(a, p.Stamp), nil)
	var refused *refusedError
	if errors.As(err, &refused) && (refused.code == "message_not_found" || refused.code == "cant_update_message") {
		if err := r.state.drop(id); err != nil || final {
			return err
		}
		return r.post(ctx, a, face) // a person has deleted it, and it still waits
	}
	if err != nil {
		return err
	}
	return r.state.put(id, pair{Channel: r.Channel, Stamp: p.Stamp, Digest: a.GetDigest(), Face: face, Final: final, Changed: r.Clock()})
}

// post shows an approval for the first time. It is noted before, so that a restart looks for the message.
func (r *Relay) post(ctx context.Context, a *approvalv1.Approval, face string) error {
	id := a.GetApprovalId()
	if err := r.state.put(id, pair{Channel: r.Channel, Begun: r.Clock(), Changed: r.Clock()}); err != nil {
		return err
	}
	var posted struct {
		Stamp string `json:"ts"`
	}
	if err := r.api.call(ctx, r.BotToken, "chat.postMessage", r.message(a, ""), &posted); err != nil {
		var refused *refusedError
		var limited *limitedError
		if errors.As(err, &refused) || errors.As(err, &limited) { // Slack has not taken it
			return errors.Join(err, r.state.drop(id))
		}
		return err
	}
	return r.state.put(id, pair{
		Channel: r.Channel, Stamp: posted.Stamp, Digest: a.GetDigest(), Face: face,
		Final: a.GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING, Changed: r.Clock(),
	})
}

// find returns the message that shows an approval and was posted since a time; empty for none.
func (r *Relay) find(ctx context.Context, id string, since time.Time) (string, error) {
	var page struct {
		Messages []struct {
			Stamp    string `json:"ts"`
			Metadata struct {
				Type    string            `json:"event_type"`
				Payload map[string]string `json:"event_payload"`
			} `json:"metadata"`
		} `json:"messages"`
	}
	err := r.api.call(ctx, r.BotToken, "conversations.history", map[string]any{
		"channel": r.Channel, "include_all_metadata": true, "limit": 200, "oldest": fmt.Sprintf("%d", since.Add(-time.Minute).Unix()),
	}, &page)
	var refused *refusedError
	if errors.As(err, &refused) && refused.code == "missing_scope" {
		r.Log.LogAttrs(ctx, slog.LevelWarn, "without the scope channels:history it is not known whether a message was posted before this program ended; it is posted again",
			slog.String("approval_id", id))
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, m := range page.Messages {
		if m.Metadata.Type == metadataType && m.Metadata.Payload["approval_id"] == id {
			return m.Stamp, nil
		}
	}
	return "", nil
}

// fingerprint returns the same for approvals that are shown in the same way.
func fingerprint(a *approvalv1.Approval) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s %t %s", a.GetVersion(), a.GetStatus(), a.GetDigest(), a.GetYou().GetMayDecide(), a.GetYou().GetReason()))
	return hex.EncodeToString(sum[:12])
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
