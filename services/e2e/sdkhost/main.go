// Sdkhost is the other side of a conformance test of an SDK: `interlock up`, a proxy per
// case that makes faults, a human who decides approvals, and the server's records.
// Runners in every language drive it over HTTP, see sdk/conformance/README.md.
//
// It prints one line of JSON when it serves, {"control": URL}, and ends with its input.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	interlock := flag.String("interlock", "bin/interlock", "the built command")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *interlock)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sdkhost:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, interlock string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // a runner that is gone closes the other end
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	people, err := startIssuer()
	if err != nil {
		return err
	}
	defer people.server.Close()
	up, err := startUp(ctx, interlock, people.flags()...)
	if err != nil {
		return err
	}
	defer up.stop()
	h, err := newHost(up, people)
	if err != nil {
		return err
	}
	defer h.close()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h.routes(), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"control": "http://" + lis.Addr().String()}); err != nil {
		return err
	}
	if err := server.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
