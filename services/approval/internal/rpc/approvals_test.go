package rpc_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/google/go-cmp/cmp"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	approvals "github.com/interlock-run/interlock/services/approval/internal/rpc"
)

// desk is the service over one store, behind the chain that all calls pass.
type desk struct {
	*testing.T
	clock  *storetest.Clock
	store  store.Store
	server *rpc.Server
	engine *engine
}

// engine is what the approval service tells.
type engine struct {
	peerv1.UnimplementedRunPeerServiceServer
	told chan string
}

func (e *engine) SettleApproval(ctx context.Context, req *peerv1.SettleApprovalRequest) (*peerv1.SettleApprovalResponse, error) {
	p, _ := auth.FromContext(ctx)
	e.told <- rpc.Namespace(ctx) + " " + req.GetRunId() + " " + req.GetApprovalId() + " by " + p.Name
	return nil, fault.New(fault.Unavailable, "not now")
}

// tokens knows callers by "role/name".
type tokens struct{}

func (tokens) Authenticate(_ context.Context, token string) (auth.Principal, error) {
	for _, role := range append(auth.Roles(), auth.Service) {
		if prefix := string(role) + "/"; len(token) > len(prefix) && token[:len(prefix)] == prefix {
			return auth.Principal{Name: token[len(prefix):], Role: role}, nil
		}
	}
	return auth.Principal{}, auth.ErrUnauthenticated
}

func open(t *testing.T) *desk {
	t.Helper()
	clock := storetest.NewClock()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db"), Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	server, err := rpc.NewServer(rpc.Config{Listen: []string{"127.0.0.1:0"}, Authenticator: tokens{}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	d := &desk{T: t, clock: clock, store: st, server: server, engine: &engine{told: make(chan string, 10)}}
	a := app.New(app.Config{
		Store: st, Announce: approvals.Announcer{}, Clock: clock.Now, Log: slog.New(slog.DiscardHandler),
		Runs: approvals.NewRuns(nil, peerv1.NewRunPeerServiceClient(server.Local(rpc.ClientConfig{Token: "service/approval"}))),
	})
	service := &approvals.Approvals{App: a}
	approvalv1.RegisterApprovalServiceServer(server.GRPC(), service)
	peerv1.RegisterApprovalPeerServiceServer(server.GRPC(), service)
	peerv1.RegisterRunPeerServiceServer(server.GRPC(), d.engine)
	server.SetServing(true)
	return d
}

// as calls as somebody, like "approver/alice".
func (d *desk) as(token string) approvalv1.ApprovalServiceClient {
	return approvalv1.NewApprovalServiceClient(d.server.Local(rpc.ClientConfig{Token: token}))
}

// peer calls between services as somebody, like "service/engine".
func (d *desk) peer(token string) peerv1.ApprovalPeerServiceClient {
	return peerv1.NewApprovalPeerServiceClient(d.server.Local(rpc.ClientConfig{Token: token}))
}

