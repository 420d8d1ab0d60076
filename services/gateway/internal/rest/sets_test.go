package rest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// TestSetAnswers pins the exact JSON of sets and of live versions (S26.1, S26.2, S26.4).
func TestSetAnswers(t *testing.T) {
	t.Parallel()
	set := &policyv1.DefinitionSet{
		Name: "gov", Version: 2, Repo: "r", Commit: "c", AppliedAt: noon, AppliedBy: "ci",
		Objects: []*policyv1.SetObject{{Kind: policyv1.DefinitionKind_DEFINITION_KIND_POLICY, Name: "p", Version: 3, Digest: "abc", OwnsAttachments: true}},
	}
	const shown = `"name":"gov","version":2,"objects":[{"kind":"policy","name":"p","version":3,"digest":"abc","owns_attachments":true}],"repo":"r","commit":"c","applied_at":"2026-03-04T12:00:00.005Z","applied_by":"ci"`
	door := &enginev1.Workflow{Name: "door", Version: 2, Digest: "abc", CreatedAt: noon, CreatedBy: "olga", LiveVersion: 2, Retired: &enginev1.Retirement{At: noon, By: "olga", Reason: "no"}}
	const live = `{"name":"door","version":2,"digest":"abc","created_at":"2026-03-04T12:00:00.005Z","updated_at":"2026-03-04T12:00:00.005Z","created_by":"olga","live_version":2,` +
		`"retired":{"at":"2026-03-04T12:00:00.005Z","by":"olga","reason":"no"}}`
	everyone := []*policyv1.Attachment{{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_EVERYONE, Id: "*"}}
	checkAnswers(t, []answerCase{
		{
			name: "list", method: "GET", path: "/v1/sets", rpc: "ListSets", answer: &policyv1.ListSetsResponse{Sets: []*policyv1.DefinitionSet{set}},
			want: &policyv1.ListSetsRequest{}, status: 200, json: `{"sets":[{` + shown + `}]}`,
		},
		{
			name: "origin", method: "GET", path: "/v1/sets?kind=policy&name=p&version=3", rpc: "ListSets", answer: &policyv1.ListSetsResponse{Sets: []*policyv1.DefinitionSet{set}},
			want: &policyv1.ListSetsRequest{Kind: policyv1.DefinitionKind_DEFINITION_KIND_POLICY, Name: "p", Version: 3}, status: 200, json: `{"sets":[{` + shown + `}]}`,
		},
		{
			name: "shadow", method: "POST", path: "/v1/sets/gov/apply", rpc: "ApplySet", body: `{"changes":[],"shadow_seconds":90}`,
			want: &policyv1.ApplySetRequest{Name: "gov", Shadow: durationpb.New(90 * time.Second)}, status: 200,
			answer: &policyv1.ApplySetResponse{Changed: true, Set: &policyv1.DefinitionSet{Name: "gov", Version: 1, Shadow: &policyv1.SetShadow{
				StartedAt: noon, Until: noon, StartedBy: "ci", Commit: "c",
				Objects: []*policyv1.ShadowedObject{
					{Kind: policyv1.DefinitionKind_DEFINITION_KIND_POLICY, Name: "p", Version: 2, Digest: "abc", LiveVersion: 1, OwnsAttachments: true, Attachments: everyone, Judged: true},
					{Kind: policyv1.DefinitionKind_DEFINITION_KIND_WORKFLOW, Name: "w", LiveVersion: 4},
				},
			}}},
			json: `{"name":"gov","version":1,"objects":[],"shadow":{"started_at":"2026-03-04T12:00:00.005Z","until":"2026-03-04T12:00:00.005Z","started_by":"ci","commit":"c","objects":[` +
				`{"kind":"policy","name":"p","version":2,"digest":"abc","live_version":1,"owns_attachments":true,"attachments":[{"kind":"everyone","id":"*"}],"judged":true},` +
				`{"kind":"workflow","name":"w","live_version":4}]},"changed":true}`,
		},
		{
			name: "get", method: "GET", path: "/v1/sets/gov", rpc: "GetSet", answer: &policyv1.GetSetResponse{Set: set},
			want: &policyv1.GetSetRequest{Name: "gov"}, status: 200, json: `{` + shown + `}`,
		},
		{
			name: "apply", method: "POST", path: "/v1/sets/gov/apply", rpc: "ApplySet", answer: &policyv1.ApplySetResponse{Set: set, Changed: true},
			body: `{"expected_version":1,"changes":[{"kind":"workflow","name":"door","expected_version":1,"version":2,"take":true},` +
				`{"kind":"policy","name":"p","version":3,"owns_attachments":true,"expected_attachments":[{"kind":"everyone","id":"*"}],"attachments":[{"kind":"everyone","id":"*"}]}],` +
				`"repo":"r","commit":"c","dry_run":true}`,
			want: &policyv1.ApplySetRequest{Name: "gov", ExpectedVersion: 1, Repo: "r", Commit: "c", DryRun: true, Changes: []*policyv1.SetChange{
				{Kind: policyv1.DefinitionKind_DEFINITION_KIND_WORKFLOW, Name: "door", ExpectedVersion: 1, Version: 2, Take: true},
				{Kind: policyv1.DefinitionKind_DEFINITION_KIND_POLICY, Name: "p", Version: 3, OwnsAttachments: true, ExpectedAttachments: everyone, Attachments: everyone},
			}},
			status: 200, json: `{` + shown + `,"changed":true}`,
		},
		{
			name: "promote", method: "POST", path: "/v1/workflows/door/promote", body: `{"version":2,"expected_version":3}`, rpc: "PromoteWorkflow",
			answer: &enginev1.PromoteWorkflowResponse{Workflow: door}, want: &enginev1.PromoteWorkflowRequest{Name: "door", Version: 2, ExpectedVersion: 3}, status: 200, json: live,
		},
		{
			name: "retire", method: "POST", path: "/v1/workflows/door/retire", body: `{"reason":"no"}`, rpc: "RetireWorkflow",
			answer: &enginev1.RetireWorkflowResponse{Workflow: door}, want: &enginev1.RetireWorkflowRequest{Name: "door", Reason: "no"}, status: 200, json: live,
		},
		{
			name: "restore", method: "POST", path: "/v1/workflows/door/restore", rpc: "RestoreWorkflow",
			answer: &enginev1.RestoreWorkflowResponse{Workflow: door}, want: &enginev1.RestoreWorkflowRequest{Name: "door"}, status: 200, json: live,
		},
		{
			name: "stage", method: "POST", path: "/v1/workflows?staged=true&dry_run=true&expected_version=4&expected_digest=ab", body: `{}`, rpc: "RegisterWorkflow",
			answer: &enginev1.RegisterWorkflowResponse{Workflow: door}, status: 200,
			want: &enginev1.RegisterWorkflowRequest{Definition: []byte(`{}`), Staged: true, DryRun: true, ExpectedVersion: 4, ExpectedDigest: "ab"},
			json: strings.TrimSuffix(live, "}") + `,"created":false,"warnings":[]}`,
		},
	})
}

