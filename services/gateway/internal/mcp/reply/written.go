package reply

import (
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/mcp/wire"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
)

// verbatim is a result that the client gets as its server wrote it. The SDK's result gives it
// the type, and takes the SDK's additions.
type verbatim struct {
	sdk.Result
	text      *relay.Result
	stateless bool // the protocol of the client
}

// Written returns a result that the client gets as text has it; own gives it its type.
func Written(own sdk.Result, text *relay.Result, protocol string) sdk.Result {
	return verbatim{own, text, protocol >= wire.ProtocolStateless}
}

// MarshalJSON implements json.Marshaler.
func (w verbatim) MarshalJSON() ([]byte, error) {
	text := w.text.Clone()
	if w.stateless && text.Get("resultType") == nil {
		text.Set("resultType", json.RawMessage(`"complete"`))
	}
	for name, value := range w.GetMeta() {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		text.SetMeta(name, raw)
	}
	return text.JSON(), nil
}

// Text returns a result of ours as text.
func Text(res sdk.Result) *relay.Result { return encode(res) }

// AsParams returns a notification of ours as text.
func AsParams(params sdk.Params) *relay.Result { return encode(params) }

func encode(own any) *relay.Result {
	raw, err := json.Marshal(own)
	if err != nil {
		panic("mcp: a result of Interlock's own cannot be written: " + err.Error())
	}
	text, err := relay.ReadResult(raw)
	if err != nil {
		panic("mcp: a result of Interlock's own cannot be read: " + err.Error())
	}
	return text
}

// TextElement returns an element of content.
func TextElement(text string) json.RawMessage {
	return relay.Object([]relay.Member{{Name: "type", Value: json.RawMessage(`"text"`)}, {Name: "text", Value: relay.Quote(text)}})
}

// WrittenList returns a list whose entries are as their servers describe them.
func WrittenList(list sdk.Result, kind string, entries []json.RawMessage, protocol string) sdk.Result {
	text := Text(list)
	text.Set(kind, relay.Array(entries))
	return Written(list, text, protocol)
}
