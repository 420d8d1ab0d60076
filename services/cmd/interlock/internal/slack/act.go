package slack

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"unicode/utf8"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// act does the work of a click.
func (r *Relay) act(ctx context.Context, in *interaction) {
	switch {
	case in.Type == "block_actions" && len(in.Actions) == 1:
		action := in.Actions[0]
		if action.ID != actionApprove && action.ID != actionReject {
			return // a link
		}
		var about shown
		channel := in.Container.Channel
		if json.Unmarshal([]byte(action.Value), &about) != nil || !r.fits(about, channel, in.Container.Stamp) {
			r.tell(ctx, in, channel, "This message does not show an approval as it is now. No decision was made: look at the newest message, or open the console.")
			r.note(about.Approval)
			return
		}
		if action.ID == actionReject {
			args := object{"trigger_id": in.Token, "view": modal(about, channel, in.Container.Stamp)}
			if err := r.api.call(ctx, r.BotToken, "views.open", args, nil); err != nil {
				r.Log.LogAttrs(ctx, slog.LevelWarn, "the form for a note could not be opened", slog.Any("cause", err))
				r.tell(ctx, in, channel, "The form could not be opened. No decision was made: click again.")
			}
			return
		}
		r.vote(ctx, in, about, channel, true, "", action.Stamp)
	case in.Type == "view_submission" && in.View.Callback == viewReject:
		var about rejected
		if json.Unmarshal([]byte(in.View.About), &about) != nil || !r.fits(about.Shown, about.Channel, about.Stamp) {
			r.tell(ctx, in, r.Channel, "The approval has changed since the form was opened. No decision was made: look at its message again.")
			return
		}
		note := in.View.State.Values[blockNote][blockNote].Value
		if !utf8.ValidString(note) || len(note) > 4096 {
			r.tell(ctx, in, r.Channel, "The note is too long. No decision was made: shorten it.")
			return
		}
		r.vote(ctx, in, about.Shown, about.Channel, false, note, in.View.ID)
	}
}

// fits reports that a click was on the message that shows the approval, and on its present action.
func (r *Relay) fits(about shown, channel, stamp string) bool {
	r.showing.Lock()
	p, known := r.state.get(about.Approval)
	r.showing.Unlock()
	return known && stamp != "" && p.Stamp == stamp && p.Channel == channel && channel == r.Channel && about.Digest != "" && p.Digest == about.Digest
}

// vote passes a decision on, as the person who clicked.
func (r *Relay) vote(ctx context.Context, in *interaction, about shown, channel string, approve bool, note, unique string) {
	got, err := r.Approvals.DecideApproval(ctx, &approvalv1.DecideApprovalRequest{
		ApprovalId: about.Approval, Approve: approve, Note: note, Digest: about.Digest, IdempotencyKey: "slack:" + in.User.ID + ":" + unique,
		AsIdentity: "slack:" + r.Team + "/" + in.User.ID,
	})
	r.note(about.Approval)
	if err != nil {
		r.Log.LogAttrs(ctx, slog.LevelInfo, "a decision was refused", slog.String("approval_id", about.Approval), slog.String("user", in.User.ID), slog.Any("cause", err))
		r.tell(ctx, in, channel, r.refusal(about.Approval, err))
		return
	}
	if got.GetApproval().GetStatus() == approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING {
		r.tell(ctx, in, channel, "Your vote counts. More are needed: "+show(got.GetApproval().GetOutcome(), mostText)+".")
	}
}

// refusals are answers of Interlock that people can do something about: their sentences are shown.
var refusals = []fault.Reason{
	fault.PermissionDenied, fault.ApprovalDecided, fault.VersionConflict, fault.FailedPrecondition, fault.InvalidRequest, fault.NotFound,
}

// refusal returns the reason why a vote did not count, for the user who clicked.
func (r *Relay) refusal(id string, err error) string {
	f := fault.From(err)
	if !slices.Contains(refusals, f.Reason) {
		return "Interlock cannot be reached, so no decision was made. Try again."
	}
	text := "Your click made no decision: " + strings.TrimSuffix(show(f.Message, mostText), ".") + "."
	if link := r.link(id); link != "" {
		text += " " + link
	}
	return text
}

// tell answers the user who clicked, and no other.
func (r *Relay) tell(ctx context.Context, in *interaction, channel, text string) {
	if channel != r.Channel {
		return // it is not where this relay shows anything
	}
	args := object{"channel": channel, "user": in.User.ID, "text": escaped.Replace(text), "blocks": []object{{"type": "section", "text": plain(text)}}}
	if err := r.api.call(ctx, r.BotToken, "chat.postEphemeral", args, nil); err != nil {
		r.Log.LogAttrs(ctx, slog.LevelWarn, "the one who clicked could not be answered", slog.Any("cause", err))
	}
}

// gone reports that there is no such approval any more.
func gone(err error) bool { return fault.ReasonOf(err) == fault.NotFound }
