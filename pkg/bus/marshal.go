package bus

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/jsonobject"
)

// protoNames is proto3 JSON with the contract's own field names, as everywhere in
// Interlock.
var protoNames = protojson.MarshalOptions{UseProtoNames: true}

// marshal writes an event as proto3 JSON. The events of the hot paths - tool calls,
// transitions, changes of states - are written by hand, at a tenth of protojson's cost; a
// test proves that both agree.
func marshal(ev *eventv1.Event) ([]byte, error) {
	o := object{Writer: jsonobject.New(512)}
	o.Open()
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
	case *eventv1.Event_StateChanged:
		o.stateChanged(p.StateChanged)
	case nil:
	default:
		o.slow = true
	}
	o.Close()
	if o.slow || len(ev.ProtoReflect().GetUnknown()) > 0 {
		out, err := protoNames.Marshal(ev)
		if err != nil {
			return nil, fmt.Errorf("encode event: %w", err)
		}
		return out, nil
	}
	return o.Bytes(), nil
}

func (o *object) decided(p *eventv1.ToolCallDecided) {
	o.Name("toolcall_decided")
	o.Open()
	o.text("call_id", p.GetCallId())
	o.text("tool", p.GetTool())
	o.text("decision", p.GetDecision())
	o.text("code", p.GetCode())
	o.text("message", p.GetMessage())
	o.text("state", p.GetState())
	o.integer("run_version", p.GetRunVersion())
	o.text("input_digest", p.GetInputDigest())
	o.text("capability", p.GetCapability())
	o.text("policy", p.GetPolicy())
	o.integer("policy_version", p.GetPolicyVersion())
	o.text("rule", p.GetRule())
	o.text("approval_id", p.GetApprovalId())
	o.shadows(p.GetShadows())
	o.number("jail_level", p.GetJailLevel())
	o.text("jail_digest", p.GetJailDigest())
	o.identity(p.GetIdentity())
	o.slow = o.slow || len(p.GetLimits()) > 0 // which few decisions have
	o.Close()
}

func (o *object) identity(p *eventv1.CallIdentity) {
	if p == nil {
		return
	}
	o.Name("identity")
	o.Open()
	o.text("role", p.GetRole())
	o.text("token", p.GetToken())
	o.text("via", p.GetVia())
	o.text("person", p.GetPerson())
	o.text("human", p.GetHuman())
	o.text("human_issuer", p.GetHumanIssuer())
	o.text("human_source", p.GetHumanSource())
	o.OptionalTruth("human_groups_known", p.GetHumanGroupsKnown())
	o.text("agent", p.GetAgent())
	o.integer("agent_version", p.GetAgentVersion())
	o.text("root_session", p.GetRootSession())
	o.texts("lineage", p.GetLineage())
	o.slow = o.slow || len(p.GetAttributes()) > 0 // which few deployments log
	o.Close()
}

func (o *object) shadows(shadows []*eventv1.ShadowDecided) {
	if len(shadows) == 0 {
		return
	}
	o.Name("shadows")
	o.OpenList()
	for _, p := range shadows {
		o.Open()
		o.text("policy", p.GetPolicy())
		o.integer("policy_version", p.GetPolicyVersion())
		o.text("workflow", p.GetWorkflow())
		o.text("decision", p.GetDecision())
		o.text("code", p.GetCode())
		o.Close()
	}
	o.CloseList()
}

func (o *object) reported(p *eventv1.ToolCallReported) {
	o.Name("toolcall_reported")
	o.Open()
	o.text("call_id", p.GetCallId())
	o.text("tool", p.GetTool())
	o.OptionalTruth("ok", p.GetOk())
	o.integer("result_bytes", p.GetResultBytes())
	o.texts("files_changed", p.GetFilesChanged())
	o.text("cost_usd", p.GetCostUsd())
	o.OptionalTruth("unaccounted", p.GetUnaccounted())
	o.OptionalTruth("witnessed", p.GetWitnessed())
	o.Close()
}

func (o *object) transitioned(p *eventv1.RunTransitioned) {
	o.Name("run_transitioned")
	o.Open()
	o.text("event", p.GetEvent())
	o.text("from", p.GetFrom())
	o.text("to", p.GetTo())
	o.text("rationale", p.GetRationale())
	o.OptionalTruth("safe_next", p.GetSafeNext())
	o.texts("guards", p.GetGuards())
	o.text("branch", p.GetBranch())
	o.slow = o.slow || p.GetCause() != nil || p.GetReason() != "" // which clocks bring about
	o.Close()
}

func (o *object) stateChanged(p *eventv1.StateChanged) {
	o.Name("state_changed")
	o.Open()
	o.text("schema_name", p.GetSchemaName())
	o.integer("schema_version", p.GetSchemaVersion())
	o.text("root_session_id", p.GetRootSessionId())
	o.text("session_id", p.GetSessionId())
	o.text("session_name", p.GetSessionName())
	o.texts("pointers", p.GetPointers())
	o.Close()
}

// object writes proto3 JSON: fields at their default are left out, an int64 is a
// string. slow is set when something is better left to protojson, which knows
// every rule and names the errors.
type object struct {
	*jsonobject.Writer
	slow bool
}

// text and texts leave text that is not UTF-8 to protojson: it refuses it, with a
// message.
func (o *object) text(name, value string) {
	if !utf8.ValidString(value) {
		o.slow = true
		return
	}
	o.OptionalText(name, value)
}

func (o *object) texts(name string, values []string) {
	for _, value := range values {
		if !utf8.ValidString(value) {
			o.slow = true
			return
		}
	}
	o.OptionalTexts(name, values)
}

func (o *object) integer(name string, value int64) {
	if value != 0 {
		var room [24]byte
		o.Raw(name, append(strconv.AppendInt(append(room[:0], '"'), value, 10), '"'))
	}
}

func (o *object) number(name string, value int32) {
	if value != 0 {
		o.Raw(name, strconv.AppendInt(nil, int64(value), 10))
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
	layout := `"2006-01-02T15:04:05.000000000Z"`
	switch n := value.GetNanos(); {
	case n == 0:
		layout = `"2006-01-02T15:04:05Z"`
	case n%1e6 == 0:
		layout = `"2006-01-02T15:04:05.000Z"`
	case n%1e3 == 0:
		layout = `"2006-01-02T15:04:05.000000Z"`
	}
	var room [40]byte
	o.Raw(name, time.Unix(value.GetSeconds(), int64(value.GetNanos())).UTC().AppendFormat(room[:0], layout))
}
