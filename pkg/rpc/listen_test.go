package rpc_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/certtest"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// wantCut reads until the server ends the connection.
func wantCut(t *testing.T, conn net.Conn) {
	t.Helper()
	_, err := io.Copy(io.Discard, conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the server keeps a connection that does nothing")
	}
}

func TestSlowClientsAreCut(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{}, func(cfg *rpc.Config) {
		cfg.ConnectionTimeout = 50 * time.Millisecond
		cfg.DefaultDeadline = 50 * time.Millisecond
		cfg.KeepaliveTime, cfg.KeepaliveTimeout = time.Second, 50*time.Millisecond
	})
	t.Run("that say nothing", func(t *testing.T) {
		t.Parallel()
		wantCut(t, rawDial(t, h.address))
	})
	t.Run("that never finish the preface", func(t *testing.T) {
		t.Parallel()
		conn := rawDial(t, h.address)
		if _, err := io.WriteString(conn, http2.ClientPreface[:10]); err != nil {
			t.Fatal(err)
		}
		wantCut(t, conn)
	})
	t.Run("that never finish a frame", func(t *testing.T) {
		t.Parallel()
		conn := rawDial(t, h.address)
		var hello bytes.Buffer
		hello.WriteString(http2.ClientPreface)
		if err := http2.NewFramer(&hello, nil).WriteSettings(); err != nil {
			t.Fatal(err)
		}
		hello.Write([]byte{0, 0, 100, byte(http2.FrameHeaders)})
		if _, err := conn.Write(hello.Bytes()); err != nil {
			t.Fatal(err)
		}
		wantCut(t, conn)
	})
	t.Run("that never finish a message", func(t *testing.T) {
		t.Parallel()
		conn := rawDial(t, h.address)
		if got := halfACall(t, conn, h.tokens[auth.Agent]); got != "4" {
			t.Errorf("it ended with the status %q, want 4 (DEADLINE_EXCEEDED)", got)
		}
	})
	// The server continues for others all the while.
	// A busy machine may cut a connection of this one too: it connects again.
	_, err := enginev1.NewRunServiceClient(h.dial(t, h.as(auth.Agent))).GetRun(within(t), &enginev1.GetRunRequest{}, grpc.WaitForReady(true))
	wantReason(t, err, "")
}

// halfACall sends the head of a call and half of its message, and returns the
// gRPC status that it gets.
func halfACall(t *testing.T, conn net.Conn, token string) string {
	t.Helper()
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range []hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: enginev1.RunService_GetRun_FullMethodName},
		{Name: ":authority", Value: "localhost"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
		{Name: "authorization", Value: "Bearer " + token},
	} {
		if err := encoder.WriteField(field); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(framer.WriteSettings(),
		framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}),
		framer.WriteData(1, false, []byte{0, 0, 0, 0, 100, 1, 2, 3}))
	if err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("no answer: %v", err)
		}
		if headers, ok := frame.(*http2.MetaHeadersFrame); ok {
			for _, field := range headers.Fields {
				if field.Name == "grpc-status" {
					return field.Value
				}
			}
		}
	}
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "grpc.sock")
	// A server that was killed leaves its socket.
	stale, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	h := open(t, &runs{}, func(cfg *rpc.Config) { cfg.Listen = append(cfg.Listen, "unix://"+path) })
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has the mode %v, %v", info.Mode(), err)
	}
	conn, err := rpc.Dial("unix://"+path, h.as(auth.Agent))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = enginev1.NewRunServiceClient(conn).GetRun(within(t), &enginev1.GetRunRequest{})
	wantReason(t, err, "")

	_, err = rpc.NewServer(rpc.Config{AllowAnonymous: true, Listen: []string{"127.0.0.1:0", "unix:" + path}})
	if err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("a socket that is served is taken over: %v", err)
	}
	file := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = rpc.NewServer(rpc.Config{AllowAnonymous: true, Listen: []string{"unix:" + file}}); err == nil {
		t.Error("a file is taken for a socket")
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the file is gone: %v", err)
	}
}

