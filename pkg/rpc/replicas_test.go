package rpc_test

import (
	"context"
	"sync/atomic"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// Calls to a list of addresses go to all of them, and past one that drains.
func TestListedReplicas(t *testing.T) {
	t.Parallel()
	var calls [2]atomic.Int64
	service := func(i int) *runs {
		return &runs{get: func(context.Context, *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
			calls[i].Add(1)
			return &enginev1.GetRunResponse{}, nil
		}}
	}
	one := open(t, service(0), nil)
	two := open(t, service(1), func(cfg *rpc.Config) { cfg.Authenticator = tokensOf(t, one.tokens) })
	conn, err := rpc.Dial(one.server.Addrs()[0].String()+","+two.server.Addrs()[0].String(), one.as(auth.Agent))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := enginev1.NewRunServiceClient(conn)
	get := func() {
		t.Helper()
		if _, err := client.GetRun(within(t), &enginev1.GetRunRequest{RunId: "run_1"}); err != nil {
			t.Fatal(err)
		}
	}
	ctx := within(t)
	for calls[0].Load() == 0 || calls[1].Load() == 0 {
		if ctx.Err() != nil {
			t.Fatalf("the calls went to %d and %d", calls[0].Load(), calls[1].Load())
		}
		get()
	}
	two.server.Close()
	before := calls[1].Load()
	for range 10 {
		get()
	}
	if calls[1].Load() != before {
		t.Error("a replica that has ended is called")
	}
	for target, ok := range map[string]bool{"127.0.0.1:1,[::1]:2": true, "127.0.0.1:1,10.0.0.1:2": false} {
		conn, err := rpc.Dial(target, rpc.ClientConfig{})
		if (err == nil) != ok {
			t.Errorf("%s: %v", target, err)
		}
		if err == nil {
			conn.Close()
		}
	}
}
