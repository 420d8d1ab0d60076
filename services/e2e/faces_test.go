package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// ask is one request, as any face carries it. Fields that a face or an operation has no
// use for are left out.
type ask struct {
	token                                 string
	run, session, workflow, branch, event string
	version                               int64
	context, definition                   string
	resume                                bool
	parent                                string // of a session to be
	human                                 string // token of the person on whose behalf it is; only of ownTool
}

// told is the answer to an ask. Its code says why that was refused, and is empty when
// it was not.
type told struct{ code, text, run, status string }

// The operations that agents may try.
const (
	opRegister = "register"
	opStart    = "start"
	opTake     = "take a branch"
	opGet      = "get the run"
	opFire     = "fire an event"
	opPause    = "pause the run"
	opResume   = "resume the run"
	opCancel   = "cancel the run"
	opHistory  = "read the history"

	opCreate = "create the session"
	opEnd    = "end the session"
	opReopen = "resume the session"
)

// face is one of the ways to the same use cases; each has those of the operations that
// it offers.
type face struct {
	name string
	asks map[string]func(testing.TB, *world, ask) told
}

var faces = []face{
	{"REST", map[string]func(testing.TB, *world, ask) told{
		opRegister: func(t testing.TB, w *world, a ask) told {
			return w.restful(t, http.MethodPost, "/v1/workflows", a, json.RawMessage(a.definition))
		},
		opStart: func(t testing.TB, w *world, a ask) told {
			body := map[string]any{"workflow": a.workflow, "version": a.version, "session_id": a.session, "resume": a.resume}
			if a.context != "" {
				body["context"] = json.RawMessage(a.context)
			}
			return w.restful(t, http.MethodPost, "/v1/runs", a, body)
		},
		opTake: func(t testing.TB, w *world, a ask) told {
			return w.restful(t, http.MethodPost, "/v1/runs", a,
				map[string]any{"workflow": a.workflow, "branch": a.branch, "session_id": a.session, "run_id": a.run})
		},
		opGet: func(t testing.TB, w *world, a ask) told {
			return w.restful(t, http.MethodGet, "/v1/runs/"+a.run, a, nil)
		},
		opHistory: func(t testing.TB, w *world, a ask) told {
			return w.restful(t, http.MethodGet, "/v1/runs/"+a.run+"/history", a, nil)
		},
		opFire: func(t testing.TB, w *world, a ask) told {
			return w.restful(t, http.MethodPost, "/v1/runs/"+a.run+"/transition", a, map[string]any{"event": a.event, "branch": a.branch})
		},
		opPause: func(t testing.TB, w *world, a ask) told {
			return w.restful(t, http.MethodPost, "/v1/runs/"+a.run+"/pause", a, nil)
		},
		opResume: func(t testing.TB, w *world, a ask) told {
			return w.restful(t, http.MethodPost, "/v1/runs/"+a.run+"/resume", a, nil)
		},
		opCancel: func(t testing.TB, w *world, a ask) told {
			return w.restful(t, http.MethodPost, "/v1/runs/"+a.run+"/cancel", a, nil)
		},
		opCreate: func(t testing.TB, w *world, a ask) told {
			return w.restful(t, http.MethodPost, "/v1/sessions", a, map[string]any{"session_name": a.session, "parent_session_name": a.parent})
		},
		opEnd: func(t testing.TB, w *world, a ask) told {
			return w.restful(t, http.MethodPost, "/v1/sessions/"+url.PathEscape(a.session)+"/stop", a, map[string]any{"end": true})
		},
		opReopen: func(t testing.TB, w *world, a ask) told {
			return w.restful(t, http.MethodPost, "/v1/sessions/"+url.PathEscape(a.session)+"/resume", a, nil)
		},
	}},
	{"gRPC", map[string]func(testing.TB, *world, ask) told{
		opRegister: func(t testing.TB, w *world, a ask) told {
			_, err := w.with(t, 0, a.token).workflows.RegisterWorkflow(within(t), &enginev1.RegisterWorkflowRequest{Definition: []byte(a.definition)})
			return toldOf(nil, err)
		},
		opStart: func(t testing.TB, w *world, a ask) told {
			resp, err := w.with(t, 0, a.token).runs.StartRun(within(t), &enginev1.StartRunRequest{
				Workflow: a.workflow, WorkflowVersion: a.version, SessionId: a.session, Context: []byte(a.context), Resume: a.resume,
			})
			return toldOf(resp.GetRun(), err)
		},
		opTake: func(t testing.TB, w *world, a ask) told {
			resp, err := w.with(t, 0, a.token).runs.BindBranch(within(t), &enginev1.BindBranchRequest{
				RunId: a.run, Workflow: a.workflow, Branch: a.branch, SessionId: a.session,
			})
			return toldOf(resp.GetRun(), err)
		},
		opGet: func(t testing.TB, w *world, a ask) told {
			resp, err := w.with(t, 0, a.token).runs.GetRun(within(t), &enginev1.GetRunRequest{RunId: a.run})
			return toldOf(resp.GetRun(), err)
		},
		opHistory: func(t testing.TB, w *world, a ask) told {
			_, err := w.with(t, 0, a.token).runs.GetRunHistory(within(t), &enginev1.GetRunHistoryRequest{RunId: a.run})
			return toldOf(nil, err)
		},
		opFire: func(t testing.TB, w *world, a ask) told {
			resp, err := w.with(t, 0, a.token).runs.TransitionRun(within(t), &enginev1.TransitionRunRequest{RunId: a.run, Event: a.event, Branch: a.branch})
			said := toldOf(resp.GetRun(), err)
			if r := resp.GetRejection(); r != nil {
				said.code = strings.TrimPrefix(r.GetCode().String(), "REJECTION_CODE_")
			}
			return said
		},
		opPause: func(t testing.TB, w *world, a ask) told {
			resp, err := w.with(t, 0, a.token).runs.PauseRun(within(t), &enginev1.PauseRunRequest{RunId: a.run})
			return toldOf(resp.GetRun(), err)
		},
		opResume: func(t testing.TB, w *world, a ask) told {
			resp, err := w.with(t, 0, a.token).runs.ResumeRun(within(t), &enginev1.ResumeRunRequest{RunId: a.run})
			return toldOf(resp.GetRun(), err)
		},
		opCancel: func(t testing.TB, w *world, a ask) told {
			resp, err := w.with(t, 0, a.token).runs.CancelRun(within(t), &enginev1.CancelRunRequest{RunId: a.run})
			return toldOf(resp.GetRun(), err)
		},
		opCreate: func(t testing.TB, w *world, a ask) told {
			_, err := w.sessions(t, a.token).CreateSession(within(t), &statev1.CreateSessionRequest{Name: a.session, Parent: a.parent})
			return toldOf(nil, err)
		},
		opEnd: func(t testing.TB, w *world, a ask) told {
			_, err := w.sessions(t, a.token).StopSession(within(t), &statev1.StopSessionRequest{SessionId: a.session, End: true})
			return toldOf(nil, err)
		},
		opReopen: func(t testing.TB, w *world, a ask) told {
			_, err := w.sessions(t, a.token).ResumeSession(within(t), &statev1.ResumeSessionRequest{SessionId: a.session})
			return toldOf(nil, err)
		},
	}},
	{"MCP", map[string]func(testing.TB, *world, ask) told{
		opRegister: func(t testing.TB, w *world, a ask) told {
			return w.ownTool(t, a, "", "create_workflow", map[string]any{"definition": json.RawMessage(a.definition)})
		},
		opStart: func(t testing.TB, w *world, a ask) told {
			arguments := map[string]any{"name": a.workflow, "resume": a.resume}
			if a.version != 0 {
				arguments["version"] = a.version
			}
			return w.ownTool(t, a, "?session="+url.QueryEscape(a.session), "load_workflow", arguments)
		},
		opTake: func(t testing.TB, w *world, a ask) told {
			arguments := map[string]any{"name": a.workflow, "branch": a.branch}
			if a.run != "" {
				arguments["run_id"] = a.run
			}
			return w.ownTool(t, a, "?session="+url.QueryEscape(a.session), "load_workflow", arguments)
		},
		opGet: func(t testing.TB, w *world, a ask) told { return w.ownTool(t, a, "?run="+a.run, "get_state", nil) },
		opFire: func(t testing.TB, w *world, a ask) told {
			return w.ownTool(t, a, "?run="+a.run, "transition", map[string]any{"event": a.event})
		},
		opPause:  func(t testing.TB, w *world, a ask) told { return w.ownTool(t, a, "?run="+a.run, "pause", nil) },
		opCancel: func(t testing.TB, w *world, a ask) told { return w.ownTool(t, a, "?run="+a.run, "deactivate", nil) },
	}},
}

