package rest

import (
	"testing"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// TestUpstreams: the tools behind the gate are listed, accepted and forgotten over REST too.
func TestUpstreams(t *testing.T) {
	t.Parallel()
	changed := &policyv1.UpstreamTool{Server: "fs", Tool: "a/b", Accepted: "1", Changed: "2", Description: "does more", ReportedBy: "kid"}
	const shown = `{"tools":[{"server":"fs","tool":"a/b","accepted":"1","changed":"2","description":"does more","reported_by":"kid"}]}`
	checkAnswers(t, []answerCase{
		{
			name: "list", method: "GET", path: "/v1/upstreams", rpc: "ListUpstreamTools",
			answer: &policyv1.ListUpstreamToolsResponse{Tools: []*policyv1.UpstreamTool{changed}},
			want:   &policyv1.ListUpstreamToolsRequest{}, status: 200, json: shown,
		},
		{
			name: "nothing was seen", method: "GET", path: "/v1/upstreams", rpc: "ListUpstreamTools",
			answer: &policyv1.ListUpstreamToolsResponse{}, want: &policyv1.ListUpstreamToolsRequest{}, status: 200, json: `{"tools":[]}`,
		},
		{
			name: "accept", method: "POST", path: "/v1/upstreams/fs/tools/a%2Fb/accept", body: `{"digest":"2"}`, rpc: "AcceptUpstreamTools",
			answer: &policyv1.AcceptUpstreamToolsResponse{Tools: []*policyv1.UpstreamTool{changed}},
			want:   &policyv1.AcceptUpstreamToolsRequest{Server: "fs", Tool: "a/b", Digest: "2"}, status: 200, json: shown,
		},
		{
			name: "forget a server", method: "DELETE", path: "/v1/upstreams/fs", rpc: "ForgetUpstreamTools",
			answer: &policyv1.ForgetUpstreamToolsResponse{Tools: []*policyv1.UpstreamTool{changed}},
			want:   &policyv1.ForgetUpstreamToolsRequest{Server: "fs"}, status: 200, json: shown,
		},
		{
			name: "forget a tool", method: "DELETE", path: "/v1/upstreams/fs/tools/a%2Fb", rpc: "ForgetUpstreamTools",
			answer: &policyv1.ForgetUpstreamToolsResponse{}, want: &policyv1.ForgetUpstreamToolsRequest{Server: "fs", Tool: "a/b"}, status: 200, json: `{"tools":[]}`,
		},
	})
}
