package rpc_test

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// For each message of the contracts, and values on both sides of each limit, Validate finds
// what protovalidate finds, in the same words.
func TestRulesAreThoseOfProtovalidate(t *testing.T) {
	t.Parallel()
	judge, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	messages, broken := 0, map[string]bool{}
	protoregistry.GlobalTypes.RangeMessages(func(kind protoreflect.MessageType) bool {
		if !strings.HasPrefix(string(kind.Descriptor().FullName()), "interlock.") {
			return true
		}
		messages++
		valid := kind.New()
		fill(valid, 0)
		for _, m := range append(variants(valid), kind.New(), valid) {
			want := violationsOf(t, judge.Validate(m.Interface()))
			var got []fault.Violation
			if err := rpc.Validate(m.Interface()); err != nil {
				got = fault.From(err).Violations
				if pointer := strings.TrimPrefix(got[0].Pointer, "/"); fault.From(err).Message != "the request is invalid: "+pointer+": "+got[0].Message {
					t.Errorf("%s: %v", kind.Descriptor().FullName(), err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %v\n%s", kind.Descriptor().FullName(), m, diff)
			}
			for _, v := range want {
				broken[v.Code] = true
			}
		}
		return true
	})
	if messages < 100 || len(broken) < 20 {
		t.Errorf("%d messages, broken rules %v", messages, broken)
	}
}

// violationsOf returns the violations in an error of protovalidate. It finds those of a map's entries in a random
// order; here they are in the order of the keys.
func violationsOf(t *testing.T, err error) (all []fault.Violation) {
	t.Helper()
	var invalid *protovalidate.ValidationError
	if err != nil && !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	if err == nil {
		return nil
	}
	var places []place
	for _, v := range invalid.Violations {
		pointer, at := "", place{}
		for _, element := range v.Proto.GetField().GetElements() {
			pointer += "/" + element.GetFieldName()
			switch element.GetSubscript().(type) {
			case *validate.FieldPathElement_Index:
				pointer += "/" + strconv.FormatUint(element.GetIndex(), 10)
			case *validate.FieldPathElement_StringKey:
				if !at.entry {
					at = place{entry: true, field: pointer, key: element.GetStringKey()}
				}
				pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(element.GetStringKey())
			default:
			}
		}
		code := strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(v.Proto.GetRuleId()))
		at.violation = fault.Violation{Pointer: pointer, Code: code, Message: v.Proto.GetMessage()}
		places = append(places, at)
	}
	for start := 0; start < len(places); {
		end := start + 1
		for end < len(places) && places[start].entry && places[end].entry && places[end].field == places[start].field {
			end++
		}
		slices.SortStableFunc(places[start:end], func(x, y place) int { return strings.Compare(x.key, y.key) })
		start = end
	}
	for _, at := range places {
		all = append(all, at.violation)
	}
	return all
}

// place is a violation, and the entry of a map that it is in, if it is in one.
type place struct {
	entry      bool
	field, key string
	violation  fault.Violation
}

// fill sets each field of a message once, and those of messages in it.
func fill(m protoreflect.Message, depth int) {
	for i := range m.Descriptor().Fields().Len() {
		fd := m.Descriptor().Fields().Get(i)
		switch {
		case depth > 2:
		case fd.IsMap():
			m.Mutable(fd).Map().Set(protoreflect.ValueOfString("a~/b").MapKey(), filled(m.Mutable(fd).Map().NewValue(), fd.MapValue(), depth))
		case fd.IsList():
			m.Mutable(fd).List().Append(filled(m.Mutable(fd).List().NewElement(), fd, depth))
		default:
			m.Set(fd, filled(m.NewField(fd), fd, depth))
		}
	}
}

func filled(v protoreflect.Value, fd protoreflect.FieldDescriptor, depth int) protoreflect.Value {
	if fd.Message() != nil {
		fill(v.Message(), depth+1)
		return v
	}
	return values(fd, fd)[0]
}

// sizes are those next to the limits of a field.
func sizes(fd protoreflect.FieldDescriptor) []int {
	all := []int{1, 0, 2}
	var collect func(protoreflect.Message)
	collect = func(m protoreflect.Message) {
		m.Range(func(rule protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case rule.Kind() == protoreflect.Uint64Kind && v.Uint() > 0:
				all = append(all, int(v.Uint())-1, int(v.Uint()), int(v.Uint())+1)
			case rule.Message() != nil && !rule.IsList():
				collect(v.Message())
			}
			return true
		})
	}
	if rules, ok := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules); ok {
		collect(rules.ProtoReflect())
	}
	return all
}

