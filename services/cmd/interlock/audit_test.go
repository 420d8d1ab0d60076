package main

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
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
	if out, _, code = interlock("audit", "verify", "--format", "json"); code != exitNo || !strings.Contains(out, `"ok": false`) {
		t.Errorf("exit %d: %s", code, out)
	}
}
