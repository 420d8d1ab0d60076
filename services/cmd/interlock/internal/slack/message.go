package slack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/visible"
)

// The ids of buttons and forms.
const (
	actionApprove = "interlock_approve"
	actionReject  = "interlock_reject"
	actionOpen    = "interlock_open"
	viewReject    = "interlock_reject_note"
	blockNote     = "note"
	metadataType  = "interlock_approval"
)

// Bounds of texts, in characters. Slack's are 150 for a header and 3000 for a section.
const (
	mostTitle = 140
	mostText  = 600
	mostData  = 1500
	mostNote  = 1000
)

type object map[string]any

// show returns text of others as it looks, on one line.
func show(s string, most int) string {
	return clip(visible.Text(strings.Join(strings.Fields(s), " "), false), most)
}

func clip(s string, most int) string {
	letters := []rune(s)
	if len(letters) <= most {
		return s
	}
	return string(letters[:most-1]) + "…"
}

// plain returns text in which Slack finds no mentions, links or emoji.
func plain(s string) object { return object{"type": "plain_text", "text": s, "emoji": false} }

// escaped is text for the one place that has no plain form: the notification.
var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// shown is the subject of a button: the approval, and the digest of the action that the message shows.
type shown struct {
	Approval string `json:"a"`
	Digest   string `json:"d"`
}

func (s shown) String() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // two texts
	}
	return string(text)
}

// message returns the message that shows an approval: a new one, or the one with a stamp as it is to be.
func (r *Relay) message(a *approvalv1.Approval, stamp string) object {
	title, blocks := r.blocks(a)
	m := object{
		"channel": r.Channel, "text": escaped.Replace(title), "blocks": blocks, "unfurl_links": false, "unfurl_media": false,
		"metadata": object{"event_type": metadataType, "event_payload": object{"approval_id": a.GetApprovalId()}},
	}
	if stamp != "" {
		m["ts"] = stamp
	}
	return m
}

// words are how an approval stands.
var words = map[approvalv1.ApprovalStatus]string{
	approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING: "Approval wanted", approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED: "Granted",
	approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED: "Rejected", approvalv1.ApprovalStatus_APPROVAL_STATUS_EXPIRED: "Expired",
	approvalv1.ApprovalStatus_APPROVAL_STATUS_CANCELLED: "Cancelled", approvalv1.ApprovalStatus_APPROVAL_STATUS_USED: "Used",
	approvalv1.ApprovalStatus_APPROVAL_STATUS_STALE: "Granted, and not possible any more",
}

func (r *Relay) blocks(a *approvalv1.Approval) (title string, blocks []object) {
	pending := a.GetStatus() == approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING
	title = show(cmp.Or(words[a.GetStatus()], a.GetStatus().String())+": "+what(a), mostTitle)
	section := func(s string) object { return object{"type": "section", "text": plain(s)} }
	blocks = append(blocks, object{"type": "header", "text": plain(title)})
	if text := a.GetMessage(); text != "" {
		blocks = append(blocks, section("“"+show(text, mostText)+"”"))
	}
	by := "asked by " + a.GetAsker().GetPrincipal()
	if session := a.GetAsker().GetSessionId(); session != "" {
		by += ", session " + session
	}
	lines := []string{show(by, mostText)}
	if data := cmp.Or(string(a.GetEditedData()), string(a.GetData())); data != "" {
		lines = append(lines, "data: "+show(data, mostData))
	}
	for _, v := range a.GetVotes() {
		word := "rejected"
		if v.GetApprove() {
			word = "approved"
		}
		line := v.GetBy()
		if v.GetRelay() != "" {
			line += " (" + v.GetIdentity() + ", by relay " + v.GetRelay() + ")"
		}
		line += " has " + word
		if v.GetNote() != "" {
			line += ": “" + v.GetNote() + "”"
		}
		lines = append(lines, show(line, mostText))
	}
	lines = append(lines, show(a.GetOutcome(), mostText))
	blocks = append(blocks, section(clip(strings.Join(lines, "\n"), 2900)))
	link := r.link(a.GetApprovalId())
	var buttons []object
	if pending && a.GetYou().GetMayDecide() {
		value := shown{a.GetApprovalId(), a.GetDigest()}.String()
		buttons = append(buttons,
			object{"type": "button", "action_id": actionApprove, "style": "primary", "text": plain("Approve"), "value": value},
			object{"type": "button", "action_id": actionReject, "style": "danger", "text": plain("Reject…"), "value": value})
	} else if pending {
		blocks = append(blocks, section(show("Decide it in the console: "+a.GetYou().GetReason()+".", mostText)))
	}
	if link != "" {
		buttons = append(buttons, object{"type": "button", "action_id": actionOpen, "text": plain("Open"), "url": link})
	}
	if len(buttons) > 0 {
		blocks = append(blocks, object{"type": "actions", "block_id": "decide", "elements": buttons})
	}
	return title, blocks
}

// link returns the page of an approval; empty without a public URL.
func (r *Relay) link(id string) string {
	if r.PublicURL == "" {
		return ""
	}
	return r.PublicURL + "/ui/approvals/" + url.PathEscape(id)
}

// what returns the request in words.
func what(a *approvalv1.Approval) string {
	var s struct{ Event, To, State, Workflow, Capability, Tool string }
	_ = json.Unmarshal(a.GetSubject(), &s) // a missing part is not shown
	text := "event " + s.Event
	if a.GetKind() == approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL {
		text = "call of " + cmp.Or(s.Capability, s.Tool)
	}
	if s.State != "" {
		text += fmt.Sprintf(" in %s", s.State)
	}
	if s.To != "" {
		text += " to " + s.To
	}
	if s.Workflow != "" {
		text += ", of " + s.Workflow
	}
	return text
}

// modal asks for the note of a rejection.
func modal(s shown, channel, stamp string) object {
	about, err := json.Marshal(rejected{s, channel, stamp})
	if err != nil {
		panic(err) // texts
	}
	return object{
		"type": "modal", "callback_id": viewReject, "private_metadata": string(about), "title": plain("Reject"), "submit": plain("Reject"), "close": plain("Back"),
		"blocks": []object{{
			"type": "input", "block_id": blockNote, "optional": true, "label": plain("Note for the agent, and for the record"),
			"element": object{"type": "plain_text_input", "action_id": blockNote, "multiline": true, "max_length": mostNote},
		}},
	}
}

// rejected is the subject of a modal.
type rejected struct {
	Shown   shown  `json:"shown"`
	Channel string `json:"channel"`
	Stamp   string `json:"ts"`
}
