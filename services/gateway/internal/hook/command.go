package hook

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/internal/hookwire"
)

// Commands starts and ends the commands that run in jails, for `interlock jail`.
type Commands struct {
	Policy policyv1.PolicyEnforcerServiceClient
}

// refusal is the answer to a request that was refused. Away is true where the service could not be asked: the request may
// be made again.
type refusal struct {
	Refused string `json:"refused"`
	Away    bool   `json:"away,omitempty"`
}

// ServeHTTP serves hookwire.StartPath and hookwire.FinishPath.
func (c *Commands) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if err != nil {
		answerRefused(w, errors.New("the request could not be read: "+err.Error()))
		return
	}
	if r.URL.Path == hookwire.StartPath {
		c.start(w, r, data)
		return
	}
	c.finish(w, r, data)
}

func (c *Commands) start(w http.ResponseWriter, r *http.Request, data []byte) {
	var claim struct {
		RunID   string `json:"run_id"`
		CallID  string `json:"call_id"`
		Command []byte `json:"command"`
		Level   int32  `json:"level"`
	}
	if err := json.Unmarshal(data, &claim); err != nil {
		answerRefused(w, err)
		return
	}
	started, err := c.Policy.StartCommand(outgoing(r), &policyv1.StartCommandRequest{
		RunId: claim.RunID, CallId: claim.CallID, Command: claim.Command, Level: claim.Level,
	})
	if err != nil {
		answerRefused(w, err)
		return
	}
	respond(w, struct {
		RunID   string          `json:"run_id"`
		Level   int32           `json:"level"`
		Digest  string          `json:"digest"`
		Profile json.RawMessage `json:"profile"`
		Key     []byte          `json:"key"`
	}{started.GetRunId(), started.GetJail().GetLevel(), started.GetJail().GetDigest(), started.GetJail().GetProfile(), started.GetKey()})
}

func (c *Commands) finish(w http.ResponseWriter, r *http.Request, data []byte) {
	var seen struct {
		RunID     string `json:"run_id"`
		CallID    string `json:"call_id"`
		Witness   []byte `json:"witness"`
		Signature []byte `json:"signature"`
	}
	if err := json.Unmarshal(data, &seen); err != nil {
		answerRefused(w, err)
		return
	}
	finished, err := c.Policy.FinishCommand(outgoing(r), &policyv1.FinishCommandRequest{
		RunId: seen.RunID, CallId: seen.CallID, Witness: seen.Witness, Signature: seen.Signature,
	})
	if err != nil {
		answerRefused(w, err)
		return
	}
	respond(w, struct {
		Evidence []string `json:"evidence"`
		Notice   string   `json:"notice,omitempty"`
	}{finished.GetEvidence(), finished.GetNotice()})
}

// Refuse implements access.Part.
func (c *Commands) Refuse(w http.ResponseWriter, _ *http.Request, why *access.Refusal) {
	switch why.Status {
	case http.StatusForbidden:
		http.Error(w, why.Message, why.Status)
	case http.StatusUnauthorized:
		respond(w, refusal{Refused: "the token is not known here"})
	default:
		respond(w, refusal{Refused: why.Message, Away: why.Status >= http.StatusInternalServerError})
	}
}

func answerRefused(w http.ResponseWriter, err error) {
	refused := refusal{Refused: err.Error()}
	if _, ok := status.FromError(err); ok {
		refused.Refused = fault.From(err).Message
		switch status.Code(err) {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Internal, codes.Unknown, codes.ResourceExhausted, codes.Aborted:
			refused.Away = true
		}
	}
	respond(w, refused)
}

func respond(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		return // the client went away; a command without an answer does not start, and a witness is handed in again
	}
}