// values are those of an element of a field that break some rule, after one that breaks few.
func values(fd, of protoreflect.FieldDescriptor) (all []protoreflect.Value) {
	switch fd.Kind() {
	case protoreflect.StringKind:
		for _, n := range sizes(of) {
			all = append(all, protoreflect.ValueOfString(strings.Repeat("a", n)))
		}
		all = append(all, protoreflect.ValueOfString(strings.Repeat("é", 256)), protoreflect.ValueOfString("-"))
	case protoreflect.BytesKind:
		for _, n := range sizes(of) {
			all = append(all, protoreflect.ValueOfBytes(make([]byte, n)))
		}
	case protoreflect.Int32Kind:
		for _, n := range []int32{1, 0, -1, 3, 4, 1000, 1001, math.MinInt32, math.MaxInt32} {
			all = append(all, protoreflect.ValueOfInt32(n))
		}
	case protoreflect.Int64Kind:
		for _, n := range []int64{1, 0, -1, -2, 1_000_000, 1_000_001, math.MinInt64, math.MaxInt64} {
			all = append(all, protoreflect.ValueOfInt64(n))
		}
	case protoreflect.EnumKind:
		for _, n := range []protoreflect.EnumNumber{1, 0, -1, 2, 999} {
			all = append(all, protoreflect.ValueOfEnum(n))
		}
	case protoreflect.BoolKind:
		all = []protoreflect.Value{protoreflect.ValueOfBool(true)}
	case protoreflect.Uint32Kind:
		all = []protoreflect.Value{protoreflect.ValueOfUint32(1)}
	case protoreflect.Uint64Kind:
		all = []protoreflect.Value{protoreflect.ValueOfUint64(1)}
	case protoreflect.DoubleKind:
		all = []protoreflect.Value{protoreflect.ValueOfFloat64(1)}
	case protoreflect.MessageKind:
		for _, d := range []*durationpb.Duration{
			{Seconds: 1}, {}, {Nanos: -1}, {Nanos: 999_999_999}, {Seconds: 3600}, {Seconds: 3600, Nanos: 1}, {Seconds: -1}, {Seconds: math.MaxInt64}, {Seconds: math.MinInt64},
		} {
			all = append(all, protoreflect.ValueOfMessage(d.ProtoReflect()))
		}
	default:
		panic("a kind that this test has no values for: " + fd.Kind().String())
	}
	return all
}

// variants are copies of a message that each differ from it in one field.
func variants(m protoreflect.Message) (all []protoreflect.Message) {
	change := func(change func(protoreflect.Message)) {
		other := proto.Clone(m.Interface()).ProtoReflect()
		change(other)
		all = append(all, other)
	}
	for i := range m.Descriptor().Fields().Len() {
		fd := m.Descriptor().Fields().Get(i)
		if !proto.HasExtension(fd.Options(), validate.E_Field) && fd.ContainingOneof() == nil {
			continue
		}
		change(func(m protoreflect.Message) { m.Clear(fd) })
		element := fd
		if fd.IsMap() {
			element = fd.MapValue()
		}
		if element.Message() != nil && element.Message().FullName() != "google.protobuf.Duration" {
			continue
		}
		for _, v := range values(element, fd) {
			change(func(m protoreflect.Message) {
				switch {
				case fd.IsMap():
					m.Mutable(fd).Map().Set(protoreflect.ValueOfString("").MapKey(), v)
				case fd.IsList():
					m.Mutable(fd).List().Append(v)
				default:
					m.Set(fd, v)
				}
			})
		}
	}
	return append(all, crowds(m)...)
}

// crowds are copies of a message with a list or a map that is long, and a map with a long key.
func crowds(m protoreflect.Message) (all []protoreflect.Message) {
	for i := range m.Descriptor().Fields().Len() {
		fd := m.Descriptor().Fields().Get(i)
		if !proto.HasExtension(fd.Options(), validate.E_Field) {
			continue
		}
		for _, n := range sizes(fd) {
			other := proto.Clone(m.Interface()).ProtoReflect()
			switch {
			case fd.IsList():
				element := other.Get(fd).List().Get(0)
				for other.Get(fd).List().Len() < n {
					other.Mutable(fd).List().Append(element)
				}
			case fd.IsMap():
				element := filled(other.Mutable(fd).Map().NewValue(), fd.MapValue(), 2)
				other.Clear(fd)
				for i := range n {
					other.Mutable(fd).Map().Set(protoreflect.ValueOfString(strconv.Itoa(i)).MapKey(), element)
				}
			default:
				continue
			}
			all = append(all, other)
		}
		if fd.IsMap() {
			other := proto.Clone(m.Interface()).ProtoReflect()
			other.Clear(fd)
			other.Mutable(fd).Map().Set(protoreflect.ValueOfString(strings.Repeat("k", 300)).MapKey(), filled(other.Mutable(fd).Map().NewValue(), fd.MapValue(), 2))
			all = append(all, other)
		}
	}
	return all
}
