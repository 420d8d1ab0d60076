package approvalpage

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// TestFlow: from a link to a decision, and out again.
func TestFlow(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.leads(o.get("/approvals/apr_01"), "/approvals/login?id=apr_01")
	login := o.get("/approvals/login?id=apr_01")
	o.is(login, 200, `type="password"`)
	entered := o.post("/approvals/login", login.form("token", " s3cret\n", "namespace", "team-a"))
	o.leads(entered, "/approvals/apr_01")
	cookie := entered.Header.Get("Set-Cookie")
	for _, want := range []string{"interlock_approvals=", "; Path=/approvals", "; HttpOnly", "; SameSite=Strict"} {
		if !strings.Contains(cookie, want) || strings.Contains(cookie, "Secure") || strings.Contains(cookie, "s3cret") {
			t.Errorf("the cookie is %q", cookie)
		}
	}

	o.is(o.get("/approvals"), 200, `<a href="/approvals/apr_01"><bdi>Transition DEPLOY</bdi></a>`, "Deploy it?", "agent-7", "(in 23 h)")
	if want := (&approvalv1.ListApprovalsRequest{PageSize: listPage, Filter: "status=PENDING"}); !proto.Equal(o.listed, want) {
		t.Errorf("listed %v", o.listed)
	}
	shown := o.get("/approvals/apr_01")
	o.is(shown, 200, "alice (approver)", "team-a", "PENDING", "Deploy it?", "agent-7", "ses_01", "ses_00", "run_01", "role approver, carol", "0 of 2 so far",
		"&#34;id&#34;: 9007199254740993,\n  &#34;b&#34;: 1.10", "&#34;run_version&#34;: 7", "d1gest", "2026-03-05T11:00:00Z (in 23 h)", "2026-03-04T11:00:00Z (1 h ago)")
	for key, want := range map[string]string{"authorization": "Bearer s3cret", "interlock-namespace": "team-a"} {
		if got := o.meta.Get(key); len(got) != 1 || got[0] != want {
			t.Errorf("metadata %s is %q", key, got)
		}
	}
	form := shown.form("note", "go\r\non")
	o.leads(o.post("/approvals/apr_01/approve", form), "/approvals/apr_01")
	vote := &approvalv1.DecideApprovalRequest{ApprovalId: "apr_01", Approve: true, Note: "go\non", Digest: "d1gest", IdempotencyKey: form.Get("key")}
	if len(o.votes) != 1 || !proto.Equal(o.votes[0], vote) || vote.IdempotencyKey == "" {
		t.Errorf("the vote was %v, want %v", o.votes, vote)
	}
	after := o.get("/approvals/apr_01")
	o.is(after, 200, "GRANTED")
	if strings.Contains(after.body, `action="/approvals/apr_01/`) {
		t.Errorf("what is decided can be decided: %s", after.body)
	}

	o.leads(o.post("/approvals/logout", after.form()), "/approvals/login")
	o.leads(o.get("/approvals"), "/approvals/login")
	// The old cookie is worth nothing, should it be kept.
	value, _, _ := strings.Cut(strings.TrimPrefix(cookie, "interlock_approvals="), ";")
	o.leads(o.send(o.newBrowser(), "/approvals", nil, "Cookie", "interlock_approvals="+value), "/approvals/login")
}

