package e2e

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/certtest"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// eventCluster are three servers with deploy/nats, the TLS that it offers, and one JetStream.
func eventCluster(t *testing.T, authority *certtest.Authority) (all []*eventServer) {
	t.Helper()
	cert, key := authority.Issue(t, "nats")
	routes := freeAddresses(t, 3)
	for i, route := range routes {
		text := deployedNATS(t) + fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }\n", cert, key, authority.CA()) +
			fmt.Sprintf("server_name: n%d\ncluster { name: c, listen: %q, routes: [nats://%s] }\n", i, route, strings.Join(routes, ", nats://"))
		file := secret(t, text)
		all = append(all, startEvents(t, func() (*server.Options, error) { return server.ProcessConfigFile(file) }))
	}
	return all
}

// receiptKey makes a key of receipts as a person does.
func receiptKey(t *testing.T) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "receipt.key")
	runCommand(t, 0, "receipt", "keygen", file)
	return must[[]byte](t)(os.ReadFile(file))
}

// The chart in production, with the Redis of deploy/redis and a replica of it, and a cluster of NATS, has what it acknowledged after they
// were killed. The issuer and the MCP server that it names are not there.
func TestChartInProductionKeepsWhatItAcknowledges(t *testing.T) {
	t.Parallel()
	tokens, files := bootstrapped(t)
	inside, outside := certtest.New(t), certtest.New(t)
	r := &installed{
		deployment: &deployment{at: map[string]string{}, elsewhere: []string{"collector.observe:4317"}}, objects: chart(t, "production"),
		secrets: map[string]map[string][]byte{
			"given-tokens": files, "given-gateway": certificate(t, outside, "gateway", "interlock.example.com"),
			"given-redis-tls": certificate(t, inside, "redis-client"), "given-nats-tls": certificate(t, inside, "nats-client"),
			"given-oidc": certificate(t, outside, "oidc"), "given-console": {"secret": []byte("of the console")},
			"given-webhook": {"urls": []byte("https://hooks.example.com/x"), "secret": []byte("a secret of webhooks, which is long")},
			"given-person":  {"person.key": []byte(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)))},
			"given-receipt": {"receipt.key": receiptKey(t)},
			"given-notify":  {"channels": []byte("ntfy:https://ntfy.example.com/approvals")},
			"given-nats":    {}, "given-redis": {},
		},
	}
	for _, service := range []string{"engine", "policy-enforcer", "state-store", "approval", "gateway"} {
		r.secrets["il-interlock-"+service+"-tls"] = certificate(t, inside, service)
		r.secrets["given-redis"][service] = []byte("CHANGE-ME-" + service)
	}
	for _, user := range []string{"services", "gateway"} {
		r.secrets["given-nats"][user] = []byte("CHANGE-ME-" + user)
	}
	cert, key := inside.Issue(t, "redis")
	folder := must[string](t)(filepath.Abs("../../deploy/redis"))
	logins := deployedRedis(t, folder, "masteruser interlock-replica", "masterauth CHANGE-ME-replica", "min-replicas-to-write 1")
	r.at["redis.data:6380"] = freeAddresses(t, 1)[0]
	_, port, _ := strings.Cut(r.at["redis.data:6380"], ":")
	dir := t.TempDir()
	redis := redistest.StartIn(t, dir, append(logins, "--repl-diskless-sync-delay", "0", "--tls-port", port, "--tls-cert-file", cert,
		"--tls-key-file", key, "--tls-ca-cert-file", inside.CA(), "--tls-auth-clients", "yes")...)
	redistest.Start(t, append(logins, "--replicaof", strings.ReplaceAll(redis.Addr(), ":", " "))...)
	nats := eventCluster(t, inside)
	r.at["nats-0.data:4223"], r.at["nats-1.data:4223"] = nats[0].address(), nats[1].address()
	r.install(t)
	ca := must[[]byte](t)(os.ReadFile(outside.CA()))
	e := &edge{url: "https://" + r.at["gateway:7420"], client: trustingOnly(t, ca), tokens: tokensOf(t, tokens)}
	r.start(t)
	told := r.keeps(t, e, redis, nats...)
	o := r.operator(t, inside)
	o.looks(t, told, r.at["gateway:7421"], outside.CA(), e.tokens[auth.Operator])

	// The drill.
	file := filepath.Join(t.TempDir(), "backup")
	runCommand(t, 0, append([]string{"backup", "create", file}, o.store...)...)
	for _, u := range r.units {
		u.process.kill()
	}
	redis.Kill()
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "appendonlydir")), redis.Restart()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the replica follows", func() error {
		if info := (&administered{Server: redis}).cli(t, "info", "replication"); !strings.Contains(info, "min_slaves_good_slaves:1") {
			return errors.New(info)
		}
		return nil
	})
	runCommand(t, 0, slices.Concat([]string{"backup", "restore", file}, o.store, o.as(t, "services"))...)
	runCommand(t, 0, append([]string{"store", "accept-rollback"}, o.store...)...)
	r.start(t)
	e.read(t, told)
}

// operator has the flags with which people log in at Redis and NATS.
type operator struct{ store, stream []string }

func (r *installed) operator(t *testing.T, authority *certtest.Authority) operator {
	t.Helper()
	cert, key := authority.Issue(t, "operator")
	return operator{
		store: []string{
			"--store", "rediss://" + r.at["redis.data:6380"] + "/0", "--store-username", "interlock-operator", "--store-password-file",
			secret(t, "CHANGE-ME-operator"), "--store-ca", authority.CA(), "--store-client-cert", cert, "--store-client-key", key,
		},
		stream: []string{
			"--nats-url", "tls://" + r.at["nats-0.data:4223"], "--nats-ca", authority.CA(), "--nats-client-cert", cert, "--nats-client-key", key,
		},
	}
}

// as are the flags of one user of NATS.
func (o operator) as(t *testing.T, user string) []string {
	t.Helper()
	return append(slices.Clone(o.stream), "--nats-username", user, "--nats-password-file", secret(t, "CHANGE-ME-"+user))
}

// looks runs the commands that read and repair the stream.
func (o operator) looks(t *testing.T, told acknowledged, server, ca, token string) {
	t.Helper()
	runCommand(t, 0, slices.Concat([]string{"events", "rebuild"}, o.store, o.as(t, "services"))...)
	tail := []string{"tail", "interlock.default.run.>", "--last", "1", "--count", "1"}
	if out := runCommand(t, 0, append(tail, o.as(t, "gateway")...)...); !strings.Contains(out, told.run) {
		t.Errorf("tail shows %s", out)
	}
	if out := runCommand(t, 2, append(tail, o.as(t, "observer")...)...); !strings.Contains(out, "log in as a user that may make consumers") {
		t.Errorf("tail of an observer says %s", out)
	}
	audit := []string{"audit", "verify", "--server", server, "--ca", ca, "--token", token}
	if out := runCommand(t, 0, append(audit, o.as(t, "gateway")...)...); !strings.Contains(out, "0 broken") {
		t.Errorf("audit verify says %s", out)
	}
}
