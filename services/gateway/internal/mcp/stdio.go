package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/wire"
)

// ServeStdio serves one client on newline-delimited JSON until in ends or ctx
// does. The caller is Config.Stdio. Requests that were read before in ended are
// answered. in is closed when it is an io.Closer.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	c := caller.Caller{Identity: s.cfg.Stdio, Alone: true}
	if err := c.Validate(); err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	srv := s.newSDKServer(face{fixed: &c})
	defer s.sessions.Listen(srv)()
	lines := wire.NewLines(out)
	messages, feed := io.Pipe()
	session, err := srv.Connect(ctx, &sdk.IOTransport{Reader: messages, Writer: lines, MaxLineLength: wire.MaxBody + 1}, nil)
	if err != nil {
		return fmt.Errorf("mcp: serve stdio: %w", err)
	}
	stop := context.AfterFunc(ctx, func() {
		if closer, ok := in.(io.Closer); ok {
			closer.Close() // no more is read
		}
		lines.Abandon()
		session.Close() // it ends either way
	})
	defer stop()
	go func() {
		err := lines.Copy(feed, in)
		late := time.AfterFunc(s.cfg.CallTimeout, lines.Abandon)
		lines.AwaitAnswers()
		late.Stop()
		feed.CloseWithError(err) // it always answers nil
	}()
	err = session.Wait()
	messages.Close() // unblocks the feed
	lines.Abandon()
	if closer, ok := in.(io.Closer); ok {
		closer.Close() // no more is read
	}
	if ctx.Err() != nil || err == nil || clientGone(err) {
		return nil
	}
	return fmt.Errorf("mcp: serve stdio: %w", err)
}

// clientGone reports whether an error only says that the client has left, which it may do
// at any time.
func clientGone(err error) bool {
	left := []error{io.EOF, io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE, sdk.ErrConnectionClosed}
	return slices.ContainsFunc(left, func(gone error) bool { return errors.Is(err, gone) })
}