func TestReject(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.logIn()
	o.leads(o.post("/approvals/apr_01/reject", o.get("/approvals/apr_01").form("note", "no")), "/approvals/apr_01")
	if got := o.votes[0]; got.GetApprove() || got.GetNote() != "no" || got.GetDigest() != "d1gest" || got.EditedData != nil {
		t.Errorf("the vote was %v", got)
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.logIn()
	o.leads(o.post("/approvals/apr_01/approve", o.get("/approvals/apr_01").form("edited_data", `{"id": 1.0}`)), "/approvals/apr_01")
	if got := o.votes[0]; !got.GetApprove() || string(got.GetEditedData()) != `{"id": 1.0}` || got.GetDigest() != "d1gest" {
		t.Errorf("the vote was %v", got)
	}
}

// TestEdited: an edit is shown before it is approved by the next.
func TestEdited(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.approval.Data = []byte(`{"id":9007199254740993,"list":[1,2,3],"old":true}`)
	o.approval.EditedData, o.approval.EditedBy = []byte(`{"id":1.0,"list":[3],"new":"x"}`), "bob"
	o.approval.EditPatch = []byte(`[{"op":"replace","path":"/id","value":1.0},{"op":"remove","path":"/list/0"},` +
		`{"op":"remove","path":"/list/0"},{"op":"remove","path":"/old"},{"op":"add","path":"/new","value":"x"}]`)
	o.logIn()
	row := func(op, at, before, after string) string {
		return "<tr><td>" + op + "</td><td><bdi>" + at + "</bdi></td><td>" + before + "</td><td>" + after + "</td></tr>"
	}
	o.is(o.get("/approvals/apr_01"), 200, "as <bdi>bob</bdi> has edited it", "&#34;id&#34;: 1.0,", "&#34;id&#34;: 9007199254740993,",
		row("replace", "/id", "<pre>9007199254740993</pre>", "<pre>1.0</pre>"), row("remove", "/list/0", "<pre>1</pre>", ""),
		row("remove", "/list/0", "<pre>2</pre>", ""), row("remove", "/old", "<pre>true</pre>", ""), row("add", "/new", "", "<pre>&#34;x&#34;</pre>"))
}

// TestHiddenEdits: nothing of an edit hides.
func TestHiddenEdits(t *testing.T) {
	t.Parallel()
	edits, more := editsOf([]byte("{\"a\u202e\":\"\u200b\"}"), []byte("[{\"op\":\"replace\",\"path\":\"/a\u202e\",\"value\":\"\u2066\"}]"))
	want := editView{Op: "replace", At: "/a⟦U+202E⟧", Before: `"\u200b"`, After: `"\u2066"`}
	if len(edits) != 1 || edits[0] != want || more != 0 {
		t.Errorf("%+v, want %+v", edits, want)
	}
}

// TestEditedWhole: an edit may replace all of the data.
func TestEditedWhole(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.approval.EditedData, o.approval.EditedBy = []byte(`{"n":2}`), "bob"
	o.approval.EditPatch = []byte(`[{"op":"replace","path":"","value":{"n":2}}]`)
	o.logIn()
	o.is(o.get("/approvals/apr_01"), 200, `<td>replace</td><td>all of it</td><td><pre>{"id":9007199254740993,"b":1.10}</pre></td><td><pre>{"n":2}</pre></td>`)
}

func TestManyEdits(t *testing.T) {
	t.Parallel()
	one := `{"op":"add","path":"/a","value":1},`
	edits, more := editsOf(nil, []byte("["+strings.TrimSuffix(strings.Repeat(one, maxEdits+3), ",")+"]"))
	if len(edits) != maxEdits || more != 3 {
		t.Errorf("%d edits and %d more", len(edits), more)
	}
	for _, broken := range []string{"", "{", "{}", `[1]`, `[{"op":"remove","path":"/none"}]`} {
		if edits, _ := editsOf([]byte(`{}`), []byte(broken)); edits != nil {
			t.Errorf("%q gave %v", broken, edits)
		}
	}
}

// TestRefusals: what the services refuse is shown with its status and how the
// approval stands, and nothing that was written is lost.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    error
		form   []string
		status int
		shows  []string
	}{
		"the asker": {
			err: fault.New(fault.PermissionDenied, "\"alice\" has asked, so somebody else must decide it"), form: []string{"note", "my <note>"},
			status: 403, shows: []string{"somebody else must decide it", "my &lt;note&gt;", "Requested action"},
		},
		"decided before": {
			err: fault.New(fault.ApprovalDecided, "approval apr_01 was rejected by \"bob\"; that is final"), status: 409,
			shows: []string{"was rejected by &#34;bob&#34;; that is final"},
		},
		"another action": {
			err: fault.New(fault.VersionConflict, "look at it again"), form: []string{"edited_data", "{\"mine\":\r\n\"\u202e\"}"}, status: 409,
			shows: []string{"look at it again", "<details open>", "{&#34;mine&#34;:\n&#34;\\u202e&#34;}</textarea>"},
		},
		"an edit that is none": {err: fault.New(fault.InvalidRequest, "must be a JSON object"), form: []string{"edited_data", "[]"}, status: 400, shows: []string{"must be a JSON object", "[]</textarea>"}},
		"not reachable":        {err: fault.New(fault.Unavailable, "try again"), status: 503, shows: []string{"try again"}},
		"a bug":                {err: errors.New("secret path"), status: 500, shows: []string{"internal error"}},
		"hidden words":         {err: fault.New(fault.PermissionDenied, "no\u202e\x1b"), status: 403, shows: []string{"no⟦U+202E⟧⟦U+001B⟧"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.logIn()
			form := o.get("/approvals/apr_01").form(tc.form...)
			o.errs["Decide"] = tc.err
			got := o.post("/approvals/apr_01/approve", form)
			o.is(got, tc.status, tc.shows...)
			if strings.Contains(got.body, "secret") {
				t.Errorf("shows internals: %s", got.body)
			}
		})
	}
}

// TestUnclearVotes: what does not say what was seen, or what is meant, decides
// nothing.
func TestUnclearVotes(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.logIn()
	form := o.get("/approvals/apr_01").form("digest", "")
	o.is(o.post("/approvals/apr_01/approve", form), 400, "does not contain what was shown")
	o.is(o.post("/approvals/apr_01/reject", form), 400, "does not contain what was shown")
	o.is(o.post("/approvals/apr_01/approve", o.get("/approvals/apr_01").form("edited_data", "", "note", "n")), 400, "The edited data is empty", "<details open>", "\nn</textarea>")
	o.is(o.post("/approvals/apr_01/approve", url.Values{"csrf": {strings.Repeat("x", maxForm)}}), 400, "too large")
	if len(o.votes) != 0 {
		t.Errorf("voted %v", o.votes)
	}
}

func TestWrongPaths(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.logIn()
	o.is(o.get("/approvals/apr_02%E2%80%AE"), 404, "there is no approval apr_02⟦U+202E⟧")
	o.leads(o.get("/approvals/"), "/approvals")
	o.is(o.get("/approvals/apr_01/approve"), http.StatusMethodNotAllowed)
	o.is(o.get("/approvals/logout/x"), 404)
	o.is(o.get("/approvals/style.css"), 200, "pre {")
	o.errs["List"] = fault.New(fault.Unavailable, "try again")
	o.is(o.get("/approvals"), 503, "try again")
	if len(o.votes) != 0 {
		t.Errorf("a link voted: %v", o.votes)
	}
}

// TestPages: what does not fit on one page of the list is on the next.
func TestPages(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.logIn()
	o.next = "a&b"
	o.is(o.get("/approvals?page_token=t"), 200, `<a href="/approvals?page_token=a%26b">More</a>`)
	if o.listed.GetPageToken() != "t" {
		t.Errorf("listed %v", o.listed)
	}
}
