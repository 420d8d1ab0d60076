package rpc

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
)

// One refused caller a second is logged, with the number of those that were not.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, r := slog.New(slog.NewTextHandler(&out, nil)), &Refusals{}
	r.once.next.Store(time.Now().Add(time.Hour).UnixNano())
	told := 0
	r.Tell = func(Refusal) { told++ }
	for range 100 {
		r.Log(t.Context(), log, Refusal{Face: "grpc", Reason: fault.PermissionDenied})
	}
	if out.Len() > 0 {
		t.Fatalf("logged %s", &out)
	}
	r.once.next.Store(0)
	r.Log(t.Context(), log, Refusal{Face: "grpc", Reason: fault.PermissionDenied, Principal: "amir"})
	if told != 101 {
		t.Errorf("told of %d", told)
	}
	for _, want := range []string{"principal=amir", "face=grpc", "reason=PERMISSION_DENIED", "not_logged=100"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, &out)
		}
	}
}

// Refusals of forbidden acts leave a line, and answers that any caller gets do not.
func TestWhatIsARefusalBeforeADecision(t *testing.T) {
	t.Parallel()
	check, get := &method{name: "/interlock.policy.v1.PolicyEnforcerService/CheckToolCall"}, &method{name: "/interlock.engine.v1.RunService/GetRun"}
	for _, tt := range []struct {
		m      *method
		reason fault.Reason
		want   bool
	}{
		{check, fault.NotFound, true},
		{get, fault.NotFound, false},
		{check, fault.Unauthenticated, true},
		{get, fault.Unauthenticated, true},
		{check, fault.PermissionDenied, true},
		{get, fault.PermissionDenied, true},
		{check, fault.InvalidRequest, false},
		{check, fault.Unavailable, false},
	} {
		if got := refusedBefore(tt.m, tt.reason); got != tt.want {
			t.Errorf("%s %s: %v, want %v", tt.m.name, tt.reason, got, tt.want)
		}
	}
}
