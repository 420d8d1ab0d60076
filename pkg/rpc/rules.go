package rpc

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
)

// This file evaluates the rules of package buf.validate that the contracts use. protovalidate
// evaluates all of them, with an interpreter of CEL, which is a large part of a program; a test
// compares the two. It panics on a message with another rule or limit, which that test finds.

// violation is a broken rule. The pointer is below the checked value.
type violation struct{ pointer, rule, message string }

// check is one rule of a value.
type check struct {
	rule, message string
	broken        func(protoreflect.Value) bool
}

// messageRules are the rules of a message.
type messageRules struct {
	oneofs []protoreflect.OneofDescriptor // a field of each is required
	fields []fieldRules
}

// fieldRules are the rules of a field.
type fieldRules struct {
	protoreflect.FieldDescriptor
	required bool
	whole    []check // of the field: a value, a list or a map
	keys     []check // of a map
	elements []check // of a list, and of a map's values
	nested   bool    // values are messages, which have their own rules
}

// compiled has the rules of messages, by descriptor.
var compiled sync.Map

func rulesOf(desc protoreflect.MessageDescriptor) *messageRules {
	rules, ok := compiled.Load(desc)
	if !ok {
		rules, _ = compiled.LoadOrStore(desc, compileMessage(desc))
	}
	return rules.(*messageRules) //nolint:forcetypeassert // the only type that is stored
}

func (r *messageRules) violations(m protoreflect.Message) (found []violation) {
	for _, oneof := range r.oneofs {
		if m.WhichOneof(oneof) == nil {
			found = append(found, violation{"/" + string(oneof.Name()), "required", "exactly one field is required in oneof"})
		}
	}
	for i := range r.fields {
		found = append(found, under("/"+string(r.fields[i].Name()), r.fields[i].violations(m))...)
	}
	return found
}

func (f *fieldRules) violations(m protoreflect.Message) (found []violation) {
	set := m.Has(f.FieldDescriptor)
	switch {
	case !set && f.required:
		return []violation{{"", "required", "value is required"}}
	case !set && f.HasPresence():
		return nil
	}
	value := m.Get(f.FieldDescriptor)
	found = broken(f.whole, value)
	switch {
	case f.IsMap():
		entries := value.Map()
		for _, key := range sortedKeys(entries) {
			pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key.String())
			found = append(found, under(pointer, append(broken(f.keys, key.Value()), f.element(entries.Get(key))...))...)
		}
	case f.IsList():
		for i := range value.List().Len() {
			found = append(found, under("/"+strconv.Itoa(i), f.element(value.List().Get(i)))...)
		}
	case f.nested:
		found = append(found, f.element(value)...)
	}
	return found
}

// sortedKeys returns the keys of a map in the order of their texts, so that the first violation is always the same.
func sortedKeys(m protoreflect.Map) []protoreflect.MapKey {
	var keys []protoreflect.MapKey
	m.Range(func(key protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, key)
		return true
	})
	slices.SortFunc(keys, func(x, y protoreflect.MapKey) int { return strings.Compare(x.String(), y.String()) })
	return keys
}

func (f *fieldRules) element(value protoreflect.Value) []violation {
	found := broken(f.elements, value)
	if f.nested {
		found = append(found, rulesOf(value.Message().Descriptor()).violations(value.Message())...)
	}
	return found
}

func broken(checks []check, value protoreflect.Value) (found []violation) {
	for _, c := range checks {
		if c.broken(value) {
			found = append(found, violation{rule: c.rule, message: c.message})
		}
	}
	return found
}

func under(pointer string, found []violation) []violation {
	for i := range found {
		found[i].pointer = pointer + found[i].pointer
	}
	return found
}

