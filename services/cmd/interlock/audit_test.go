package main

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/grpc"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/bus/natstest"
)

func TestAuditVerify(t *testing.T) {
	t.Parallel()
	log := someDecisions()
	interlock := serve(t, func(s *grpc.Server) { policyv1.RegisterDecisionServiceServer(s, log) })
	for _, tt := range []struct {
		args []string
		want string
		code int
	}{
		{nil, "2 chains, 4 records sealed, 1 not yet: 0 broken\n", exitDone},
		{[]string{"--head", "run_1=h3", "--head", "run_2=x"}, "head  run_1  ok\nhead  run_2  ok\n2 chains, 4 records sealed, 1 not yet: 0 broken\n", exitDone},
		{[]string{"--head", "run_1=h1"}, "head  run_1  ok, and 2 more sealed since\n2 chains, 4 records sealed, 1 not yet: 0 broken\n", exitDone},
		{[]string{"--head", "run_1=other"}, "WRONG HEAD  run_1  no record of the chain has this hash: it was rewritten, or the head is another's\n2 chains, 4 records sealed, 1 not yet: 0 broken\n", exitNo},
		{[]string{"--head", "run_2=h1"}, "WRONG HEAD  run_2  no record of the chain has this hash: it was rewritten, or the head is another's\n2 chains, 4 records sealed, 1 not yet: 0 broken\n", exitNo},
		{[]string{"--head", "run_3=h3"}, "WRONG HEAD  run_3  there is no such chain\n2 chains, 4 records sealed, 1 not yet: 0 broken\n", exitNo},
	} {
		out, told, code := interlock(append([]string{"audit", "verify"}, tt.args...)...)
		if diff := gocmp.Diff(tt.want, out); diff != "" || code != tt.code {
			t.Errorf("%v: exit %d, told %q: %s", tt.args, code, told, diff)
		}
	}
	log.chains[0] = &policyv1.ChainReport{Partition: "run_1", Sealed: 3, Sequence: 2, Problem: "the record was changed"}
	out, _, code := interlock("audit", "verify", "--head", "run_1=h3")
	const want = "BROKEN      run_1  record 2: the record was changed\nWRONG HEAD  run_1  its chain is broken\n2 chains, 4 records sealed, 0 not yet: 1 broken\n"
	if diff := gocmp.Diff(want, out); diff != "" || code != exitNo {
		t.Errorf("exit %d: %s", code, diff)
	}
	if out, _, code = interlock("audit", "verify", "-o", "json"); code != exitNo || !strings.Contains(out, `"ok": false`) {
		t.Errorf("exit %d: %s", code, out)
	}
}

// A published record that is missing in the log shows that the store has gone back.
func TestAuditVerifyFindsARollback(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t)
	nc, err := bus.Endpoint{URL: server.URL()}.Connect("test")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (bus.Stream{}).Ensure(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	publish := func(partition string, last int64, head string) {
		t.Helper()
		event, err := bus.Encode(&eventv1.Event{
			Namespace: "default", Entity: "audit", EntityId: partition, Type: "sealed", Version: last,
			Payload: &eventv1.Event_DecisionsSealed{DecisionsSealed: &eventv1.DecisionsSealed{First: 1, Last: last, Head: head}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(t.Context(), event.Subject, event.Payload); err != nil {
			t.Fatal(err)
		}
	}
	log := someDecisions()
	interlock := serve(t, func(s *grpc.Server) { policyv1.RegisterDecisionServiceServer(s, log) })
	const all = "2 chains, 4 records sealed, 1 not yet: 0 broken\n"
	for _, tt := range []struct {
		partition string
		last      int64
		head      string
		want      string
		code      int
	}{
		{"run_1", 2, "h2", all, exitDone},
		{"run_1", 3, "h3", all, exitDone},
		{"run_2", 1, "x", all, exitDone},
		{"run_1", 2, "lost", "ROLLED BACK  run_1  the head of record 2 was published, and another record has its place\n" + all, exitNo},
		{"run_1", 5, "h5", "ROLLED BACK  run_1  the head of record 5 was published, and the log ends before it\n" + all, exitNo},
		{"run_3", 1, "h1", "ROLLED BACK  run_1  the head of record 5 was published, and the log ends before it\n" +
			"ROLLED BACK  run_3  the head of record 1 was published, and the store has no such chain\n" + all, exitNo},
	} {
		publish(tt.partition, tt.last, tt.head)
		out, told, code := interlock("audit", "verify", "--nats-url", server.URL())
		if diff := gocmp.Diff(tt.want, out); diff != "" || code != tt.code {
			t.Errorf("%s %d: exit %d, told %q: %s", tt.partition, tt.last, code, told, diff)
		}
	}
}
