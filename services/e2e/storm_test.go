package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
)

const (
	manyConnections = 10_000
	// perConnection is the bound on the server's memory for one idle connection, in bytes.
	perConnection = 48 << 10
	// slack is how many goroutines and files may come and go by themselves.
	slack = 30
)

// TestStorm: ten thousand connections, and clients that never finish their
// requests. The server continues to answer, its memory is bounded, and when they are
// gone it is freed.
func TestStorm(t *testing.T) {
	t.Parallel()
	raiseFileLimit(t)
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "storm"}
	answers(t, w)
	goroutines, files, memory := w.goroutines(t), u.process.openFiles(t), u.process.status(t, "VmRSS")

	slow := slowClients(t, w)
	open := openConnections(t, w)
	if n := u.process.openFiles(t); n < manyConnections {
		t.Errorf("the server has %d files open: the connections were not accepted", n)
	}
	answers(t, w)
	if grown := u.process.status(t, "VmRSS") - memory; grown > manyConnections*perConnection {
		t.Errorf("%d connections cost %d MiB", manyConnections, grown>>20)
	}
	for _, conn := range open {
		conn.Close()
	}
	slow.cut(t)
	http.DefaultClient.CloseIdleConnections()
	eventually(t, "nothing of the connections is left", func() error {
		if n := u.process.openFiles(t); n > files+slack {
			return fmt.Errorf("%d files are open, %d before", n, files)
		}
		if n := w.goroutines(t); n > goroutines+slack {
			return fmt.Errorf("%d goroutines run, %d before", n, goroutines)
		}
		return nil
	})
	answers(t, w)
	u.process.drain(t)
}

// raiseFileLimit makes room for the connections in this process; the server,
// which is Go too, raises its own limit.
func raiseFileLimit(t *testing.T) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Max < manyConnections+2000 {
		t.Fatalf("only %d files may be open: run `ulimit -Hn %d` as root first", limit.Max, 2*manyConnections)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
}

// answers walks a little, on connections of its own.
func answers(t *testing.T, w *world) {
	t.Helper()
	t.Run("answers", func(t *testing.T) {
		c := w.as(t, auth.Agent)
		c.register(t, pingPong)
		id := c.start(t, "ping-pong").GetRunId()
		c.move(t, id, "GO")
		c.expect(t, id, "InB", allow, "")
		if got := w.send(t, http.MethodGet, "/v1/runs/"+id, w.tokens[auth.Agent], ""); got.status != http.StatusOK {
			t.Errorf("REST answers %v", got)
		}
	})
}

// goroutines is how many the server runs, by its metrics.
func (w *world) goroutines(t testing.TB) int {
	t.Helper()
	for line := range strings.Lines(w.send(t, http.MethodGet, "/metrics", w.tokens[auth.Operator], "").body) {
		var n int
		if _, err := fmt.Sscanf(line, "go_goroutines %d", &n); err == nil {
			return n
		}
	}
	t.Fatal("the metrics do not tell how many goroutines run")
	return 0
}

// openConnections opens connections to both servers that are set up and idle.
func openConnections(t *testing.T, w *world) []net.Conn {
	t.Helper()
	host := strings.TrimPrefix(w.http, "http://")
	conns := make([]net.Conn, manyConnections)
	next := make(chan int)
	var openers sync.WaitGroup
	errs := make(chan error, 32)
	for range cap(errs) {
		openers.Go(func() {
			var failed error
			for i := range next {
				if failed != nil {
					continue
				}
				if i%2 == 0 {
					conns[i], failed = idleHTTP(host)
				} else {
					conns[i], failed = idleHTTP2(w.engines[0])
				}
			}
			errs <- failed
		})
	}
	for i := range conns {
		next <- i
	}
	close(next)
	openers.Wait()
	close(errs)
	t.Cleanup(func() {
		for _, conn := range conns {
			if conn != nil {
				conn.Close()
			}
		}
	})
	for err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return conns
}

// idleHTTP is a connection that has had one answer and keeps alive.
func idleHTTP(address string) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: "+address+"\r\n\r\n"); err != nil {
		return conn, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return conn, err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return conn, errors.New(resp.Status)
	}
	return conn, nil
}

// settings is an empty SETTINGS frame of HTTP/2 (RFC 9113, 6.5).
const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// idleHTTP2 is a connection that is set up for gRPC and never calls.
func idleHTTP2(address string) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+settings); err != nil {
		return conn, err
	}
	_, err = io.ReadFull(conn, make([]byte, len(settings)))
	return conn, err
}

// lorises are connections that send too slowly, each until the server cuts it.
type lorises struct {
	names []string
	ended []chan error
}

// slowClients begins to dawdle in every phase of a request.
func slowClients(t *testing.T, w *world) *lorises {
	t.Helper()
	host := strings.TrimPrefix(w.http, "http://")
	token := "Authorization: Bearer " + w.tokens[auth.Agent] + "\r\n"
	l := &lorises{}
	for name, client := range map[string]struct{ address, begin string }{
		"headers":       {host, "GET /v1/runs HTTP/1.1\r\nHost: " + host + "\r\nX-Slow: "},
		"a REST body":   {host, "POST /v1/runs HTTP/1.1\r\nHost: " + host + "\r\n" + token + "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"},
		"an MCP body":   {host, "POST /mcp HTTP/1.1\r\nHost: " + host + "\r\n" + token + "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 1000\r\n\r\n"},
		"a hook's body": {host, "POST /v1/hook HTTP/1.1\r\nHost: " + host + "\r\n" + token + "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"},
		"a preface":     {w.engines[0], "PRI * HTTP/2.0\r\n"},
	} {
		for range 20 {
			conn := must[net.Conn](t)(net.Dial("tcp", client.address))
			t.Cleanup(func() { conn.Close() })
			if _, err := io.WriteString(conn, client.begin); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- dawdle(conn) }()
			l.names, l.ended = append(l.names, name), append(l.ended, ended)
		}
	}
	return l
}

// dawdle sends a byte now and then until the connection is closed by the other
// side.
func dawdle(conn net.Conn) error {
	go func() {
		for {
			if _, err := conn.Write([]byte{' '}); err != nil {
				return
			}
			time.Sleep(500 * time.Millisecond) // as a slow client
		}
	}()
	conn.SetReadDeadline(time.Now().Add(patience))
	_, err := io.Copy(io.Discard, conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("it is still served")
	}
	return nil // closed, in any way
}

// cut waits until the server has cut them all.
func (l *lorises) cut(t *testing.T) {
	t.Helper()
	for i, ended := range l.ended {
		if err := <-ended; err != nil {
			t.Errorf("a client that dawdles over %s: %v", l.names[i], err)
		}
	}
}
