package login

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/shield"
	"github.com/interlock-run/interlock/services/internal/unlock"
)

// door is where a person logs in: the socket of this machine's server, or a server elsewhere.
type door interface {
	Begin(ctx context.Context) (id string, challenge []byte, err error)
	Invited(ctx context.Context, code string) (person string, err error)
	Login(ctx context.Context, proof *identityv1.FinishLoginRequest, decide bool) (unlock.Answer, error)
	Register(ctx context.Context, proof *identityv1.RegisterRequest, decide bool) (unlock.Answer, error)
}

// place is a server elsewhere, as the program that keeps a log-in gets it, and the log-in.
type place struct {
	Target   string          `json:"target"`
	TLS      bool            `json:"tls"`
	CA       string          `json:"ca,omitempty"`
	Insecure bool            `json:"insecure,omitempty"`
	Socket   string          `json:"socket"`
	Login    json.RawMessage `json:"login,omitempty"`
	Decide   bool            `json:"decide,omitempty"`
}

func (p *place) dial(token string) (*grpc.ClientConn, error) {
	return rpc.Dial(p.Target, rpc.ClientConfig{Token: token, Insecure: p.Insecure, TLS: rpc.ClientTLS{Enable: p.TLS, CAFile: p.CA}})
}

// elsewhere logs a person in at a server on another machine. The person's proof goes to that server alone, and its
// tokens into the memory of a program that hands them to commands of this shell (S24.3).
type elsewhere struct {
	place
	login identityv1.LoginServiceClient
	keep  *keeper
}

// openElsewhere connects to a server, and starts the program that is to keep the log-in.
func openElsewhere(ctx context.Context, c *client.Connection) (*elsewhere, func(), error) {
	if err := unlock.Supported(); err != nil {
		return nil, nil, err
	}
	socket, err := unlock.Elsewhere(c.Server, os.Getppid())
	if err != nil {
		return nil, nil, err
	}
	e := &elsewhere{place: place{CA: c.CA, Insecure: c.Insecure, Socket: string(socket)}}
	if e.Target, e.TLS, err = c.Target(ctx); err != nil {
		return nil, nil, err
	}
	conn, err := e.dial("")
	if errors.Is(err, rpc.ErrPlaintext) {
		return nil, nil, fmt.Errorf("%s: %w; give --ca with the CA of the server's certificate, or --insecure where the network itself is trusted", e.Target, err)
	}
	if err != nil {
		return nil, nil, err
	}
	_, _ = socket.Logout(ctx) // a log-in of this shell before ends: most often there is none
	if e.keep, err = startKeeper(); err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	e.login = identityv1.NewLoginServiceClient(conn)
	return e, func() { e.keep.end(); _ = conn.Close() }, nil
}

// Begin implements door.
func (e *elsewhere) Begin(ctx context.Context) (id string, challenge []byte, err error) {
	c, err := e.login.BeginLogin(ctx, &identityv1.BeginLoginRequest{})
	return c.GetChallengeId(), c.GetChallenge(), plain(err)
}

// Invited implements door.
func (e *elsewhere) Invited(ctx context.Context, code string) (person string, err error) {
	of, err := e.login.GetInvitation(ctx, &identityv1.GetInvitationRequest{Code: code})
	return of.GetPerson(), plain(err)
}

// Login implements door.
func (e *elsewhere) Login(ctx context.Context, proof *identityv1.FinishLoginRequest, decide bool) (unlock.Answer, error) {
	resp, err := e.login.FinishLogin(ctx, proof)
	return e.kept(resp.GetLogin(), decide, err)
}

// Register implements door.
func (e *elsewhere) Register(ctx context.Context, proof *identityv1.RegisterRequest, decide bool) (unlock.Answer, error) {
	resp, err := e.login.Register(ctx, proof)
	return e.kept(resp.GetLogin(), decide, err)
}

func (e *elsewhere) kept(l *identityv1.Login, decide bool, err error) (unlock.Answer, error) {
	if err != nil {
		return unlock.Answer{}, plain(err)
	}
	if e.place.Login, err = protojson.Marshal(l); err != nil {
		return unlock.Answer{}, fmt.Errorf("encode the log-in: %w", err)
	}
	e.Decide = decide
	return e.keep.give(&e.place)
}

