package rest

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/services/internal/receipts"
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

// receiptFiles serves receipts of runs, and the key that checks them.
type receiptFiles struct {
	from   receipts.Sources
	signer receipt.Signer // nil where there is none
	now    func() time.Time
}

func (h *receiptFiles) routes(add func(route)) {
	add(route{
		method: http.MethodGet, path: "/v1/runs/{id}/receipt", id: "getRunReceipt", summary: "Receipt of a run",
		about: "The run, its log and its definitions, in one signed file that every holder of the public key can check. 409 where the " +
			"deployment has no key, or the log no longer has everything.",
		params: []param{inPath("id", "Id of the run.")}, fields: map[string]string{"run_id": "id"},
		answers: answers[Receipt](http.StatusOK), serve: h.get,
	})
	add(route{
		method: http.MethodGet, path: "/v1/receipts/key", id: "getReceiptKey", summary: "Public key of receipts",
		answers: answers[ReceiptKey](http.StatusOK), serve: h.key,
	})
}

// errNoReceiptKey reports how to have one.
var errNoReceiptKey = fault.New(fault.FailedPrecondition,
	"this deployment signs no receipts: make a key with interlock receipt keygen, and start the gateway with --receipt-key FILE")

func (h *receiptFiles) get(c *call) (*answer, error) {
	if h.signer == nil {
		return nil, errNoReceiptKey
	}
	f, err := receipts.Make(c.ctx, h.from, c.namespace(), c.path("id"), h.signer, h.now())
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(f, json.Deterministic(true))
	if err != nil {
		return nil, fault.From(err)
	}
	return ok(jsontext.Value(text)), nil
}

func (h *receiptFiles) key(*call) (*answer, error) {
	if h.signer == nil {
		return nil, errNoReceiptKey
	}
	public, err := receipt.PublicPEM(h.signer.Public())
	if err != nil {
		return nil, fault.From(err)
	}
	return ok(ReceiptKey{KeyID: receipt.KeyID(h.signer.Public()), Public: string(public)}), nil
}
