package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"text/template"
	"time"

	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// object is a JSON object.
type object map[string]any

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// slackText escapes the three characters that begin markup of Slack.
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// openSlack sends to an incoming webhook of Slack: text for notifications, and blocks of plain text, in
// which Slack finds no markup, no mentions and no links.
func openSlack(r *Receivers, address string, _ map[string]string) (string, func(context.Context, app.Notice, text) error, error) {
	to, err := r.address(address)
	if err != nil {
		return "", nil, err
	}
	return to.Host, func(ctx context.Context, _ app.Notice, t text) error {
		plain := func(s string) object { return object{"type": "plain_text", "text": s, "emoji": false} }
		blocks := []object{
			{"type": "header", "text": plain(t.Title)},
			{"type": "section", "text": plain(strings.Join(t.Lines, "\n"))},
		}
		if t.Link != "" {
			blocks = append(blocks, object{"type": "section", "text": object{"type": "mrkdwn", "text": "<" + slackText.Replace(t.Link) + "|" + t.Open + ">"}})
		}
		body, err := encode(object{"text": slackText.Replace(t.Title), "blocks": blocks, "unfurl_links": false, "unfurl_media": false})
		if err != nil {
			return err
		}
		return r.post(ctx, to.String(), "application/json", body, nil)
	}, nil
}

// openTeams sends an Adaptive Card to a workflow of Microsoft Teams. Runs of text have no markup.
func openTeams(r *Receivers, address string, _ map[string]string) (string, func(context.Context, app.Notice, text) error, error) {
	to, err := r.address(address)
	if err != nil {
		return "", nil, err
	}
	return to.Host, func(ctx context.Context, _ app.Notice, t text) error {
		run := func(s, weight, size string) object {
			return object{"type": "RichTextBlock", "inlines": []object{{"type": "TextRun", "text": s, "weight": weight, "size": size}}}
		}
		content := []object{run(t.Title, "Bolder", "Medium")}
		for _, line := range t.Lines {
			content = append(content, run(line, "Default", "Default"))
		}
		card := object{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": content}
		if t.Link != "" {
			card["actions"] = []object{{"type": "Action.OpenUrl", "title": t.Open, "url": t.Link}}
		}
		body, err := encode(object{"type": "message", "attachments": []object{
			{"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card},
		}})
		if err != nil {
			return err
		}
		return r.post(ctx, to.String(), "application/json", body, nil)
	}, nil
}

// Priorities of ntfy.
const (
	ntfyHigh    = 4
	ntfyDefault = 3
)

// openNtfy publishes to a topic of ntfy. Its actions only open the page, because each subscriber of a topic
// has the whole messages.
func openNtfy(r *Receivers, address string, set map[string]string) (string, func(context.Context, app.Notice, text) error, error) {
	at, err := r.address(address)
	if err != nil {
		return "", nil, err
	}
	topic := path.Base(at.Path)
	if topic == "/" || topic == "." || at.RawQuery != "" {
		return "", nil, errors.New("the address needs a topic at its end, and no query: https://ntfy.sh/TOPIC")
	}
	header := http.Header{}
	if given := set["token"]; given != "" {
		token, err := secretText(given, r.read)
		if err != nil {
			return "", nil, err
		}
		header.Set("Authorization", "Bearer "+token)
	}
	root := *at
	root.Path, root.RawPath = strings.TrimSuffix(path.Dir(at.Path), "/")+"/", ""
	return at.Host, func(ctx context.Context, _ app.Notice, t text) error {
		m := object{"topic": topic, "title": t.Title, "message": strings.Join(t.Lines, "\n"), "priority": ntfyDefault}
		if t.Urgent {
			m["priority"] = ntfyHigh
		}
		if t.Link != "" {
			m["click"] = t.Link
			m["actions"] = []object{{"action": "view", "label": "Open", "url": t.Link}}
		}
		body, err := encode(m)
		if err != nil {
			return err
		}
		return r.post(ctx, root.String(), "application/json", body, header)
	}, nil
}

// templateData has the values of a template.
type templateData struct {
	// ID, Type and Time are those of the event.
	ID, Type  string
	Time      time.Time
	Namespace string
	Title     string
	Lines     []string
	Text      string
	Link      string
	Urgent    bool
	// Approval or Run is the member of a webhook's message; the other is nil.
	Approval, Run map[string]any
}

// openTemplate sends the output of a template.
func openTemplate(r *Receivers, file string, set map[string]string) (string, func(context.Context, app.Notice, text) error, error) {
	if set["url"] == "" {
		return "", nil, errors.New("it needs url=URL after the #, where the text is sent to")
	}
	to, err := r.address(set["url"])
	if err != nil {
		return "", nil, err
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return "", nil, err
	}
	made, err := template.New(path.Base(file)).Option("missingkey=error").Funcs(template.FuncMap{
		"json": func(v any) (string, error) {
			text, err := json.Marshal(v)
			return string(text), err
		},
		"query": url.QueryEscape,
	}).Parse(string(source))
	if err != nil {
		return "", nil, err
	}
	contentType := set["type"]
	if contentType == "" {
		contentType = "application/json"
	}
	return to.Host, func(ctx context.Context, n app.Notice, t text) error {
		data := templateData{
			ID: n.ID, Type: n.Type, Time: n.At, Namespace: n.Namespace, Title: t.Title, Lines: t.Lines, Text: t.String(), Link: t.Link, Urgent: t.Urgent,
		}
		message, err := r.message(n)
		if err != nil {
			return err
		}
		var whole struct{ Approval, Run map[string]any }
		if err := json.Unmarshal(message, &whole); err != nil {
			return err
		}
		data.Approval, data.Run = whole.Approval, whole.Run
		var body bytes.Buffer
		if err := made.Execute(&body, data); err != nil {
			return err
		}
		return r.post(ctx, to.String(), contentType, body.Bytes(), nil)
	}, nil
}
