package hostproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
)

// protocol is what the first bytes of a tunnel begin.
type protocol int

const (
	unclear protocol = iota // more bytes are needed
	silent                  // there are none
	isTLS
	isHTTP
	isHTTP2 // without TLS
	isOther
)

// detect finds the protocol of a connection. HTTP is what a lenient server takes for it: with line ends before the
// request, in any case, with any bytes in the path.
func detect(data []byte) protocol {
	if len(data) > 0 && data[0] == 0x16 {
		return isTLS
	}
	line := bytes.TrimLeft(data, "\r\n")
	if bytes.HasPrefix(line, []byte("PRI * HTTP/2")) {
		return isHTTP2
	}
	line, _, complete := bytes.Cut(line, []byte("\n"))
	for _, c := range line {
		if c < ' ' && c != '\t' && c != '\r' {
			return isOther
		}
	}
	switch {
	case !complete:
		return unclear
	case bytes.Contains(bytes.ToUpper(line), []byte("HTTP/")):
		return isHTTP
	}
	return isOther
}

// tunnel passes bytes between a client and its host after a look at the first of them. On port 443 they
// must be TLS, on port 80 HTTP; on other ports, which a rule names, other protocols pass as they are.
func (p *proxy) tunnel(ctx context.Context, client, server *conn, t target) {
	_ = client.SetReadDeadline(time.Now().Add(p.opts.First))
	kind := p.firstBytes(client, server, t.port != 80 && t.port != 443)
	if kind == silent {
		return
	}
	var hello []byte
	why := whyNot(kind, t.port)
	if why == "" && kind == isTLS {
		hello, why = readHello(client, t.host)
	}
	_ = client.SetReadDeadline(time.Time{})
	switch {
	case why != "":
		answerRefused(client, kind, p.forbid(t.String(), why))
	case kind == isHTTP:
		p.serveFixed(ctx, client, server, t)
	default:
		relay(client, server, hello)
	}
}

// whyNot says why a protocol does not pass to a port.
func whyNot(kind protocol, port int) string {
	switch {
	case kind == isHTTP2:
		return "HTTP/2 without TLS can be for any host"
	case kind == unclear:
		return "the first bytes are of no known protocol"
	case port == 443 && kind != isTLS:
		return "on port 443 the jail lets only TLS through"
	case port == 80 && kind != isHTTP:
		return "on port 80 the jail lets only HTTP through"
	}
	return ""
}

// answerRefused ends a tunnel in its own protocol, where that has a way.
func answerRefused(client *conn, kind protocol, refused *refusal) {
	switch kind {
	case isTLS:
		_, _ = client.Write([]byte{0x15, 3, 3, 0, 2, 2, 49}) // a fatal alert: access_denied
	case isHTTP:
		_, _ = io.WriteString(client, refused.response())
	}
}

// firstBytes waits for the client's first bytes. With serverFirst, a host that speaks before the client
// ends the wait.
func (p *proxy) firstBytes(client, server *conn, serverFirst bool) protocol {
	var spoke atomic.Bool
	var wait sync.WaitGroup
	if serverFirst {
		wait.Go(func() {
			if _, err := server.reader.Peek(1); err == nil {
				spoke.Store(true)
				_ = client.SetReadDeadline(time.Unix(1, 0))
			}
		})
	}
	kind := peekProtocol(client)
	_ = server.SetReadDeadline(time.Unix(1, 0))
	wait.Wait()
	_ = server.SetReadDeadline(time.Time{})
	_ = client.SetReadDeadline(time.Now().Add(p.opts.First))
	if kind == silent && spoke.Load() {
		return isOther
	}
	return kind
}

// peekProtocol reads until it is clear what the client speaks.
func peekProtocol(client *conn) protocol {
	for n := 1; ; n = client.reader.Buffered() + 1 {
		_, err := client.reader.Peek(n)
		data, _ := client.reader.Peek(client.reader.Buffered())
		kind := detect(data)
		switch {
		case kind != unclear:
			return kind
		case err != nil && len(data) == 0:
			return silent
		case err != nil:
			return unclear
		}
	}
}

// Extensions of a ClientHello that hide the name of another host.
const (
	extensionECH  = 0xfe0d
	extensionESNI = 0xffce
)

// readHello reads a client's ClientHello, and returns its bytes, or why it is not for the host.
func readHello(client *conn, host string) (data []byte, why string) {
	var read bytes.Buffer
	var hello *tls.ClientHelloInfo
	stop := errors.New("the name is known")
	err := tls.Server(helloConn{client, io.TeeReader(io.LimitReader(client, 128<<10), &read)}, &tls.Config{
		GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
			hello = info
			return nil, stop
		},
	}).Handshake()
	switch {
	case hello == nil || !errors.Is(err, stop):
		return nil, "its TLS does not begin with a ClientHello"
	case slices.Contains(hello.Extensions, extensionECH) || slices.Contains(hello.Extensions, extensionESNI):
		return nil, "its ClientHello is encrypted (ECH), and can name another host"
	}
	name, _, err := jail.CanonicalHost(host)
	switch {
	case err == nil && name == "": // an address, which has no name in TLS
		if hello.ServerName != "" && hello.ServerName != host {
			return nil, "its TLS names a host, " + shown(hello.ServerName) + ", where an address was asked for"
		}
	case hello.ServerName == "":
		return nil, "its TLS names no host (SNI)"
	default:
		if sni, _, err := jail.CanonicalHost(hello.ServerName); err != nil || sni != name {
			return nil, "its TLS names another host, " + shown(hello.ServerName)
		}
	}
	return read.Bytes(), ""
}

// helloConn is read by TLS, which must not answer.
type helloConn struct {
	net.Conn
	reader io.Reader
}

func (h helloConn) Read(b []byte) (int, error)  { return h.reader.Read(b) }
func (h helloConn) Write(b []byte) (int, error) { return len(b), nil }

// relay copies both ways until both have ended. first goes to the server before all else.
func relay(client, server *conn, first []byte) {
	var back sync.WaitGroup
	back.Go(func() {
		_, err := io.Copy(client, server)
		finish(client, err)
	})
	_, err := server.Write(first)
	if err == nil {
		_, err = io.Copy(server, client)
	}
	finish(server, err)
	if err != nil {
		_ = client.Close()
	}
	back.Wait()
}

// finish ends what is written to a connection: with its end when all was copied.
func finish(to *conn, err error) {
	if err != nil || to.CloseWrite() != nil {
		_ = to.Close()
	}
}
