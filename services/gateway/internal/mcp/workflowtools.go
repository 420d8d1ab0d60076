package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

const (
	workflowPage = 200
	// maxWorkflowsListed bounds the answer of list_workflows.
	maxWorkflowsListed = 1000
)

type workflowView struct {
	Name    string `json:"name"`
	Version int64  `json:"version"`
	Digest  string `json:"digest,omitzero"`
	// Process is whether it asks questions (S8).
	Process bool `json:"process,omitzero"`
}

func (s *Server) listWorkflows(ctx context.Context, _ caller, _ arguments) *sdk.CallToolResult {
	views, more, err := s.someWorkflows(ctx)
	if err != nil {
		return refuseFault(err, "").result()
	}
	if s.cfg.Processes != nil && !more {
		if views, more, err = s.someProcesses(ctx, views); err != nil {
			return refuseFault(err, "").result()
		}
	}
	return answer(s.workflowsText(views, more), map[string]any{"workflows": views, "truncated": more})
}

func (s *Server) someWorkflows(ctx context.Context) (views []workflowView, more bool, err error) {
	views = []workflowView{}
	for token := ""; ; {
		res, err := s.cfg.Workflows.ListWorkflows(ctx, &enginev1.ListWorkflowsRequest{PageSize: workflowPage, PageToken: token})
		if err != nil {
			return nil, false, err
		}
		for _, w := range res.GetWorkflows() {
			views = append(views, workflowView{Name: w.GetName(), Version: w.GetVersion(), Digest: w.GetDigest()})
		}
		if token = res.GetNextPageToken(); token == "" || len(views) >= maxWorkflowsListed {
			return views, token != "", nil
		}
	}
}

func (s *Server) someProcesses(ctx context.Context, views []workflowView) (all []workflowView, more bool, err error) {
	for token := ""; ; {
		res, err := s.cfg.Processes.ListProcesses(ctx, &enginev1.ListProcessesRequest{PageSize: workflowPage, PageToken: token})
		if err != nil {
			return nil, false, err
		}
		for _, p := range res.GetProcesses() {
			views = append(views, workflowView{Name: p.GetName(), Version: p.GetVersion(), Digest: p.GetDigest(), Process: true})
		}
		if token = res.GetNextPageToken(); token == "" || len(views) >= maxWorkflowsListed {
			return views, token != "", nil
		}
	}
}

func (s *Server) workflowsText(views []workflowView, more bool) string {
	if len(views) == 0 {
		return "No workflow is registered. Register one with " + s.cfg.ToolPrefix + "create_workflow."
	}
	lines := make([]string, 0, len(views)+1)
	for _, v := range views {
		what := ""
		if v.Process {
			what = ", a process"
		}
		lines = append(lines, fmt.Sprintf("%s (version %d%s)", v.Name, v.Version, what))
	}
	if more {
		lines = append(lines, fmt.Sprintf("There are more than these %d.", len(views)))
	}
	return strings.Join(lines, "\n")
}

func (s *Server) createWorkflow(ctx context.Context, _ caller, args arguments) *sdk.CallToolResult {
	key, err := mint()
	if err != nil {
		return refuseFault(err, "").result()
	}
	res, err := s.cfg.Workflows.RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{
		Definition: args.json("definition"), IdempotencyKey: key,
	})
	if err != nil {
		return refuseFault(err, "Not registered").result()
	}
	w := res.GetWorkflow()
	lines := []string{fmt.Sprintf("Registered %s version %d. Load it with %sload_workflow(name=%q).",
		w.GetName(), w.GetVersion(), s.cfg.ToolPrefix, w.GetName())}
	if !res.GetCreated() {
		lines[0] = fmt.Sprintf("Exactly this was registered before as %s version %d.", w.GetName(), w.GetVersion())
	}
	warnings := []problemView{}
	for _, p := range res.GetWarnings() {
		warnings = append(warnings, problemView{Pointer: p.GetPointer(), Code: p.GetCode(), Message: p.GetMessage()})
		lines = append(lines, "Warning: "+p.GetPointer()+": "+p.GetCode()+": "+p.GetMessage())
	}
	return answer(strings.Join(lines, "\n"), map[string]any{
		"name": w.GetName(), "version": w.GetVersion(), "digest": w.GetDigest(), "created": res.GetCreated(), "warnings": warnings,
	})
}
