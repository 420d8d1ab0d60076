// Command shapes is a plugin of buf. It writes the documents that follow from proto/ and that no other plugin writes: the
// AsyncAPI document of the events.
package main

import (
	"encoding/json"
	"regexp"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	root       = "interlock"      // the first token of subjects, as bus.Root
	typePrefix = "run.interlock." // of CloudEvents, as bus.TypePrefix
	schemas    = "#/components/schemas/"
)

type object = map[string]any

func main() {
	protogen.Options{}.Run(func(plugin *protogen.Plugin) error {
		for _, file := range plugin.Files {
			if file.Generate && file.Desc.Package() == "interlock.event.v1" {
				return writeAsyncAPI(plugin, file)
			}
		}
		return nil
	})
}

func writeAsyncAPI(plugin *protogen.Plugin, file *protogen.File) error {
	text, err := json.MarshalIndent(asyncAPI(file), "", " ")
	if err != nil {
		return err
	}
	_, err = plugin.NewGeneratedFile("asyncapi.json", "").Write(append(text, '\n'))
	return err
}

// eventName matches the names of events in the comment of their payload.
var eventName = regexp.MustCompile(`[a-z]+(\.[a-z_]+)+`)

// asyncAPI returns the document of all events: a channel, a message and a schema for each.
func asyncAPI(file *protogen.File) object {
	channels, operations, messages, shapes := object{}, object{}, object{}, object{}
	var envelope *protogen.Message
	for _, m := range file.Messages {
		if m.Desc.Name() == "Event" {
			envelope = m
		}
		shapes[string(m.Desc.Name())] = messageSchema(m)
	}
	for _, payload := range envelope.Fields {
		if payload.Oneof == nil {
			continue
		}
		for _, name := range eventName.FindAllString(comment(payload.Comments.Leading), -1) {
			entity, kind, _ := strings.Cut(name, ".")
			shapes[name] = eventSchema(payload, entity, kind)
			messages[name] = object{
				"name": typePrefix + name, "title": name, "summary": comment(payload.Message.Comments.Leading), "contentType": "application/json",
				"headers": object{"$ref": schemas + "headers"}, "payload": object{"$ref": schemas + name},
			}
			channels[name] = object{
				"address": root + ".{namespace}." + entity + ".{id}." + kind,
				"parameters": object{
					"namespace": object{"description": "Namespace of the entity, escaped."}, "id": object{"description": "Id of the entity, escaped."},
				},
				"messages": object{name: object{"$ref": "#/components/messages/" + name}},
			}
			operations[name] = object{"action": "send", "channel": object{"$ref": "#/channels/" + name}}
		}
	}
	shapes["Event"].(object)["required"] = []string{"id", "namespace", "entity", "entity_id", "type"}
	shapes["headers"] = headerSchema()
	return object{
		"asyncapi": "3.0.0",
		"info": object{
			"title": "Events of Interlock", "version": "v1", "license": object{"name": "Apache-2.0"},
			"description": "Events on NATS JetStream, in the stream INTERLOCK, with headers of CloudEvents 1.0. Consumers must accept unknown fields.",
		},
		"defaultContentType": "application/json",
		"channels":           channels, "operations": operations,
		"components": object{"messages": messages, "schemas": shapes},
	}
}

// headerSchema returns the schema of the headers of a message.
func headerSchema() object {
	properties, required := object{}, []string{}
	for _, name := range []string{"Nats-Msg-Id", "ce-specversion", "ce-id", "ce-source", "ce-type", "ce-subject", "content-type"} {
		properties[name] = object{"type": "string"}
		required = append(required, name)
	}
	properties["ce-time"] = object{"type": "string", "format": "date-time"}
	properties["traceparent"] = object{"type": "string", "description": "W3C trace context of the call that decided the event."}
	return object{"type": "object", "properties": properties, "required": required}
}

// eventSchema returns the schema of one event: what all have, and its payload.
func eventSchema(payload *protogen.Field, entity, kind string) object {
	of := string(payload.Desc.Name())
	return object{
		"allOf": []object{{"$ref": schemas + "Event"}},
		"properties": object{
			"entity": object{"const": entity}, "type": object{"const": kind}, of: object{"$ref": schemas + string(payload.Message.Desc.Name())},
		},
		"required": []string{of},
	}
}

// messageSchema returns the schema of a message in proto3 JSON, which leaves out zero values.
func messageSchema(m *protogen.Message) object {
	properties := object{}
	for _, f := range m.Fields {
		if f.Oneof == nil { // payloads are parts of the schemas of events
			properties[string(f.Desc.Name())] = fieldSchema(f)
		}
	}
	return object{"type": "object", "description": comment(m.Comments.Leading), "properties": properties}
}

func fieldSchema(f *protogen.Field) object {
	schema := kindSchema(f.Desc)
	if f.Desc.IsMap() {
		schema = object{"type": "object", "additionalProperties": kindSchema(f.Desc.MapValue())}
	} else if f.Desc.IsList() {
		schema = object{"type": "array", "items": schema}
	}
	if about := comment(f.Comments.Leading); about != "" && schema["$ref"] == nil {
		schema["description"] = about
	}
	return schema
}

// kindSchema returns the schema of one value of a field.
func kindSchema(f protoreflect.FieldDescriptor) object {
	switch f.Kind() {
	case protoreflect.MessageKind:
		if f.Message().FullName() == "google.protobuf.Timestamp" {
			return object{"type": "string", "format": "date-time"}
		}
		return object{"$ref": schemas + string(f.Message().Name())}
	case protoreflect.BoolKind:
		return object{"type": "boolean"}
	case protoreflect.Int32Kind:
		return object{"type": "integer"}
	case protoreflect.Int64Kind: // which proto3 JSON writes as text
		return object{"type": "string", "pattern": "^-?[0-9]+$"}
	default:
		return object{"type": "string"}
	}
}

// comment returns a comment as one line.
func comment(c protogen.Comments) string { return strings.Join(strings.Fields(string(c)), " ") }
