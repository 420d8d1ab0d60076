package e2e

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// link stands between services and a server, and can be cut, or held up: then sent data
// does not arrive, without an error.
type link struct {
	listener net.Listener
	target   string
	held     atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
	wg    sync.WaitGroup
}

func newLink(t testing.TB, target string) *link {
	t.Helper()
	l := &link{listener: must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0")), target: target}
	l.wg.Go(l.accept)
	t.Cleanup(func() {
		l.listener.Close()
		l.cut()
		l.wg.Wait()
	})
	return l
}

func (l *link) address() string { return l.listener.Addr().String() }

func (l *link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", l.target)
		if err != nil {
			client.Close()
			continue
		}
		l.mu.Lock()
		l.conns = append(l.conns, client, server)
		l.mu.Unlock()
		l.wg.Go(func() { l.carry(server, client) })
		l.wg.Go(func() { l.carry(client, server) })
	}
}

// carry copies until either end is closed, and drops data while the link is held.
func (l *link) carry(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !l.held.Load() {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// hold makes the link silent, or not. Dropped data is lost: cut it afterwards.
func (l *link) hold(on bool) { l.held.Store(on) }

// cut closes every connection. New ones can be made.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}
