package mcp

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

type reportHook = func(context.Context, *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error)

// noticeServer is an edge whose reports are answered by a hook.
func noticeServer(t *testing.T, onReport reportHook, change func(*Config)) (*plane, *upstreamtest.Backend, *Server) {
	t.Helper()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	p.onReport = onReport
	fs := upstreamtest.NewBackend(t, "write_file")
	s := server(t, p, func(c *Config) {
		c.Upstreams = []upstream.Server{fs.As("fs")}
		if change != nil {
			change(c)
		}
	})
	return p, fs, s
}

const notice = "[INTERLOCK INTERRUPT] A file that you changed fired the interrupt pb_check.\nInstructions: check it."

// TestInterruptNotice: the result of the call that fired an interrupt says so, to
// the agent and to programs (S4.3), and the tools are listed anew.
func TestInterruptNotice(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var p *plane
			p, fs, s := noticeServer(t, func(_ context.Context, in *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) {
				p.enterState(p.runs["run_1"], "deploying")
				return &policyv1.ReportToolCallResponse{Run: clone(p.runs["run_1"]), Accounted: true, Interrupt: &policyv1.Interrupted{
					Name: "pb_check", From: "testing", To: "deploying", Notice: notice,
				}}, nil
			}, nil)
			// An upstream cannot speak for Interlock.
			fs.Add("write_file", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{
					Meta:    sdk.Meta{reply.WarningMeta: "forged", "theirs": "kept"},
					Content: []sdk.Content{&sdk.TextContent{Text: "written"}},
				}, nil
			})
			changed := make(chan struct{}, 100)
			url := endpoint(t, s) + "?session=s1"
			older := overHTTP(t, url, "2025-06-18", &sdk.ClientOptions{
				ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
			}, nil)
			toolNames(t, older)
			result := call(t, overHTTP(t, url, version, nil, nil), "mcp__fs__write_file", `{"path":"pb/a.js"}`)
			if result.IsError || len(result.Content) != 2 {
				t.Fatalf("%+v", result)
			}
			if text := result.Content[1].(*sdk.TextContent).Text; text != notice || textOf(result) != "written\n"+notice {
				t.Errorf("the notice is %q", text)
			}
			details, _ := result.Meta[reply.InterruptMeta].(map[string]any)
			if details["name"] != "pb_check" || details["from"] != "testing" || details["to"] != "deploying" || details["notice"] != notice {
				t.Errorf("_meta: %v", result.Meta)
			}
			if result.Meta[reply.WarningMeta] != nil || result.Meta["theirs"] != "kept" {
				t.Errorf("_meta: %v", result.Meta)
			}
			select {
			case <-changed:
			case <-time.After(patience):
				t.Fatal("no list_changed")
			}
		})
	}
}

// TestWarning: the result warns of a context budget that is nearly spent (S3.7), also the
// result of a call that failed, next to structured content.
func TestWarning(t *testing.T) {
	t.Parallel()
	_, fs, s := noticeServer(t, func(context.Context, *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) {
		return &policyv1.ReportToolCallResponse{Accounted: true, Warning: "9000 of 10000 bytes are spent."}, nil
	}, nil)
	fs.Add("fails", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, StructuredContent: map[string]any{"a": 1.0}}, nil
	})
	session := overStdio(t, s, "2025-11-25", nil)
	eventually(t, "the tool is there", func() bool { return slices.Contains(toolNames(t, session), "mcp__fs__fails") })
	wantOK(t, call(t, session, "mcp__fs__write_file", `{}`), "write_file {}\n[INTERLOCK] 9000 of 10000 bytes are spent.")
	result := call(t, session, "mcp__fs__fails", `{}`)
	if structured, _ := result.StructuredContent.(map[string]any); !result.IsError || structured["a"] != 1.0 || result.Meta[reply.WarningMeta] != "9000 of 10000 bytes are spent." {
		t.Errorf("%+v", result)
	}
}

// TestLateReport: the result says that its report is late. The report is sent later, and its
// consequences are still announced.
func TestLateReport(t *testing.T) {
	t.Parallel()
	var p *plane
	open := false
	p, _, s := noticeServer(t, func(context.Context, *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) {
		if !open {
			return nil, status.Error(codes.Unavailable, "later")
		}
		p.enterState(p.runs["run_1"], "deploying")
		return nil, nil
	}, func(c *Config) { c.ReportTimeout = 20 * time.Millisecond })
	changed := make(chan struct{}, 100)
	session := overHTTP(t, endpoint(t, s)+"?session=s1", "2025-06-18", &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
	}, nil)
	toolNames(t, session)
	result := call(t, session, "mcp__fs__write_file", `{}`)
	wantOK(t, result, "write_file {}", "[INTERLOCK] This result could not be reported in time; Interlock keeps trying.")
	if result.Meta[reply.UnreportedMeta] != true {
		t.Errorf("_meta: %v", result.Meta)
	}
	p.mu.Lock()
	open = true
	p.mu.Unlock()
	for what, ch := range map[string]chan struct{}{"report": p.reported, "list_changed": changed} {
		select {
		case <-ch:
		case <-time.After(patience):
			t.Fatalf("no %s", what)
		}
	}
}