// toldOf is the answer of a gRPC call.
func toldOf(run *enginev1.Run, err error) told {
	if err != nil {
		f := fault.From(err)
		return told{code: string(f.Reason), text: f.Message}
	}
	return told{run: run.GetRunId(), text: run.String(), status: strings.TrimPrefix(run.GetStatus().String(), "RUN_STATUS_")}
}

// restful is the answer of a REST call.
func (w *world) restful(t testing.TB, method, path string, a ask, body any) told {
	t.Helper()
	text := ""
	if body != nil {
		text = string(must[[]byte](t)(json.Marshal(body)))
	}
	got := w.send(t, method, path, a.token, text)
	var said struct {
		Code      string
		RunID     string `json:"run_id"`
		Status    any
		Rejection *struct{ Code string }
	}
	if err := json.Unmarshal([]byte(got.body), &said); err != nil {
		t.Fatalf("%s %s: %v", method, path, got)
	}
	if said.Rejection != nil {
		said.Code = said.Rejection.Code
	}
	if got.status >= http.StatusBadRequest && said.Code == "" {
		t.Fatalf("%s %s: %v", method, path, got)
	}
	return told{code: said.Code, text: got.body, run: said.RunID, status: fmt.Sprint(said.Status)}
}

// ownTool calls an own tool over the stateless protocol, on a connection that is bound by
// its query, or by its token alone.
func (w *world) ownTool(t testing.TB, a ask, query, tool string, arguments map[string]any) told {
	t.Helper()
	if arguments == nil {
		arguments = map[string]any{}
	}
	body := must[[]byte](t)(json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
			"name": tool, "arguments": arguments,
			"_meta": map[string]any{
				"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
				"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "t", "version": "1"},
				"io.modelcontextprotocol/clientCapabilities": map[string]any{},
			},
		},
	}))
	req := must[*http.Request](t)(http.NewRequestWithContext(within(t), http.MethodPost, w.http+"/mcp"+query, strings.NewReader(string(body))))
	for name, value := range map[string]string{
		"Authorization": "Bearer " + a.token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"X-Interlock-Namespace": w.namespace, "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		req.Header.Set(name, value)
	}
	if a.human != "" {
		req.Header.Set("X-Interlock-For", "Bearer "+a.human)
	}
	got := w.roundTrip(t, req)
	text := got.body
	for line := range strings.Lines(got.body) {
		if data, isData := strings.CutPrefix(line, "data: "); isData {
			text = data
		}
	}
	var said struct {
		Error  *struct{ Message string }
		Result struct {
			IsError           bool
			Content           []struct{ Text string }
			StructuredContent struct {
				Code  string
				RunID string `json:"run_id"`
				Run   struct {
					RunID  string `json:"run_id"`
					Status string
				}
				Status string
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil || said.Error != nil || len(said.Result.Content) == 0 {
		t.Fatalf("%s over MCP: %v", tool, got)
	}
	content := said.Result.StructuredContent
	answer := told{text: said.Result.Content[0].Text, run: content.RunID + content.Run.RunID, status: content.Status + content.Run.Status}
	if said.Result.IsError {
		if answer.code = content.Code; answer.code == "" {
			t.Fatalf("%s over MCP: %v", tool, got)
		}
	}
	return answer
}

// sessions is a caller of the first state-store.
func (w *world) sessions(t testing.TB, token string) statev1.SessionServiceClient {
	t.Helper()
	return statev1.NewSessionServiceClient(w.dial(t, w.states[0], token))
}

// refuses wants an operation refused on each face that has it, for one of these reasons.
func (w *world) refuses(t testing.TB, what, op string, a ask, reasons ...fault.Reason) {
	t.Helper()
	for _, f := range faces {
		try, offered := f.asks[op]
		if !offered || f.name == "MCP" && a.context != "" {
			continue
		}
		said := try(t, w, a)
		refused := false
		for _, reason := range reasons {
			refused = refused || said.code == string(reason)
		}
		if !refused {
			t.Errorf("%s, over %s, to %s is answered %q: %.400s; want %v", what, f.name, op, said.code, said.text, reasons)
		}
	}
}

// allows wants an operation done, over one face.
func (w *world) allows(t testing.TB, what string, f face, op string, a ask) told {
	t.Helper()
	said := f.asks[op](t, w, a)
	if said.code != "" {
		t.Fatalf("%s, over %s, to %s is refused %q: %s", what, f.name, op, said.code, said.text)
	}
	return said
}

// mint makes a token that is bound to a session, by the command line.
func (u *together) mint(t testing.TB, w *world, session string, args ...string) string {
	t.Helper()
	args = append([]string{"token", "mint", "--key", u.data.TokenKey(), "--data-dir", string(u.data), "--namespace", w.namespace, "--session", session}, args...)
	mint := exec.CommandContext(within(t), binary(t, "interlock"), args...)
	mint.Env = cleanEnv()
	return strings.TrimSpace(string(must[[]byte](t)(mint.Output())))
}
