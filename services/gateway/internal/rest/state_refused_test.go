package rest

import (
	"strings"
	"testing"
)

// TestRefusedStateRequests: what the edge refuses before the state-store sees it.
func TestRefusedStateRequests(t *testing.T) {
	t.Parallel()
	const (
		state  = "/v1/states/s"
		lock   = "/v1/states/s/lock"
		commit = "/v1/components/c/executions/e/commit"
		patch  = "application/json-patch+json"
		merge  = "application/merge-patch+json"
		bad    = "INVALID_REQUEST"
		text   = "INVALID_JSON"
	)
	contentType := func(kind string) []string { return []string{"Content-Type", kind} }
	patchable := map[string]string{"Accept-Patch": "application/json, application/json-patch+json, application/merge-patch+json"}
	checkRefusals(t, []refusalCase{
		{name: "no token", method: "GET", path: "/v1/states", headers: []string{"Authorization", ""}, status: 401, code: "UNAUTHENTICATED"},
		{name: "wrong method", method: "POST", path: state, status: 405, code: "METHOD_NOT_ALLOWED", header: map[string]string{"Allow": "DELETE, GET, HEAD, PATCH, PUT"}},
		{name: "cross origin", method: "DELETE", path: state, headers: []string{"Origin", "https://evil.example"}, status: 403, code: "CROSS_ORIGIN"},

		{name: "patch of an unknown type", method: "PATCH", path: state, body: `{}`, headers: contentType("application/xml"), status: 415, code: "UNSUPPORTED_MEDIA_TYPE", header: patchable},
		{name: "patch of no type", method: "PATCH", path: "/v1/state", body: `{}`, headers: contentType(""), status: 415, code: "UNSUPPORTED_MEDIA_TYPE", header: patchable},
		{name: "replacement by a patch", method: "PUT", path: state, body: `[]`, headers: contentType(patch), status: 415, code: "UNSUPPORTED_MEDIA_TYPE", header: map[string]string{"Accept": "application/json", "Accept-Patch": ""}},
		{name: "replacement in YAML", method: "PUT", path: state, body: `data: 1`, headers: contentType("application/yaml"), status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "unlock by a form", method: "DELETE", path: lock, body: `fencing_token=1`, headers: contentType("application/x-www-form-urlencoded"), status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},

		{name: "no data", method: "PUT", path: state, body: `{}`, status: 400, code: bad, pointer: "/data", detail: "REQUIRED"},
		{name: "empty", method: "PUT", path: state, body: ``, headers: contentType("application/json"), status: 400, code: text, detail: "JSON_SYNTAX"},
		{name: "cut off", method: "PUT", path: state, body: `{"data":{"a":`, status: 400, code: text, detail: "JSON_SYNTAX"},
		{name: "duplicate key", method: "PUT", path: state, body: `{"data":{"a":{"b":1,"b":2}}}`, status: 400, code: text, pointer: "/data/a/b", detail: "DUPLICATE_KEY"},
		{name: "NaN", method: "PUT", path: state, body: `{"data":{"a":NaN}}`, status: 400, code: text, detail: "JSON_SYNTAX"},
		{name: "infinite number", method: "PUT", path: state, body: `{"data":{"a":1e999}}`, status: 400, code: text, pointer: "/data/a", detail: "NUMBER"},
		{name: "lone surrogate", method: "PUT", path: state, body: `{"data":{"a":"\ud800"}}`, status: 400, code: text, pointer: "/data/a", detail: "UTF8"},
		{name: "invalid UTF-8", method: "PUT", path: state, body: "{\"data\":{\"a\":\"\xff\"}}", status: 400, code: text, pointer: "/data/a", detail: "UTF8"},
		{name: "unknown field", method: "PUT", path: state, body: `{"data":{},"version":1}`, status: 400, code: bad, pointer: "/version", detail: "UNKNOWN_FIELD"},
		{name: "negative version", method: "PUT", path: state, body: `{"data":{},"expected_version":-1}`, status: 400, code: bad, pointer: "/expected_version", detail: "RANGE"},
		{name: "negative token", method: "PUT", path: state, body: `{"data":{},"fencing_token":-1}`, status: 400, code: bad, pointer: "/fencing_token", detail: "RANGE"},
		{name: "two versions", method: "PUT", path: state, body: `{"data":{},"expected_version":6}`, headers: []string{"If-Match", `"7"`}, status: 400, code: bad, detail: "CONFLICT"},
		{name: "two tokens", method: "PUT", path: state, body: `{"data":{},"fencing_token":6}`, headers: []string{"Interlock-Fencing-Token", `7`}, status: 400, code: bad, detail: "CONFLICT"},
		{name: "token is not a number", method: "PUT", path: state, body: `{"data":{}}`, headers: []string{"Interlock-Fencing-Token", `"7"`}, status: 400, code: bad, detail: "RANGE"},
		{name: "If-Match is no version", method: "PUT", path: state, body: `{"data":{}}`, headers: []string{"If-Match", `"x"`}, status: 400, code: bad, detail: "INVALID"},
		{name: "session is not text", method: "GET", path: state, headers: []string{"X-Interlock-Session", "\xff"}, status: 400, code: bad, detail: "INVALID"},
		{name: "endless session", method: "GET", path: state, headers: []string{"X-Interlock-Session", strings.Repeat("s", 257)}, status: 400, code: bad, detail: "INVALID"},
		{name: "state is not text", method: "GET", path: "/v1/state", headers: []string{"X-Workflow-State-Id", "\x01"}, status: 400, code: bad, detail: "INVALID"},

		{name: "patch without operations", method: "PATCH", path: state, body: `{}`, status: 400, code: bad, pointer: "/operations", detail: "REQUIRED"},
		{name: "operations are not an array", method: "PATCH", path: state, body: `{"operations":{}}`, status: 400, code: bad, pointer: "/operations", detail: "TYPE"},
		{name: "operations are null", method: "PATCH", path: state, body: `{"operations":null}`, status: 400, code: bad, pointer: "/operations", detail: "TYPE"},
		{name: "operations alone", method: "PATCH", path: state, body: `[]`, status: 400, code: bad, detail: "TYPE"},
		{name: "JSON Patch is an object", method: "PATCH", path: state, body: `{"operations":[]}`, headers: contentType(patch), status: 400, code: bad, detail: "TYPE"},
		{name: "JSON Patch is null", method: "PATCH", path: state, body: `null`, headers: contentType(patch), status: 400, code: bad, detail: "TYPE"},
		{name: "JSON Patch is empty", method: "PATCH", path: state, headers: contentType(patch), status: 400, code: text, detail: "JSON_SYNTAX"},
		{name: "JSON Patch with a duplicate", method: "PATCH", path: state, body: `[{"op":"add","op":"remove","path":""}]`, headers: contentType(patch), status: 400, code: text, pointer: "/0/op", detail: "DUPLICATE_KEY"},
		{name: "merge patch is empty", method: "PATCH", path: state, headers: contentType(merge), status: 400, code: text, detail: "JSON_SYNTAX"},
		{name: "merge patch with a lone surrogate", method: "PATCH", path: state, body: `{"a":"\udfff"}`, headers: contentType(merge), status: 400, code: text, pointer: "/a", detail: "UTF8"},
		{name: "migration's operations", method: "POST", path: state + "/migrate", body: `{"operations":"x"}`, status: 400, code: bad, pointer: "/operations", detail: "TYPE"},
		{name: "migration from two versions", method: "POST", path: state + "/migrate", body: `{"expected_version":6}`, headers: []string{"If-Match", `"7"`}, status: 400, code: bad, detail: "CONFLICT"},
		{name: "migration with two tokens", method: "POST", path: state + "/migrate", body: `{"fencing_token":6}`, headers: []string{"Interlock-Fencing-Token", `7`}, status: 400, code: bad, detail: "CONFLICT"},

		{name: "create without anything", method: "POST", path: "/v1/states", body: `{}`, status: 400, code: bad, detail: "REQUIRED"},
		{name: "create for two sessions", method: "POST", path: "/v1/states", body: `{"schema_name":"s","initial_data":{},"root_session_id":"a","session_name":"b"}`, status: 400, code: bad, pointer: "/session_name", detail: "CONFLICT"},
		{name: "create for another session by id", method: "POST", path: "/v1/states", body: `{"schema_name":"s","initial_data":{},"root_session_id":"b"}`, headers: []string{"X-Interlock-Session", "a"}, status: 403, code: "PERMISSION_DENIED"},
		{name: "create for another session by name", method: "POST", path: "/v1/state", body: `{"schema_name":"s","initial_data":{},"session_name":"b"}`, headers: []string{"X-Interlock-Session", "a"}, status: 403, code: "PERMISSION_DENIED"},
		{name: "create is not patched", method: "POST", path: "/v1/states", body: `{"schema_name":"s","initial_data":{}}`, headers: []string{"If-Match", `"7"`}, status: 400, code: bad, detail: "UNSUPPORTED"},
		{name: "force is not a boolean", method: "DELETE", path: state + "?force=1", status: 400, code: bad, detail: "ENUM"},
		{name: "deletion of a bad version", method: "DELETE", path: state, headers: []string{"If-Match", `7`}, status: 400, code: bad, detail: "INVALID"},
		{name: "version zero", method: "GET", path: state + "/versions/0", status: 404, code: "NOT_FOUND"},
		{name: "version is not a number", method: "GET", path: state + "/versions/x", status: 400, code: bad, detail: "RANGE"},
		{name: "pointer is not text", method: "GET", path: state + "?pointer=%2Fa&pointer=%ff", status: 400, code: bad, detail: "UTF8"},
		{name: "pointers of a list", method: "GET", path: "/v1/states?pointer=", status: 400, code: bad, detail: "UNKNOWN_PARAMETER"},
		{name: "two schemas", method: "GET", path: "/v1/states?schema=a&schema=b", status: 400, code: bad, detail: "DUPLICATE_PARAMETER"},
		{name: "page of states", method: "GET", path: "/v1/states?page_size=1001", status: 400, code: bad, detail: "RANGE"},
		{name: "history from nowhere", method: "GET", path: state + "/history?after_version=-1", status: 400, code: bad, detail: "RANGE"},
		{name: "page of history", method: "GET", path: state + "/history?page_size=x", status: 400, code: bad, detail: "RANGE"},

		{name: "schema without anything", method: "POST", path: "/v1/schemas", body: `{"description":"d"}`, status: 400, code: bad, detail: "REQUIRED"},
		{name: "schema in YAML", method: "POST", path: "/v1/schemas", body: `name: a`, headers: contentType("application/yaml"), status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "schema version zero", method: "GET", path: "/v1/schemas/a?version=0", status: 404, code: "NOT_FOUND"},
		{name: "page of schemas", method: "GET", path: "/v1/schemas?page_size=x", status: 400, code: bad, detail: "RANGE"},
		{name: "page of versions", method: "GET", path: "/v1/schemas/a/versions?page_size=x", status: 400, code: bad, detail: "RANGE"},

		{name: "lock without anything", method: "POST", path: lock, body: `{}`, status: 400, code: bad, detail: "REQUIRED"},
		{name: "lock with a token", method: "POST", path: lock, body: `{"holder":"a","ttl_seconds":1,"fencing_token":1}`, status: 400, code: bad, pointer: "/fencing_token", detail: "UNKNOWN_FIELD"},
		{name: "endless lock", method: "POST", path: lock, body: `{"holder":"a","ttl_seconds":2147483648}`, status: 400, code: bad, pointer: "/ttl_seconds", detail: "TYPE"},
		{name: "renewal without a token", method: "PUT", path: lock, body: `{"holder":"a","ttl_seconds":1}`, status: 400, code: bad, pointer: "/fencing_token", detail: "REQUIRED"},
		{name: "renewal with two tokens", method: "PUT", path: lock, body: `{"holder":"a","ttl_seconds":1,"fencing_token":1}`, headers: []string{"Interlock-Fencing-Token", "2"}, status: 400, code: bad, detail: "CONFLICT"},
		{name: "unlock without a token", method: "DELETE", path: lock, status: 400, code: bad, pointer: "/fencing_token", detail: "REQUIRED"},
		{name: "unlock with two tokens", method: "DELETE", path: lock + "?fencing_token=1", body: `{"fencing_token":2}`, status: 400, code: bad, detail: "CONFLICT"},
		{name: "unlock with no number", method: "DELETE", path: lock + "?fencing_token=-1", status: 400, code: bad, detail: "RANGE"},

		{name: "session is not an object", method: "POST", path: "/v1/sessions", body: `[]`, status: 400, code: bad, detail: "TYPE"},
		{name: "state_update", method: "POST", path: "/v1/sessions", body: `{"state_update":"REQUIRED"}`, status: 400, code: bad, pointer: "/state_update", detail: "ENUM"},
		{name: "unspecified state_update", method: "POST", path: "/v1/sessions", body: `{"state_update":"unspecified"}`, status: 400, code: bad, pointer: "/state_update", detail: "ENUM"},
		{name: "label is not text", method: "POST", path: "/v1/sessions", body: `{"labels":{"a":1}}`, status: 400, code: bad, pointer: "/labels/a", detail: "TYPE"},
		{name: "sessions of an unknown status", method: "GET", path: "/v1/sessions?status=RUNNING", status: 400, code: bad, detail: "ENUM"},
		{name: "sessions of no status", method: "GET", path: "/v1/sessions?status=", status: 400, code: bad, detail: "ENUM"},
		{name: "page of sessions", method: "GET", path: "/v1/sessions?page_size=x", status: 400, code: bad, detail: "RANGE"},
		{name: "stop", method: "POST", path: "/v1/sessions/s/stop", body: `{"in_place":1}`, status: 400, code: bad, pointer: "/in_place", detail: "TYPE"},
		{name: "resume", method: "POST", path: "/v1/sessions/s/resume", body: `{"x":1}`, status: 400, code: bad, pointer: "/x", detail: "UNKNOWN_FIELD"},
		{name: "grant of nothing", method: "POST", path: "/v1/sessions/s/grants", body: `{}`, status: 400, code: bad, pointer: "/state_id", detail: "REQUIRED"},
		{name: "grant that is not valid JSON", method: "POST", path: "/v1/sessions/s/grants", body: `{`, status: 400, code: text},
		{name: "tasks of an unknown status", method: "GET", path: "/v1/tasks?status=lost", status: 400, code: bad, detail: "ENUM"},
		{name: "page of tasks", method: "GET", path: "/v1/tasks?page_size=x", status: 400, code: bad, detail: "RANGE"},

		{name: "empty component", method: "POST", path: "/v1/components", headers: contentType("application/json"), status: 400, code: text, detail: "JSON_SYNTAX"},
		{name: "component of bad YAML", method: "PUT", path: "/v1/components/c", body: "a: 1\na: 2", headers: contentType("text/yaml"), status: 400, code: text, detail: "DUPLICATE_KEY"},
		{name: "component of a bad version", method: "PUT", path: "/v1/components/c", body: `{}`, headers: []string{"If-Match", "3"}, status: 400, code: bad, detail: "INVALID"},
		{name: "deletion of a bad component version", method: "DELETE", path: "/v1/components/c", headers: []string{"If-Match", "3"}, status: 400, code: bad, detail: "INVALID"},
		{name: "page of components", method: "GET", path: "/v1/components?page_size=x", status: 400, code: bad, detail: "RANGE"},
		{name: "begin", method: "POST", path: "/v1/components/c/executions", body: `{"slug":"d"}`, status: 400, code: bad, pointer: "/slug", detail: "UNKNOWN_FIELD"},
		{name: "commit of two", method: "POST", path: commit, body: `{"values":{},"merge":{}}`, status: 400, code: bad, detail: "CONFLICT"},
		{name: "committed values are not an object", method: "POST", path: commit, body: `{"values":[]}`, status: 400, code: bad, pointer: "/values", detail: "TYPE"},
		{name: "committed operations are not an array", method: "POST", path: commit, body: `{"operations":{}}`, status: 400, code: bad, pointer: "/operations", detail: "TYPE"},
		{name: "commit of bad JSON", method: "POST", path: commit, body: `{"values":{"a":1,"a":2}}`, status: 400, code: text, pointer: "/values/a", detail: "DUPLICATE_KEY"},
	})
}
