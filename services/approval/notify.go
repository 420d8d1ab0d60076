package approval

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/internal/redact"
)

// Notified is how one receiver took a test message.
type Notified struct {
	// Receiver is its kind and host, which are not secret.
	Receiver string
	// Err is why it did not take it; nil where it did.
	Err error
}

// NotifyTest sends a made-up approval to every receiver of the flags. It needs no server and no store.
func NotifyTest(ctx context.Context, f NotifyFlags, masks redact.Masks, now time.Time) ([]Notified, error) {
	receivers, err := f.receivers(masks)
	if err != nil || receivers == nil {
		return nil, err
	}
	defer receivers.Close()
	text := func(name, value string) document.Member {
		return document.Member{Name: name, Value: document.StringValue(value)}
	}
	opened, err := consent.Open(consent.Request{
		ID: typeid.New(typeid.Approval),
		Action: consent.Action{Kind: consent.Transition, Subject: document.ObjectValue([]document.Member{
			text("workflow", "test"), text("state", "ready"), text("event", "TEST"), text("to", "done"),
		})},
		Asker: consent.Asker{Principal: "interlock notify test"}, Message: "This is a test: it needs no decision.",
	}, now)
	if err != nil {
		return nil, err
	}
	notice := app.Notice{
		ID: "default.approval." + opened.Approval.ID + ".1." + consent.EventRequested, Type: consent.EventRequested, At: now, SentAt: now, Namespace: "default",
		Record: &app.Record{Approval: opened.Approval, Namespace: "default"},
	}
	var all []Notified
	for _, name := range receivers.Receivers() {
		within, cancel := context.WithTimeout(ctx, app.SendTimeout)
		all = append(all, Notified{receivers.Shown(name), receivers.Send(within, name, notice)})
		cancel()
	}
	return all, nil
}
