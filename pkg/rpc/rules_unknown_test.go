package rpc

import (
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// A limit that Validate would not evaluate stops the program: the contract would promise it.
func TestUnknownLimitsPanic(t *testing.T) {
	t.Parallel()
	fd := (&wrapperspb.StringValue{}).ProtoReflect().Descriptor().Fields().ByName("value")
	for name, rules := range map[string]*validate.FieldRules{
		"kind":  {Type: &validate.FieldRules_Double{Double: &validate.DoubleRules{Finite: proto.Bool(true)}}},
		"limit": {Type: &validate.FieldRules_String_{String_: &validate.StringRules{Prefix: proto.String("a")}}},
		"bound": {Type: &validate.FieldRules_Int64{Int64: &validate.Int64Rules{In: []int64{1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			checksOf(fd, rules)
		})
	}
	if got := len(checksOf(fd, &validate.FieldRules{Type: &validate.FieldRules_String_{String_: &validate.StringRules{MaxLen: proto.Uint64(1)}}})); got != 1 {
		t.Errorf("%d checks of a known limit", got)
	}
}
