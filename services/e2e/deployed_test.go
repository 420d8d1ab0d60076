package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// unit is one program as a file of a deployment starts it. Its paths and addresses are those of
// its container until the deployment has placed it here.
type unit struct {
	name, program string
	args, env     []string
	// mounts are the folders of this machine by their paths in the container.
	mounts  map[string]string
	process *process
}

// deployment is the deployment of a file, with all paths and addresses placed on this machine.
type deployment struct {
	units []*unit
	// at is where each "NAME:PORT" is on this machine.
	at map[string]string
	// used is called between the writes and the end, unless it is nil.
	used func()
	// elsewhere are addresses that belong to no part of the deployment.
	elsewhere []string
}

var (
	listens = regexp.MustCompile(`^(?:--[a-z]+=)?(:[0-9]+)$`)
	address = regexp.MustCompile(`(^|[=/,@])([A-Za-z0-9.-]*):([0-9]{2,5})\b`)
)

// listen gives each port that a unit listens on an address of this machine, by the unit's name.
func (d *deployment) listen(t testing.TB) {
	t.Helper()
	for _, u := range d.units {
		for _, word := range slices.Concat(u.args, values(u.env)) {
			if match := listens.FindStringSubmatch(word); match != nil {
				d.at[u.name+match[1]] = freeAddresses(t, 1)[0]
			}
		}
	}
}

// values are the values of an environment.
func values(env []string) (all []string) {
	for _, pair := range env {
		_, value, _ := strings.Cut(pair, "=")
		all = append(all, value)
	}
	return all
}

// place replaces the paths and addresses of a unit's container by those of this machine.
func (d *deployment) place(t testing.TB, u *unit) {
	t.Helper()
	put := func(word string) string {
		for _, path := range slices.Backward(slices.Sorted(maps.Keys(u.mounts))) {
			if at := strings.Index(word, path+"/"); at >= 0 && (at == 0 || word[at-1] == '=') {
				return word[:at] + u.mounts[path] + word[at+len(path):]
			}
			if strings.HasSuffix(word, "="+path) || word == path {
				return strings.TrimSuffix(word, path) + u.mounts[path]
			}
		}
		return address.ReplaceAllStringFunc(word, func(found string) string {
			match := address.FindStringSubmatch(found)
			host, key := match[2], match[2]+":"+match[3]
			if host == "" {
				key = u.name + key
			}
			if net.ParseIP(host) != nil || slices.Contains(d.elsewhere, key) {
				return found
			}
			if d.at[key] == "" {
				t.Errorf("%s: %s: there is no %s", u.name, word, key)
			}
			return match[1] + d.at[key]
		})
	}
	for i, word := range u.args {
		u.args[i] = put(word)
	}
	for i, pair := range u.env {
		name, value, _ := strings.Cut(pair, "=")
		u.env[i] = name + "=" + put(value)
	}
}

// start starts all units at once: they wait for each other.
func (d *deployment) start(t testing.TB) {
	t.Helper()
	for _, u := range d.units {
		u.process = startIn(t, u.env, u.program, u.args...)
	}
	for _, u := range d.units {
		for _, kind := range []string{"9090", "7420"} {
			if at := d.at[u.name+":"+kind]; at != "" {
				d.ready(t, u, at)
				break
			}
		}
	}
}

// ready waits until a unit answers as the probes of a deployment want.
func (d *deployment) ready(t testing.TB, u *unit, at string) {
	t.Helper()
	eventually(t, u.name+" is ready", func() error {
		if !u.process.running() {
			t.Fatalf("%s ended: %v", u.name, u.process.err)
		}
		resp, err := http.Get("http://" + at + "/readyz?verbose")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s, %w", resp.Status, text, err)
		}
		return nil
	})
}

// keeps uses a deployment that was started, kills everything, and requires its acknowledged data of
// the next start.
func (d *deployment) keeps(t *testing.T, e *edge, redis *redistest.Server, events ...*eventServer) (told acknowledged) {
	t.Helper()
	told = e.write(t)
	if d.used != nil {
		d.used()
	}
	for _, u := range d.units {
		if log := u.process.log.String(); strings.Contains(log, "a call was refused before a decision") {
			t.Errorf("%s: ordinary use leaves warnings: %s", u.name, log)
		}
		u.process.kill()
	}
	if redis != nil {
		redis.Kill()
	}
	for _, s := range events {
		s.stop()
	}
	if redis != nil {
		if err := redis.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range events {
		s.start(t)
	}
	d.start(t)
	e.read(t, told)
	return told
}

// eventServer is a NATS server with the settings of a deployment, at one address.
type eventServer struct {
	options func() (*server.Options, error)
	port    int
	srv     *server.Server
}

// startEvents starts a NATS server that stops with the test.
func startEvents(t testing.TB, options func() (*server.Options, error)) *eventServer {
	t.Helper()
	s := &eventServer{options: options, port: server.RANDOM_PORT}
	s.start(t)
	t.Cleanup(s.stop)
	return s
}

// commandOf reads the command line of a nats-server.
func commandOf(args ...string) func() (*server.Options, error) {
	return func() (*server.Options, error) {
		return server.ConfigureOptions(flag.NewFlagSet("nats-server", flag.ContinueOnError), args, func() {}, func() {}, func() {})
	}
}

func (s *eventServer) start(t testing.TB) {
	t.Helper()
	options := must[*server.Options](t)(s.options())
	options.Host, options.Port, options.HTTPPort, options.NoLog, options.NoSigs = "127.0.0.1", s.port, 0, true, true
	s.srv = must[*server.Server](t)(server.NewServer(options))
	s.srv.Start()
	if !s.srv.ReadyForConnections(patience) {
		t.Fatal("NATS does not start")
	}
	if at, ok := s.srv.Addr().(*net.TCPAddr); ok {
		s.port = at.Port
	}
}

func (s *eventServer) stop() { s.srv.Shutdown(); s.srv.WaitForShutdown() }

func (s *eventServer) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// folderWith writes files that have a mode, as a volume has them.
func folderWith(t testing.TB, mode os.FileMode, files map[string][]byte) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, content := range files {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// trustingOnly is an HTTP client that trusts a CA, or the system's for none.
func trustingOnly(t testing.TB, ca []byte) *http.Client {
	t.Helper()
	if ca == nil {
		return http.DefaultClient
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		t.Fatal("there is no CA")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
