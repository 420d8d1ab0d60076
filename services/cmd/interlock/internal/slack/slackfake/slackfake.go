// Package slackfake is a server that behaves as Slack's Web API, Socket Mode and interactions are published, for
// tests.
package slackfake

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// The credentials and ids of the fake.
const (
	BotToken = "xoxb-fake"
	AppToken = "xapp-fake"
	Secret   = "8f742231b10e8888abcd99yyyzzz85a5"
	Team     = "T01"
	App      = "A01"
	Channel  = "C01"
	Bot      = "U99"
	Ann      = "U02"
)

// Message is one in the channel.
type Message struct {
	Stamp    string          `json:"ts"`
	Text     string          `json:"text"`
	Blocks   []Block         `json:"blocks"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	User     string          `json:"user"`
	Type     string          `json:"type"`
	// Edits counts its changes.
	Edits int `json:"-"`
}

// Block is one of Block Kit.
type Block struct {
	Type     string    `json:"type"`
	ID       string    `json:"block_id,omitempty"`
	Text     *Text     `json:"text,omitempty"`
	Elements []Element `json:"elements,omitempty"`
	Element  *Element  `json:"element,omitempty"`
	Label    *Text     `json:"label,omitempty"`
	Optional bool      `json:"optional,omitempty"`
}

// Text is a text object.
type Text struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Emoji *bool  `json:"emoji,omitempty"`
}

// Element is a button or a field.
type Element struct {
	Type      string `json:"type"`
	Action    string `json:"action_id"`
	Style     string `json:"style,omitempty"`
	Text      *Text  `json:"text,omitempty"`
	Value     string `json:"value,omitempty"`
	URL       string `json:"url,omitempty"`
	Multiline bool   `json:"multiline,omitempty"`
	Most      int    `json:"max_length,omitempty"`
}

// Whisper is a message to one person.
type Whisper struct{ User, Text string }

// Server is the fake.
type Server struct {
	*httptest.Server

	mu       sync.Mutex
	clock    int64
	messages []*Message
	views    []map[string]any
	whispers []Whisper
	// fail answers a method once with something else; 429 is a limit.
	fail    map[string][]string
	problem error
	changed chan struct{}
	conn    *websocket.Conn
	acks    map[string]bool
}

// New starts a fake.
func New() *Server {
	s := &Server{clock: 1_700_000_000, fail: map[string][]string{}, changed: make(chan struct{}), acks: map[string]bool{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Start()
	return s
}

// API returns the address of its Web API.
func (s *Server) API() string { return s.URL + "/api/" }

// Fail makes the next call of a method answer an error. "429" is too many calls, "hang up" takes the message
// and closes the connection without an answer.
func (s *Server) Fail(method, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[method] = append(s.fail[method], code)
}

// Problem returns the first difference from the published interface; nil if there is none.
func (s *Server) Problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem
}

// Wait returns when the condition holds, or with ctx.
func (s *Server) Wait(ctx context.Context, what func(messages []Message, whispers []Whisper, views []map[string]any) bool) error {
	for {
		s.mu.Lock()
		copies := make([]Message, len(s.messages))
		for i, m := range s.messages {
			copies[i] = *m
		}
		done, changed := what(copies, append([]Whisper(nil), s.whispers...), append([]map[string]any(nil), s.views...)), s.changed
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("slackfake: it did not happen; the messages are %+v, the whispers %+v", copies, s.whispers)
		}
	}
}

// Messages returns those in the channel.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	copies := make([]Message, len(s.messages))
	for i, m := range s.messages {
		copies[i] = *m
	}
	return copies
}

// Delete deletes a message, as people can.
func (s *Server) Delete(stamp string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range s.messages {
		if m.Stamp == stamp {
			s.messages = append(s.messages[:i:i], s.messages[i+1:]...)
			return
		}
	}
}

func (s *Server) wrong(format string, args ...any) string {
	if s.problem == nil {
		s.problem = fmt.Errorf(format, args...)
	}
	return "invalid_arguments"
}

func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) serve(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path == "/link" {
		s.socket(w, req)
		return
	}
	method, ok := strings.CutPrefix(req.URL.Path, "/api/")
	if !ok || req.Method != http.MethodPost {
		http.NotFound(w, req)
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	token, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	args, err := arguments(req.Header.Get("Content-Type"), body)
	if err != nil {
		s.answer(w, map[string]any{"ok": false, "error": s.wrong("%s: %v", method, err)})
		return
	}
	hangUp := false
	if queue := s.fail[method]; len(queue) > 0 {
		s.fail[method] = queue[1:]
		switch queue[0] {
		case "429":
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		case "hang up":
			hangUp = true
		default:
			s.answer(w, map[string]any{"ok": false, "error": queue[0]})
			return
		}
	}
	out := s.call(method, token, args)
	s.wake()
	if hangUp {
		panic(http.ErrAbortHandler)
	}
	s.answer(w, out)
}

func (s *Server) answer(w http.ResponseWriter, out map[string]any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(out)
}

// arguments reads JSON, or a form whose structured values are JSON, as Slack does.
func arguments(contentType string, body []byte) (map[string]json.RawMessage, error) {
	args := map[string]json.RawMessage{}
	if strings.HasPrefix(contentType, "application/json") {
		return args, json.Unmarshal(body, &args)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	for name := range form {
		value := form.Get(name)
		if structured := strings.HasPrefix(value, "[") || strings.HasPrefix(value, "{") || value == "true" || value == "false"; structured && json.Valid([]byte(value)) {
			args[name] = json.RawMessage(value)
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		args[name] = text
	}
	return args, nil
}

func text(args map[string]json.RawMessage, name string) string {
	var s string
	_ = json.Unmarshal(args[name], &s)
	return s
}

func (s *Server) call(method, token string, args map[string]json.RawMessage) map[string]any {
	refuse := func(code string) map[string]any { return map[string]any{"ok": false, "error": code} }
	want := BotToken
	if method == "apps.connections.open" {
		want = AppToken
	}
	if token != want {
		return refuse("invalid_auth")
	}
	if channel := text(args, "channel"); strings.HasPrefix(method, "chat.") || strings.HasPrefix(method, "conversations.") {
		if channel != Channel {
			return refuse("channel_not_found")
		}
	}
	switch method {
	case "auth.test":
		return map[string]any{"ok": true, "url": "https://fake.slack.com/", "team": "Fake", "team_id": Team, "user": "interlock", "user_id": Bot, "bot_id": "B01"}
	case "chat.postMessage", "chat.update":
		return s.message(method, args)
	case "chat.postEphemeral":
		s.whispers = append(s.whispers, Whisper{text(args, "user"), text(args, "text")})
		return map[string]any{"ok": true, "message_ts": s.stamp()}
	case "views.open":
		return s.view(args)
	case "conversations.history":
		var list []*Message
		for _, m := range s.messages {
			list = append([]*Message{m}, list...)
		}
		return map[string]any{"ok": true, "messages": list, "has_more": false}
	case "apps.connections.open":
		return map[string]any{"ok": true, "url": "ws" + strings.TrimPrefix(s.URL, "http") + "/link?ticket=1"}
	default:
		return refuse("unknown_method")
	}
}

func (s *Server) stamp() string {
	s.clock++
	return fmt.Sprintf("%d.000100", s.clock)
}

func (s *Server) message(method string, args map[string]json.RawMessage) map[string]any {
	var blocks []Block
	if raw := args["blocks"]; raw != nil {
		if err := json.Unmarshal(raw, &blocks); err != nil {
			return map[string]any{"ok": false, "error": s.wrong("blocks: %v", err)}
		}
	}
	if code := s.checkBlocks(blocks); code != "" {
		return map[string]any{"ok": false, "error": code}
	}
	if text(args, "text") == "" && len(blocks) == 0 {
		return map[string]any{"ok": false, "error": "no_text"}
	}
	if method == "chat.update" {
		for _, m := range s.messages {
			if m.Stamp == text(args, "ts") {
				m.Text, m.Blocks = text(args, "text"), blocks
				m.Edits++
				return map[string]any{"ok": true, "channel": Channel, "ts": m.Stamp, "text": m.Text, "message": m}
			}
		}
		return map[string]any{"ok": false, "error": "message_not_found"}
	}
	m := &Message{Stamp: s.stamp(), Text: text(args, "text"), Blocks: blocks, Metadata: args["metadata"], User: Bot, Type: "message"}
	s.messages = append(s.messages, m)
	return map[string]any{"ok": true, "channel": Channel, "ts": m.Stamp, "message": m}
}

// checkBlocks holds blocks to the published limits.
func (s *Server) checkBlocks(blocks []Block) string {
	fail := func(format string, args ...any) string {
		s.wrong(format, args...)
		return "invalid_blocks"
	}
	if len(blocks) > 50 {
		return fail("%d blocks", len(blocks))
	}
	for i, b := range blocks {
		limits := map[string]int{"header": 150, "section": 3000}
		switch b.Type {
		case "header", "section":
			if b.Text == nil || b.Text.Text == "" || len([]rune(b.Text.Text)) > limits[b.Type] || b.Type == "header" && b.Text.Type != "plain_text" {
				return fail("block %d is %+v", i, b)
			}
		case "actions":
			if len(b.Elements) == 0 || len(b.Elements) > 25 {
				return fail("block %d has %d elements", i, len(b.Elements))
			}
			seen := map[string]bool{}
			for _, e := range b.Elements {
				if e.Type != "button" || e.Text == nil || e.Text.Type != "plain_text" || len([]rune(e.Text.Text)) > 75 || len(e.Value) > 2000 || len(e.URL) > 3000 ||
					e.Action == "" || len(e.Action) > 255 || seen[e.Action] || e.Style != "" && e.Style != "primary" && e.Style != "danger" {
					return fail("the element %+v of block %d", e, i)
				}
				seen[e.Action] = true
			}
		default:
			return fail("block %d has the type %q", i, b.Type)
		}
	}
	return ""
}

func (s *Server) view(args map[string]json.RawMessage) map[string]any {
	var view map[string]any
	if err := json.Unmarshal(args["view"], &view); err != nil {
		return map[string]any{"ok": false, "error": s.wrong("view: %v", err)}
	}
	about, _ := view["private_metadata"].(string)
	title, _ := view["title"].(map[string]any)
	name, _ := title["text"].(string)
	if text(args, "trigger_id") == "" || view["type"] != "modal" || len(about) > 3000 || len([]rune(name)) > 24 || view["submit"] == nil {
		return map[string]any{"ok": false, "error": s.wrong("view %v", view)}
	}
	s.clock++
	view["id"] = fmt.Sprintf("V%d", s.clock)
	s.views = append(s.views, view)
	return map[string]any{"ok": true, "view": view}
}

// Click returns the interaction of a click on a button of a message.
func Click(m Message, action, user string) map[string]any {
	value := ""
	for _, b := range m.Blocks {
		for _, e := range b.Elements {
			if e.Action == action {
				value = e.Value
			}
		}
	}
	now := time.Now()
	return map[string]any{
		"type": "block_actions", "api_app_id": App, "team": map[string]any{"id": Team, "domain": "fake"},
		"user": map[string]any{"id": user, "username": "ann", "name": "ann", "team_id": Team}, "trigger_id": "1.2." + m.Stamp,
		"container": map[string]any{"type": "message", "message_ts": m.Stamp, "channel_id": Channel, "is_ephemeral": false},
		"channel":   map[string]any{"id": Channel, "name": "approvals"}, "response_url": "https://hooks.slack.com/actions/T01/1/x",
		"message": map[string]any{"type": "message", "ts": m.Stamp, "text": m.Text},
		"actions": []any{map[string]any{
			"action_id": action, "block_id": "decide", "type": "button", "value": value, "action_ts": fmt.Sprintf("%d.%06d", now.Unix(), now.Nanosecond()/1000),
		}},
	}
}

// Submit sends a modal with a note.
func Submit(view map[string]any, note, user string) map[string]any {
	filled := map[string]any{
		"id": view["id"], "type": "modal", "callback_id": view["callback_id"], "private_metadata": view["private_metadata"],
		"state": map[string]any{"values": map[string]any{"note": map[string]any{"note": map[string]any{"type": "plain_text_input", "value": note}}}},
	}
	return map[string]any{
		"type": "view_submission", "api_app_id": App, "team": map[string]any{"id": Team, "domain": "fake"},
		"user": map[string]any{"id": user, "name": "ann", "team_id": Team}, "view": filled,
	}
}

// Request returns a signed request with an interaction, as Slack sends it.
func Request(ctx context.Context, to string, payload map[string]any, at time.Time) (*http.Request, error) {
	encoded, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	body := url.Values{"payload": {string(encoded)}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	stamp := fmt.Sprintf("%d", at.Unix())
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("X-Slack-Request-Timestamp", stamp)
	req.Header.Set("X-Slack-Signature", Sign(Secret, stamp, body))
	return req, nil
}

// Sign returns the signature of a body.
func Sign(secret, stamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":" + body))
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// socket serves Socket Mode.
func (s *Server) socket(w http.ResponseWriter, req *http.Request) {
	conn, err := websocket.Accept(w, req, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	ctx := req.Context()
	hello := `{"type":"hello","num_connections":1,"debug_info":{"host":"fake"},"connection_info":{"app_id":"` + App + `"}}`
	if conn.Write(ctx, websocket.MessageText, []byte(hello)) != nil {
		return
	}
	s.mu.Lock()
	s.conn = conn
	s.wake()
	s.mu.Unlock()
	for {
		_, body, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var ack struct {
			ID string `json:"envelope_id"`
		}
		if json.Unmarshal(body, &ack) == nil {
			s.mu.Lock()
			s.acks[ack.ID] = true
			s.wake()
			s.mu.Unlock()
		}
	}
}

// Connected reports that a client of Socket Mode is there; for the function of Wait.
func (s *Server) Connected() bool { return s.conn != nil }

// Acked reports that an envelope was acknowledged; for the function of Wait.
func (s *Server) Acked(id string) bool { return s.acks[id] }

// Push sends an interaction over Socket Mode.
func (s *Server) Push(ctx context.Context, id string, payload map[string]any) error {
	body, err := json.Marshal(map[string]any{"envelope_id": id, "type": "interactive", "accepts_response_payload": true, "payload": payload})
	if err != nil {
		return err
	}
	s.mu.Lock()
	conn := s.conn
	s.mu.Unlock()
	return conn.Write(ctx, websocket.MessageText, body)
}

// HangUp asks the client of Socket Mode to connect anew.
func (s *Server) HangUp(ctx context.Context) error {
	s.mu.Lock()
	conn := s.conn
	s.conn = nil
	s.mu.Unlock()
	return conn.Write(ctx, websocket.MessageText, []byte(`{"type":"disconnect","reason":"refresh_requested"}`))
}
