package rpc_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

func TestCallerAndHandlerShareNoMemory(t *testing.T) {
	t.Parallel()
	var kept *enginev1.StartRunRequest
	shared := &enginev1.StartRunResponse{Run: &enginev1.Run{Context: []byte("answer")}}
	h := open(t, &runs{start: func(_ context.Context, req *enginev1.StartRunRequest) (*enginev1.StartRunResponse, error) {
		kept = req
		return shared, nil
	}}, nil)
	h.both(t, h.as(auth.Agent), func(t *testing.T, conn grpc.ClientConnInterface) {
		sent := &enginev1.StartRunRequest{Workflow: "w", Context: []byte("request")}
		got, err := enginev1.NewRunServiceClient(conn).StartRun(within(t), sent)
		if err != nil {
			t.Fatal(err)
		}
		copy(sent.GetContext(), "xxxxxxx")
		copy(got.GetRun().GetContext(), "yyyyyy")
		if string(kept.GetContext()) != "request" || string(shared.GetRun().GetContext()) != "answer" {
			t.Errorf("the handler holds %q and %q", kept.GetContext(), shared.GetRun().GetContext())
		}
	})
}

func TestAnswersReplaceWhatTheReplyHeld(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{get: func(context.Context, *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		return &enginev1.GetRunResponse{Run: &enginev1.Run{RunId: "new"}}, nil
	}}, nil)
	h.both(t, h.as(auth.Agent), func(t *testing.T, conn grpc.ClientConnInterface) {
		reply := &enginev1.GetRunResponse{Run: &enginev1.Run{State: "old"}}
		if err := conn.Invoke(within(t), enginev1.RunService_GetRun_FullMethodName, &enginev1.GetRunRequest{}, reply); err != nil {
			t.Fatal(err)
		}
		if reply.GetRun().GetState() != "" || reply.GetRun().GetRunId() != "new" {
			t.Errorf("got %v", reply)
		}
	})
}

func TestTextThatIsNotUTF8IsRefused(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{get: func(context.Context, *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		return nil, errors.New("the handler saw it")
	}}, nil)
	h.both(t, h.as(auth.Agent), func(t *testing.T, conn grpc.ClientConnInterface) {
		_, err := enginev1.NewRunServiceClient(conn).GetRun(within(t), &enginev1.GetRunRequest{RunId: "\xff"})
		if err == nil || strings.Contains(h.log.String(), "saw it") {
			t.Errorf("got %v, log %s", err, h.log)
		}
	})
}

func TestHeadersAndTrailers(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{get: func(ctx context.Context, _ *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		return nil, errors.Join(
			grpc.SetHeader(ctx, metadata.Pairs("x-a", "1")), grpc.SetHeader(ctx, metadata.Pairs("x-b", "2")),
			grpc.SetTrailer(ctx, metadata.Pairs("x-c", "3")), fault.New(fault.NotFound, "no"))
	}}, nil)
	h.both(t, h.as(auth.Agent), func(t *testing.T, conn grpc.ClientConnInterface) {
		var header, trailer metadata.MD
		_, err := enginev1.NewRunServiceClient(conn).GetRun(within(t), &enginev1.GetRunRequest{}, grpc.Header(&header), grpc.Trailer(&trailer))
		wantReason(t, err, fault.NotFound)
		if got := strings.Join([]string{header.Get("x-a")[0], header.Get("x-b")[0], trailer.Get("x-c")[0]}, ""); got != "123" {
			t.Errorf("got %v and %v", header, trailer)
		}
	})
}

// A handler that serves one call must not answer for another's caller.
func TestLocalCallsDoNotInheritTheCallersIdentity(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{}, nil)
	ctx := auth.WithPrincipal(within(t), auth.Principal{Name: "root", Role: auth.Operator})
	ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("authorization", "Bearer "+h.tokens[auth.Operator]))
	_, err := enginev1.NewRunServiceClient(h.server.Local(rpc.ClientConfig{})).GetRun(ctx, &enginev1.GetRunRequest{})
	wantReason(t, err, fault.Unauthenticated)
}

func BenchmarkUnary(b *testing.B) {
	minted := auth.Mint()
	tokens, err := auth.ParseTokens([]byte(`{"agent":"` + minted + `"}`))
	if err != nil {
		b.Fatal(err)
	}
	server, err := rpc.NewServer(rpc.Config{Listen: []string{"127.0.0.1:0"}, Authenticator: tokens})
	if err != nil {
		b.Fatal(err)
	}
	enginev1.RegisterRunServiceServer(server.GRPC(), &runs{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.Serve(ctx) }()
	cfg := rpc.ClientConfig{Token: minted}
	conn, err := rpc.Dial(server.Addrs()[0].String(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	for name, conn := range map[string]grpc.ClientConnInterface{"network": conn, "local": server.Local(cfg)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			client, req := enginev1.NewRunServiceClient(conn), &enginev1.GetRunRequest{RunId: "run_01jd3k0c7qf3ta3bfa1m2y8x9n"}
			for b.Loop() {
				if _, err := client.GetRun(ctx, req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	_ = conn.Close()
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
