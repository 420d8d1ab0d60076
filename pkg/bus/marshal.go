package bus

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
)

// protoNames is proto3 JSON with the contract's own field names, as everywhere in
// Interlock.
var protoNames = protojson.MarshalOptions{UseProtoNames: true}

// marshal writes an event as proto3 JSON. The events of the two hot paths, tool
// calls and transitions, are written by hand, at a tenth of protojson's cost; a
// test proves that both agree.
func marshal(ev *eventv1.Event) ([]byte, error) {
	o := object{buf: make([]byte, 0, 512)}
	o.open()
	o.text("id", ev.GetId())
	o.text("namespace", ev.GetNamespace())
	o.text("entity", ev.GetEntity())
	o.text("entity_id", ev.GetEntityId())
	o.text("type", ev.GetType())
	o.integer("version", ev.GetVersion())
	o.time("time", ev.GetTime())
	o.text("actor", ev.GetActor())
	switch p := ev.GetPayload().(type) {
	case *eventv1.Event_ToolcallDecided:
		o.decided(p.ToolcallDecided)
	case *eventv1.Event_ToolcallReported:
		o.reported(p.ToolcallReported)
	case *eventv1.Event_RunTransitioned:
		o.transitioned(p.RunTransitioned)
	case nil:
	default:
		o.slow = true
	}
	o.close()
	if o.slow || len(ev.ProtoReflect().GetUnknown()) > 0 {
		out, err := protoNames.Marshal(ev)
		if err != nil {
			return nil, fmt.Errorf("encode event: %w", err)
		}
		return out, nil
	}
	return o.buf, nil
}

func (o *object) decided(p *eventv1.ToolCallDecided) {
	o.name("toolcall_decided")
	o.open()
	o.text("call_id", p.GetCallId())
	o.text("tool", p.GetTool())
	o.text("decision", p.GetDecision())
	o.text("code", p.GetCode())
	o.text("message", p.GetMessage())
	o.text("state", p.GetState())
	o.integer("run_version", p.GetRunVersion())
	o.text("input_digest", p.GetInputDigest())
	o.close()
}

func (o *object) reported(p *eventv1.ToolCallReported) {
	o.name("toolcall_reported")
	o.open()
	o.text("call_id", p.GetCallId())
	o.text("tool", p.GetTool())
	o.truth("ok", p.GetOk())
	o.integer("result_bytes", p.GetResultBytes())
	o.texts("files_changed", p.GetFilesChanged())
	o.text("cost_usd", p.GetCostUsd())
	o.truth("unaccounted", p.GetUnaccounted())
	o.close()
}

func (o *object) transitioned(p *eventv1.RunTransitioned) {
	o.name("run_transitioned")
	o.open()
	o.text("event", p.GetEvent())
	o.text("from", p.GetFrom())
	o.text("to", p.GetTo())
	o.text("rationale", p.GetRationale())
	o.truth("safe_next", p.GetSafeNext())
	o.texts("guards", p.GetGuards())
	o.close()
}

// object appends members of a JSON object. Fields at their default are left out,
// as proto3 JSON has it. slow is set when something is better left to protojson,
// which knows every rule and names the errors.
type object struct {
	buf  []byte
	slow bool
}

func (o *object) open()  { o.buf = append(o.buf, '{') }
func (o *object) close() { o.buf = append(o.buf, '}') }

func (o *object) name(name string) {
	if o.buf[len(o.buf)-1] != '{' {
		o.buf = append(o.buf, ',')
	}
	o.buf = append(o.buf, '"')
	o.buf = append(o.buf, name...)
	o.buf = append(o.buf, '"', ':')
}

func (o *object) text(name, value string) {
	if value != "" {
		o.name(name)
		o.quote(value)
	}
}

func (o *object) texts(name string, values []string) {
	if len(values) == 0 {
		return
	}
	o.name(name)
	for i, value := range values {
		if i == 0 {
			o.buf = append(o.buf, '[')
		} else {
			o.buf = append(o.buf, ',')
		}
		o.quote(value)
	}
	o.buf = append(o.buf, ']')
}

func (o *object) truth(name string, value bool) {
	if value {
		o.name(name)
		o.buf = append(o.buf, "true"...)
	}
}

// integer writes an int64, which is a string in proto3 JSON.
func (o *object) integer(name string, value int64) {
	if value != 0 {
		o.name(name)
		o.buf = append(o.buf, '"')
		o.buf = strconv.AppendInt(o.buf, value, 10)
		o.buf = append(o.buf, '"')
	}
}

func (o *object) time(name string, value *timestamppb.Timestamp) {
	if value == nil {
		return
	}
	if value.CheckValid() != nil {
		o.slow = true
		return
	}
	layout := "2006-01-02T15:04:05.000000000Z"
	switch n := value.GetNanos(); {
	case n == 0:
		layout = "2006-01-02T15:04:05Z"
	case n%1e6 == 0:
		layout = "2006-01-02T15:04:05.000Z"
	case n%1e3 == 0:
		layout = "2006-01-02T15:04:05.000000Z"
	}
	o.name(name)
	o.buf = append(o.buf, '"')
	o.buf = time.Unix(value.GetSeconds(), int64(value.GetNanos())).UTC().AppendFormat(o.buf, layout)
	o.buf = append(o.buf, '"')
}

// quote writes a JSON string.
func (o *object) quote(value string) {
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			o.quoteAny(value)
			return
		}
	}
	o.buf = append(o.buf, '"')
	o.buf = append(o.buf, value...)
	o.buf = append(o.buf, '"')
}

func (o *object) quoteAny(value string) {
	if !utf8.ValidString(value) {
		o.slow = true // protojson refuses it, with a message
		return
	}
	text, err := json.Marshal(value)
	if err != nil {
		o.slow = true
		return
	}
	o.buf = append(o.buf, text...)
}
