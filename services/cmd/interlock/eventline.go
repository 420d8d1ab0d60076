package main

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// eventLine is an event on one line, for people: when, about what, what happened
// and the facts of it. The namespace is told when it is not the default one.
func eventLine(m bus.Message) string {
	ev, err := bus.Decode(m.Payload)
	if err != nil || ev.GetEntity() == "" {
		return fmt.Sprintf("%s  %s  not an event that this version reads", m.Time.Local().Format(time.TimeOnly), visible(m.Subject))
	}
	at := m.Time
	if ev.GetTime() != nil {
		at = ev.GetTime().AsTime()
	}
	id := ev.GetEntityId()
	if ev.GetNamespace() != rpc.DefaultNamespace {
		id = ev.GetNamespace() + "/" + id
	}
	line := fmt.Sprintf("%s  %-8s  %s  %s", at.Local().Format(time.TimeOnly), ev.GetEntity(), id, ev.GetType())
	if facts := eventFacts(ev); facts != "" {
		line += "  " + facts
	}
	if ev.GetActor() != "" {
		line += "  by " + ev.GetActor()
	}
	return visible(line)
}

// factWords is how a field of an event's payload is told; %s is its value. A
// field that is not here is told by its name.
var factWords = map[protoreflect.Name]string{
	"event": "%s", "tool": "%s", "workflow": "%s", "code": "%s", "interrupt": "%s", "status": "%s", "name": "%s",
	"state": "in %s", "session_id": "session %s", "workflow_version": "version %s", "child_run_id": "child %s",
	"files_changed": "changed %s", "result_bytes": "%s bytes", "cost_usd": "$%s",
}

// untold are fields that say nothing to people beside the others: the verb has
// the decision, the code stands for the message.
var untold = map[protoreflect.Name]bool{
	"digest": true, "input_digest": true, "call_id": true, "run_version": true, "decision": true, "message": true,
}

// eventFacts tells the fields of an event's payload, whichever it is.
func eventFacts(ev *eventv1.Event) string {
	payload := ev.ProtoReflect()
	which := payload.WhichOneof(payload.Descriptor().Oneofs().ByName("payload"))
	if which == nil {
		return ""
	}
	return strings.Join(tell(payload.Get(which).Message(), ev.GetType()), ", ")
}

// tell tells the fields of a message in their order. A status that only repeats
// the verb is left out.
func tell(m protoreflect.Message, verb string) []string {
	var facts []string
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch name := f.Name(); {
		case f.Kind() == protoreflect.BoolKind:
			if fact := tellTruth(name, m.Get(f).Bool()); fact != "" {
				facts = append(facts, fact)
			}
		case untold[name] || !m.Has(f):
		case name == "from":
			facts = append(facts, m.Get(f).String()+" -> "+m.Get(fields.ByName("to")).String())
		case name == "to" && fields.ByName("from") != nil:
		case name == "reason" || name == "rationale":
			facts = append(facts, fmt.Sprintf("%q", m.Get(f).String()))
		case name == "status" && strings.EqualFold(m.Get(f).String(), verb):
		default:
			facts = append(facts, tellField(f, m.Get(f)))
		}
	}
	return facts
}

func tellField(f protoreflect.FieldDescriptor, value protoreflect.Value) string {
	text := value.String()
	if f.IsList() {
		items := make([]string, value.List().Len())
		for i := range items {
			if items[i] = value.List().Get(i).String(); f.Message() != nil {
				items[i] = strings.Join(tell(value.List().Get(i).Message(), ""), " ")
			}
		}
		text = strings.Join(items, " ")
	}
	if words, ok := factWords[f.Name()]; ok {
		return fmt.Sprintf(words, text)
	}
	return strings.ReplaceAll(string(f.Name()), "_", " ") + " " + text
}

// tellTruth tells what is true by its name, and of results what is false too.
func tellTruth(name protoreflect.Name, value bool) string {
	switch {
	case value:
		return strings.ReplaceAll(string(name), "_", " ")
	case name == "ok" || name == "succeeded":
		return "not " + string(name)
	default:
		return ""
	}
}
