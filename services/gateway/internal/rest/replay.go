package rest

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"

	"github.com/interlock-run/interlock/pkg/verify/conform"
	definitions "github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/recorded"
	"github.com/interlock-run/interlock/services/internal/replayed"
)

// ReplayRequest is a candidate, and which runs are driven through it.
type ReplayRequest struct {
	Candidate jsontext.Value   `json:"candidate" doc:"The workflow that they are driven through."`
	Policies  []jsontext.Value `json:"policies,omitempty" doc:"Policies that judge every call in place of those that did. Without any, recorded decisions of policies stay."`
	Status    string           `json:"status,omitzero" doc:"Only runs of this status."`
	SessionID string           `json:"session_id,omitzero" doc:"Only runs that this session drives."`
	Limit     *int64           `json:"limit,omitempty" doc:"At most this many runs, the newest first: 1 to 500; 100 without it."`
}

// Replay has the decisions that a candidate would change.
type Replay struct {
	replayed.Summary
	Stopped string `json:"stopped,omitzero" enum:"TIME,LIMIT" doc:"Set when there are runs that were not replayed: it took too long, or there are more than limit."`
	Gone    int    `json:"gone,omitzero" doc:"Runs of which something is no longer stored: they were not replayed."`
}

// Bounds of one replay.
const (
	replayTime       = 10 * time.Second
	usualReplayRuns  = 100
	mostReplayRuns   = 500
	mostReplayPolicy = 100
)

// replays serves replays of recorded runs.
type replays struct {
	recorded.Sources
}

func (h *replays) routes(add func(route)) {
	add(route{
		method: http.MethodPost, path: "/v1/workflows/{name}/replay", id: "replayWorkflow", summary: "The decisions of a candidate on recorded runs",
		about: "Drives recorded runs of the workflow through another definition of it, each up to the first difference: later entries are not known. " +
			"For people who may read decisions. Nothing is stored. It ends after 10 seconds with what it has. 422 with every problem when something is invalid.",
		params: []param{inPath("name", "Name of the workflow, percent-encoded.")}, body: jsonBody, request: reflect.TypeFor[ReplayRequest](),
		maxBody: maxDocumentBody, fields: map[string]string{"workflow": "name"}, answers: answers[Replay](http.StatusOK), serve: h.replay,
	})
}

func (h *replays) replay(c *call) (*answer, error) {
	in, err := decodeAround[ReplayRequest](c.body, trialLevels)
	if err != nil {
		return nil, err
	}
	limit := int64(usualReplayRuns)
	if in.Limit != nil {
		limit = *in.Limit
	}
	if limit < 1 || limit > mostReplayRuns {
		return nil, badBody(fault.InvalidRequest, inBody("/limit", document.CodeRange, "must be from 1 to "+strconv.Itoa(mostReplayRuns)))
	}
	// Who may not read decisions must not learn of them where there are no runs, either.
	if _, err := h.Decisions.ListDecisions(c.ctx, &policyv1.ListDecisionsRequest{PageSize: 1}); err != nil {
		return nil, err
	}
	if _, err := h.Workflows.GetWorkflow(c.ctx, &enginev1.GetWorkflowRequest{Name: c.path("name")}); err != nil {
		return nil, err
	}
	by, err := candidate(c.path("name"), &in)
	if err != nil {
		return nil, err
	}
	out, err := h.replayRuns(c.ctx, replayTime, replayed.Filter{
		Workflow: c.path("name"), Status: strings.ToUpper(in.Status), Session: in.SessionID,
	}, int(limit), by)
	if err != nil {
		return nil, err
	}
	return ok(out), nil
}

// replayRuns replays as many runs as there is time for.
func (h *replays) replayRuns(ctx context.Context, budget time.Duration, f replayed.Filter, most int, by *conform.Candidate) (*Replay, error) {
	bounded, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	ids, more, err := replayed.Newest(bounded, h.Runs, f, most)
	if err != nil {
		return nil, err
	}
	all, gone, err := replayed.Each(bounded, h.Sources, ids, by)
	out := &Replay{Gone: gone}
	switch {
	case err != nil && (bounded.Err() == nil || ctx.Err() != nil):
		return nil, err
	case err != nil:
		out.Stopped = "TIME"
	case more:
		out.Stopped = "LIMIT"
	}
	out.Summary = *replayed.Summarize(all)
	return out, nil
}

// candidate returns the definition that runs are driven through, or a 422 with all its
// problems.
func candidate(name string, in *ReplayRequest) (*conform.Candidate, error) {
	if err := missing(requirement{"/candidate", len(in.Candidate) > 0}); err != nil {
		return nil, err
	}
	if len(in.Policies) > mostReplayPolicy {
		return nil, badBody(fault.InvalidRequest, inBody("/policies", document.CodeTooMany, "at most "+strconv.Itoa(mostReplayPolicy)+" policies"))
	}
	var wrong document.Problems
	add := func(at string, problems document.Problems) {
		for _, p := range problems {
			if p.Severity != document.SeverityWarning {
				p.Pointer = at + p.Pointer
				wrong = append(wrong, p)
			}
		}
	}
	compiled, err := definitions.Flags{}.Compile(in.Candidate, 1)
	var invalid *document.InvalidError
	switch {
	case errors.As(err, &invalid):
		add("/candidate", invalid.Problems)
	case err != nil:
		return nil, err
	case compiled.Name() != name:
		add("/candidate", document.Problems{{
			Pointer: "/id", Code: document.CodeConflict, Severity: document.SeverityError,
			Message: "the candidate is another workflow, " + document.Quote(compiled.Name()) + ": give it the id " + document.Quote(name) + ", whose runs it is asked for",
		}})
	}
	by := &conform.Candidate{Machine: compiled.Machine}
	for i, text := range in.Policies {
		policy, problems := rules.ParsePolicy(text)
		add("/policies/"+strconv.Itoa(i), problems)
		if policy == nil || problems.HasErrors() {
			continue
		}
		if policy.Name == "" {
			policy.Name = "policy " + strconv.Itoa(i)
		}
		by.Policies = append(by.Policies, rules.Compile(policy, 0))
	}
	if len(wrong) > 0 {
		return nil, badDefinition(wrong)
	}
	return by, nil
}
