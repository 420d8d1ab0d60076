package rest

import (
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/services/internal/receipts"
	"github.com/interlock-run/interlock/services/internal/recorded"
)

// ReceiptKey is the key that checks receipts of this deployment.
type ReceiptKey struct {
	KeyID  string `json:"keyid" doc:"Hex SHA-256 of the key, as receipts name it."`
	Public string `json:"public" doc:"The public key (PEM, Ed25519)."`
}

// Receipt is a run's receipt: a DSSE envelope of an in-toto statement, and a checkpoint of the
// log.
type Receipt struct {
	PayloadType string             `json:"payloadType"`
	Payload     string             `json:"payload" doc:"The in-toto statement, as base64."`
	Signatures  []ReceiptSignature `json:"signatures"`
	Checkpoint  string             `json:"checkpoint" doc:"A signed note (C2SP tlog-checkpoint)."`
}

// ReceiptSignature is one of the envelope.
type ReceiptSignature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig" doc:"As base64."`
}

func (e *edge) receiptRoutes() {
	e.add(route{
		method: http.MethodGet, path: "/v1/runs/{id}/receipt", id: "getReceipt", summary: "Receipt of a run",
		about: "The run, its log and its definitions, in one signed file that every holder of the public key can check. 409 where the " +
			"deployment has no key, or the log no longer has everything.",
		params: []param{inPath("id", "Id of the run.")}, fields: map[string]string{"run_id": "id"},
		answers: answers[Receipt](http.StatusOK), serve: e.getReceipt,
	})
	e.add(route{
		method: http.MethodGet, path: "/v1/receipts/key", id: "getReceiptKey", summary: "Public key of receipts",
		answers: answers[ReceiptKey](http.StatusOK), serve: e.getReceiptKey,
	})
}

// errNoReceiptKey reports how to have one.
var errNoReceiptKey = fault.New(fault.FailedPrecondition,
	"this deployment signs no receipts: make a key with interlock receipt keygen, and start the gateway with --receipt-key FILE")

func (e *edge) getReceipt(c *call) (*answer, error) {
	if e.Receipts == nil {
		return nil, errNoReceiptKey
	}
	f, err := receipts.Make(c.ctx, receipts.Sources{
		Sources:   recorded.Sources{Runs: e.Runs, Workflows: e.Workflows, Decisions: e.Decisions, Policies: e.Policies},
		Approvals: e.Approvals,
	}, namespaceOr(c.header(headerNamespace)), c.path("id"), e.Receipts, e.now())
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(f, json.Deterministic(true))
	if err != nil {
		return nil, fault.From(err)
	}
	return ok(jsontext.Value(text)), nil
}

func (e *edge) getReceiptKey(*call) (*answer, error) {
	if e.Receipts == nil {
		return nil, errNoReceiptKey
	}
	public, err := receipt.PublicPEM(e.Receipts.Public())
	if err != nil {
		return nil, fault.From(err)
	}
	return ok(ReceiptKey{KeyID: receipt.KeyID(e.Receipts.Public()), Public: string(public)}), nil
}
