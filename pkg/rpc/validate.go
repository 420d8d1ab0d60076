package rpc

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/interlock-run/interlock/pkg/fault"
)

// Validate checks a message against the rules of its definition. Its error is an
// INVALID_REQUEST fault with one violation per broken rule.
func Validate(msg proto.Message) error {
	m := msg.ProtoReflect()
	found := rulesOf(m.Descriptor()).violations(m)
	if len(found) == 0 {
		return nil
	}
	f := fault.New(fault.InvalidRequest, "the request is invalid: %s: %s", strings.TrimPrefix(found[0].pointer, "/"), found[0].message)
	for _, v := range found {
		f = f.Violate(v.pointer, codeOf(v.rule), v.message)
	}
	return f
}

// checkMessage checks a received message: its size, and its rules when asked to.
func (s *Server) checkMessage(msg any, rules bool) error {
	if _, raw := msg.(*Raw); raw {
		return nil
	}
	m, ok := msg.(proto.Message)
	if !ok {
		return fault.New(fault.Internal, "not a protobuf message")
	}
	if isMalformed(m) {
		return errMalformed(nil)
	}
	// No document can be too large unless the whole message is.
	if size := proto.Size(m); size > MaxDocument {
		if pointer := largeDocument(m.ProtoReflect(), ""); pointer != "" {
			return fault.New(fault.TooLarge, "%s is larger than %d bytes; send less",
				strings.TrimPrefix(pointer, "/"), MaxDocument).
				Meta("limit_bytes", strconv.Itoa(MaxDocument)).Violate(pointer, string(fault.TooLarge), "too large")
		}
		if size > s.cfg.MaxRecvBytes {
			return fault.New(fault.TooLarge, "the message has %d bytes and the limit is %d; send less",
				size, s.cfg.MaxRecvBytes).Meta("limit_bytes", strconv.Itoa(s.cfg.MaxRecvBytes))
		}
	}
	if rules {
		return Validate(m)
	}
	return nil
}

// largeDocument finds a bytes or string field that is larger than MaxDocument.
func largeDocument(m protoreflect.Message, path string) (found string) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		at := path + "/" + string(fd.Name())
		switch {
		case fd.IsMap():
		case fd.IsList():
			list := v.List()
			for i := 0; i < list.Len() && found == ""; i++ {
				found = largeValue(fd, list.Get(i), at+"/"+strconv.Itoa(i))
			}
		default:
			found = largeValue(fd, v, at)
		}
		return found == ""
	})
	return found
}

func largeValue(fd protoreflect.FieldDescriptor, v protoreflect.Value, at string) string {
	switch fd.Kind() {
	case protoreflect.BytesKind:
		if len(v.Bytes()) > MaxDocument {
			return at
		}
	case protoreflect.StringKind:
		if len(v.String()) > MaxDocument {
			return at
		}
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return largeDocument(v.Message(), at)
	default:
	}
	return ""
}

// codeOf makes "string.min_len" STRING_MIN_LEN.
func codeOf(ruleID string) string {
	return strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(ruleID))
}