// If-Match names the digest of the live definition, as a GET answers it: 412 where another is live (S26.3).
func TestRegistrationPreconditions(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("ab", 32)
	for path, rpc := range map[string]string{"/v1/workflows": "RegisterWorkflow", "/v1/processes": "RegisterProcess", "/v1/policies?name=p": "RegisterPolicy"} {
		h := newHouse(t)
		h.errs[rpc] = fault.New(fault.VersionConflict, "version 3 is live")
		if got := h.do("POST", path, `{}`, "If-Match", `"`+digest+`"`); got.Code != http.StatusPreconditionFailed || !strings.Contains(got.Body.String(), "version 3 is live") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
		asked, _ := h.got[rpc].(interface{ GetExpectedDigest() string })
		if asked == nil || asked.GetExpectedDigest() != digest {
			t.Errorf("%s asks for %v", path, h.got[rpc])
		}
		if got := h.do("POST", path, `{}`); got.Code != http.StatusConflict {
			t.Errorf("%s without a precondition of HTTP: %d", path, got.Code)
		}
		for _, tag := range []string{`"7"`, digest, `"` + digest} {
			if got := h.do("POST", path, `{}`, "If-Match", tag); got.Code != http.StatusBadRequest {
				t.Errorf("%s with If-Match %s: %d", path, tag, got.Code)
			}
		}
	}
}

// Words that the contract does not have are refused at their place.
func TestSetWords(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for body, want := range map[string]string{
		`{"changes":[{"kind":"planet","name":"x"}]}`:                                          "/changes/0/kind",
		`{"changes":[{"kind":"policy","name":"x","attachments":[{"kind":"moon","id":"y"}]}]}`: "/changes/0/attachments/0/kind",
	} {
		if got := h.do("POST", "/v1/sets/gov/apply", body); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
}