// ok returns what a call returned, which must be no error.
func ok[T any](t testing.TB, answer T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func question() *approvalv1.CreateApprovalRequest {
	return &approvalv1.CreateApprovalRequest{
		Kind: approvalv1.ApprovalKind_APPROVAL_KIND_PROCESS_STEP, Subject: []byte(`{"run_id":"run_1", "event":"YES"}`), Data: []byte(`{"a": 1.0}`), Editable: true,
		Asker:   &approvalv1.Asker{Principal: "agent-7", SessionId: "ses_2", RootSessionId: "ses_1"},
		Message: "Go on?", RunId: "run_1",
		Terms: &approvalv1.Terms{
			Required: 2, DenyThreshold: 3, Eligible: &approvalv1.Approvers{Roles: []string{"approver"}, Names: []string{"olga"}},
			ExpiresAfter: durationpb.New(time.Hour), EscalateAfter: durationpb.New(time.Minute), EscalateTo: &approvalv1.Approvers{Names: []string{"oscar"}},
		},
	}
}

// An approval that a run may wait for already, and that is not asked for yet, is unavailable and not absent.
func TestApprovalsThatAreToCome(t *testing.T) {
	t.Parallel()
	d := open(t)
	ms, at := d.clock.Now().UnixMilli(), make([]byte, 10)
	for i := range at {
		at[i] = typeid.Alphabet[ms>>(5*(9-i))&31]
	}
	id := "apr_" + string(at) + strings.Repeat("0", typeid.Length-10)
	client := d.as("approver/alice")
	for name, call := range map[string]func() error{
		"get": func() error {
			_, err := client.GetApproval(t.Context(), &approvalv1.GetApprovalRequest{ApprovalId: id})
			return err
		},
		"decide": func() error {
			_, err := client.DecideApproval(t.Context(), &approvalv1.DecideApprovalRequest{ApprovalId: id, Approve: true})
			return err
		},
		"cancel": func() error {
			_, err := d.as("operator/olga").CancelApproval(t.Context(), &approvalv1.CancelApprovalRequest{ApprovalId: id})
			return err
		},
		"watch": func() error {
			stream, err := client.WatchApproval(t.Context(), &approvalv1.WatchApprovalRequest{ApprovalId: id})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
	} {
		if err := call(); fault.ReasonOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "try again") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := d.as("service/engine").GetApproval(t.Context(), &approvalv1.GetApprovalRequest{ApprovalId: id}); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("for the engine: %v", err)
	}
}

// An approval in all its parts, in the contract's words.
func TestApprovalInTheContractsWords(t *testing.T) {
	t.Parallel()
	d := open(t)
	ctx := metadata.AppendToOutgoingContext(t.Context(), rpc.NamespaceKey, "team")
	made, err := d.as("service/engine").CreateApproval(ctx, question())
	id := ok(t, made, err).GetApproval().GetApprovalId()
	if !made.GetCreated() || made.GetApproval().GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING {
		t.Errorf("it is made as %v", made)
	}
	d.clock.Advance(time.Minute)
	voted, err := d.as("approver/alice").DecideApproval(ctx, &approvalv1.DecideApprovalRequest{
		ApprovalId: id, Approve: true, Note: "smaller", EditedData: []byte(`{"a":0.5}`), Digest: made.GetApproval().GetDigest(), IdempotencyKey: "k",
	})
	digest := ok(t, voted, err).GetApproval().GetDigest()
	_, err = d.as("approver/bob").DecideApproval(ctx, &approvalv1.DecideApprovalRequest{ApprovalId: id, Approve: true, Digest: digest})
	ok(t, 0, err)
	d.clock.Advance(time.Minute)
	_, err = d.peer("service/engine").ConsumeApproval(ctx, &peerv1.ConsumeApprovalRequest{ApprovalId: id, Digest: digest, UsedBy: "run_1@7"})
	ok(t, 0, err)
	got, err := d.as("observer/otto").GetApproval(ctx, &approvalv1.GetApprovalRequest{ApprovalId: id})
	at := func(minutes int) *approvalv1.Vote {
		return &approvalv1.Vote{Time: timestamppb.New(d.clock.Now().Add(time.Duration(minutes-2) * time.Minute))}
	}
	q := question()
	want := &approvalv1.Approval{
		ApprovalId: id, Kind: q.GetKind(), Status: approvalv1.ApprovalStatus_APPROVAL_STATUS_USED,
		Subject: []byte(`{"run_id":"run_1","event":"YES"}`), Data: []byte(`{"a":1.0}`), EditedData: []byte(`{"a":0.5}`),
		EditPatch: []byte(`[{"op":"replace","path":"/a","value":0.5}]`), EditedBy: "alice", Editable: true, Digest: digest,
		Asker: q.GetAsker(), Message: q.GetMessage(), Terms: q.GetTerms(), Escalated: true,
		Votes: []*approvalv1.Vote{
			{By: "alice", Role: approvalv1.ApproverRole_APPROVER_ROLE_APPROVER, Approve: true, Note: "smaller", Time: at(1).GetTime()},
			{By: "bob", Role: approvalv1.ApproverRole_APPROVER_ROLE_APPROVER, Approve: true, Time: at(1).GetTime()},
		},
		CreatedAt: at(0).GetTime(), ExpiresAt: at(60).GetTime(), DecidedAt: at(1).GetTime(), UsedAt: at(2).GetTime(), UsedBy: "run_1@7",
		RunId: "run_1", Version: 4,
		Outcome: `approval ` + id + ` was granted by "alice" ("smaller") and "bob", with data that "alice" has edited, and was used at 2026-01-01T00:02:00Z`,
	}
	want.You = &approvalv1.Viewer{Reason: want.GetOutcome() + "; that is final"}
	if diff := cmp.Diff(want, ok(t, got, err).GetApproval(), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	select {
	case told := <-d.engine.told:
		if told != "team run_1 "+id+" by approval" {
			t.Errorf("the engine was told %s", told)
		}
	default:
		t.Error("the engine was told nothing")
	}
	if _, err := d.as("observer/otto").GetApproval(t.Context(), &approvalv1.GetApprovalRequest{ApprovalId: id}); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("in another namespace: %v", err)
	}
}

// Every kind and every status of the core has its word, and the other way round.
func TestKindsAndStatuses(t *testing.T) {
	t.Parallel()
	d := open(t)
	ctx := t.Context()
	service, alice := d.as("service/engine"), d.as("approver/alice")
	ask := func(kind approvalv1.ApprovalKind) *approvalv1.Approval {
		t.Helper()
		q := question()
		q.Kind, q.Terms = kind, nil
		made, err := service.CreateApproval(ctx, q)
		if got := ok(t, made, err).GetApproval(); got.GetKind() != kind || got.GetTerms().GetExpiresAfter().AsDuration() != 24*time.Hour || got.GetTerms().GetEscalateTo() != nil {
			t.Errorf("%s is %v", kind, got)
		}
		return made.GetApproval()
	}
	decide := func(a *approvalv1.Approval, approve bool) *approvalv1.Approval {
		t.Helper()
		got, err := alice.DecideApproval(ctx, &approvalv1.DecideApprovalRequest{ApprovalId: a.GetApprovalId(), Approve: approve})
		return ok(t, got, err).GetApproval()
	}
	ids := map[string]string{}
	ids["EXPIRED"] = ask(approvalv1.ApprovalKind_APPROVAL_KIND_TRANSITION).GetApprovalId()
	d.clock.Advance(24 * time.Hour)
	ids["PENDING"] = ask(approvalv1.ApprovalKind_APPROVAL_KIND_TRANSITION).GetApprovalId()
	ids["GRANTED"] = decide(ask(approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL), true).GetApprovalId()
	ids["REJECTED"] = decide(ask(approvalv1.ApprovalKind_APPROVAL_KIND_PROCESS_STEP), false).GetApprovalId()
	cancelled, err := service.CancelApproval(ctx, &approvalv1.CancelApprovalRequest{ApprovalId: ask(approvalv1.ApprovalKind_APPROVAL_KIND_TRANSITION).GetApprovalId(), Reason: "over"})
	if got := ok(t, cancelled, err).GetApproval(); got.GetReason() != "over" || got.GetBy() != "engine" {
		t.Errorf("it is cancelled as %v", got)
	}
	ids["CANCELLED"] = cancelled.GetApproval().GetApprovalId()
	stale, err := d.peer("service/engine").VoidApproval(ctx, &peerv1.VoidApprovalRequest{ApprovalId: decide(ask(approvalv1.ApprovalKind_APPROVAL_KIND_TRANSITION), true).GetApprovalId(), Reason: "late"})
	ids["STALE"] = ok(t, stale, err).GetApproval().GetApprovalId()
	granted := decide(ask(approvalv1.ApprovalKind_APPROVAL_KIND_TRANSITION), true)
	used, err := d.peer("service/engine").ConsumeApproval(ctx, &peerv1.ConsumeApprovalRequest{ApprovalId: granted.GetApprovalId(), Digest: granted.GetDigest(), UsedBy: "x"})
	ids["USED"] = ok(t, used, err).GetApproval().GetApprovalId()
	if len(ids) != len(approvalv1.ApprovalStatus_name)-1 {
		t.Errorf("there are more statuses than %v", ids)
	}
	// One that has expired is found when that is noted.
	_, err = alice.DecideApproval(ctx, &approvalv1.DecideApprovalRequest{ApprovalId: ids["EXPIRED"], Approve: true})
	if e := fault.From(err); e.Reason != fault.ApprovalDecided || e.Metadata["status"] != "EXPIRED" {
		t.Errorf("it is refused with %v", e)
	}
	for word, id := range ids {
		status := approvalv1.ApprovalStatus(approvalv1.ApprovalStatus_value["APPROVAL_STATUS_"+word])
		list, err := alice.ListApprovals(ctx, &approvalv1.ListApprovalsRequest{Filter: "status=" + word + " AND run_id=run_1"})
		if got := ok(t, list, err).GetApprovals(); len(got) != 1 || got[0].GetApprovalId() != id || got[0].GetStatus() != status {
			t.Errorf("%s: %v", word, got)
		}
	}
	var all []string
	page := &approvalv1.ListApprovalsRequest{PageSize: 3}
	for {
		list, err := alice.ListApprovals(ctx, page)
		for _, a := range ok(t, list, err).GetApprovals() {
			all = append(all, a.GetApprovalId())
		}
		if page.PageToken = list.GetNextPageToken(); page.GetPageToken() == "" {
			break
		}
	}
	slices.Reverse(all) // they are listed newest first
	if len(all) != len(ids) || !slices.IsSorted(all) {
		t.Errorf("the list is %q", all)
	}
}

// Who may not call is refused, and bad requests are before they come to anything.
func TestRefusals(t *testing.T) {
	t.Parallel()
	d := open(t)
	made, err := d.as("service/engine").CreateApproval(t.Context(), question())
	id := ok(t, made, err).GetApproval().GetApprovalId()
	change := func(change func(*approvalv1.CreateApprovalRequest)) func() error {
		return func() error {
			q := proto.CloneOf(question())
			change(q)
			_, err := d.as("service/engine").CreateApproval(t.Context(), q)
			return err
		}
	}
	decide := func(token string) func() error {
		return func() error {
			_, err := d.as(token).DecideApproval(t.Context(), &approvalv1.DecideApprovalRequest{ApprovalId: id, Approve: true})
			return err
		}
	}
	for name, tc := range map[string]struct {
		call func() error
		want fault.Reason
	}{
		"agent decides":    {decide("agent/agent-8"), fault.PermissionDenied},
		"service decides":  {decide("service/engine"), fault.PermissionDenied},
		"observer decides": {decide("observer/otto"), fault.PermissionDenied},
		"operator decides": {decide("operator/ole"), fault.PermissionDenied},
		"asker decides":    {decide("approver/agent-7"), fault.PermissionDenied},
		"agent asks":       {func() error { _, err := d.as("agent/agent-7").CreateApproval(t.Context(), question()); return err }, fault.PermissionDenied},
		"agent lists": {func() error {
			_, err := d.as("agent/agent-7").ListApprovals(t.Context(), &approvalv1.ListApprovalsRequest{})
			return err
		}, fault.PermissionDenied},
		"another agent": {func() error {
			_, err := d.as("agent/x").GetApproval(t.Context(), &approvalv1.GetApprovalRequest{ApprovalId: id})
			return err
		}, fault.NotFound},
		"no kind":           {change(func(q *approvalv1.CreateApprovalRequest) { q.Kind = 0 }), fault.InvalidRequest},
		"no terms of sense": {change(func(q *approvalv1.CreateApprovalRequest) { q.Terms.EscalateAfter = nil }), fault.InvalidRequest},
		"forever": {change(func(q *approvalv1.CreateApprovalRequest) {
			q.Terms.ExpiresAfter = &durationpb.Duration{Seconds: 1<<63 - 1}
		}), fault.InvalidRequest},
		"escalates never": {change(func(q *approvalv1.CreateApprovalRequest) {
			q.Terms.EscalateAfter = &durationpb.Duration{Seconds: 1<<63 - 1}
		}), fault.InvalidRequest},
		"no asker": {change(func(q *approvalv1.CreateApprovalRequest) { q.Asker = nil }), fault.InvalidRequest},
		"no JSON":  {change(func(q *approvalv1.CreateApprovalRequest) { q.Subject = []byte("{]") }), fault.InvalidRequest},
	} {
		if got := fault.ReasonOf(tc.call()); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// Streams show what happens, in the caller's namespace.
func TestStreams(t *testing.T) {
	t.Parallel()
	d := open(t)
	made, err := d.as("service/engine").CreateApproval(t.Context(), question())
	id := ok(t, made, err).GetApproval().GetApprovalId()
	wait, err := d.as("agent/agent-7").WatchApproval(t.Context(), &approvalv1.WatchApprovalRequest{ApprovalId: id})
	first := next(t, ok(t, wait, err))
	if first.GetApproval().GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING {
		t.Errorf("it waits for %v", first)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watch, err := d.as("approver/alice").WatchApprovals(ctx, &approvalv1.WatchApprovalsRequest{})
	ok(t, watch, err)
	changed := make(chan *approvalv1.WatchApprovalsResponse)
	go func() {
		defer close(changed)
		for {
			resp, err := watch.Recv()
			if err != nil {
				return
			}
			changed <- resp
		}
	}()
	// The watch has begun when it shows something.
	var seen *approvalv1.WatchApprovalsResponse
	for range 999 {
		other, err := d.as("service/engine").CreateApproval(t.Context(), question())
		ok(t, other, err)
		select {
		case seen = <-changed:
		case <-time.After(10 * time.Millisecond):
		}
		if seen != nil {
			break
		}
	}
	if seen.GetApproval().GetMessage() != "Go on?" {
		t.Fatalf("it shows %v", seen)
	}
	cancelled, err := d.as("operator/ole").CancelApproval(t.Context(), &approvalv1.CancelApprovalRequest{ApprovalId: id})
	ok(t, cancelled, err)
	for seen.GetApproval().GetApprovalId() != id {
		seen = <-changed
	}
	last := next(t, wait)
	for _, got := range []*approvalv1.Approval{seen.GetApproval(), last.GetApproval()} {
		if diff := cmp.Diff(cancelled.GetApproval(), got, protocmp.Transform()); diff != "" {
			t.Errorf("(-answered +streamed):\n%s", diff)
		}
	}
	if _, err := wait.Recv(); err == nil {
		t.Error("it continues after the end")
	}
	cancel()
	for range changed {
	}
}

func next[T any](t *testing.T, stream grpc.ServerStreamingClient[T]) *T {
	t.Helper()
	got, err := stream.Recv()
	return ok(t, got, err)
}

// What is announced can be read, and nothing in it is too long to be stored.
func TestEventsAreReadable(t *testing.T) {
	t.Parallel()
	d := open(t)
	q := question()
	q.Message = ""
	for len(q.GetMessage()) < 8000 {
		q.Message += "\u202e<b>"
	}
	for range 999 {
		q.Terms.Eligible.Names = append(q.Terms.Eligible.Names, "a name of somebody who may decide this, and of many others"+q.GetMessage()[:198])
	}
	made, err := d.as("service/engine").CreateApproval(t.Context(), q)
	id := ok(t, made, err).GetApproval().GetApprovalId()
	_, err = d.as("approver/alice").DecideApproval(t.Context(), &approvalv1.DecideApprovalRequest{ApprovalId: id, Approve: true, Note: q.GetMessage()[:4092]})
	ok(t, 0, err)
	after := map[int]int64{}
	for shard := range d.store.Shards() {
		after[shard] = 0
	}
	entries, err := d.store.Tail(t.Context(), after, 100, 0)
	if len(ok(t, entries, err)) != 2 {
		t.Fatalf("there are %d events", len(entries))
	}
	for i, entry := range entries {
		ev, err := bus.Decode(entry.Payload)
		changed := ok(t, ev, err).GetApprovalChanged()
		if len(entry.Payload) > 1<<20 || changed.GetRunId() != "run_1" || changed.GetKind() != "process_step" || changed.GetStatus() != "PENDING" ||
			changed.GetAskedBy() != "agent-7" || changed.GetDigest() != made.GetApproval().GetDigest() || changed.GetExpiresAt() == nil {
			t.Errorf("event %d has %d bytes: %v", i, len(entry.Payload), changed)
		}
		switch ev.GetType() {
		case "requested":
			if len(changed.GetNames()) == 0 || !slices.Equal(changed.GetRoles(), []string{"approver"}) || ev.GetActor() != "agent-7" || ev.GetVersion() != 1 {
				t.Errorf("it is requested as %v", ev)
			}
		case "voted":
			if changed.GetBy() != "alice" || !changed.GetApprove() || len(changed.GetNote()) != 4092 || ev.GetActor() != "alice" || ev.GetVersion() != 2 {
				t.Errorf("it is voted as %v", ev)
			}
		default:
			t.Errorf("it is %s", ev.GetType())
		}
	}
}

// What would use an approval is answered who has used it, until it says that this use was
// settled.
func TestReuseByItsUser(t *testing.T) {
	t.Parallel()
	d := open(t)
	service := d.as("service/policy")
	q := question()
	q.Kind, q.Reuse, q.UsedBy, q.Terms = approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL, true, "call_1", nil
	made, err := service.CreateApproval(t.Context(), q)
	asked := ok(t, made, err).GetApproval()
	_, err = d.as("approver/alice").DecideApproval(t.Context(), &approvalv1.DecideApprovalRequest{ApprovalId: asked.GetApprovalId(), Approve: true})
	ok(t, 0, err)
	_, err = d.peer("service/policy").ConsumeApproval(t.Context(), &peerv1.ConsumeApprovalRequest{ApprovalId: asked.GetApprovalId(), Digest: asked.GetDigest(), UsedBy: "call_1"})
	ok(t, 0, err)
	again, err := service.CreateApproval(t.Context(), q)
	if got := ok(t, again, err); got.GetCreated() || got.GetApproval().GetApprovalId() != asked.GetApprovalId() ||
		got.GetApproval().GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_USED || got.GetApproval().GetUsedBy() != "call_1" {
		t.Errorf("its user is answered %v", got)
	}
	q.UsedBy = "call_2"
	other, err := service.CreateApproval(t.Context(), q)
	if got := ok(t, other, err); got.GetCreated() || got.GetApproval().GetUsedBy() != "call_1" {
		t.Errorf("another is answered %v", other)
	}
	q.SettledUse = "call_1"
	if other, err = service.CreateApproval(t.Context(), q); !ok(t, other, err).GetCreated() {
		t.Errorf("another is answered %v, though the use was settled", other)
	}
}
