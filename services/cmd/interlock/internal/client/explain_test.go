package client

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/interlock-run/interlock/pkg/fault"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"own":       {errors.New("read: \x1b"), "read: ⟦U+001B⟧"},
		"service":   {fault.New(fault.NotFound, "no run \"x\"").GRPCStatus().Err(), `no run "x"`},
		"wrapped":   {fmt.Errorf("more: %w", fault.New(fault.NotFound, "no run").GRPCStatus().Err()), "no run"},
		"store":     {fault.New(fault.Unavailable, "the store is away").GRPCStatus().Err(), "the store is away"},
		"transport": {status.Error(codes.Unavailable, "dial tcp 10.0.0.1:1"), "the server at 10.0.0.1:1 cannot be reached: is `interlock up` running there? --server names another one"},
		"refused": {
			status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:7421: connect: connection refused"`),
			"the server at 127.0.0.1:7421 cannot be reached: is `interlock up` running there? --server names another one",
		},
		"a socket": {
			status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial unix /d/grpc.sock: connect: no such file"`),
			"the server at /d/grpc.sock cannot be reached: is `interlock up` running there? --server names another one",
		},
		"no such name": {
			status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp: lookup gw.example on 10.0.0.2:53: no such host"`),
			"the server at gw.example cannot be reached: is `interlock up` running there? --server names another one",
		},
		"IPv6": {
			status.Error(codes.Unavailable, "dial tcp [::1]:7421: i/o timeout"),
			"the server at [::1]:7421 cannot be reached: is `interlock up` running there? --server names another one",
		},
		"no address": {
			status.Error(codes.Unavailable, "the connection is closing"),
			"the server cannot be reached: is `interlock up` running there? --server names another one",
		},
		"internal":    {status.Error(codes.Unknown, "secret"), fault.From(status.Error(codes.Unknown, "secret")).Message},
		"violation":   {fault.New(fault.InvalidRequest, "bad").Violate("/a", "TYPE", "must be text").GRPCStatus().Err(), "bad\n  /a: must be text"},
		"no pointer":  {fault.New(fault.InvalidRequest, "bad").Violate("", "TYPE", "must be text").GRPCStatus().Err(), "bad\n  must be text"},
		"credentials": {status.Error(codes.Unauthenticated, "x"), "--token or INTERLOCK_TOKEN"},
	} {
		if got := Explain(tc.err); !strings.Contains(got, tc.want) || (name != "credentials" && got != tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
