// Package prototest holds translations of contracts complete, to them and from them: each
// field of a message is translated, or is on a list that says that it is not.
package prototest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// variants is the number of messages in which a field is looked for: the translation of
// one field may depend on the value of another.
const variants = 12

// Complete fails unless each field of a message changes its translation, but for
// the excluded ones, which must not. Fields of messages in it are named by their path,
// such as "fork.branches.name". A field that is excluded is so with all below it.
func Complete[M proto.Message](t testing.TB, translate func(M) any, excluded ...string) {
	t.Helper()
	var zero M
	descriptor := zero.ProtoReflect().Descriptor()
	left := slices.Clone(excluded)
	for _, path := range leaves(descriptor, nil) {
		name := nameOf(path)
		i := slices.IndexFunc(excluded, func(e string) bool { return name == e || strings.HasPrefix(name, e+".") })
		translated := shows(translate, path)
		switch {
		case i < 0 && !translated:
			t.Errorf("%s.%s is not translated: translate it, or exclude it here", descriptor.FullName(), name)
		case i >= 0 && translated:
			t.Errorf("%s.%s is translated: it is not to be excluded", descriptor.FullName(), name)
		}
		if i >= 0 {
			left = slices.DeleteFunc(left, func(e string) bool { return e == excluded[i] })
		}
	}
	for _, name := range left {
		t.Errorf("%s has no field %s to exclude", descriptor.FullName(), name)
	}
}

// Said fails unless each field of a message says something in one of several, but for the
// excluded ones, which must not.
func Said[M proto.Message](t testing.TB, messages []M, excluded ...string) {
	t.Helper()
	var zero M
	descriptor := zero.ProtoReflect().Descriptor()
	for _, path := range leaves(descriptor, nil) {
		name := nameOf(path)
		said := slices.ContainsFunc(messages, func(m M) bool { return says(m.ProtoReflect(), path) })
		if said == slices.Contains(excluded, name) {
			t.Errorf("%s.%s is said: %t", descriptor.FullName(), name, said)
		}
	}
}

// says reports whether the field at the end of a path is there, in one element of each
// list on the way.
func says(m protoreflect.Message, path []protoreflect.FieldDescriptor) bool {
	fd := path[0]
	switch {
	case !m.Has(fd):
		return false
	case len(path) == 1:
		return true
	case !fd.IsList():
		return says(m.Get(fd).Message(), path[1:])
	}
	list := m.Get(fd).List()
	for i := range list.Len() {
		if says(list.Get(i).Message(), path[1:]) {
			return true
		}
	}
	return false
}

// shows reports whether a field makes a difference to a translation.
func shows[M proto.Message](translate func(M) any, path []protoreflect.FieldDescriptor) bool {
	for variant := range variants {
		one, other := filled[M](variant), filled[M](variant)
		change(other.ProtoReflect(), path, variant)
		if !reflect.DeepEqual(translate(one), translate(other)) {
			return true
		}
	}
	return false
}

// Fill gives every field of a message a value, as far as one message can.
func Fill(m protoreflect.Message) { fill(m, 0, nil) }

// Filled is a message all of whose fields say something, as far as one message can. The
// first twelve variants differ in their enumerations and truths.
func filled[M proto.Message](variant int) M {
	var zero M
	m := zero.ProtoReflect().New()
	fill(m, variant, nil)
	return m.Interface().(M)
}

// leaves returns the paths of the fields that hold no message of ours. A message in
// itself is not entered again.
func leaves(m protoreflect.MessageDescriptor, outer []protoreflect.FieldDescriptor) (all [][]protoreflect.FieldDescriptor) {
	for i := range m.Fields().Len() {
		fd := m.Fields().Get(i)
		path := append(slices.Clone(outer), fd)
		switch {
		case !nested(fd):
			all = append(all, path)
		case !slices.ContainsFunc(outer, func(o protoreflect.FieldDescriptor) bool { return o.Message() == fd.Message() }):
			all = append(all, leaves(fd.Message(), path)...)
		}
	}
	return all
}

// nested reports a field that holds messages of a contract.
func nested(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && !fd.IsMap() && !strings.HasPrefix(string(fd.Message().FullName()), "google.protobuf.")
}

func nameOf(path []protoreflect.FieldDescriptor) string {
	names := make([]string, len(path))
	for i, fd := range path {
		names[i] = string(fd.Name())
	}
	return strings.Join(names, ".")
}

// fill leaves a message in itself out.
func fill(m protoreflect.Message, variant int, outer []protoreflect.MessageDescriptor) {
	outer = append(slices.Clone(outer), m.Descriptor())
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if o := fd.ContainingOneof(); o != nil && o.Fields().Get(variant%o.Fields().Len()) != fd {
			continue
		}
		switch {
		case nested(fd) && slices.Contains(outer, fd.Message()):
		case fd.IsMap():
			m.Mutable(fd).Map().Set(protoreflect.ValueOfString("key").MapKey(), value(fd.MapValue(), variant, false))
		case fd.IsList() && nested(fd):
			fill(m.Mutable(fd).List().AppendMutable().Message(), variant, outer)
		case fd.IsList():
			m.Mutable(fd).List().Append(value(fd, variant, false))
		case nested(fd):
			fill(m.Mutable(fd).Message(), variant, outer)
		case fd.Message() != nil:
			moment(m.Mutable(fd).Message(), 1)
		default:
			m.Set(fd, value(fd, variant, false))
		}
	}
}

// change gives the field at the end of a path another value.
func change(m protoreflect.Message, path []protoreflect.FieldDescriptor, variant int) {
	fd := path[0]
	switch {
	case len(path) > 1 && fd.IsList():
		change(m.Mutable(fd).List().Get(0).Message(), path[1:], variant)
	case len(path) > 1:
		change(m.Mutable(fd).Message(), path[1:], variant)
	case fd.IsMap():
		m.Mutable(fd).Map().Set(protoreflect.ValueOfString("key").MapKey(), value(fd.MapValue(), variant, true))
	case fd.IsList():
		m.Mutable(fd).List().Set(0, value(fd, variant, true))
	case fd.Message() != nil:
		moment(m.Mutable(fd).Message(), 120)
	default:
		m.Set(fd, value(fd, variant, true))
	}
}

// moment sets a time or a duration.
func moment(m protoreflect.Message, seconds int64) {
	m.Set(m.Descriptor().Fields().ByName("seconds"), protoreflect.ValueOfInt64(seconds))
}

// value returns one for a field, or another. Numbers are small, so that limits are
// reached in some of the variants.
func value(fd protoreflect.FieldDescriptor, variant int, other bool) protoreflect.Value {
	text, number := string(fd.Name()), int64(variant%5+1)
	if other {
		text, number = text+"_2", number+1
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool((variant%2 == 0) != other)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text)
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(`{"` + text + `":1}`))
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		n := int(number-1) % (values.Len() - 1)
		if variant >= 5 { // so that all values of long enumerations are there
			n = (variant + int(number-1)) % (values.Len() - 1)
		}
		return protoreflect.ValueOfEnum(values.Get(n + 1).Number())
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(number)) //nolint:gosec // at most 6
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(uint64(number)) //nolint:gosec // at least 1
	default:
		return protoreflect.ValueOfInt64(number)
	}
}
