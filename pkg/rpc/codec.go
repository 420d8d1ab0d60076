package rpc

import (
	"bytes"

	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// codec is grpc's own, except that it carries Raw, and that bytes that are not a message
// of the RPC become an empty message with a mark, for accept to refuse. grpc would answer INTERNAL
// with the decoder's words before anything of ours has run.
type codec struct{ encoding.CodecV2 }

func newCodec() encoding.CodecV2 { return codec{encoding.GetCodecV2(grpcproto.Name)} }

// malformed is the mark: an unknown field with the largest number that there is.
// A client that sends it declares its own message malformed.
var malformed = protowire.AppendVarint(protowire.AppendTag(nil, protowire.MaxValidNumber, protowire.VarintType), 1)

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if raw, ok := v.(*Raw); ok {
		raw.wire = data.Materialize()
		return nil
	}
	err := c.CodecV2.Unmarshal(data, v)
	m, ok := v.(proto.Message)
	if err == nil || !ok {
		return err
	}
	proto.Reset(m)
	m.ProtoReflect().SetUnknown(bytes.Clone(malformed))
	return nil
}

// isMalformed reports whether codec could not decode a message.
func isMalformed(m proto.Message) bool { return bytes.Equal(m.ProtoReflect().GetUnknown(), malformed) }
