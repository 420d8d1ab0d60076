package slack_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/slack"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/slack/slackfake"
)

const (
	pending  = approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING
	granted  = approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED
	rejected = approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED

	approve, reject = "interlock_approve", "interlock_reject"
	patience        = 2 * time.Minute
)

// desk is the approval service, as a relay meets it: it knows one person.
type desk struct {
	approvalv1.ApprovalServiceClient
	mu       sync.Mutex
	all      map[string]*approvalv1.Approval
	asked    []*approvalv1.DecideApprovalRequest
	watchers []chan string
	answered map[string]bool // keys of votes
}

func newDesk() *desk {
	return &desk{all: map[string]*approvalv1.Approval{}, answered: map[string]bool{}}
}

// put adds or changes an approval, and wakes the watchers.
func (d *desk) put(id string, change func(a *approvalv1.Approval)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.change(id, change)
}

func (d *desk) change(id string, change func(a *approvalv1.Approval)) {
	a := d.all[id]
	if a == nil {
		a = &approvalv1.Approval{
			ApprovalId: id, Kind: approvalv1.ApprovalKind_APPROVAL_KIND_TRANSITION, Status: pending, Digest: "digest-1", Message: "Ship it?",
			Subject: []byte(`{"event":"SHIP","state":"ready","to":"live","workflow":"release"}`), Data: []byte(`{"image":"web:42"}`),
			Asker: &approvalv1.Asker{Principal: "agent-7", SessionId: "ses_1"}, Outcome: "approval " + id + " is pending", You: &approvalv1.Viewer{MayDecide: true},
		}
		d.all[id] = a
	}
	a = proto.CloneOf(a)
	a.Version++
	if change != nil {
		change(a)
	}
	d.all[id] = a
	for _, w := range d.watchers {
		w <- id
	}
}

func (d *desk) votes() []*approvalv1.DecideApprovalRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]*approvalv1.DecideApprovalRequest(nil), d.asked...)
}

func (d *desk) GetApproval(_ context.Context, req *approvalv1.GetApprovalRequest, _ ...grpc.CallOption) (*approvalv1.GetApprovalResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.all[req.GetApprovalId()]
	if a == nil {
		return nil, fault.New(fault.NotFound, "there is none")
	}
	return &approvalv1.GetApprovalResponse{Approval: proto.CloneOf(a)}, nil
}

func (d *desk) ListApprovals(context.Context, *approvalv1.ListApprovalsRequest, ...grpc.CallOption) (*approvalv1.ListApprovalsResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := &approvalv1.ListApprovalsResponse{}
	for _, a := range d.all {
		if a.GetStatus() == pending {
			out.Approvals = append(out.Approvals, a)
		}
	}
	return out, nil
}

func (d *desk) DecideApproval(_ context.Context, req *approvalv1.DecideApprovalRequest, _ ...grpc.CallOption) (*approvalv1.DecideApprovalResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.all[req.GetApprovalId()]
	switch {
	case d.answered[req.GetIdempotencyKey()]:
		return &approvalv1.DecideApprovalResponse{Approval: a}, nil
	case req.GetAsIdentity() != "slack:"+slackfake.Team+"/"+slackfake.Ann:
		return nil, fault.New(fault.PermissionDenied, "nobody who is registered here has the identity %q", req.GetAsIdentity())
	case a.GetStatus() != pending:
		return nil, fault.New(fault.ApprovalDecided, "approval %s was decided by %q; that is final", a.GetApprovalId(), "kim")
	case req.GetDigest() != a.GetDigest():
		return nil, fault.New(fault.VersionConflict, "approval %s is for a different action than the one that was shown; look at it again", a.GetApprovalId())
	}
	d.answered[req.GetIdempotencyKey()] = true
	d.asked = append(d.asked, req)
	d.change(a.GetApprovalId(), func(a *approvalv1.Approval) {
		a.Status = rejected
		if req.GetApprove() {
			a.Status = granted
		}
		a.Outcome = fmt.Sprintf("approval %s was decided by ann", a.GetApprovalId())
		a.Votes = append(a.Votes, &approvalv1.Vote{By: "ann", Approve: req.GetApprove(), Note: req.GetNote()})
	})
	return &approvalv1.DecideApprovalResponse{Approval: d.all[a.GetApprovalId()]}, nil
}

