package rpc

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// Raw is a message as it stands on the wire. A handler that takes one passes it on
// to the server that answers, which binds and validates it: here only the caller's
// identity, role and namespace are checked. The RPCs of Local do not take it.
type Raw struct{ wire []byte }

// CarryRaw lets a call send and receive Raw.
func CarryRaw() grpc.CallOption { return grpc.ForceCodecV2(newCodec()) }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if raw, ok := v.(*Raw); ok {
		return mem.BufferSlice{mem.SliceBuffer(raw.wire)}, nil
	}
	return c.CodecV2.Marshal(v)
}