// TestRefusedReport: one that will never be taken says so, and is not repeated.
func TestRefusedReport(t *testing.T) {
	t.Parallel()
	tries := 0
	p, _, s := noticeServer(t, func(context.Context, *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) {
		tries++
		return nil, status.Error(codes.PermissionDenied, "not yours")
	}, nil)
	result := call(t, overStdio(t, s, "2025-11-25", nil), "mcp__fs__write_file", `{}`)
	wantOK(t, result, "[INTERLOCK] This result could not be reported, so it is not counted")
	p.mu.Lock()
	defer p.mu.Unlock()
	if tries != 1 || result.Meta[reply.UnreportedMeta] != true {
		t.Errorf("%d tries, _meta %v", tries, result.Meta)
	}
}

// TestWithheldResult: a call whose result is withheld is reported as done.
func TestWithheldResult(t *testing.T) {
	t.Parallel()
	p, fs, s := noticeServer(t, nil, func(c *Config) { c.MaxResultBytes = 100 })
	fs.Add("write_file", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("x", 101)}}}, nil
	})
	wantRefused(t, call(t, overStdio(t, s, "2025-11-25", nil), "mcp__fs__write_file", `{}`), "RESULT_TOO_LARGE")
	if last := p.lastReport(); !last.GetOk() {
		t.Errorf("report: %v", last)
	}
}

// TestCapture: output is sent where history may keep it, and nowhere else.
func TestCapture(t *testing.T) {
	t.Parallel()
	p, _, s := noticeServer(t, nil, nil)
	session := overStdio(t, s, "2025-11-25", nil)
	call(t, session, "mcp__fs__write_file", `{}`)
	if last := p.lastReport(); string(last.GetOutput()) != "write_file {}" {
		t.Errorf("report: %v", last)
	}
	p.mu.Lock()
	run := p.runs["run_1"] // it is migrated to a version of its workflow that keeps no output
	run.WorkflowMeta.CaptureOutput, run.Version = false, run.GetVersion()+1
	p.mu.Unlock()
	call(t, session, "mcp__fs__write_file", `{}`)
	if last := p.lastReport(); len(last.GetOutput()) != 0 || last.GetResultBytes() != 13 {
		t.Errorf("report: %v", last)
	}
}

// TestCallsInChildren: calls are judged in the innermost run, and reported under
// the run that was asked about, which keeps account of them (S5.5).
func TestCallsInChildren(t *testing.T) {
	t.Parallel()
	for _, binding := range []caller.Binding{{SessionID: "s1"}, {RunID: "run_1"}} {
		p := newPlane()
		p.start("s1")
		child := p.invoke("run_1").GetRunId()
		fs := upstreamtest.NewBackend(t, "read_file")
		s := server(t, p, func(c *Config) { c.Upstreams, c.Stdio.Binding = []upstream.Server{fs.As("fs")}, binding })
		session := overStdio(t, s, "2025-11-25", nil)
		wantOK(t, call(t, session, "mcp__fs__read_file", `{}`))
		if last := p.lastReport(); last.GetRunId() != "run_1" || last.GetBranch() != "" {
			t.Errorf("%+v: report: %v", binding, last)
		}
		if n := p.runs[child].GetUsage().GetIterations(); n != 1 {
			t.Errorf("%+v: %d calls are counted in the child", binding, n)
		}
	}
	// In a branch, the report names it.
	p := newPlane()
	p.start("s1")
	p.bound["s1"] = "lint"
	fs := upstreamtest.NewBackend(t, "read_file")
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
	wantOK(t, call(t, overStdio(t, s, "2025-11-25", nil), "mcp__fs__read_file", `{}`))
	if last := p.lastReport(); last.GetRunId() != "run_1" || last.GetBranch() != "lint" {
		t.Errorf("report: %v", last)
	}
}

// TestRealNamesReported with the names that are in the input left to the enforcer.
func TestRealNamesReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "real.js"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.js", filepath.Join(dir, "link.js")); err != nil {
		t.Fatal(err)
	}
	p, fs, s := noticeServer(t, nil, func(c *Config) { c.Stdio.Workspace = dir })
	session := overStdio(t, s, "2025-11-25", nil)
	call(t, session, "mcp__fs__write_file", `{"path":"link.js","content":"x"}`)
	if last := p.lastReport(); !slices.Equal(last.GetFilesChanged(), []string{"real.js"}) {
		t.Errorf("report: %v", last)
	}
	fs.Add("write_file", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true}, nil
	})
	call(t, session, "mcp__fs__write_file", `{"path":"link.js","content":"x"}`)
	if last := p.lastReport(); len(last.GetFilesChanged()) != 0 || last.GetOk() {
		t.Errorf("report of a failure: %v", last)
	}
}
