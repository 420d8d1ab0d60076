package webhook_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/approval/internal/webhook"
)

// hostile is what an agent may write to be read as more than data: markup and mentions of chats, a
// secret, a character that reorders its surroundings, and lines that look like others.
const hostile = "<!channel> *ok* [x](https://evil.example) & <https://evil.example|Open> token=sk-live-0123456789abcdef \u202e\r\nwho decides: nobody"

func hostileNotice(t *testing.T) app.Notice {
	t.Helper()
	n := notice(t)
	a := *n.Record.Approval
	a.Message = hostile
	n.Record.Approval = &a
	return n
}

// post is what a channel has sent.
type post struct {
	path, contentType string
	header            http.Header
	body              string
}

// receiverOf returns the receivers of one channel over a fake of its service, and what that gets.
func receiverOf(t *testing.T, given func(url string) string) (*webhook.Receivers, <-chan post) {
	t.Helper()
	got := make(chan post, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		got <- post{req.URL.Path, req.Header.Get("Content-Type"), req.Header, string(body)}
	}))
	t.Cleanup(server.Close)
	r, err := webhook.New(webhook.Config{Notify: []string{given(server.URL)}, PublicURL: "https://interlock.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, got
}

// channelOf does so for the hostile notice, which it sends.
func channelOf(t *testing.T, given func(url string) string) (*webhook.Receivers, func() post) {
	t.Helper()
	r, got := receiverOf(t, given)
	return r, func() post {
		if err := r.Send(t.Context(), r.Receivers()[0], hostileNotice(t)); err != nil {
			t.Fatal(err)
		}
		return <-got
	}
}

// checkText: no channel shows a secret, a character that hides, or a line that an agent has begun.
func checkText(t *testing.T, p post) {
	t.Helper()
	for _, bad := range []string{"sk-live", "\u202e", `\u202e`, `\nwho decides: nobody`, "hidden"} {
		if strings.Contains(p.body, bad) {
			t.Errorf("the body has %q: %s", bad, p.body)
		}
	}
	if !strings.Contains(p.body, "https://interlock.example.com/ui/approvals/apr_1") {
		t.Errorf("the body has no link: %s", p.body)
	}
}

// decode demands that a body is JSON of exactly a type.
func decode(t *testing.T, body string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
}

type slackTextObject struct {
	Type  string
	Text  string
	Emoji *bool
}

// TestSlackWebhook: text of others is plain text, in which Slack finds nothing (S23.33).
func TestSlackWebhook(t *testing.T) {
	t.Parallel()
	_, send := channelOf(t, func(url string) string { return "slack:" + url + "/services/T/B/secret" })
	p := send()
	checkText(t, p)
	var m struct {
		Text   string
		Blocks []struct {
			Type string
			Text slackTextObject
		}
		UnfurlLinks bool `json:"unfurl_links"`
		UnfurlMedia bool `json:"unfurl_media"`
	}
	decode(t, p.body, &m)
	if p.path != "/services/T/B/secret" || p.contentType != "application/json" || len(m.Blocks) != 3 || strings.ContainsAny(m.Text, "<>") {
		t.Errorf("it has got %+v", p)
	}
	for i, b := range m.Blocks {
		if want := "plain_text"; i < 2 && b.Text.Type != want || len(b.Text.Text) > 3000 {
			t.Errorf("block %d is %+v", i, b)
		}
	}
	if m.Blocks[0].Type != "header" || len([]rune(m.Blocks[0].Text.Text)) > 150 || !strings.Contains(m.Blocks[1].Text.Text, "<!channel>") {
		t.Errorf("the blocks are %+v", m.Blocks)
	}
	if m.Blocks[2].Text.Text != "<https://interlock.example.com/ui/approvals/apr_1|Open the approval>" {
		t.Errorf("the link is %+v", m.Blocks[2])
	}
}

// TestTeams: an Adaptive Card whose texts have no markup, and whose only action opens the page.
func TestTeams(t *testing.T) {
	t.Parallel()
	_, send := channelOf(t, func(url string) string { return "teams:" + url + "/workflows/1" })
	p := send()
	checkText(t, p)
	var m struct {
		Type        string
		Attachments []struct {
			ContentType string
			ContentURL  *string `json:"contentUrl"`
			Content     struct {
				Schema  string `json:"$schema"`
				Type    string
				Version string
				Body    []struct {
					Type    string
					Inlines []struct{ Type, Text, Weight, Size string }
				}
				Actions []struct{ Type, Title, URL string }
			}
		}
	}
	decode(t, p.body, &m)
	if m.Type != "message" || len(m.Attachments) != 1 || m.Attachments[0].ContentType != "application/vnd.microsoft.card.adaptive" {
		t.Fatalf("it has got %s", p.body)
	}
	card := m.Attachments[0].Content
	if card.Type != "AdaptiveCard" || len(card.Actions) != 1 || card.Actions[0].Type != "Action.OpenUrl" || len(card.Body) < 3 {
		t.Errorf("the card is %+v", card)
	}
	for _, b := range card.Body {
		if b.Type != "RichTextBlock" || len(b.Inlines) != 1 || b.Inlines[0].Type != "TextRun" {
			t.Errorf("the card has %+v, whose text may have markup", b)
		}
	}
}

// TestNtfy: the actions only open the page, and no token is in the message: who subscribes to the topic has
// all of it.
func TestNtfy(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("tk_secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, send := channelOf(t, func(url string) string { return "ntfy:" + url + "/base/alerts#token=file:" + file })
	p := send()
	checkText(t, p)
	var m struct {
		Topic, Title, Message, Click string
		Priority                     int
		Actions                      []struct{ Action, Label, URL string }
	}
	decode(t, p.body, &m)
	if p.path != "/base/" || p.header.Get("Authorization") != "Bearer tk_secret" || strings.Contains(p.body, "tk_secret") {
		t.Errorf("it has got %+v", p)
	}
	if m.Topic != "alerts" || m.Priority != 4 || len(m.Actions) != 1 || m.Actions[0].Action != "view" || len(m.Message) > 4096 {
		t.Errorf("it has got %+v", m)
	}
}

// TestTemplate: a template has the words of the message, and quotes them itself.
func TestTemplate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "form.tmpl")
	if err := os.WriteFile(file, []byte(`{"summary": {{json .Title}}, "body": {{json .Text}}, "id": {{json .ID}}, "kind": {{json .Approval.kind}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, send := channelOf(t, func(url string) string { return "template:" + file + "#url=" + url + "/in" })
	p := send()
	checkText(t, p)
	var m struct{ Summary, Body, ID, Kind string }
	decode(t, p.body, &m)
	if m.Kind != "tool_call" || m.ID != "default.approval.apr_1.1.requested" || !strings.HasPrefix(m.Summary, "Approval wanted: call of") {
		t.Errorf("it has got %+v", m)
	}
}

// mailbox is a server of SMTP that keeps what it gets.
func mailbox(t *testing.T) (address string, got chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got = make(chan string, 10)
	var all sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); all.Wait() })
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { smtpSession(conn, got) })
		}
	})
	return listener.Addr().String(), got
}

func smtpSession(conn net.Conn, got chan string) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewScanner(conn)
	say := func(line string) { _, _ = io.WriteString(conn, line+"\r\n") }
	say("220 ready")
	var all strings.Builder
	for data := false; in.Scan(); {
		line := in.Text()
		switch {
		case data && line == ".":
			data = false
			got <- all.String()
			all.Reset()
			say("250 kept")
		case data:
			all.WriteString(line + "\n")
		case strings.HasPrefix(line, "DATA"):
			data = true
			say("354 go on")
		case strings.HasPrefix(line, "QUIT"):
			say("221 bye")
			return
		default:
			if strings.HasPrefix(line, "MAIL") || strings.HasPrefix(line, "RCPT") {
				all.WriteString("> " + line + "\n")
			}
			say("250 fine")
		}
	}
}

// TestMail: the words of an agent begin no header, and no line of the protocol.
func TestMail(t *testing.T) {
	t.Parallel()
	address, got := mailbox(t)
	r, err := webhook.New(webhook.Config{
		Notify:    []string{"smtp:" + address + "#from=interlock@example.com&to=ann@example.com,ben@example.com&tls=none"},
		PublicURL: "https://interlock.example.com",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := hostileNotice(t)
	if err := r.Send(t.Context(), r.Receivers()[0], n); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(strings.ReplaceAll(<-got, "=\n", ""), "=3D", "=")
	checkText(t, post{body: text})
	for _, want := range []string{
		"> RCPT TO:<ann@example.com>", "> RCPT TO:<ben@example.com>", "Subject: Approval wanted: call of", "Auto-Submitted: auto-generated",
		"A reply to this message is not a decision.", "Content-Type: text/plain",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the mail has no %q: %s", want, text)
		}
	}
	if strings.Contains(text, "\nwho decides: nobody") {
		t.Errorf("an agent has written a line: %s", text)
	}
}

// TestChannels: what is wrong with a channel is said at the start, and no part of an address that may be secret (S23.34)
// is said.
func TestChannels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct{ given, want string }{
		"unknown":        {"irc:https://h.example.com/sEcret", "slack:URL"},
		"no kind":        {"https://h.example.com/sEcret", "slack:URL"},
		"no address":     {"slack:", "no address"},
		"in the clear":   {"slack:http://h.example.com/sEcret", "https"},
		"a missing file": {"slack:file:" + dir + "/none", "no such file"},
		"a missing name": {"teams:env:INTERLOCK_TEST_NOT_SET", "no variable"},
		"unknown word":   {"slack:https://h.example.com/sEcret#chanel=x", "has no word"},
		"unknown event":  {"slack:https://h.example.com/sEcret#event=asked", "requested"},
		"unknown kind":   {"slack:https://h.example.com/sEcret#kind=call", "tool_call"},
		"pattern":        {"slack:https://h.example.com/sEcret#workflow=[", "no pattern"},
		"quiet":          {"slack:https://h.example.com/sEcret#quiet=22-7", "22:00-07:00"},
		"quiet all day":  {"slack:https://h.example.com/sEcret#quiet=07:00-07:00", "22:00-07:00"},
		"zone":           {"slack:https://h.example.com/sEcret#quiet=22:00-07:00&zone=Berlin", "time zone"},
		"zone for what":  {"slack:https://h.example.com/sEcret#zone=UTC", "missing"},
		"remind":         {"slack:https://h.example.com/sEcret#remind=1s", "1m0s"},
		"no topic":       {"ntfy:https://ntfy.example.com/", "topic"},
		"mail to nobody": {"smtp:mail.example.com:587#from=a@example.com", "to="},
		"mail in clear":  {"smtp:mail.example.com:587#from=a@example.com&to=b@example.com&tls=none", "encrypted"},
		"password clear": {"smtp:127.0.0.1:587#from=a@example.com&to=b@example.com&tls=none&user=u&password=sEcret", "without TLS"},
		"mail header":    {"smtp:mail.example.com:587#from=a@example.com&to=b@example.com%0d%0aBcc:c@example.com", "to="},
		"mail path":      {"smtp:https://mail.example.com#from=a@example.com&to=b@example.com", "host and a port"},
		"template of no": {"template:" + dir + "/none#url=https://h.example.com/", "no such file"},
		"template to no": {"template:" + dir + "/none", "url=URL"},
		"empty":          {"", "slack:URL"},
		"white space":    {" \n", "slack:URL"},
		"bad second":     {"slack:https://h.example.com/x\nirc:here", "slack:URL"},
		"good lines":     {"slack:https://h.example.com/x\nntfy:https://h.example.com/topic\n", ""},
		"good slack":     {"slack:https://hooks.slack.com/services/T/B/x#role=approver&person=ann&remind=1h", ""},
		"good quiet":     {"teams:https://h.example.com/x#quiet=22:00-07:00&zone=Europe/Berlin&event=requested,escalated", ""},
		"good mail":      {"smtp:mail.example.com:587#from=a@example.com&to=b@example.com&user=u&password=sEcret", ""},
	} {
		_, err := webhook.New(webhook.Config{Notify: []string{tc.given}})
		switch {
		case tc.want == "" && err != nil, tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		case err != nil && strings.Contains(err.Error(), "sEcret"):
			t.Errorf("%s: the error shows a secret: %v", name, err)
		}
	}
}

// TestRoutes: who is told of what (S23.30).
func TestRoutes(t *testing.T) {
	t.Parallel()
	n := notice(t) // a call, which the role approver decides
	now := n.At
	for name, tc := range map[string]struct {
		given string
		event string
		want  bool
	}{
		"all":                       {"https://h.example.com/", consent.EventVoted, true},
		"people":                    {"slack:https://h.example.com/", consent.EventRequested, true},
		"chatter":                   {"slack:https://h.example.com/", consent.EventVoted, false},
		"chatter that is asked for": {"slack:https://h.example.com/#event=voted,used", consent.EventVoted, true},
		"only that":                 {"slack:https://h.example.com/#event=voted,used", consent.EventGranted, false},
		"kind":                      {"https://h.example.com/#kind=tool_call", consent.EventUsed, true},
		"other kind":                {"https://h.example.com/#kind=transition,process_step", consent.EventUsed, false},
		"role":                      {"https://h.example.com/#role=approver", consent.EventUsed, true},
		"other role":                {"https://h.example.com/#role=operator", consent.EventUsed, false},
		"person":                    {"https://h.example.com/#person=kim", consent.EventUsed, false},
		"role or person":            {"https://h.example.com/#person=kim&role=approver", consent.EventUsed, true},
		"workflow":                  {"https://h.example.com/#workflow=deploy*", consent.EventUsed, false},
		"namespace":                 {"https://h.example.com/#namespace=def*", consent.EventUsed, true},
		"all must hold":             {"https://h.example.com/#namespace=default&kind=transition", consent.EventUsed, false},
	} {
		cfg := webhook.Config{Secret: secret}
		if strings.HasPrefix(tc.given, "https:") {
			cfg.URLs = []string{tc.given}
		} else {
			cfg.Notify = []string{tc.given}
		}
		r, err := webhook.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if plan := r.Plan(r.Receivers()[0], n.Record, tc.event, now); plan.Takes != tc.want {
			t.Errorf("%s: it is told of %s: %v", name, tc.event, plan)
		}
	}
	// Two routes to one receiver are one receiver.
	r, err := webhook.New(webhook.Config{Secret: secret, URLs: []string{"https://h.example.com/#kind=transition", "https://h.example.com/#kind=tool_call"}})
	if err != nil || len(r.Receivers()) != 1 || !r.Plan(r.Receivers()[0], n.Record, consent.EventUsed, now).Takes {
		t.Errorf("%v", err)
	}
}

// TestQuiet: the night ends in the morning of the zone, and not for what has escalated.
func TestQuiet(t *testing.T) {
	t.Parallel()
	n := notice(t)
	at := func(text string) time.Time {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	for _, tc := range []struct{ words, now, want string }{
		{"quiet=22:00-07:00&zone=Europe/Berlin", "2026-01-01T21:30:00+01:00", ""},
		{"quiet=22:00-07:00&zone=Europe/Berlin", "2026-01-01T22:00:00+01:00", "2026-01-02T07:00:00+01:00"},
		{"quiet=22:00-07:00&zone=Europe/Berlin", "2026-01-02T06:59:59+01:00", "2026-01-02T07:00:00+01:00"},
		{"quiet=22:00-07:00&zone=Europe/Berlin", "2026-01-02T07:00:00+01:00", ""},
		{"quiet=22:00-07:00&zone=Europe/Berlin", "2026-03-28T23:00:00+01:00", "2026-03-29T07:00:00+02:00"},
		{"quiet=12:00-13:00", "2026-01-01T12:30:00Z", "2026-01-01T13:00:00Z"},
		{"quiet=12:00-13:00", "2026-01-01T13:30:00Z", ""},
	} {
		r, err := webhook.New(webhook.Config{Notify: []string{"slack:https://h.example.com/#" + tc.words}})
		if err != nil {
			t.Fatal(err)
		}
		plan := func(escalated bool) time.Time {
			a := *n.Record.Approval
			a.Escalated = escalated
			return r.Plan(r.Receivers()[0], &app.Record{Approval: &a, Namespace: "default"}, consent.EventRequested, at(tc.now)).NotBefore
		}
		got, want := plan(false), time.Time{}
		if tc.want != "" {
			want = at(tc.want)
		}
		if !got.Equal(want) || !plan(true).IsZero() {
			t.Errorf("%s at %s: %s, and escalated %s", tc.words, tc.now, got, plan(true))
		}
	}
}

// TestRefusedByAChannel: an answer that is no success is an error without the address.
func TestRefusedByAChannel(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }))
	defer server.Close()
	for _, given := range []string{"slack:" + server.URL + "/sEcret", "ntfy:http://127.0.0.1:1/sEcret", "teams:" + server.URL + "/sEcret"} {
		r, err := webhook.New(webhook.Config{Notify: []string{given}})
		if err != nil {
			t.Fatal(err)
		}
		err = r.Send(context.Background(), r.Receivers()[0], notice(t))
		if err == nil || strings.Contains(err.Error(), "sEcret") {
			t.Errorf("%s: %v", given, err)
		}
		if shown := r.Shown(r.Receivers()[0]); strings.Contains(shown, "sEcret") {
			t.Errorf("it is shown as %s", shown)
		}
	}
}
