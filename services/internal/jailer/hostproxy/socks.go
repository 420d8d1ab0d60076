package hostproxy

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"net/netip"
	"time"
)

// The numbers of SOCKS5 (RFC 1928).
const (
	socksVersion    = 5
	socksNoLogin    = 0
	socksNoMethod   = 0xff
	socksConnect    = 1
	socksIPv4       = 1
	socksName       = 3
	socksIPv6       = 4
	socksOK         = 0
	socksFailed     = 1
	socksForbidden  = 2
	socksNoHost     = 4
	socksNoCommand  = 7
	socksNoAddrType = 8
)

// serveSOCKS opens a tunnel that was asked for by SOCKS5. The client's read deadline is set.
func (p *proxy) serveSOCKS(ctx context.Context, client *conn) {
	if !greet(client) {
		return
	}
	host, port, code := readSOCKS(client)
	if code != socksOK {
		answerSOCKS(client, code)
		return
	}
	_ = client.SetReadDeadline(time.Time{})
	t, refused := p.admit(host, port)
	var server *conn
	if refused == nil {
		server, refused = p.dial(ctx, t)
	}
	if refused != nil {
		answerSOCKS(client, socksCode(refused))
		return
	}
	defer server.Close()
	if answerSOCKS(client, socksOK) {
		p.tunnel(ctx, client, server, t)
	}
}

func socksCode(refused *refusal) byte {
	switch refused.status {
	case http.StatusForbidden:
		return socksForbidden
	case http.StatusBadGateway:
		return socksNoHost
	}
	return socksFailed
}

// greet agrees to do without a login.
func greet(client *conn) bool {
	head := make([]byte, 2)
	if _, err := io.ReadFull(client, head); err != nil {
		return false
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(client, methods); err != nil {
		return false
	}
	if bytes.IndexByte(methods, socksNoLogin) < 0 {
		_, _ = client.Write([]byte{socksVersion, socksNoMethod})
		return false
	}
	_, err := client.Write([]byte{socksVersion, socksNoLogin})
	return err == nil
}

// readSOCKS reads a request to connect; code is not socksOK when it is another one.
func readSOCKS(client *conn) (host string, port int, code byte) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(client, head); err != nil || head[0] != socksVersion || head[2] != 0 {
		return "", 0, socksFailed
	}
	if head[1] != socksConnect {
		return "", 0, socksNoCommand
	}
	size := map[byte]int{socksIPv4: 4, socksIPv6: 16, socksName: 1}[head[3]]
	if size == 0 {
		return "", 0, socksNoAddrType
	}
	addr := make([]byte, size)
	if _, err := io.ReadFull(client, addr); err != nil {
		return "", 0, socksFailed
	}
	if head[3] == socksName {
		name := make([]byte, addr[0])
		if _, err := io.ReadFull(client, name); err != nil {
			return "", 0, socksFailed
		}
		host = string(name)
	} else if ip, ok := netip.AddrFromSlice(addr); ok {
		host = ip.String()
	}
	number := make([]byte, 2)
	if _, err := io.ReadFull(client, number); err != nil {
		return "", 0, socksFailed
	}
	return host, int(binary.BigEndian.Uint16(number)), socksOK
}

func answerSOCKS(client *conn, code byte) bool {
	_, err := client.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	return err == nil
}
