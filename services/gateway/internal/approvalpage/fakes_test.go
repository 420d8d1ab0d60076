package approvalpage

import (
	"context"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// desk plays the approval service and the engine: it answers what the test put
// there and notes what it was asked, and in whose name.
type desk struct {
	approvalv1.ApprovalServiceClient
	enginev1.RunServiceClient

	mu       sync.Mutex
	approval *approvalv1.Approval
	next     string // page token of the list
	history  []*enginev1.HistoryEntry
	version  int64
	errs     map[string]error
	votes    []*approvalv1.DecideApprovalRequest
	listed   *approvalv1.ListApprovalsRequest
	meta     metadata.MD
}

// called notes a call, and answers the error that it fails with.
func (d *desk) called(ctx context.Context, rpc string) error {
	d.meta, _ = metadata.FromOutgoingContext(ctx)
	if token := d.meta.Get("authorization"); len(token) == 1 && token[0] == "Bearer agent" && rpc == "List" {
		return fault.New(fault.PermissionDenied, "agents decide nothing").GRPCStatus().Err()
	}
	if err := d.errs[rpc]; err != nil {
		return fault.From(err).GRPCStatus().Err()
	}
	return nil
}

type approvals struct {
	approvalv1.ApprovalServiceClient
	*desk
}

func (a approvals) ListApprovals(ctx context.Context, in *approvalv1.ListApprovalsRequest, _ ...grpc.CallOption) (*approvalv1.ListApprovalsResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listed = in
	return &approvalv1.ListApprovalsResponse{Approvals: []*approvalv1.Approval{a.approval}, NextPageToken: a.next}, a.called(ctx, "List")
}

func (a approvals) GetApproval(ctx context.Context, in *approvalv1.GetApprovalRequest, _ ...grpc.CallOption) (*approvalv1.GetApprovalResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if in.GetApprovalId() != a.approval.GetApprovalId() {
		return nil, fault.New(fault.NotFound, "there is no approval %s", in.GetApprovalId()).GRPCStatus().Err()
	}
	return &approvalv1.GetApprovalResponse{Approval: a.approval}, a.called(ctx, "Get")
}

func (a approvals) DecideApproval(ctx context.Context, in *approvalv1.DecideApprovalRequest, _ ...grpc.CallOption) (*approvalv1.DecideApprovalResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.votes = append(a.votes, in)
	if err := a.called(ctx, "Decide"); err != nil {
		return nil, err
	}
	a.approval.Status = approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED
	if in.GetApprove() {
		a.approval.Status = approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED
	}
	return &approvalv1.DecideApprovalResponse{Approval: a.approval}, nil
}

type runs struct {
	enginev1.RunServiceClient
	*desk
}

func (r runs) GetRun(ctx context.Context, in *enginev1.GetRunRequest, _ ...grpc.CallOption) (*enginev1.GetRunResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &enginev1.GetRunResponse{Run: &enginev1.Run{RunId: in.GetRunId(), Version: r.version}}, r.called(ctx, "GetRun")
}

// History returns a few entries a page.
func (r runs) GetRunHistory(ctx context.Context, in *enginev1.GetRunHistoryRequest, _ ...grpc.CallOption) (*enginev1.GetRunHistoryResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	resp := &enginev1.GetRunHistoryResponse{}
	for _, h := range r.history {
		if h.GetRunVersion() <= in.GetAfterVersion() {
			continue
		}
		if len(resp.Entries) == 7 {
			resp.NextAfterVersion = resp.Entries[6].GetRunVersion()
			break
		}
		resp.Entries = append(resp.Entries, h)
	}
	return resp, r.called(ctx, "History")
}

func anApproval() *approvalv1.Approval {
	return &approvalv1.Approval{
		ApprovalId: "apr_01", Kind: approvalv1.ApprovalKind_APPROVAL_KIND_TRANSITION, Status: approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING,
		Subject: []byte(`{"run_id":"run_01","run_version":7,"event":"DEPLOY"}`), Data: []byte(`{"id":9007199254740993,"b":1.10}`),
		Editable: true, Digest: "d1gest", Asker: &approvalv1.Asker{Principal: "agent-7", SessionId: "ses_01", RootSessionId: "ses_00"},
		Message: "Deploy it?", RunId: "run_01", Outcome: "approval apr_01 is pending",
		Terms: &approvalv1.Terms{
			Required: 2, DenyThreshold: 1, Eligible: &approvalv1.Approvers{Roles: []string{"approver"}, Names: []string{"carol"}},
		},
		CreatedAt: timestamppb.New(noon.Add(-time.Hour)), ExpiresAt: timestamppb.New(noon.Add(23 * time.Hour)),
	}
}

// office is a server of the page and a browser that is at it.
type office struct {
	t *testing.T
	*desk
	page    *page
	server  *httptest.Server
	browser *http.Client
	// clock is what time it is in the page.
	clock time.Time
}

var principals = map[string]auth.Principal{
	"s3cret": {Name: "alice", Role: auth.Approver}, "other": {Name: "bob", Role: auth.Approver}, "agent": {Name: "agent-7", Role: auth.Agent},
}

func newOffice(t *testing.T, change ...func(*Config)) *office {
	t.Helper()
	o := &office{t: t, clock: noon, desk: &desk{approval: anApproval(), errs: map[string]error{}, version: 7}}
	cfg := Config{
		Approvals: approvals{desk: o.desk}, Runs: runs{desk: o.desk}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Identify: func(_ context.Context, token string) (auth.Principal, error) {
			who, known := principals[token]
			if !known {
				return who, auth.ErrUnauthenticated
			}
			return who, nil
		},
		now: func() time.Time { return o.clock },
	}
	for _, f := range change {
		f(&cfg)
	}
	p, err := newPage(cfg)
	if err != nil {
		t.Fatal(err)
	}
	o.page = p
	public, err := url.Parse(cfg.PublicURL)
	if err != nil {
		t.Fatal(err)
	}
	o.server = httptest.NewServer(access.Guard{Hosts: []string{public.Hostname()}}.Protect(p, p.Refuse))
	t.Cleanup(o.server.Close)
	o.browser = o.newBrowser()
	return o
}

// newBrowser keeps cookies and follows no redirects.
func (o *office) newBrowser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		o.t.Fatal(err)
	}
	return &http.Client{
		Transport: o.server.Client().Transport, Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// seen is an answer that was read.
type seen struct {
	*http.Response
	body string
}

// send makes a request; headers are pairs, and a form makes it a POST.
func (o *office) send(browser *http.Client, path string, form url.Values, headers ...string) seen {
	o.t.Helper()
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	req, err := http.NewRequest(method, o.server.URL+path, body)
	if err != nil {
		o.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := browser.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
	} {
		if got := resp.Header.Get(name); got != want {
			o.t.Errorf("%s %s: header %s is %q", method, path, name, got)
		}
	}
	return seen{resp, string(text)}
}

func (o *office) get(path string, headers ...string) seen {
	o.t.Helper()
	return o.send(o.browser, path, nil, headers...)
}

func (o *office) post(path string, form url.Values, headers ...string) seen {
	o.t.Helper()
	return o.send(o.browser, path, form, headers...)
}

// logIn opens a session for the browser.
func (o *office) logIn() {
	o.t.Helper()
	if got := o.post("/approvals/login", url.Values{"token": {"s3cret"}}); got.StatusCode != http.StatusSeeOther {
		o.t.Fatalf("the login answers %d: %s", got.StatusCode, got.body)
	}
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)

// form is what the forms of a page send along, all the same.
func (s seen) form(pairs ...string) url.Values {
	form := url.Values{}
	for _, m := range hiddenField.FindAllStringSubmatch(s.body, -1) {
		form.Set(m[1], m[2])
	}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// is checks the status of an answer and what it shows, as it stands or to a reader.
func (o *office) is(got seen, status int, shows ...string) {
	o.t.Helper()
	if got.StatusCode != status {
		o.t.Errorf("%s %s: status %d, want %d: %s", got.Request.Method, got.Request.URL, got.StatusCode, status, got.body)
	}
	for _, want := range shows {
		if !strings.Contains(got.body, want) && !strings.Contains(html.UnescapeString(got.body), want) {
			o.t.Errorf("%s %s shows no %q: %s", got.Request.Method, got.Request.URL, want, got.body)
		}
	}
}

// leads checks a redirect.
func (o *office) leads(got seen, to string) {
	o.t.Helper()
	if at := got.Header.Get("Location"); got.StatusCode != http.StatusSeeOther || at != to {
		o.t.Errorf("%s %s: status %d to %q, want to %q: %s", got.Request.Method, got.Request.URL, got.StatusCode, at, to, got.body)
	}
}
