package main

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
)

// serve runs services and answers how to call them: a function that runs one
// command line, with its output and its exit code.
func serve(t *testing.T, register func(*grpc.Server)) func(args ...string) (stdout, stderr string, code int) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	register(server)
	var ended sync.WaitGroup
	ended.Go(func() { _ = server.Serve(lis) })
	t.Cleanup(func() {
		server.Stop()
		ended.Wait()
	})
	return func(args ...string) (string, string, int) {
		var out, told bytes.Buffer
		args = append(args, "--server", lis.Addr().String(), "--token", "ilk_x")
		code := run(t.Context(), args, console.Streams{In: io.NopCloser(strings.NewReader("")), Out: &out, Err: &told})
		return out.String(), told.String(), code
	}
}
