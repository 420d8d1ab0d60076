package rest

import (
	"net/http"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Proof has the properties of every run of a definition.
type Proof struct {
	Workflow string           `json:"workflow"`
	Verdict  string           `json:"verdict" enum:"PROVED,PROVED while running,COUNTEREXAMPLE,NOT PROVED" doc:"The worst of all properties."`
	Results  []ProvedProperty `json:"results" doc:"One for each property."`
	Warnings []ProofWarning   `json:"warnings" doc:"The findings of the checks for every workflow."`
	Written  []ProofWritten   `json:"shared_state,omitempty" doc:"Each evidence of the shared state, when its schema was given."`
}

// ProofWritten is an evidence that is a value of the shared state.
type ProofWritten struct {
	Evidence string     `json:"evidence"`
	Pointer  string     `json:"pointer" doc:"JSON Pointer into the shared state."`
	Writer   string     `json:"writer,omitzero" doc:"The required author; missing for any."`
	MayWrite [][]string `json:"may_write" doc:"Lists of the schema: each must name the writer. No list: every session of the tree."`
}

// ProvedProperty is the answer about one property.
type ProvedProperty struct {
	Property string     `json:"property"`
	Kind     string     `json:"kind" enum:"never,before,always_possible,at_most,can_be_decided,ends_without_agent"`
	Verdict  string     `json:"verdict" enum:"PROVED,PROVED while running,COUNTEREXAMPLE,NOT PROVED" doc:"PROVED while running: an agent lifts enforcement by a pause, and so ends the proof. NOT PROVED: a bound was reached, or it could not be decided."`
	States   int        `json:"states" doc:"How many were explored."`
	Reason   string     `json:"reason,omitzero" doc:"Why it is not proved."`
	Notes    []string   `json:"notes,omitempty" doc:"The basis of the verdict."`
	Steps    []string   `json:"steps,omitempty" doc:"The counterexample, for a person."`
	Stands   [][]string `json:"stands,omitempty" doc:"States in which the run is before the first step, and after each: several while a fork is under way."`
	Scenario string     `json:"scenario,omitzero" doc:"The counterexample as a scenario file, of which the last step fails."`
}

// ProofWarning is one warning.
type ProofWarning struct {
	Code    string `json:"code"`
	Pointer string `json:"pointer" doc:"JSON Pointer into the definition, or the policy."`
	Message string `json:"message"`
}

// Bounds of one verification.
const (
	verifyTimeout    = 10 * time.Second
	mostVerifyStates = 100_000
)

const verifyQuestion = "A workflow or a process, written out; optionally workflows that it invokes, policies that judge its calls, more properties, the schema of the shared state, and " +
	"max_states, at most 100000."

func (h *trials) verifyRoutes(add func(route)) {
	add(route{
		method: http.MethodPost, path: "/v1/verify", id: "verifyDefinition",
		summary: "Prove properties of every run of a definition",
		about: "Explores the definition in memory, and answers for each property PROVED, COUNTEREXAMPLE with a scenario, or NOT PROVED where a bound was reached. " +
			"Nothing is stored, and no run is started. 422 with every problem when something is invalid.",
		body: definitionBody, definition: verifyQuestion, timeout: verifyTimeout, answers: answers[Proof](http.StatusOK),
		serve: h.prove,
	})
}

func (h *trials) prove(c *call) (*answer, error) {
	// It shows no data of the server, but costs time: callers must be allowed to read.
	if err := h.may.mayRead(c.ctx, c.namespace()); err != nil {
		return nil, err
	}
	text, err := wholeDefinition(c)
	if err != nil {
		return nil, err
	}
	v, problems := document.ParseAll(text, document.Limits{Bytes: maxBody, Depth: maxDepth + trialLevels})
	if len(problems) > 0 {
		return nil, badText(problems)
	}
	question, problems := verify.ParseQuestion(v)
	if question == nil {
		return nil, badDefinition(problems)
	}
	states := min(question.MaxStates, mostVerifyStates)
	if states == 0 {
		states = mostVerifyStates
	}
	report := verify.Check(question.Model, question.Properties, verify.Options{
		MaxStates: states, Builtin: true, Progress: func(string, int) bool { return c.ctx.Err() == nil },
	})
	return ok(proofOf(&report)), nil
}

func proofOf(r *verify.Report) Proof {
	out := Proof{Workflow: r.Workflow, Verdict: string(r.Worst())}
	out.Results = jsonview.Each(r.Results, func(result verify.Result) ProvedProperty {
		one := ProvedProperty{
			Property: result.Property.Name, Kind: string(result.Property.Kind), Verdict: string(result.Verdict),
			States: result.States,
			Reason: result.Reason, Notes: result.Notes,
		}
		if result.Counterexample != nil {
			one.Steps, one.Stands, one.Scenario = result.Counterexample.Steps, result.Counterexample.Stands, string(result.Counterexample.Scenario)
		}
		return one
	})
	for i := range r.Written {
		w := &r.Written[i]
		out.Written = append(out.Written, ProofWritten{w.Evidence, w.Pointer, w.Writer, w.Names()})
	}
	out.Warnings = jsonview.Each(r.Warnings, func(w verify.Warning) ProofWarning { return ProofWarning(w) })
	return out
}