func compileMessage(desc protoreflect.MessageDescriptor) *messageRules {
	r := &messageRules{}
	for i := range desc.Oneofs().Len() {
		oneof := desc.Oneofs().Get(i)
		if rules, ok := proto.GetExtension(oneof.Options(), validate.E_Oneof).(*validate.OneofRules); ok && rules.GetRequired() {
			r.oneofs = append(r.oneofs, oneof)
		}
	}
	for i := range desc.Fields().Len() {
		f := compileField(desc.Fields().Get(i))
		if f.required || f.nested || len(f.whole)+len(f.keys)+len(f.elements) > 0 {
			r.fields = append(r.fields, f)
		}
	}
	return r
}

func compileField(fd protoreflect.FieldDescriptor) fieldRules {
	options, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	element, elements := fd, options.GetRepeated().GetItems()
	if fd.IsMap() {
		element, elements = fd.MapValue(), options.GetMap().GetValues()
	}
	return fieldRules{
		FieldDescriptor: fd, required: options.GetRequired(),
		whole: checksOf(fd, options), keys: checksOf(fd, options.GetMap().GetKeys()), elements: checksOf(element, elements),
		nested: element.Message() != nil && element.Message().ParentFile().Package() != "google.protobuf",
	}
}

// checksOf returns the checks of a value, without those of elements.
func checksOf(fd protoreflect.FieldDescriptor, rules *validate.FieldRules) (checks []check) {
	rules.ProtoReflect().Range(func(kind protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if kind.Name() != "required" {
			checks = append(checks, checksOfKind(string(kind.Name()), fd, v.Message())...)
		}
		return true
	})
	return checks
}

// sizeRule is one rule of sizes.
type sizeRule struct {
	id, message string
	size        func(protoreflect.Value) int
	broken      func(order int) bool // of the size to the limit
}

// sizes are the rules of sizes, in the order of their violations.
var sizes = []sizeRule{
	{"string.len", "must be %d characters", runes, unequal},
	{"string.min_len", "must be at least %d characters", runes, less},
	{"string.max_len", "must be at most %d characters", runes, more},
	{"string.max_bytes", "must be at most %d bytes", func(v protoreflect.Value) int { return len(v.String()) }, more},
	{"bytes.len", "must be %d bytes", octets, unequal},
	{"bytes.min_len", "must be at least %d bytes", octets, less},
	{"bytes.max_len", "must be at most %d bytes", octets, more},
	{"repeated.min_items", "must contain at least %d item(s)", items, less},
	{"repeated.max_items", "must contain no more than %d item(s)", items, more},
	{"map.max_pairs", "map must be at most %d entries", func(v protoreflect.Value) int { return v.Map().Len() }, more},
}

func runes(v protoreflect.Value) int  { return utf8.RuneCountInString(v.String()) }
func octets(v protoreflect.Value) int { return len(v.Bytes()) }
func items(v protoreflect.Value) int  { return v.List().Len() }

func unequal(order int) bool   { return order != 0 }
func less(order int) bool      { return order < 0 }
func more(order int) bool      { return order > 0 }
func lessEqual(order int) bool { return order <= 0 }

// checksOfKind returns the checks for the limits of one kind, such as string.
func checksOfKind(kind string, fd protoreflect.FieldDescriptor, limits protoreflect.Message) (checks []check) {
	limits.Range(func(limit protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if !evaluated(kind, string(limit.Name())) {
			panic(fmt.Sprintf("rpc: %s has the limit %s.%s, which is unknown here", fd.FullName(), kind, limit.Name()))
		}
		return true
	})
	for _, rule := range sizes {
		of, name, _ := strings.Cut(rule.id, ".")
		if limit, set := limitOf(limits, name); set && of == kind {
			checks = append(checks, check{rule.id, fmt.Sprintf(rule.message, limit.Uint()), func(v protoreflect.Value) bool {
				return rule.broken(cmp.Compare(uint64(rule.size(v)), limit.Uint())) //nolint:gosec // no size is negative
			}})
		}
	}
	switch kind {
	case "string":
		if limit, set := limitOf(limits, "pattern"); set {
			pattern := regexp.MustCompile(limit.String())
			checks = append(checks, check{"string.pattern", "does not match regex pattern `" + limit.String() + "`", func(v protoreflect.Value) bool {
				return !pattern.MatchString(v.String())
			}})
		}
	case "bytes", "repeated", "map":
	case "enum":
		checks = enumChecks(fd, limits)
	case "int32", "int64":
		checks = rangeCheck(kind, limits, protoreflect.Value.Int, func(n int64) string { return strconv.FormatInt(n, 10) })
	case "duration":
		checks = rangeCheck(kind, limits, nanoseconds, func(n int64) string {
			return strconv.FormatFloat(time.Duration(n).Seconds(), 'f', -1, 64) + "s"
		})
	default:
		panic(fmt.Sprintf("rpc: %s has rules of %s, which are unknown here", fd.FullName(), kind))
	}
	return checks
}