type stream struct {
	ctx context.Context
	ids chan string
}

func (s *stream) Recv() (*approvalv1.WatchApprovalsResponse, error) {
	select {
	case id := <-s.ids:
		return &approvalv1.WatchApprovalsResponse{Approval: &approvalv1.Approval{ApprovalId: id}}, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}
func (s *stream) Header() (metadata.MD, error) { return nil, nil }
func (s *stream) Trailer() metadata.MD         { return nil }
func (s *stream) CloseSend() error             { return nil }
func (s *stream) Context() context.Context     { return s.ctx }
func (s *stream) SendMsg(any) error            { return io.EOF }
func (s *stream) RecvMsg(any) error            { return io.EOF }

func (d *desk) WatchApprovals(ctx context.Context, _ *approvalv1.WatchApprovalsRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[approvalv1.WatchApprovalsResponse], error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &stream{ctx, make(chan string, 100)}
	d.watchers = append(d.watchers, s.ids)
	return s, nil
}

// rig is a relay between a fake of Slack and a desk.
type rig struct {
	*testing.T
	fake  *slackfake.Server
	desk  *desk
	relay *slack.Relay
	url   string
	state string
	log   *strings.Builder
	stop  func()
	ctx   context.Context
}

func newRig(t *testing.T, change func(cfg *slack.Config)) *rig {
	t.Helper()
	r := &rig{T: t, fake: slackfake.New(), desk: newDesk(), state: filepath.Join(t.TempDir(), "state", "pairs.json"), log: &strings.Builder{}}
	t.Cleanup(r.fake.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r.ctx = ctx
	r.start(change)
	t.Cleanup(func() {
		r.stop()
		if err := r.fake.Problem(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// start starts the relay, again after stop.
func (r *rig) start(change func(cfg *slack.Config)) {
	r.Helper()
	cfg := slack.Config{
		Approvals: r.desk, API: r.fake.API(), BotToken: slackfake.BotToken, SigningSecret: slackfake.Secret, Team: slackfake.Team, App: slackfake.App,
		Channel: slackfake.Channel, PublicURL: "https://interlock.example.com", State: r.state, Every: time.Hour, Pause: time.Millisecond,
		Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	relay, err := slack.New(r.ctx, cfg)
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.ctx)
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	server := httptest.NewServer(relay.Handler())
	r.relay, r.url = relay, server.URL
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.Error(err)
		}
		server.Close()
	})
}

// until waits for something in Slack.
func (r *rig) until(what func(messages []slackfake.Message, whispers []slackfake.Whisper, views []map[string]any) bool) {
	r.Helper()
	if err := r.fake.Wait(r.ctx, what); err != nil {
		r.Fatal(err)
	}
}

// message waits for the only message to have a title.
func (r *rig) message(title string) slackfake.Message {
	r.Helper()
	var got slackfake.Message
	r.until(func(messages []slackfake.Message, _ []slackfake.Whisper, _ []map[string]any) bool {
		if len(messages) != 1 || !strings.HasPrefix(messages[0].Blocks[0].Text.Text, title) {
			return false
		}
		got = messages[0]
		return true
	})
	return got
}

// whisper waits for an answer that only one person sees.
func (r *rig) whisper(n int, has string) {
	r.Helper()
	r.until(func(_ []slackfake.Message, whispers []slackfake.Whisper, _ []map[string]any) bool {
		return len(whispers) >= n
	})
	r.until(func(_ []slackfake.Message, whispers []slackfake.Whisper, _ []map[string]any) bool {
		if !strings.Contains(whispers[n-1].Text, has) || len(whispers) != n {
			r.Errorf("the whispers are %+v, want the last with %q", whispers, has)
		}
		return true
	})
}

// send posts an interaction that Slack has signed, and returns the status.
func (r *rig) send(payload map[string]any, change func(req *http.Request)) int {
	r.Helper()
	req, err := slackfake.Request(r.ctx, r.url, payload, time.Now())
	if err != nil {
		r.Error(err)
		return 0
	}
	if change != nil {
		change(req)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Error(err)
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// Approve is one click; the message shows the status, also after decisions elsewhere (S23.37).
func TestApprove(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.desk.put("apr_1", nil)
	m := r.message("Approval wanted: event SHIP in ready to live, of release")
	if got := fmt.Sprint(buttons(m)); got != "[interlock_approve interlock_reject interlock_open]" {
		t.Errorf("the buttons are %s", got)
	}
	if status := r.send(slackfake.Click(m, approve, slackfake.Ann), nil); status != 200 {
		t.Errorf("the click was answered with %d", status)
	}
	m = r.message("Granted")
	if got := fmt.Sprint(buttons(m)); got != "[interlock_open]" {
		t.Errorf("what is decided has the buttons %s", got)
	}
	votes := r.desk.votes()
	if len(votes) != 1 || !votes[0].GetApprove() || votes[0].GetAsIdentity() != "slack:T01/U02" || votes[0].GetDigest() != "digest-1" {
		t.Errorf("the votes are %v", votes)
	}
	// It was used, without a click in Slack.
	r.desk.put("apr_1", func(a *approvalv1.Approval) { a.Status = approvalv1.ApprovalStatus_APPROVAL_STATUS_USED })
	r.message("Used")
}

func buttons(m slackfake.Message) (ids []string) {
	for _, b := range m.Blocks {
		for _, e := range b.Elements {
			ids = append(ids, e.Action)
		}
	}
	return ids
}

// Reject asks for a note first.
func TestReject(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.desk.put("apr_1", nil)
	m := r.message("Approval wanted")
	r.send(slackfake.Click(m, reject, slackfake.Ann), nil)
	var view map[string]any
	r.until(func(_ []slackfake.Message, _ []slackfake.Whisper, views []map[string]any) bool {
		if len(views) == 1 {
			view = views[0]
		}
		return len(views) == 1
	})
	if len(r.desk.votes()) != 0 {
		t.Error("the click on the button has decided")
	}
	r.send(slackfake.Submit(view, "not on a Friday", slackfake.Ann), nil)
	r.message("Rejected")
	if votes := r.desk.votes(); len(votes) != 1 || votes[0].GetApprove() || votes[0].GetNote() != "not on a Friday" {
		t.Errorf("the votes are %v", votes)
	}
	// The form of another user is too late, and gets an answer.
	r.send(slackfake.Submit(view, "", "U03"), nil)
	r.whisper(1, "o decision")
}

// An approval that was decided elsewhere has no buttons, and a click on the old message gets a private answer.
func TestDecidedElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.desk.put("apr_1", nil)
	old := r.message("Approval wanted")
	r.desk.put("apr_1", func(a *approvalv1.Approval) { a.Status = rejected })
	r.message("Rejected")
	r.send(slackfake.Click(old, approve, slackfake.Ann), nil)
	r.whisper(1, `was decided by "kim"`)
	if len(r.desk.votes()) != 0 {
		t.Error("a late click has decided")
	}
}

// A click that comes twice is one vote, and a second click gets the answer that the first counts.
func TestDoubleClick(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.desk.put("apr_1", nil)
	m := r.message("Approval wanted")
	click := slackfake.Click(m, approve, slackfake.Ann)
	for retry := range 3 {
		if status := r.send(click, func(req *http.Request) { req.Header.Set("X-Slack-Retry-Num", fmt.Sprint(retry)) }); status != 200 {
			t.Errorf("try %d was answered with %d", retry, status)
		}
	}
	r.message("Granted")
	r.send(slackfake.Click(m, approve, slackfake.Ann), nil)
	r.whisper(1, "Your click made no decision")
	if votes := r.desk.votes(); len(votes) != 1 {
		t.Errorf("there are %d votes", len(votes))
	}
}

// After a restart no message is posted again, old messages are changed, and the first click counts.
func TestRestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.desk.put("apr_1", nil)
	m := r.message("Approval wanted")
	r.stop()
	r.desk.put("apr_1", func(a *approvalv1.Approval) { a.Message = "Ship it now?" })
	r.start(nil)
	r.until(func(messages []slackfake.Message, _ []slackfake.Whisper, _ []map[string]any) bool {
		return len(messages) == 1 && messages[0].Edits == 1
	})
	r.send(slackfake.Click(m, approve, slackfake.Ann), nil)
	r.message("Granted")
}

// A process that ends while it posts finds the message.
func TestPostedAndNotKnown(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.fake.Fail("chat.postMessage", "hang up")
	r.desk.put("apr_1", nil)
	m := r.message("Approval wanted")
	r.send(slackfake.Click(m, approve, slackfake.Ann), nil)
	var again sync.WaitGroup
	r.until(func(_ []slackfake.Message, whispers []slackfake.Whisper, _ []map[string]any) bool {
		if len(r.desk.votes()) == 1 {
			return true
		}
		if n := len(whispers); n > 0 { // it was not known yet whether this is the message: the click was answered
			whispers = nil
			again.Go(func() { r.send(slackfake.Click(m, approve, slackfake.Ann), nil) })
		}
		return len(whispers) > 0
	})
	again.Wait()
	r.message("Granted")
}

// Slack may be busy, and people may delete messages.
func TestBusyAndDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.fake.Fail("chat.postMessage", "429")
	r.fake.Fail("chat.postMessage", "internal_error")
	r.desk.put("apr_1", nil)
	m := r.message("Approval wanted")
	r.fake.Fail("chat.update", "429")
	r.desk.put("apr_1", nil)
	r.until(func(messages []slackfake.Message, _ []slackfake.Whisper, _ []map[string]any) bool {
		return messages[0].Edits == 1
	})
	r.fake.Delete(m.Stamp)
	r.desk.put("apr_1", nil)
	again := r.message("Approval wanted")
	if again.Stamp == m.Stamp {
		t.Error("the deleted message is there")
	}
}

// Attacks on the receiver: they make no decision, and get the status code only (S23.38).
func TestForgedRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.desk.put("apr_1", nil)
	m := r.message("Approval wanted")
	click := func(change func(p map[string]any)) map[string]any {
		p := slackfake.Click(m, approve, slackfake.Ann)
		if change != nil {
			change(p)
		}
		return p
	}
	sign := func(secret string, at time.Time) func(req *http.Request) {
		return func(req *http.Request) {
			body, _ := req.GetBody()
			text, _ := io.ReadAll(body)
			stamp := fmt.Sprint(at.Unix())
			req.Header.Set("X-Slack-Request-Timestamp", stamp)
			req.Header.Set("X-Slack-Signature", slackfake.Sign(secret, stamp, string(text)))
		}
	}
	for name, tc := range map[string]struct {
		payload map[string]any
		change  func(req *http.Request)
		want    int
	}{
		"no signature":     {click(nil), func(req *http.Request) { req.Header.Del("X-Slack-Signature") }, 401},
		"no time":          {click(nil), func(req *http.Request) { req.Header.Del("X-Slack-Request-Timestamp") }, 401},
		"another secret":   {click(nil), sign("another", time.Now()), 401},
		"an old signature": {click(nil), sign(slackfake.Secret, time.Now().Add(-6*time.Minute)), 401},
		"from the future":  {click(nil), sign(slackfake.Secret, time.Now().Add(6*time.Minute)), 401},
		"another time":     {click(nil), func(req *http.Request) { req.Header.Set("X-Slack-Request-Timestamp", fmt.Sprint(time.Now().Unix()-1)) }, 401},
		"another body": {click(nil), func(req *http.Request) {
			req.Body = io.NopCloser(strings.NewReader("payload={}"))
			req.ContentLength = 10
		}, 401},
		"another version": {click(nil), func(req *http.Request) {
			req.Header.Set("X-Slack-Signature", "v1="+req.Header.Get("X-Slack-Signature")[3:])
		}, 401},
		"a large body":            {click(func(p map[string]any) { p["filler"] = strings.Repeat("x", 70_000) }), nil, 413},
		"another team":            {click(func(p map[string]any) { p["team"] = map[string]any{"id": "T02"} }), nil, 403},
		"a guest":                 {click(func(p map[string]any) { p["user"] = map[string]any{"id": slackfake.Ann, "team_id": "T02"} }), nil, 403},
		"another app":             {click(func(p map[string]any) { p["api_app_id"] = "A02" }), nil, 403},
		"nobody":                  {click(func(p map[string]any) { p["user"] = map[string]any{} }), nil, 403},
		"not an object":           {map[string]any{"type": 1}, nil, 403},
		"a link that is followed": {click(nil), func(req *http.Request) { req.Method = http.MethodGet }, 405},
		"a link that is scanned":  {click(nil), func(req *http.Request) { req.Method = http.MethodHead }, 405},
	} {
		if status := r.send(tc.payload, tc.change); status != tc.want {
			t.Errorf("%s: it is answered with %d, want %d", name, status, tc.want)
		}
	}
	if votes := r.desk.votes(); len(votes) != 0 {
		t.Errorf("there are votes: %v", votes)
	}
	// The rig would let the true click through.
	r.send(click(nil), nil)
	r.message("Granted")
}

// Clicks that Slack has signed, and that are not on the present message: each gets an answer, and makes no decision.
func TestClicksOnSomethingElse(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.desk.put("apr_1", nil)
	m := r.message("Approval wanted")
	value := func(text string) func(p map[string]any) {
		return func(p map[string]any) { p["actions"].([]any)[0].(map[string]any)["value"] = text }
	}
	n := 0
	for name, tc := range map[string]struct {
		change func(p map[string]any)
		want   string
	}{
		"another digest":   {value(`{"a":"apr_1","d":"digest-2"}`), "does not show"},
		"no digest":        {value(`{"a":"apr_1"}`), "does not show"},
		"another approval": {value(`{"a":"apr_2","d":"digest-1"}`), "does not show"},
		"no value":         {value(""), "does not show"},
		"another message":  {func(p map[string]any) { p["container"].(map[string]any)["message_ts"] = "1.1" }, "does not show"},
		"an unknown user":  {func(p map[string]any) { p["user"] = map[string]any{"id": "U66", "team_id": slackfake.Team} }, "nobody who is registered"},
	} {
		p := slackfake.Click(m, approve, slackfake.Ann)
		tc.change(p)
		if status := r.send(p, nil); status != 200 {
			t.Errorf("%s: it is answered with %d", name, status)
		}
		n++
		r.whisper(n, tc.want)
	}
	if votes := r.desk.votes(); len(votes) != 0 {
		t.Errorf("there are votes: %v", votes)
	}
	// Another channel is not even answered: this relay has no messages there.
	p := slackfake.Click(m, approve, slackfake.Ann)
	p["container"].(map[string]any)["channel_id"] = "C02"
	r.send(p, nil)

	// The action was edited after the message: the click is on the old one.
	r.desk.put("apr_1", func(a *approvalv1.Approval) { a.Digest, a.EditedData = "digest-2", []byte(`{"image":"web:41"}`) })
	r.until(func(messages []slackfake.Message, _ []slackfake.Whisper, _ []map[string]any) bool {
		return messages[0].Edits > 0
	})
	r.send(slackfake.Click(m, approve, slackfake.Ann), nil)
	r.whisper(n+1, "does not show")
}

// An approval above the rights of relays has no buttons but the link.
func TestOnlyALink(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.desk.put("apr_1", func(a *approvalv1.Approval) {
		a.You = &approvalv1.Viewer{Reason: "its danger is above what relays decide"}
	})
	m := r.message("Approval wanted")
	if got := fmt.Sprint(buttons(m)); got != "[interlock_open]" || !strings.Contains(fmt.Sprint(m.Blocks[3].Text.Text), "its danger is above") {
		t.Errorf("the buttons are %s, of %+v", got, m)
	}
}

// Text of an agent is plain text on one line, and long text is cut.
func TestHostileText(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.desk.put("apr_1", func(a *approvalv1.Approval) {
		a.Message = "<!channel> <https://evil.example|Open>\n*bold* \u202e" + strings.Repeat("x", 8000)
		a.Data = []byte(`{"a":"` + strings.Repeat("<!here>", 3000) + `"}`)
		a.Subject = []byte(`{"event":"<!channel> & co","workflow":"` + strings.Repeat("w", 300) + `"}`)
	})
	m := r.message("Approval wanted: event <!channel> & co")
	for i, b := range m.Blocks {
		if b.Text != nil && (b.Text.Type != "plain_text" || strings.Contains(b.Text.Text, "\u202e")) {
			t.Errorf("block %d is %+v", i, b)
		}
	}
	if strings.ContainsAny(m.Text, "<>") || !strings.Contains(m.Text, "&lt;!channel&gt; &amp; co") {
		t.Errorf("the notification is %q", m.Text)
	}
}

// Socket Mode needs no address; a connection that ends is opened again.
func TestSocketMode(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(cfg *slack.Config) { cfg.AppToken, cfg.SigningSecret = slackfake.AppToken, "" })
	connected := func([]slackfake.Message, []slackfake.Whisper, []map[string]any) bool { return r.fake.Connected() }
	r.until(connected)
	r.desk.put("apr_1", nil)
	m := r.message("Approval wanted")
	if err := r.fake.HangUp(r.ctx); err != nil {
		t.Fatal(err)
	}
	r.until(connected)
	foreign := slackfake.Click(m, approve, slackfake.Ann)
	foreign["team"] = map[string]any{"id": "T02"}
	click := slackfake.Click(m, approve, slackfake.Ann)
	for id, payload := range map[string]map[string]any{"foreign": foreign, "e1": click, "e2": click} {
		if err := r.fake.Push(r.ctx, id, payload); err != nil {
			t.Fatal(err)
		}
	}
	r.message("Granted")
	r.until(func([]slackfake.Message, []slackfake.Whisper, []map[string]any) bool {
		return r.fake.Acked("e1") && r.fake.Acked("e2")
	})
	r.until(func([]slackfake.Message, []slackfake.Whisper, []map[string]any) bool {
		if r.fake.Acked("foreign") {
			t.Error("a click of another team was acknowledged")
		}
		return true
	})
	if votes := r.desk.votes(); len(votes) != 1 {
		t.Errorf("there are %d votes", len(votes))
	}
	if status := r.send(click, nil); status != 401 {
		t.Errorf("without a signing secret, HTTP is answered with %d", status)
	}
}