// plain returns the message of a service's error without what helps programs that call with a token.
func plain(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(fault.From(err).Message)
}

// keeper is the program that keeps a log-in.
type keeper struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startKeeper starts the program, which closes its memory and looks at this one before it gets a token.
func startKeeper() (*keeper, error) {
	cmd := exec.Command(shield.Self(), "keep-login")
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	k := &keeper{cmd: cmd}
	var err error
	if k.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the program that keeps the log-in: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the program that keeps the log-in: %w", err)
	}
	k.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the program that keeps the log-in: %w", err)
	}
	if _, err := k.answer(); err != nil {
		k.end()
		return nil, err
	}
	return k, nil
}

func (k *keeper) answer() (unlock.Answer, error) {
	var a unlock.Answer
	line, err := k.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	switch {
	case err != nil:
		return a, fmt.Errorf("the program that keeps the log-in has ended: %w", err)
	case a.Error != "":
		return a, errors.New(a.Error)
	}
	return a, nil
}

// give hands over a log-in.
func (k *keeper) give(p *place) (unlock.Answer, error) {
	if err := json.NewEncoder(k.in).Encode(p); err != nil {
		return unlock.Answer{}, fmt.Errorf("hand over the log-in: %w", err)
	}
	return k.answer()
}

// end ends the program unless it has a log-in to keep.
func (k *keeper) end() { _ = k.in.Close() }

// Keep keeps the log-in of the shell whose `interlock login` has started it, in memory only, and answers to commands of
// that shell.
type Keep struct{}

// Run keeps a log-in until it ends or the person logs out.
func (c *Keep) Run(ctx context.Context, streams console.Streams) error {
	out := json.NewEncoder(streams.Out)
	say := func(err error) error { return out.Encode(unlock.Answer{Error: err.Error()}) }
	if err := unlock.Supported(); err != nil {
		return say(err)
	}
	if err := shield.Restart(); err != nil && !errors.Is(err, shield.ErrOpen) {
		return say(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &place{}
	cfg := unlock.Over(func(token string) grpc.ClientConnInterface {
		conn, err := p.dial(token)
		if err != nil {
			return nobody{err}
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		return conn
	})
	cfg.Log, cfg.Locked = slog.New(slog.DiscardHandler), cancel
	server := unlock.New(cfg)
	at, err := server.At(os.Getppid())
	if err != nil {
		return say(err)
	}
	if err := out.Encode(unlock.Answer{}); err != nil {
		return err
	}
	if err := json.NewDecoder(streams.In).Decode(p); err != nil {
		return nil // the person was not let in
	}
	return p.serve(ctx, server, at, out, say)
}

// serve answers to commands of a terminal.
func (p *place) serve(ctx context.Context, server *unlock.Server, at unlock.Terminal, out *json.Encoder, say func(error) error) error {
	var l identityv1.Login
	if err := protojson.Unmarshal(p.Login, &l); err != nil {
		return say(errors.New("the log-in cannot be read"))
	}
	p.Login = nil
	lis, err := unlock.Listen(p.Socket)
	if err != nil {
		return say(err)
	}
	answer, err := server.Keep(ctx, at, &l, p.Decide)
	if err != nil {
		_ = lis.Close()
		return say(err)
	}
	if err := out.Encode(answer); err != nil {
		return errors.Join(err, lis.Close())
	}
	ctx, cancel := context.WithDeadline(ctx, answer.Until)
	defer cancel()
	go func() {
		at.Wait()
		cancel()
	}()
	return server.Serve(ctx, lis)
}

// nobody is a connection that could not be made.
type nobody struct{ err error }

// Invoke implements grpc.ClientConnInterface.
func (n nobody) Invoke(context.Context, string, any, any, ...grpc.CallOption) error { return n.err }

// NewStream implements grpc.ClientConnInterface.
func (n nobody) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, n.err
}
