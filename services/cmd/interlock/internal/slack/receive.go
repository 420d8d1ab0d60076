package slack

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Handler takes the requests of Slack at any path. GET makes no decision: a program that unfurls or
// scans a link gets 405.
func (r *Relay) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "only Slack posts here", http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
			return
		}
		if err != nil {
			http.Error(w, "the request is not whole", http.StatusBadRequest)
			return
		}
		// The bytes are verified before anything reads them.
		if !r.verify(req.Header, body) {
			r.Log.LogAttrs(req.Context(), slog.LevelWarn, "a request that Slack has not signed, or not just now, was refused")
			http.Error(w, "the signature is not Slack's, or it is old", http.StatusUnauthorized)
			return
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			http.Error(w, "the request is no form", http.StatusBadRequest)
			return
		}
		if !r.take([]byte(form.Get("payload"))) {
			http.Error(w, "the request is not of this app and team, or there are too many", http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusOK) // within three seconds: the work comes after
	})
}

// verify reports that Slack has signed these bytes in the last minutes.
func (r *Relay) verify(header http.Header, body []byte) bool {
	stamp := header.Get("X-Slack-Request-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || r.SigningSecret == "" || r.Clock().Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, []byte(r.SigningSecret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	want := "v0=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(want), []byte(header.Get("X-Slack-Signature")))
}

// interaction is a click, or a modal that was sent.
type interaction struct {
	Type  string `json:"type"`
	App   string `json:"api_app_id"`
	Team  team   `json:"team"`
	User  user   `json:"user"`
	Token string `json:"trigger_id"`

	Channel   struct{ ID string }
	Container struct {
		Stamp   string `json:"message_ts"`
		Channel string `json:"channel_id"`
	} `json:"container"`
	Actions []struct {
		ID    string `json:"action_id"`
		Value string `json:"value"`
		Stamp string `json:"action_ts"`
	} `json:"actions"`
	View struct {
		ID       string `json:"id"`
		Callback string `json:"callback_id"`
		About    string `json:"private_metadata"`
		State    struct {
			Values map[string]map[string]struct{ Value string } `json:"values"`
		} `json:"state"`
	} `json:"view"`
}

type team struct{ ID string }

type user struct {
	ID   string `json:"id"`
	Team string `json:"team_id"`
}

// take begins the work of an interaction; false when it is refused.
func (r *Relay) take(payload []byte) bool {
	var in interaction
	if len(payload) > maxBody || json.Unmarshal(payload, &in) != nil {
		return false
	}
	// A guest of another team has the identity of that team, which this relay does not speak for.
	if in.App != r.App || in.Team.ID != r.Team || in.User.ID == "" || in.User.Team != "" && in.User.Team != r.Team {
		r.Log.LogAttrs(r.life, slog.LevelWarn, "a click of another app or team was refused", slog.String("app", in.App), slog.String("team", in.Team.ID))
		return false
	}
	if !r.seen.first(in.key(), r.Clock()) {
		return true // Slack repeats a request that was not acknowledged in time
	}
	select {
	case r.seen.slots <- struct{}{}:
	default:
		r.seen.forget(in.key())
		return false
	}
	r.clicks.Go(func() {
		defer func() { <-r.seen.slots }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.life), clickTime)
		defer cancel()
		r.act(ctx, &in)
	})
	return true
}

// key returns the same for a repeated click.
func (in *interaction) key() string {
	text, err := json.Marshal([]any{in.Type, in.User, in.Container, in.Actions, in.View.ID})
	if err != nil {
		return in.Token
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// seen knows the clicks of the last minutes, so that one that comes again is not worked on again. The vote has a
// key too: this only saves work.
type seen struct {
	slots chan struct{}

	mu   sync.Mutex
	when map[string]time.Time
}

func newSeen() *seen {
	return &seen{slots: make(chan struct{}, mostClicks), when: map[string]time.Time{}}
}

func (s *seen) first(key string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for old, at := range s.when {
		if now.Sub(at) > 2*tolerance {
			delete(s.when, old)
		}
	}
	if _, known := s.when[key]; known {
		return false
	}
	s.when[key] = now
	return true
}

func (s *seen) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.when, key)
}
