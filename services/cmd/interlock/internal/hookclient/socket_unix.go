//go:build unix

package hookclient

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Socket returns the transport of the unix socket, with HTTP/1.0 in its simplest form:
// one request, and an answer that ends with the connection. net/http would take longer to
// start than all of this takes.
func Socket(deadline time.Time, target Target, req Request, limit int64) (status int, body []byte, err error) {
	conn, err := dial(target.Socket, deadline)
	if err != nil {
		return 0, nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(deadline); err != nil {
		return 0, nil, fmt.Errorf("ask the server: %w", err)
	}
	if _, err := conn.Write(req.encode()); err != nil {
		return 0, nil, late("ask the server", err)
	}
	raw, err := io.ReadAll(io.LimitReader(conn, limit+1))
	switch {
	case err != nil:
		return 0, nil, late("read the server's answer", err)
	case int64(len(raw)) > limit:
		return 0, nil, fmt.Errorf("the server's answer has more than %d bytes", limit)
	}
	return decode(raw)
}

// late returns an error of a connection. Whether the time was over before the request was
// sent or after makes no difference to the user.
func late(doing string, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("it did not answer in time")
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// dial connects to a unix socket without package net.
func dial(path string, deadline time.Time) (*os.File, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	syscall.CloseOnExec(fd)
	// A full queue of the server makes connect wait: no longer than this.
	wait := syscall.NsecToTimeval(max(time.Until(deadline), time.Millisecond).Nanoseconds())
	err = syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &wait)
	if err == nil {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
	}
	if err == nil {
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		err = errors.Join(fmt.Errorf("connect to %s: %w", path, err), syscall.Close(fd))
		if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) {
			err = Unreachable(err)
		}
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func (r Request) encode() []byte {
	var b bytes.Buffer
	b.WriteString("POST " + r.Path + " HTTP/1.0\r\nHost: interlock\r\n")
	for _, h := range r.Headers {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	b.WriteString("Content-Length: " + strconv.Itoa(len(r.Body)) + "\r\n\r\n")
	b.Write(r.Body)
	return b.Bytes()
}

var errAnswer = errors.New("the server's answer is not HTTP, or is cut off")

// decode reads an HTTP answer that ended with the connection.
func decode(raw []byte) (status int, body []byte, err error) {
	head, body, ok := bytes.Cut(raw, []byte("\r\n\r\n"))
	if !ok {
		return 0, nil, errAnswer
	}
	first, fields, _ := strings.Cut(string(head), "\r\n")
	version, rest, _ := strings.Cut(first, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err = strconv.Atoi(code)
	if err != nil || status < 100 || status > 999 || !strings.HasPrefix(version, "HTTP/1.") {
		return 0, nil, errAnswer
	}
	for field := range strings.SplitSeq(fields, "\r\n") {
		name, value, _ := strings.Cut(field, ":")
		switch {
		case strings.EqualFold(name, "Transfer-Encoding"):
			return 0, nil, errAnswer // not allowed in an answer to HTTP/1.0
		case strings.EqualFold(name, "Content-Length") && strings.TrimSpace(value) != strconv.Itoa(len(body)):
			return 0, nil, errAnswer
		}
	}
	return status, body, nil
}
