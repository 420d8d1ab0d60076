package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/services/internal/commandline"
)

// workload is the part of a Deployment that this test reads.
type workload struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Template struct {
			Spec struct{ Containers []struct{ Args []string } }
		}
	}
}

// Services take the flags that the chart and the compose file give them.
func TestDeployedFlags(t *testing.T) {
	seen := map[string]int{}
	parse := func(where, service string, args []string) {
		t.Helper()
		program, known := commandline.Programs()[service]
		if !known {
			return
		}
		parser, err := program.Parser(program.Flags())
		if err == nil {
			_, err = parser.Parse(args)
		}
		if err != nil {
			t.Errorf("%s: %s %s: %v", where, service, strings.Join(args, " "), err)
		}
		seen[where]++
	}
	for _, golden := range []string{"trial", "production"} {
		text := must[[]byte](t)(os.ReadFile("../../tools/chart/testdata/golden/" + golden + ".txt"))
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var w workload
			if err := yaml.Unmarshal([]byte(document), &w); err != nil {
				t.Fatalf("%s: %v", golden, err)
			}
			if w.Kind == "Deployment" {
				parse(golden, strings.TrimPrefix(w.Metadata.Name, "il-interlock-"), w.Spec.Template.Spec.Containers[0].Args)
			}
		}
	}
	var compose struct {
		Services map[string]struct {
			Command     []string
			Environment map[string]string
			Ports       []string
			Volumes     []string
			DependsOn   map[string]any `yaml:"depends_on"`
		}
		Volumes map[string]any
	}
	file := "../../deploy/compose/compose.yaml"
	if err := yaml.Unmarshal(must[[]byte](t)(os.ReadFile(file)), &compose); err != nil {
		t.Fatal(err)
	}
	for name, s := range compose.Services {
		for variable, value := range s.Environment {
			t.Setenv(variable, value)
		}
		parse("compose", name, s.Command)
		for variable := range s.Environment {
			t.Setenv(variable, "")
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("compose: %s is open to other machines: %s", name, port)
			}
		}
		for _, volume := range s.Volumes {
			from, _, _ := strings.Cut(volume, ":")
			if _, declared := compose.Volumes[from]; declared {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), from)); err != nil {
				t.Errorf("compose: %s mounts %s: %v", name, from, err)
			}
		}
		for other := range s.DependsOn {
			if _, there := compose.Services[other]; !there {
				t.Errorf("compose: %s depends on %s", name, other)
			}
		}
		for _, match := range regexp.MustCompile(`dns:///([a-z-]+):`).FindAllStringSubmatch(strings.Join(s.Command, " "), -1) {
			if _, there := compose.Services[match[1]]; !there {
				t.Errorf("compose: %s calls %s", name, match[1])
			}
		}
	}
	for _, where := range []string{"trial", "production", "compose"} {
		if seen[where] != len(commandline.Programs()) {
			t.Errorf("%s has %d services", where, seen[where])
		}
	}
}

