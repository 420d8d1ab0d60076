package rest

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"mime"
	"net/http"
	"strings"
	"time"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// contentLines is JSON, one value a line.
const contentLines = "application/x-ndjson"

// linesPage is how many decisions are read at once when all are asked for.
const linesPage = 1000

// DecisionList is one page of the log of decisions: those of a partition in order,
// partitions by id.
type DecisionList struct {
	Decisions     []jsonview.DecisionRecord `json:"decisions"`
	NextPageToken string                    `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// RefusalList has the last refused callers, the newest first.
type RefusalList struct {
	Refusals []jsonview.Refusal `json:"refusals"`
}

// DecisionDetail is one decision, and why it was made where that was asked for.
type DecisionDetail struct {
	jsonview.DecisionRecord
	Explanation *jsonview.Explanation `json:"explanation,omitzero" doc:"With explain: computed again from the record, with the limits as they are now."`
}

// Verification is the result of verifying the log.
type Verification struct {
	OK            bool                   `json:"ok" doc:"True when every chain of this page is."`
	Chains        []jsonview.ChainReport `json:"chains"`
	NextPageToken string                 `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// decisions serves the routes of the log of decisions.
type decisions struct {
	decisions policyv1.DecisionServiceClient
	now       func() time.Time
	log       *slog.Logger
}

func (h *decisions) routes(add func(route)) {
	add(route{
		method: http.MethodGet, path: "/v1/decisions", id: "listDecisions", summary: "The log of decisions",
		about: "Newest first: partitions by the start of their root run, and of each the last record first. The answer is one page as JSON. With " +
			"Accept: application/x-ndjson, and no application/json beside it, the answer is every record from there on, one DecisionRecord a line; an answer " +
			"that breaks off is not whole. For one page at most 2,000 records are looked at: it may hold less, or none, " +
			"and next_page_token continues. run_id needs no search.",
		params: []param{
			inQuery("run_id", "Only decisions of this run."), inQuery("session_id", "Only decisions of this session."),
			{name: "decision", in: "query", about: "Only these.", values: jsonview.Decisions()},
			{name: "not_decision", in: "query", about: "None of these; several by commas, or by repeating it.", repeated: true},
			{name: "code", in: "query", about: "Only decisions for this reason.", values: codeNames()},
			inQuery("tool", "Only decisions on this tool."), inQuery("workflow", "Only decisions on calls in runs of this workflow."),
			inQuery("policy", "Only decisions of this policy."), inQuery("principal", "Only decisions on calls that this principal made."),
			inQuery("after", "The same as since."),
			inQuery("since", "Only decisions from this time on: RFC 3339, or how long ago, e.g. 24h."),
			inQuery("before", "Only decisions before this time: RFC 3339, or how long ago."),
			inQuery("when", "Only decisions on calls for which this condition, as JSON, is true by the input that was kept."),
			{name: "shadowed", in: "query", about: "With true, only those that a shadow would have decided otherwise.", values: []string{"true", "false"}},
			pageSizeParam, pageTokenParam,
		},
		fields: map[string]string{"run_id": "run_id"}, answers: answers[DecisionList](http.StatusOK), serve: h.list, lines: h.lines,
	})
	add(route{
		method: http.MethodGet, path: "/v1/decisions/{run_id}/{call_id}", id: "getDecision", summary: "The decision on one call",
		about: "The last one of several. 404 says which reasons there may be.",
		params: []param{
			inPath("run_id", "The run that the call was judged by, or any run of its partition; - for a call without a run."),
			inPath("call_id", "Id of the call."),
			inQuery("session_id", "With - for the run: the session that made the call."),
			intQuery("sequence", "The record's place in its partition, where it is known: then it is found at once, however old it is."),
			{name: "explain", in: "query", about: "With true, add the reasons, and how the call would have been allowed.", values: []string{"true", "false"}},
		},
		answers: answers[DecisionDetail](http.StatusOK), serve: h.get,
	})
	add(route{
		method: http.MethodGet, path: "/v1/refusals", id: "listRefusals", summary: "The last callers that were refused before a decision",
		about: "The newest first, at most 100: by their token, role, session or namespace. One in ten seconds of each principal and reason is kept, with " +
			"the number of those that were not.",
		answers: answers[RefusalList](http.StatusOK), serve: h.refusals,
	})
	add(route{
		method: http.MethodGet, path: "/v1/audit/verify", id: "verifyDecisions", summary: "Verify the log of decisions",
		about: "Recomputes the hash chains and returns the problems: a changed, missing or reordered record.",
		params: []param{
			inQuery("partition", "Only the decisions of this root run."), pageTokenParam,
		},
		answers: answers[Verification](http.StatusOK), serve: h.verify,
	})
}

// list serves one page of the log.
func (h *decisions) list(c *call) (*answer, error) {
	req, err := h.asked(c)
	if err != nil {
		return nil, err
	}
	resp, err := h.decisions.ListDecisions(c.ctx, req)
	return shown(resp, err, func(r *policyv1.ListDecisionsResponse) DecisionList {
		return DecisionList{Decisions: jsonview.Each(r.GetDecisions(), jsonview.DecisionRecordOf), NextPageToken: r.GetNextPageToken()}
	})
}

// refusals serves the last refused callers.
func (h *decisions) refusals(c *call) (*answer, error) {
	resp, err := h.decisions.ListRefusals(c.ctx, &policyv1.ListRefusalsRequest{})
	return shown(resp, err, func(r *policyv1.ListRefusalsResponse) RefusalList {
		return RefusalList{Refusals: jsonview.Each(r.GetRefusals(), jsonview.RefusalOf)}
	})
}

// get serves one decision.
func (h *decisions) get(c *call) (*answer, error) {
	explain, err := c.flag("explain")
	if err != nil {
		return nil, err
	}
	sequence, err := c.number("sequence", math.MaxInt64)
	if err != nil {
		return nil, err
	}
	req := &policyv1.GetDecisionRequest{RunId: c.path("run_id"), CallId: c.path("call_id"), Sequence: sequence, Explain: explain}
	if req.GetRunId() == "-" {
		req.RunId, req.SessionId = "", c.query.Get("session_id")
	}
	resp, err := h.decisions.GetDecision(c.ctx, req)
	if err != nil {
		return nil, err
	}
	return ok(DecisionDetail{jsonview.DecisionRecordOf(resp.GetDecision()), jsonview.ExplanationOf(resp.GetExplanation())}), nil
}

const decisionCodePrefix = "DECISION_CODE_"

func codeNames() []string { return protomap.Names(policyv1.DecisionCode_name, decisionCodePrefix) }

func (h *decisions) asked(c *call) (*policyv1.ListDecisionsRequest, error) {
	decision, err := c.upperChoice("decision", policyv1.Decision_value, "DECISION_", jsonview.Decisions())
	if err != nil {
		return nil, err
	}
	code, err := c.upperChoice("code", policyv1.DecisionCode_value, decisionCodePrefix, codeNames())
	if err != nil {
		return nil, err
	}
	others := c.several("not_decision")
	for _, other := range others {
		if policyv1.Decision_value["DECISION_"+other] == 0 {
			return nil, notOneOf("not_decision", jsonview.Decisions())
		}
	}
	if c.query.Get("since") != "" && c.query.Get("after") != "" {
		return nil, badParameter("after", "CONFLICT", "says the same as since; give one of them")
	}
	since, err := c.momentTerm("since", h.now())
	if err != nil {
		return nil, err
	}
	after, err := c.momentTerm("after", h.now())
	if err != nil {
		return nil, err
	}
	if after.Key != "" {
		since = listing.Term{Key: "since", Value: after.Value}
	}
	before, err := c.momentTerm("before", h.now())
	if err != nil {
		return nil, err
	}
	shadowed, err := c.flag("shadowed")
	if err != nil {
		return nil, err
	}
	terms := []listing.Term{
		{Key: "run_id", Value: c.query.Get("run_id")},
		{Key: "session_id", Value: c.query.Get("session_id")},
		{Key: "tool", Value: c.query.Get("tool")},
		{Key: "decision", Value: protomap.Word(policyv1.Decision(decision), "DECISION_")},
		{Key: "not_decision", Value: listing.List(others...)},
		{Key: "code", Value: protomap.Word(policyv1.DecisionCode(code), decisionCodePrefix)},
		{Key: "workflow", Value: c.query.Get("workflow")},
		{Key: "policy", Value: c.query.Get("policy")},
		{Key: "principal", Value: c.query.Get("principal")},
		{Key: "when", Value: c.query.Get("when")},
		since, before,
	}
	if shadowed {
		terms = append(terms, listing.Term{Key: "shadowed", Value: "true"})
	}
	return &policyv1.ListDecisionsRequest{PageSize: c.size, PageToken: c.token, Filter: listing.Filter(terms...)}, nil
}

func (h *decisions) page(ctx context.Context, req *policyv1.ListDecisionsRequest) (*policyv1.ListDecisionsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return h.decisions.ListDecisions(ctx, req)
}

// lines writes every decision from a page on. A failure after the first page
// breaks the answer off, so that the part is not taken for all.
func (h *decisions) lines(c *call) error {
	req, err := h.asked(c)
	if err != nil {
		return err
	}
	if req.GetPageSize() == 0 {
		req.PageSize = linesPage
	}
	control := http.NewResponseController(c.w)
	for begun := false; ; begun = true {
		resp, err := h.page(c.ctx, req)
		if err == nil && !begun {
			c.w.Header().Set("Content-Type", contentLines)
		}
		var lines bytes.Buffer
		for _, record := range resp.GetDecisions() {
			line, failed := encode(jsonview.DecisionRecordOf(record))
			if failed != nil {
				err = failed
			}
			lines.Write(line)
		}
		switch {
		case err != nil && begun:
			h.log.WarnContext(c.ctx, "an answer of many decisions breaks off", "cause", err)
			panic(http.ErrAbortHandler)
		case err != nil:
			c.w.Header().Del("Content-Type")
			return err
		}
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer can
		if _, err := c.w.Write(lines.Bytes()); err != nil || resp.GetNextPageToken() == "" || c.r.Method == http.MethodHead {
			return nil // the client went away: no reader is left
		}
		_ = control.Flush() // not every writer can
		req.PageToken = resp.GetNextPageToken()
	}
}

// accepts reports whether the client asks for a media type, and not for JSON.
func (c *call) accepts(media string) bool {
	wanted := false
	for part := range strings.SplitSeq(strings.Join(c.r.Header.Values("Accept"), ","), ",") {
		kind, _, err := mime.ParseMediaType(part)
		if err == nil && kind == contentJSON {
			return false
		}
		wanted = wanted || err == nil && kind == media
	}
	return wanted
}

func (h *decisions) verify(c *call) (*answer, error) {
	resp, err := h.decisions.VerifyDecisions(c.ctx, &policyv1.VerifyDecisionsRequest{
		Partition: c.query.Get("partition"), PageToken: c.token,
	})
	if err != nil {
		return nil, err
	}
	found := Verification{OK: true, Chains: jsonview.Each(resp.GetChains(), jsonview.ChainReportOf), NextPageToken: resp.GetNextPageToken()}
	for i := range found.Chains {
		found.OK = found.OK && found.Chains[i].OK
	}
	return ok(found), nil
}
