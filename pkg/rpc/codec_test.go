package rpc_test

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// onWire sends a string's bytes in place of a message.
type onWire struct{}

func (onWire) Name() string { return "proto" }

func (onWire) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*string))}, nil
}

func (onWire) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*string) = string(data.Materialize())
	return nil
}

// Bytes that are not a message are the caller's fault, in every kind of call.
func TestBytesThatAreNoMessage(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{}, nil)
	conn := h.dial(t, h.as(auth.Agent))
	for _, sent := range []string{"\xff\xff\xff", "\x0a\x02\xff\xfe", "\x0a\x05a"} { // the second is text that is not UTF-8
		var got string
		err := conn.Invoke(within(t), enginev1.RunService_GetRun_FullMethodName, &sent, &got, grpc.ForceCodecV2(onWire{}))
		wantReason(t, err, fault.InvalidRequest)
	}
	for _, method := range []string{enginev1.RunService_WatchRun_FullMethodName, policyv1.PolicyEnforcerService_CheckToolCalls_FullMethodName} {
		stream, err := conn.NewStream(within(t), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method, grpc.ForceCodecV2(onWire{}))
		if err != nil {
			t.Fatal(err)
		}
		sent, got := "\xff\xff\xff", ""
		if err := stream.SendMsg(&sent); err != nil {
			t.Fatal(err)
		}
		if err := stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		wantReason(t, stream.RecvMsg(&got), fault.InvalidRequest)
	}
	// A caller that may not call at all learns that first.
	sent, got := "\xff", ""
	err := h.dial(t, rpc.ClientConfig{}).Invoke(within(t), enginev1.RunService_GetRun_FullMethodName, &sent, &got, grpc.ForceCodecV2(onWire{}))
	wantReason(t, err, fault.Unauthenticated)
}
