package rest

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Types of messages.
const (
	orderSubscribe     = "subscribe"
	orderUnsubscribe   = "unsubscribe"
	noticeSubscribed   = "subscribed"
	noticeUnsubscribed = "unsubscribed"
	noticeError        = "error"
	noticeEvent        = "event"
)

// order is a message of a client.
type order struct {
	Type         string `json:"type"`
	StateID      string `json:"state_id,omitzero"`
	Subject      string `json:"subject,omitzero"`
	AfterVersion *int64 `json:"after_version,omitzero"`
	LastEventID  *int64 `json:"last_event_id,omitzero"`
}

// topic is what a subscription is to: a state or a subject filter.
type topic struct{ stateID, subject string }

// notice answers an order, or tells how a subscription stands.
type notice struct {
	Type    string `json:"type"`
	StateID string `json:"state_id,omitzero"`
	Subject string `json:"subject,omitzero"`
	// Version is that after which the changes of a state go on.
	Version *int64 `json:"version,omitzero"`
	Code    string `json:"code,omitzero"`
	Message string `json:"message,omitzero"`
}

func (t topic) notice(kind string) notice {
	return notice{Type: kind, StateID: t.stateID, Subject: t.subject}
}

// eventNotice is one event of a subject.
type eventNotice struct {
	Type    string         `json:"type"`
	ID      uint64         `json:"id"` // last_event_id to resume after it
	Subject string         `json:"subject"`
	Event   jsontext.Value `json:"event"`
}

// check refuses an order that makes no sense.
func (o order) check() error {
	if o.Type != orderSubscribe && o.Type != orderUnsubscribe {
		return badBody(fault.InvalidRequest, inBody("/type", document.CodeEnum, "must be subscribe or unsubscribe"))
	}
	if (o.StateID == "") == (o.Subject == "") {
		return badBody(fault.InvalidRequest, inBody("/state_id", document.CodeRequired, "give one of state_id and subject"))
	}
	ofState, ofSubject := o.AfterVersion != nil, o.LastEventID != nil
	if o.StateID == "" && ofState || o.Subject == "" && ofSubject {
		return badBody(fault.InvalidRequest, inBody("", document.CodeConflict, "after_version is for state_id, last_event_id for subject"))
	}
	if ofState && *o.AfterVersion < 0 || ofSubject && *o.LastEventID < 0 {
		return badBody(fault.InvalidRequest, inBody("", document.CodeRange, "after_version and last_event_id must not be negative"))
	}
	return nil
}
