//go:build cluster

package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

const (
	// release is the name and the namespace of the chart's release.
	release = "ilk"
	// workers drive one run each.
	workers = 8
	// limit is how many calls a policy allows, of which callers want more.
	limit = 20_000
)

// node is a cluster that tools/cluster has made, with the chart on it.
type node struct{ t *testing.T }

func (n node) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "../../tools/cluster/node", args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), err
}

func (n node) must(args ...string) string {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), 10*time.Minute)
	defer cancel()
	out, err := n.run(ctx, args...)
	if err != nil {
		n.t.Fatal(err)
	}
	return out
}

func (n node) kubectl(args ...string) string {
	n.t.Helper()
	return n.must(append([]string{"kubectl", "-n", release}, args...)...)
}

// secret is a value of a Secret.
func (n node) secret(name, key string) []byte {
	n.t.Helper()
	text := n.kubectl("get", "secret", name, "-o", "jsonpath={.data."+strings.ReplaceAll(key, ".", `\.`)+"}")
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		n.t.Fatal(err)
	}
	return data
}

// pods are the names of a component's pods.
func (n node) pods(component string) []string {
	n.t.Helper()
	return strings.Fields(n.kubectl("get", "pods", "-l", "app.kubernetes.io/component="+component,
		"--field-selector=status.phase=Running", "-o", "jsonpath={.items[*].metadata.name}"))
}

// settled waits until everything is as it should be.
func (n node) settled() {
	n.t.Helper()
	for _, service := range serviceNames {
		n.kubectl("rollout", "status", "deployment/"+release+"-"+service, "--timeout=5m")
	}
	for _, store := range []string{"valkey", "nats"} {
		n.kubectl("rollout", "status", "statefulset/"+release+"-"+store, "--timeout=5m")
	}
}

// killed ends the process of a pod with SIGKILL, and waits until it is back. A pod that is
// deleted by force would be something else: Kubernetes starts its successor while it may
// still run, on the same volume.
func (n node) killed(pod string) {
	n.t.Helper()
	status := func(field string) string {
		return n.kubectl("get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0]."+field+"}")
	}
	before := status("restartCount")
	_, id, _ := strings.Cut(status("containerID"), "://")
	n.must("kill", id)
	for status("restartCount") == before || status("ready") != "true" {
		if n.t.Context().Err() != nil {
			n.t.Fatal("the pod did not come back")
		}
		time.Sleep(50 * time.Millisecond) // Kubernetes announces it to no process
	}
}

var serviceNames = []string{"engine", "policy-enforcer", "state-store", "approval", "gateway"}

// TestCluster takes a cluster apart under load. `make cluster` makes the cluster, with the
// images "old" of an earlier commit and "new"; the table goes into docs/operations.md.
func TestCluster(t *testing.T) {
	n := node{t}
	n.settled()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, n.secret(release+"-gateway-tls", "ca.crt"), 0o600); err != nil {
		t.Fatal(err)
	}
	edge := n.kubectl("get", "service", release+"-gateway", "-o", "jsonpath={.spec.clusterIP}") + ":7421"
	tokens := map[auth.Role]string{}
	for _, role := range auth.Roles() {
		tokens[role] = string(n.secret(release+"-tokens", string(role)))
	}
	at := []string{edge}
	w := &world{namespace: fmt.Sprintf("load-%d", time.Now().Unix()), shape: &shape{
		tokens: tokens, engines: at, policies: at, states: at, approvals: at,
		tls: rpc.ClientTLS{CAFile: ca, ServerName: release + "-gateway"},
	}}
	l := newLedger(t, w.as(t, auth.Operator), workers)
	l.retry, l.pause = true, 50*time.Millisecond
	callers := make([]*caller, workers)
	for i := range callers {
		callers[i] = w.as(t, auth.Agent)
	}
	spends := newSpender(t, w, w.as(t, auth.Agent), limit)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	end := l.load(ctx, callers...)
	var spenders sync.WaitGroup
	spends.load(ctx, &spenders)
	l.reaches(t, 500)

	table := &faultTable{n: n, l: l}
	for _, service := range serviceNames {
		table.under("kill a pod of "+service, func() {
			n.kubectl("delete", "pod", n.pods(service)[0], "--grace-period=0", "--force")
			n.settled()
		})
	}
	for _, service := range serviceNames {
		table.under("roll out "+service, func() {
			n.kubectl("rollout", "restart", "deployment/"+release+"-"+service)
			n.settled()
		})
	}
	for _, store := range []string{"valkey", "nats"} {
		table.under("restart "+store, func() {
			n.kubectl("delete", "pod", release+"-"+store+"-0")
			n.settled()
		})
		table.under("kill "+store, func() {
			n.killed(release + "-" + store + "-0")
			n.settled()
		})
	}
	table.under("cordon and drain the only node for 20 s, then uncordon", func() {
		n.must("kubectl", "cordon", "node1")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		// It cannot end: the budgets of disruption keep a replica of each service.
		// Redis and NATS are elsewhere in production.
		if out, err := n.run(ctx, "kubectl", "drain", "node1", "--timeout=20s",
			"--pod-selector=app.kubernetes.io/component notin (valkey,nats)"); err == nil {
			t.Errorf("the node was drained of everything: %s", out)
		}
		for _, service := range serviceNames {
			if len(n.pods(service)) == 0 {
				t.Errorf("no pod of %s is left", service)
			}
		}
		n.must("kubectl", "uncordon", "node1")
		n.settled()
	})
	table.under("new certificates", func() {
		n.helm("--set", "tls.generated.generation=7")
		n.settled()
	})
	table.under("helm upgrade from the images of the commit before", func() {
		n.helm("--set", "auth.existingSecret="+release+"-tokens", "--set", "image.tag=old")
		n.settled()
		l.reaches(t, 300)
		n.helm("--set", "auth.existingSecret="+release+"-tokens", "--set", "image.tag=new")
		n.settled()
	})
	table.under("helm rollback to them", func() {
		n.must("helm", "rollback", release, "-n", release, "--wait", "--timeout=5m")
		n.settled()
		l.reaches(t, 300)
		n.helm("--set", "image.tag=new")
		n.settled()
	})
	l.reaches(t, 500)
	cancel()
	end()
	spenders.Wait()
	table.print()

	w.nats = bus.Endpoint{URL: "nats://" + n.kubectl("get", "pod", release+"-nats-0", "-o", "jsonpath={.status.podIP}") + ":4222"}
	l.verify(t, w, w.as(t, auth.Operator))
	spends.verify(t)
	if !t.Failed() {
		fmt.Printf("%d transitions and tool calls, %d limited tool calls (%d allowed): 0 lost, 0 doubled, 0 over-admitted, 0 fail-open\n",
			l.count.Load(), spends.answered.Load(), spends.allowed)
	}
}

