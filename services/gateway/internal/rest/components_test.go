package rest

import (
	"strings"
	"testing"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// TestComponentAnswers pins the exact JSON of components and executions (S12).
func TestComponentAnswers(t *testing.T) {
	t.Parallel()
	read := anExecution()
	read.ExecutionId, read.Values, read.Unset = "", nil, nil
	const commit = "/v1/components/prefs/executions/exe_01/commit"
	const jsonExe = `{"execution_id":"exe_01",` + jsonExecution
	tag := map[string]string{"ETag": `"3"`}
	checkAnswers(t, []answerCase{
		{
			name: "create", method: "POST", path: "/v1/components", body: ` {"slug":"prefs"}`, headers: []string{"Idempotency-Key", "k"}, rpc: "CreateComponent",
			want:   &statev1.CreateComponentRequest{Definition: []byte(` {"slug":"prefs"}`), IdempotencyKey: "k"},
			status: 201, json: jsonComponent, header: map[string]string{"ETag": `"3"`, "Location": "/v1/components/prefs"},
		},
		{
			name: "create of YAML", method: "POST", path: "/v1/components", body: "slug: prefs\nn: 1.10\n", headers: []string{"Content-Type", "application/yaml"},
			rpc: "CreateComponent", want: &statev1.CreateComponentRequest{Definition: []byte(`{"slug":"prefs","n":1.10}`)}, status: 201, json: jsonComponent,
		},
		{
			name: "list", method: "GET", path: "/v1/components?tag=a&page_size=1&page_token=t", rpc: "ListComponents",
			answer: &statev1.ListComponentsResponse{Components: []*statev1.Component{aComponent()}, NextPageToken: "u"},
			want:   &statev1.ListComponentsRequest{PageSize: 1, PageToken: "t", Filter: "tag=a"},
			status: 200, json: `{"components":[` + jsonComponent + `],"next_page_token":"u"}`,
		},
		{
			name: "get", method: "GET", path: "/v1/components/prefs", rpc: "GetComponent",
			want: &statev1.GetComponentRequest{Slug: "prefs"}, status: 200, json: jsonComponent, header: tag,
		},
		{name: "not modified", method: "GET", path: "/v1/components/prefs", headers: []string{"If-None-Match", `"3"`}, rpc: "GetComponent", status: 304, header: tag},
		{
			name: "replace", method: "PUT", path: "/v1/components/prefs", body: `{}`, headers: []string{"If-Match", `"2"`}, rpc: "UpdateComponent",
			want:   &statev1.UpdateComponentRequest{Slug: "prefs", Definition: []byte(`{}`), ExpectedVersion: 2},
			status: 200, json: jsonComponent, header: tag,
		},
		{
			name: "delete", method: "DELETE", path: "/v1/components/prefs", headers: []string{"If-Match", `"3"`}, rpc: "DeleteComponent",
			want: &statev1.DeleteComponentRequest{Slug: "prefs", ExpectedVersion: 3}, status: 204,
		},
		{
			name: "begin", method: "POST", path: "/v1/components/prefs/executions", headers: []string{"X-Interlock-Session", "s"}, rpc: "BeginExecution",
			want: &statev1.BeginExecutionRequest{Slug: "prefs", Session: "s"}, status: 201, json: jsonExe,
		},
		{
			name: "begin for another", method: "POST", path: "/v1/components/prefs/executions", body: `{"session":"t","subject":"alice"}`,
			headers: []string{"X-Interlock-Session", "s"}, rpc: "BeginExecution",
			want: &statev1.BeginExecutionRequest{Slug: "prefs", Session: "t", Subject: "alice"}, status: 201, json: jsonExe,
		},
		{
			name: "commit values", method: "POST", path: commit, body: `{"values":{ "n":1.0}}`, headers: []string{"X-Interlock-Session", "s"}, rpc: "CommitExecution",
			want: &statev1.CommitExecutionRequest{
				ExecutionId: "exe_01", Session: "s", Change: &statev1.CommitExecutionRequest_Values{Values: []byte(`{ "n":1.0}`)},
			},
			status: 200, json: jsonExe,
		},
		{
			name: "commit a patch", method: "POST", path: commit, body: `{"operations":[]}`, rpc: "CommitExecution",
			want: &statev1.CommitExecutionRequest{
				ExecutionId: "exe_01", Change: &statev1.CommitExecutionRequest_Patch{Patch: []byte(`[]`)},
			},
			status: 200, json: jsonExe,
		},
		{
			name: "commit a merge patch", method: "POST", path: commit, body: `{"merge":{"n":null}}`, rpc: "CommitExecution",
			want: &statev1.CommitExecutionRequest{
				ExecutionId: "exe_01", Change: &statev1.CommitExecutionRequest_MergePatch{MergePatch: []byte(`{"n":null}`)},
			},
			status: 200, json: jsonExe,
		},
		{
			name: "commit nothing new", method: "POST", path: commit, rpc: "CommitExecution",
			want: &statev1.CommitExecutionRequest{ExecutionId: "exe_01"}, status: 200, json: jsonExe,
		},
		{
			name: "read", method: "GET", path: "/v1/components/prefs/values?session=t&subject=alice", headers: []string{"X-Interlock-Session", "s"}, rpc: "GetComponentValues",
			answer: &statev1.GetComponentValuesResponse{Execution: read},
			want:   &statev1.GetComponentValuesRequest{Slug: "prefs", Session: "t", Subject: "alice"}, status: 200,
			json: `{` + strings.NewReplacer(`{"n":9007199254740993}`, "{}", `["m"]`, "[]").Replace(jsonExecution),
		},
		{
			name: "read one's own", method: "GET", path: "/v1/components/prefs/values", headers: []string{"X-Interlock-Session", "s"}, rpc: "GetComponentValues",
			want: &statev1.GetComponentValuesRequest{Slug: "prefs", Session: "s"}, status: 200, json: jsonExe,
		},
	})
}