// evaluated reports a limit that this file evaluates. Limits of elements have their own checks.
func evaluated(kind, limit string) bool {
	switch limit {
	case "pattern":
		return kind == "string"
	case "not_in", "defined_only":
		return kind == "enum"
	case "gt", "gte", "lte":
		return kind == "int32" || kind == "int64" || kind == "duration"
	case "items":
		return kind == "repeated"
	case "keys", "values":
		return kind == "map"
	default:
		return slices.ContainsFunc(sizes, func(s sizeRule) bool { return s.id == kind+"."+limit })
	}
}

func enumChecks(fd protoreflect.FieldDescriptor, limits protoreflect.Message) (checks []check) {
	if not := limits.Interface().(*validate.EnumRules).GetNotIn(); len(not) > 0 { //nolint:forcetypeassert // the limits of an enum
		message := "must not be in list [" + strings.Trim(strings.ReplaceAll(fmt.Sprint(not), " ", ", "), "[]") + "]"
		checks = append(checks, check{"enum.not_in", message, func(v protoreflect.Value) bool { return slices.Contains(not, int32(v.Enum())) }})
	}
	if only, set := limitOf(limits, "defined_only"); set && only.Bool() {
		checks = append(checks, check{"enum.defined_only", "value must be one of the defined enum values", func(v protoreflect.Value) bool {
			return fd.Enum().Values().ByNumber(v.Enum()) == nil
		}})
	}
	return checks
}

func limitOf(limits protoreflect.Message, name string) (protoreflect.Value, bool) {
	fd := limits.Descriptor().Fields().ByName(protoreflect.Name(name))
	if fd == nil || !limits.Has(fd) {
		return protoreflect.Value{}, false
	}
	return limits.Get(fd), true
}

// nanoseconds returns a duration. One that is too long for an int64 is the longest.
func nanoseconds(v protoreflect.Value) int64 {
	d, _ := v.Message().Interface().(*durationpb.Duration)
	return int64(d.AsDuration())
}

// rangeCheck returns the check of a lower limit, an upper one, or both, which are one rule.
func rangeCheck(kind string, limits protoreflect.Message, number func(protoreflect.Value) int64, text func(int64) string) []check {
	var names, words []string
	var tests []func(int64) bool
	for _, bound := range []struct {
		name, words string
		broken      func(order int) bool
	}{{"gt", "greater than ", lessEqual}, {"gte", "greater than or equal to ", less}, {"lte", "less than or equal to ", more}} {
		if limit, set := limitOf(limits, bound.name); set {
			l := number(limit)
			names, words = append(names, bound.name), append(words, bound.words+text(l))
			tests = append(tests, func(v int64) bool { return bound.broken(cmp.Compare(v, l)) })
		}
	}
	return []check{{kind + "." + strings.Join(names, "_"), "must be " + strings.Join(words, " and "), func(v protoreflect.Value) bool {
		return slices.ContainsFunc(tests, func(broken func(int64) bool) bool { return broken(number(v)) })
	}}}
}