// Each user of the ACL file has the permissions of its service, and Redis takes the file.
func TestDeployedRedisUsers(t *testing.T) {
	t.Parallel()
	file := "../../deploy/redis/users.acl"
	text := strings.TrimSpace(string(must[[]byte](t)(os.ReadFile(file))))
	users := strings.Split(text, "\n")
	if users[0] != redisstore.ReplayerACL || len(users) != 9 {
		t.Fatalf("%d users, and the first is %q", len(users), users[0])
	}
	users = users[:6] // the others are of Redis itself
	for _, user := range users[1:] {
		allowed := redisstore.ACL
		if strings.HasPrefix(user, "user interlock-operator ") {
			allowed = redisstore.OperatorACL
		}
		if !strings.HasSuffix(user, " resetchannels ~il:* "+allowed) {
			t.Errorf("%s\ndoes not end with ~il:* and %s", user, allowed)
		}
	}
	redis := redistest.Start(t, "--aclfile", must[string](t)(filepath.Abs(file)))
	for _, user := range users[1:] {
		name := strings.Fields(user)[1]
		s, err := redisstore.Open(t.Context(), redisstore.Config{
			URL: "redis://" + redis.Addr(), Username: name, PasswordFile: secret(t, "CHANGE-ME-"+strings.TrimPrefix(name, "interlock-")),
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// deployedRedis is the file of settings in deploy/redis, or in a copy of that folder, of which only
// the place of the ACL differs, with the settings in its comments.
func deployedRedis(t testing.TB, folder string, offered ...string) (settings []string) {
	t.Helper()
	text := string(must[[]byte](t)(os.ReadFile(filepath.Join(folder, "redis.conf"))))
	for _, line := range append(offered, "aclfile /etc/redis/users.acl") {
		if !strings.Contains(text, "\n# "+line+"\n") {
			t.Fatalf("redis.conf does not offer %s", line)
		}
		text = strings.Replace(text, "# "+line, line, 1)
	}
	return []string{secret(t, strings.Replace(text, "/etc/redis", folder, 1))}
}

// Redis with the files of deploy/redis has all that was acknowledged when it starts again,
// whether it was stopped or killed.
func TestDeployedRedisKeepsWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, deployedRedis(t, must[string](t)(filepath.Abs("../../deploy/redis")))...)
	as := func(user string) *redisstore.Store {
		t.Helper()
		s := must[*redisstore.Store](t)(redisstore.Open(t.Context(), redisstore.Config{
			URL: "redis://" + redis.Addr(), Username: "interlock-" + user, PasswordFile: secret(t, "CHANGE-ME-"+user),
		}))
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	services := []string{"engine", "policy-enforcer", "state-store", "approval", "operator"}
	var kept []store.Key
	for round, end := range []func() error{redis.Stop, func() error { redis.Kill(); return nil }, redis.Stop} {
		for _, service := range services {
			for i := range 10 {
				key := store.Key{Namespace: "default", Kind: "run", ID: fmt.Sprintf("%s-%d-%d", service, round, i)}
				_, err := as(service).Commit(t.Context(), store.Batch{
					Puts:     []store.Put{{Key: key, Data: []byte(key.ID), History: []byte("h")}},
					Counters: []store.Counter{{Owner: key, Name: "n", Delta: 1, Limit: 9, Window: time.Hour}},
					Events:   []store.Event{{Key: key, ID: "e", Subject: "s"}},
				})
				if err != nil {
					t.Fatal(err)
				}
				kept = append(kept, key)
			}
		}
		if err := errors.Join(end(), redis.Restart()); err != nil {
			t.Fatal(err)
		}
		reader := as("engine")
		for _, key := range kept {
			record, err := reader.Get(t.Context(), key)
			if err != nil || string(record.Data) != key.ID {
				t.Fatalf("round %d: %s is %q, %v", round, key.ID, record.Data, err)
			}
		}
	}
}

func secret(t testing.TB, content string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func refusesToPublish(t *testing.T, user string, nc *nats.Conn) {
	t.Helper()
	if err := errors.Join(nc.Publish("interlock.team-a.run.r.forged", nil), nc.Flush()); err != nil {
		t.Fatal(err)
	}
	if err := nc.LastError(); err == nil || !strings.Contains(err.Error(), "Permissions Violation") {
		t.Errorf("%s may publish: %v", user, err)
	}
}

// deployedNATS are the settings of deploy/nats in a folder of the test.
func deployedNATS(t *testing.T) string {
	t.Helper()
	text := string(must[[]byte](t)(os.ReadFile("../../deploy/nats/nats.conf")))
	text = strings.Replace(text, "store_dir: /data", fmt.Sprintf("store_dir: %q", t.TempDir()), 1)
	return strings.Replace(text, "http: 127.0.0.1:8222", "", 1)
}

// The accounts of nats.conf let services publish, and observers see their namespace and
// cannot publish.
func TestDeployedNATSAccounts(t *testing.T) {
	t.Parallel()
	text := deployedNATS(t)
	srv := startEvents(t, func() (*server.Options, error) { return server.ProcessConfigFile(secret(t, text)) })
	as := func(user string) *nats.Conn {
		t.Helper()
		endpoint := must[bus.Endpoint](t)(bus.Endpoint{URL: "nats://" + srv.address()}.With(bus.Login{Username: user, PasswordFile: secret(t, "CHANGE-ME-"+user)}))
		nc := must[*nats.Conn](t)(endpoint.Connect(user))
		t.Cleanup(nc.Close)
		return nc
	}
	services := as("services")
	endpoint := must[bus.Endpoint](t)(bus.Endpoint{URL: "nats://" + srv.address()}.With(bus.Login{Username: "services", PasswordFile: secret(t, "CHANGE-ME-services")}))
	if err := endpoint.Fit(t.Context()); err != nil {
		t.Fatal(err)
	}
	js := must[jetstream.JetStream](t)(jetstream.New(services))
	must[jetstream.Stream](t)(bus.Stream{}.Ensure(within(t), js))
	observed := map[string]*nats.Subscription{}
	for _, user := range []string{"observer", "team-a"} {
		nc := as(user)
		filter := "interlock.>"
		if user == "team-a" {
			filter = "interlock.team-a.>"
		}
		observed[user] = must[*nats.Subscription](t)(nc.SubscribeSync(filter))
		refusesToPublish(t, user, nc)
	}
	for _, subject := range []string{"interlock.team-a.run.r.created", "interlock.team-b.run.r.created"} {
		must[*jetstream.PubAck](t)(js.Publish(within(t), subject, nil))
	}
	for user, want := range map[string][]string{
		"observer": {"interlock.team-a.run.r.created", "interlock.team-b.run.r.created"}, "team-a": {"interlock.team-a.run.r.created"},
	} {
		var got []string
		for range want {
			m := must[*nats.Msg](t)(observed[user].NextMsg(patience))
			got = append(got, m.Subject)
		}
		if n, _, err := observed[user].Pending(); n != 0 || err != nil || !slices.Equal(got, want) {
			t.Errorf("%s sees %v and %d more, not %v", user, got, n, want)
		}
	}
	// The stream is there after a restart, and an observer of all namespaces catches up.
	srv.stop()
	srv.start(t)
	reader := must[jetstream.JetStream](t)(jetstream.NewWithAPIPrefix(as("observer"), "observe"))
	stream := must[jetstream.Stream](t)(reader.Stream(within(t), bus.DefaultStream))
	var missed []string
	for seq := uint64(1); ; {
		m, err := stream.GetMsg(within(t), seq, jetstream.WithGetMsgSubject("interlock.>"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		missed, seq = append(missed, m.Subject), m.Sequence+1
	}
	if want := []string{"interlock.team-a.run.r.created", "interlock.team-b.run.r.created"}; !slices.Equal(missed, want) {
		t.Errorf("after a break, the observer reads %v, not %v", missed, want)
	}
	for _, user := range []string{"observer", "team-a"} {
		nc := as(user)
		refusesToPublish(t, user, nc)
		questions := []string{"$JS.API.CONSUMER.CREATE.INTERLOCK", "$JS.API.STREAM.DELETE.INTERLOCK", "$JS.API.STREAM.PURGE.INTERLOCK", "$JS.API.STREAM.UPDATE.INTERLOCK"}
		if user == "team-a" {
			questions = append(questions, "observe.STREAM.MSG.GET.INTERLOCK", "observe.STREAM.INFO.INTERLOCK", "$JS.API.STREAM.MSG.GET.INTERLOCK")
		}
		for _, question := range questions {
			if err := errors.Join(nc.PublishRequest(question, "interlock.x", []byte(`{"seq":1}`)), nc.Flush()); err != nil {
				t.Fatal(err)
			}
			if err := nc.LastError(); err == nil || !strings.Contains(err.Error(), strconv.Quote(question)) {
				t.Errorf("%s may ask %s: %v", user, question, err)
			}
		}
	}
	// The gateway reads the stream, and cannot publish into it.
	gateway := as("gateway")
	gatewayJS := must[jetstream.JetStream](t)(jetstream.New(gateway))
	watcher := must[*bus.Watcher](t)(bus.Watch(within(t), gatewayJS, bus.WatchConfig{Subjects: []string{"interlock.>"}, From: 1}))
	defer watcher.Stop()
	refusesToPublish(t, "gateway", gateway)
}