// A wrong setting is an error at the start, without a token in it.
func TestSettings(t *testing.T) {
	t.Parallel()
	fake := slackfake.New()
	defer fake.Close()
	good := slack.Config{
		Approvals: newDesk(), API: fake.API(), BotToken: slackfake.BotToken, SigningSecret: slackfake.Secret, Team: slackfake.Team, App: slackfake.App, Channel: slackfake.Channel,
	}
	for name, tc := range map[string]struct {
		change func(cfg *slack.Config)
		want   string
	}{
		"good":         {func(*slack.Config) {}, ""},
		"no team":      {func(c *slack.Config) { c.Team = "" }, "the team"},
		"another team": {func(c *slack.Config) { c.Team = "T02" }, "of the team T01"},
		"no bot":       {func(c *slack.Config) { c.BotToken = "" }, "is empty"},
		"a wrong bot":  {func(c *slack.Config) { c.BotToken = "xoxb-sEcret" }, "invalid_auth"},
		"no secret":    {func(c *slack.Config) { c.SigningSecret = "" }, "signing secret"},
		"both":         {func(c *slack.Config) { c.AppToken = "xapp-sEcret" }, "not both"},
		"nobody there": {func(c *slack.Config) { c.API = "http://127.0.0.1:1/sEcret/" }, "auth.test"},
	} {
		cfg := good
		cfg.State = filepath.Join(t.TempDir(), "pairs.json")
		tc.change(&cfg)
		_, err := slack.New(t.Context(), cfg)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "sEcret")) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	// Two relays with one file would post everything twice.
	cfg := good
	cfg.State = filepath.Join(t.TempDir(), "pairs.json")
	if _, err := slack.New(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := slack.New(t.Context(), cfg); err == nil || errors.Is(err, context.Canceled) {
		t.Error("two relays have one file")
	}
}
