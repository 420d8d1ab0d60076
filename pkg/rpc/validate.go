package rpc

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/interlock-run/interlock/pkg/fault"
)

// validator is shared by the process: it compiles the rules of each message once.
var validator = sync.OnceValues(func() (protovalidate.Validator, error) { return protovalidate.New() })

// Validate checks a message against the rules of its definition. Its error is an
// INVALID_REQUEST fault with one violation per broken rule.
func Validate(msg proto.Message) error {
	v, err := validator()
	if err != nil {
		return fault.New(fault.Internal, "no validator").Wrap(err)
	}
	err = v.Validate(msg)
	if err == nil {
		return nil
	}
	var invalid *protovalidate.ValidationError
	if !errors.As(err, &invalid) {
		// A rule that cannot be evaluated denies.
		return fault.New(fault.Internal, "validation failed").Wrap(err)
	}
	f := fault.New(fault.InvalidRequest, "the request is invalid")
	for i, violation := range invalid.Violations {
		pointer := pointerOf(violation.Proto.GetField().GetElements())
		if i == 0 {
			f.Message = "the request is invalid: " + strings.TrimPrefix(pointer, "/") + ": " + violation.Proto.GetMessage()
		}
		f = f.Violate(pointer, codeOf(violation.Proto.GetRuleId()), violation.Proto.GetMessage())
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

// pointerOf writes a field path as a pointer: "/calls/0/tool".
func pointerOf(path []*validate.FieldPathElement) string {
	var b strings.Builder
	for _, element := range path {
		b.WriteString("/" + element.GetFieldName())
		switch element.GetSubscript().(type) {
		case *validate.FieldPathElement_Index:
			b.WriteString("/" + strconv.FormatUint(element.GetIndex(), 10))
		case *validate.FieldPathElement_StringKey:
			b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(element.GetStringKey()))
		default:
		}
	}
	return b.String()
}

// codeOf makes "string.min_len" STRING_MIN_LEN.
func codeOf(ruleID string) string {
	return strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(ruleID))
}