func TestMutualTLS(t *testing.T) {
	t.Parallel()
	a := certtest.New(t)
	ca := a.CA()
	serverCert, serverKey := a.Issue(t, "server")
	clientCert, clientKey := a.Issue(t, "client")
	stranger := certtest.New(t)
	strangerCert, strangerKey := stranger.Issue(t, "stranger")

	path := filepath.Join(t.TempDir(), "grpc.sock")
	h := open(t, &runs{}, func(cfg *rpc.Config) {
		cfg.Listen = append(cfg.Listen, "unix:"+path)
		cfg.TLS = rpc.ServerTLS{CertFile: serverCert, KeyFile: serverKey, ClientCAFile: ca}
	})
	for name, tc := range map[string]struct {
		target string
		tls    rpc.ClientTLS
		token  string
		want   fault.Reason
	}{
		"client with its certificate": {h.address, rpc.ClientTLS{CAFile: ca, CertFile: clientCert, KeyFile: clientKey}, h.tokens[auth.Agent], ""},
		"certificate without token":   {h.address, rpc.ClientTLS{CAFile: ca, CertFile: clientCert, KeyFile: clientKey}, "", fault.Unauthenticated},
		"token without certificate":   {h.address, rpc.ClientTLS{CAFile: ca}, h.tokens[auth.Agent], fault.Unavailable},
		"stranger's certificate":      {h.address, rpc.ClientTLS{CAFile: ca, CertFile: strangerCert, KeyFile: strangerKey}, h.tokens[auth.Agent], fault.Unavailable},
		"plain text":                  {h.address, rpc.ClientTLS{}, h.tokens[auth.Agent], fault.Unavailable},
		"server that is not trusted":  {h.address, rpc.ClientTLS{CAFile: strangerCert, CertFile: clientCert, KeyFile: clientKey}, h.tokens[auth.Agent], fault.Unavailable},
		"unix socket, no TLS":         {"unix:" + path, rpc.ClientTLS{}, h.tokens[auth.Agent], ""},
	} {
		conn, err := rpc.Dial(tc.target, rpc.ClientConfig{Token: tc.token, TLS: tc.tls})
		if err != nil {
			t.Fatal(err)
		}
		_, err = enginev1.NewRunServiceClient(conn).GetRun(within(t), &enginev1.GetRunRequest{})
		if got := fault.ReasonOf(err); got != tc.want {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
		_ = conn.Close()
	}
	// Within the process there is no encryption, streams included.
	stream, err := enginev1.NewRunServiceClient(h.server.Local(h.as(auth.Agent))).WatchRun(within(t), &enginev1.WatchRunRequest{RunId: "r"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if _, err := rpc.NewServer(rpc.Config{AllowAnonymous: true, TLS: rpc.ServerTLS{CertFile: serverCert}}); err == nil {
		t.Error("a certificate without its key is served")
	}
}

func TestReflection(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{}, nil)
	for token, want := range map[string]fault.Reason{h.tokens[auth.Observer]: "", "": fault.Unauthenticated} {
		conn := h.dial(t, rpc.ClientConfig{Token: token})
		stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(within(t))
		if err != nil {
			t.Fatal(err)
		}
		// When it was refused already the reason comes with Recv.
		_ = stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
			MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{},
		})
		_ = stream.CloseSend()
		got, err := stream.Recv()
		wantReason(t, err, want)
		if names := got.String(); want == "" && !strings.Contains(names, "interlock.engine.v1.RunService") {
			t.Errorf("it shows %s", names)
		}
	}
}

// counted counts the connections that it accepts.
type counted struct {
	net.Listener
	accepted *atomic.Int64
}

func (c counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.accepted.Add(1)
	}
	return conn, err
}

// A client that stays connected would never find replicas that were added.
func TestClientsConnectAnew(t *testing.T) {
	t.Parallel()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var accepted atomic.Int64
	h := open(t, &runs{}, func(cfg *rpc.Config) {
		cfg.Listen, cfg.Listeners = nil, []net.Listener{counted{lis, &accepted}}
		cfg.MaxConnectionAge = 50 * time.Millisecond
	})
	conn, err := rpc.Dial(lis.Addr().String(), rpc.ClientConfig{Token: h.tokens[auth.Agent]})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for ctx := within(t); accepted.Load() < 3; {
		if _, err := enginev1.NewRunServiceClient(conn).GetRun(ctx, &enginev1.GetRunRequest{}); err != nil {
			t.Fatalf("after %d connections: %v", accepted.Load(), err)
		}
	}
}
