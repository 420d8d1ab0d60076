package show

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Event returns an event on one line, for people: its time, object, kind and facts. The
// namespace is shown when it is not home.
func (s Style) Event(ev *eventv1.Event, home string) string {
	id := ev.GetEntityId()
	if ev.GetNamespace() != home {
		id = ev.GetNamespace() + "/" + id
	}
	line := fmt.Sprintf("%s  %-8s  %s  %s", s.Time(ev.GetTime().AsTime()), ev.GetEntity(), id, ev.GetType())
	if facts := s.eventFacts(ev); facts != "" {
		line += "  " + facts
	}
	if ev.GetActor() != "" {
		line += "  by " + ev.GetActor()
	}
	return Text(line)
}

// factWords is how a field of an event's payload is worded; %s is its value. A
// field that is not here is worded by its name.
var factWords = map[protoreflect.Name]string{
	"event": "%s", "tool": "%s", "workflow": "%s", "code": "%s", "interrupt": "%s", "status": "%s", "name": "%s",
	"state": "in %s", "session_id": "session %s", "workflow_version": "version %s", "child_run_id": "child %s",
	"files_changed": "changed %s", "result_bytes": "%s bytes", "cost_usd": "$%s",
	"schema_name": "schema %s", "session_name": "session %s", "pointers": "at %s", "expires_at": "until %s",
	"parent_session_id": "parent %s", "workflow_state_id": "state %s", "state_id": "state %s", "attempts": "attempt %s",
	"state_update_status": "state update %s", "child_session_id": "of %s",
	"callback_id": "callback %s", "callback_ids": "callbacks %s",
	"run_id": "of %s", "approval_id": "%s", "roles": "asks role %s", "names": "asks %s",
	"policy_version": "version %s", "attachment": "%s", "attached_to": "%s", "first": "from %s", "last": "to %s",
	"kind": "%s", "persistence": "%s", "execution_id": "%s", "values_version": "values at version %s",
}

// omitted are fields that are redundant for people: the verb has the decision, the code
// stands for the message.
var omitted = map[protoreflect.Name]bool{
	"digest": true, "input_digest": true, "call_id": true, "run_version": true, "decision": true, "message": true,
	"schema_id": true, "root_session_id": true, "identity": true,
}

// eventFacts words the fields of an event's payload, of any kind.
func (s Style) eventFacts(ev *eventv1.Event) string {
	payload := ev.ProtoReflect()
	which := payload.WhichOneof(payload.Descriptor().Oneofs().ByName("payload"))
	if which == nil {
		return ""
	}
	facts := s.factsOf(payload.Get(which).Message(), ev.GetType())
	switch ev.GetPayload().(type) {
	case *eventv1.Event_StateChanged:
		facts = slices.Insert(facts, 0, fmt.Sprintf("version %d", ev.GetVersion()))
	case *eventv1.Event_ToolcallDecided:
		decided := ev.GetToolcallDecided()
		if decided.GetCode() == string(toolcall.CodeNotEnforced) {
			facts = append(facts, fmt.Sprintf("%q", decided.GetMessage()))
		}
		facts = append(facts, callerFacts(decided.GetIdentity())...)
	case *eventv1.Event_CallRefused:
		if more := ev.GetCallRefused().GetMore(); more > 0 {
			facts = append(facts, fmt.Sprintf("and %d more", more))
		}
	case *eventv1.Event_UpstreamChanged:
		facts = append(facts, "tools "+strings.Join(ev.GetUpstreamChanged().GetTools(), ", "))
	case *eventv1.Event_StateLocked:
		facts = slices.Insert(facts, 0, fmt.Sprintf("fencing token %d", ev.GetVersion()))
	}
	return strings.Join(facts, ", ")
}

// callerFacts words what the actor of an event does not say of who made a call.
func callerFacts(who *eventv1.CallIdentity) []string {
	var facts []string
	if who.GetHuman() != "" {
		facts = append(facts, "for "+who.GetHuman())
	}
	if who.GetAgent() != "" {
		facts = append(facts, "agent "+who.GetAgent())
	}
	return facts
}

// factsOf words the fields of a message in their order.
func (s Style) factsOf(m protoreflect.Message, verb string) []string {
	var facts []string
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch name := f.Name(); {
		case f.Kind() == protoreflect.BoolKind:
			if said := truth(name, m.Get(f).Bool()); said != "" {
				facts = append(facts, said)
			}
		case omitted[name] || !m.Has(f) || repeats(m, f, verb):
		case name == "from" && fields.ByName("to") != nil:
			facts = append(facts, m.Get(f).String()+" -> "+m.Get(fields.ByName("to")).String())
		case name == "to" && fields.ByName("from") != nil:
		case name == "reason" || name == "rationale" || name == "error":
			facts = append(facts, fmt.Sprintf("%q", m.Get(f).String()))
		default:
			facts = append(facts, s.fact(f, m.Get(f)))
		}
	}
	return facts
}

// repeats reports whether the verb or another field shows the same.
func repeats(m protoreflect.Message, f protoreflect.FieldDescriptor, verb string) bool {
	switch f.Name() {
	case "status":
		return strings.EqualFold(m.Get(f).String(), verb)
	case "state_update_status":
		status := m.Get(f).String()
		return status == "NONE" || verb == "state_update."+strings.ToLower(status)
	case "parent_session_id":
		return verb != "created" // as in every event of the session
	case "session_id":
		named := m.Descriptor().Fields().ByName("session_name")
		return named != nil && m.Has(named)
	default:
		return false
	}
}

func (s Style) fact(f protoreflect.FieldDescriptor, value protoreflect.Value) string {
	text := s.valueText(f, value)
	if words, ok := factWords[f.Name()]; ok {
		return fmt.Sprintf(words, text)
	}
	return strings.ReplaceAll(string(f.Name()), "_", " ") + " " + text
}

// valueText words the value of a field: a list and a map by their items, and a message by its fields.
func (s Style) valueText(f protoreflect.FieldDescriptor, value protoreflect.Value) string {
	switch {
	case f.IsMap():
		var items []string
		value.Map().Range(func(key protoreflect.MapKey, of protoreflect.Value) bool {
			items = append(items, key.String()+"="+s.itemText(f.MapValue(), of))
			return true
		})
		slices.Sort(items)
		return strings.Join(items, " ")
	case f.IsList():
		items := make([]string, value.List().Len())
		for i := range items {
			items[i] = s.itemText(f, value.List().Get(i))
		}
		return strings.Join(items, " ")
	default:
		return s.itemText(f, value)
	}
}

// itemText words one value of a field.
func (s Style) itemText(f protoreflect.FieldDescriptor, item protoreflect.Value) string {
	switch {
	case f.Message() != nil:
		if at, ok := item.Message().Interface().(*timestamppb.Timestamp); ok {
			return s.Time(at.AsTime())
		}
		return strings.Join(s.factsOf(item.Message(), ""), " ")
	case f.Name() == "pointers" && item.String() == "":
		return "(all)"
	default:
		return item.String()
	}
}

// truth shows true fields by name, and false ones of results too.
func truth(name protoreflect.Name, value bool) string {
	switch {
	case value:
		return strings.ReplaceAll(string(name), "_", " ")
	case name == "ok" || name == "succeeded":
		return "not " + string(name)
	default:
		return ""
	}
}
