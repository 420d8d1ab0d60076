package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/coder/websocket"
)

// envelope is a message of Socket Mode.
type envelope struct {
	Type    string          `json:"type"`
	ID      string          `json:"envelope_id"`
	Reason  string          `json:"reason"`
	Payload json.RawMessage `json:"payload"`
	Info    struct {
		App string `json:"app_id"`
	} `json:"connection_info"`
}

// listen takes clicks over Socket Mode until ctx ends.
func (r *Relay) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.socket(ctx)
		if ctx.Err() != nil {
			return
		}
		var limited *limitedError
		wait := r.Pause
		if errors.As(err, &limited) {
			wait = max(wait, limited.after)
		}
		r.Log.LogAttrs(ctx, slog.LevelInfo, "the connection to Slack has ended, and is opened again", slog.Any("cause", err))
		sleep(ctx, wait)
	}
}

// socket opens one connection, and takes its clicks until it ends.
func (r *Relay) socket(ctx context.Context) error {
	var opened struct {
		URL string `json:"url"`
	}
	if err := r.api.call(ctx, r.AppToken, "apps.connections.open", struct{}{}, &opened); err != nil {
		return err
	}
	to, err := url.Parse(opened.URL)
	if err != nil || to.Scheme != "wss" && (to.Scheme != "ws" || to.Hostname() != "127.0.0.1") {
		return errors.New("the address of the connection is not wss")
	}
	conn, resp, err := websocket.Dial(ctx, opened.URL, nil)
	if resp != nil && resp.Body != nil {
		defer func() { _ = resp.Body.Close() }()
	}
	if err != nil {
		return errors.New("the connection could not be opened") // its address is a secret
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(2 * maxBody)
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var m envelope
		if json.Unmarshal(text, &m) != nil {
			return errors.New("something came that is not JSON")
		}
		switch m.Type {
		case "hello":
			if m.Info.App != "" && m.Info.App != r.App {
				return fmt.Errorf("the token of the app is of the app %s, not of %s", m.Info.App, r.App)
			}
			r.Log.LogAttrs(ctx, slog.LevelInfo, "connected to Slack")
		case "disconnect":
			return fmt.Errorf("ended by Slack: %s", m.Reason)
		case "interactive":
			if !r.take(m.Payload) {
				continue // without an acknowledgement, Slack sends it again or shows that it failed
			}
			ack, err := json.Marshal(map[string]string{"envelope_id": m.ID})
			if err != nil {
				return err
			}
			if err := conn.Write(ctx, websocket.MessageText, ack); err != nil {
				return err
			}
		}
	}
}