func (n node) helm(args ...string) {
	n.t.Helper()
	n.must(append([]string{
		"helm", "upgrade", release, "../../helm/interlock", "-n", release, "--reuse-values", "--wait", "--timeout=5m",
	}, args...)...)
}

// faultTable has the effects of each fault on callers.
type faultTable struct {
	n    node
	l    *ledger
	rows []string
}

// under does something while callers continue, and notes the longest time without an
// answer, from all calls of all workers.
func (f *faultTable) under(what string, do func()) {
	f.n.t.Helper()
	failures := f.l.failed()
	count := f.l.count.Load()
	began := time.Now()
	stop, longest := make(chan struct{}), make(chan time.Duration)
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		worst, last, seen := time.Duration(0), time.Now(), f.l.count.Load()
		for {
			select {
			case <-tick.C:
			case <-stop:
				longest <- max(worst, time.Since(last))
				return
			}
			if now := f.l.count.Load(); now != seen {
				worst, last, seen = max(worst, time.Since(last)), time.Now(), now
			}
		}
	}()
	do()
	f.l.reaches(f.n.t, 100)
	close(stop)
	gap := <-longest
	reasons := []string{}
	for reason, now := range f.l.failed() {
		if more := now - failures[reason]; more > 0 {
			reasons = append(reasons, fmt.Sprintf("%d %s", more, reason))
		}
	}
	slices.Sort(reasons)
	row := fmt.Sprintf("| %s | %.1f s | %d | %s | %.1f s |", what, time.Since(began).Seconds(), f.l.count.Load()-count,
		strings.Join(append(reasons, ""), " "), gap.Seconds())
	fmt.Println(row)
	f.rows = append(f.rows, row)
}

func (f *faultTable) print() {
	fmt.Println("| fault, under load | took | calls answered | failures that callers repeated | longest time without an answer |")
	fmt.Println("| --- | --- | --- | --- | --- |")
	fmt.Println(strings.Join(f.rows, "\n"))
}

// failed is a copy of a failed part.
func (l *ledger) failed() map[fault.Reason]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.failures)
}

// TestClusterUninstall runs last: it takes the release away, and leaves the tokens and the
// volumes.
func TestClusterUninstall(t *testing.T) {
	n := node{t}
	n.must("helm", "uninstall", release, "-n", release, "--wait", "--timeout=5m")
	n.kubectl("wait", "--for=delete", "pod", "--all", "--timeout=3m")
	left := strings.Fields(n.kubectl("get", "-o", "name",
		"all,secrets,configmaps,serviceaccounts,roles,rolebindings,networkpolicies,poddisruptionbudgets,ingresses,persistentvolumeclaims,jobs"))
	want := []string{
		"configmap/kube-root-ca.crt", "persistentvolumeclaim/data-" + release + "-nats-0", "persistentvolumeclaim/data-" + release + "-valkey-0",
		"secret/" + release + "-tokens", "serviceaccount/default",
	}
	slices.Sort(left)
	if !slices.Equal(left, want) {
		t.Errorf("left: %v\nwant: %v", left, want)
	}
}
