// Package unlock lets a person who has logged in at a terminal use the commands of that terminal for a
// while, as sudo does: the server of this machine hands short-lived tokens to direct children of the shell
// in which the person logged in, and to no other process of the same user (S23.16).
package unlock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

const (
	// tokenLife is how long the token of one command lasts.
	tokenLife = time.Minute
	// maxRequest bounds a request, in bytes.
	maxRequest = 128 << 10
	// patience is how long a request may take, with a passphrase to hash.
	patience = 30 * time.Second
	// maxTerminals bounds those that are remembered.
	maxTerminals = 256
)

// Operations of a request.
const (
	opBegin    = "begin"
	opInvited  = "invited"
	opLogin    = "login"
	opRegister = "register"
	opToken    = "token"
	opWho      = "who"
	opProve    = "prove"
	opLogout   = "logout"
)

// request is one line of JSON. Proof is a FinishLoginRequest or a RegisterRequest.
type request struct {
	Op    string          `json:"op"`
	Role  string          `json:"role,omitempty"`
	Code  string          `json:"code,omitempty"`
	Proof json.RawMessage `json:"proof,omitempty"`
	// Decide asks for a log-in whose tokens decide.
	Decide bool `json:"decide,omitempty"`
}

// Answer is the server's answer.
type Answer struct {
	Error string `json:"error,omitempty"`
	// Nobody is set when no person has logged in at this terminal.
	Nobody bool   `json:"nobody,omitempty"`
	Token  string `json:"token,omitempty"`
	// Server is the address that a token is for: any other may be another program's.
	Server   string `json:"server,omitempty"`
	Person   string `json:"person,omitempty"`
	Presence string `json:"presence,omitempty"`
	// Role is that of the token.
	Role string `json:"role,omitempty"`
	// ReadOnly is set for a token that only reads.
	ReadOnly bool `json:"read_only,omitempty"`
	// Until is when the terminal is locked again.
	Until       time.Time `json:"until,omitzero"`
	ChallengeID string    `json:"challenge_id,omitempty"`
	Challenge   []byte    `json:"challenge,omitempty"`
}

// Config has the parts of a server.
type Config struct {
	// Login is the service that knows people, without credentials; As is it with a token.
	Login identityv1.LoginServiceClient
	As    func(token string) identityv1.LoginServiceClient
	Log   *slog.Logger
	// Address is where the server listens, as HOST:PORT; empty for that of the log-in.
	Address string
	// Locked is called when a person has logged out; it may be nil.
	Locked func()

	// peer returns the process at the other end, look that of a number, and lives refuses a connection whose process
	// has ended: its number may be another's by now. All are for tests.
	peer  func(net.Conn) (pid, uid int, err error)
	look  func(pid int) (process, error)
	lives func(net.Conn) error
	now   func() time.Time
}

// Server remembers the terminals at which people have logged in. They are in memory only.
type Server struct {
	cfg Config

	mu        sync.Mutex
	terminals map[terminal]unlocked
}

// unlocked is a log-in at a terminal. Its tokens end it: they are not replaced.
type unlocked struct {
	tokens map[string]string // by role
	person string
	until  time.Time
	// readOnly is set when the tokens only read.
	readOnly bool
}

// New makes a server.
func New(cfg Config) *Server {
	if cfg.peer == nil {
		cfg.peer, cfg.look, cfg.lives = peerOf, look, lives
	}
	if cfg.now == nil {
		cfg.now = time.Now
	}
	return &Server{cfg: cfg, terminals: map[terminal]unlocked{}}
}

// Listen makes the socket, for its owner only.
func Listen(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket of log-ins: %w", err)
	}
	lis, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on the socket of log-ins: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("protect the socket of log-ins: %w", err), lis.Close())
	}
	return lis, nil
}

// Serve answers until ctx ends.
func (s *Server) Serve(ctx context.Context, lis net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = lis.Close() })
	defer stop()
	var all sync.WaitGroup
	defer all.Wait()
	for {
		conn, err := lis.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept a log-in: %w", err)
		}
		all.Go(func() {
			defer func() { _ = conn.Close() }()
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			_ = conn.SetDeadline(time.Now().Add(patience))
			_ = json.NewEncoder(conn).Encode(s.answer(ctx, conn)) // the command went away: no reader is left
		})
	}
}

func (s *Server) answer(ctx context.Context, conn net.Conn) Answer {
	var req request
	if err := json.NewDecoder(&limited{conn, maxRequest}).Decode(&req); err != nil {
		return Answer{Error: "the request is no JSON"}
	}
	if req.Op == opBegin {
		c, err := s.cfg.Login.BeginLogin(ctx, &identityv1.BeginLoginRequest{})
		return Answer{Error: text(err), ChallengeID: c.GetChallengeId(), Challenge: c.GetChallenge()}
	}
	if req.Op == opInvited {
		of, err := s.cfg.Login.GetInvitation(ctx, &identityv1.GetInvitationRequest{Code: req.Code})
		return Answer{Error: text(err), Person: of.GetPerson()}
	}
	if req.Op == opProve {
		return s.prove(ctx, req)
	}
	at, err := s.terminalOf(conn, req.Op == opToken)
	if err != nil {
		s.cfg.Log.LogAttrs(ctx, slog.LevelDebug, "a process is not a command of a person's terminal", slog.Any("error", err))
		return Answer{Error: err.Error(), Nobody: req.Op == opToken || req.Op == opWho || req.Op == opLogout}
	}
	switch req.Op {
	case opLogin:
		var proof identityv1.FinishLoginRequest
		if protojson.Unmarshal(req.Proof, &proof) != nil {
			return Answer{Error: "the proof is no JSON of a log-in"}
		}
		resp, err := s.cfg.Login.FinishLogin(ctx, &proof)
		return s.keep(ctx, at, resp.GetLogin(), req.Decide, err)
	case opRegister:
		var proof identityv1.RegisterRequest
		if protojson.Unmarshal(req.Proof, &proof) != nil {
			return Answer{Error: "the proof is no JSON of a registration"}
		}
		resp, err := s.cfg.Login.Register(ctx, &proof)
		return s.keep(ctx, at, resp.GetLogin(), req.Decide, err)
	case opWho:
		return s.who(at)
	case opToken:
		return s.token(ctx, at, req.Role)
	case opLogout:
		return s.forget(at)
	default:
		return Answer{Error: "the operation is not known"}
	}
}

// prove returns a token for one command that decides, by a proof. Any process may have one: the proof is the person's.
func (s *Server) prove(ctx context.Context, req request) Answer {
	var proof identityv1.FinishLoginRequest
	if protojson.Unmarshal(req.Proof, &proof) != nil {
		return Answer{Error: "the proof is no JSON of a log-in"}
	}
	resp, err := s.cfg.Login.FinishLogin(ctx, &proof)
	if err != nil {
		return Answer{Error: text(err)}
	}
	l := resp.GetLogin()
	var roles []string
	for _, t := range l.GetTokens() {
		if t.GetRole() == req.Role {
			return s.renewed(ctx, t.GetToken(), req.Role, l.GetPerson())
		}
		roles = append(roles, "--as "+t.GetRole())
	}
	return Answer{Error: fmt.Sprintf("%s does not have the role %s; theirs: %s", l.GetPerson(), req.Role, strings.Join(roles, ", "))}
}

// who returns the person who has logged in at a terminal.
func (s *Server) who(at terminal) Answer {
	s.mu.Lock()
	u, ok := s.terminals[at]
	s.mu.Unlock()
	if !ok || !s.cfg.now().Before(u.until) {
		return Answer{Nobody: true}
	}
	return Answer{Person: u.person, Until: u.until}
}

// readOnly returns a log-in with read-only tokens.
func (s *Server) readOnly(ctx context.Context, l *identityv1.Login) (*identityv1.Login, error) {
	if len(l.GetTokens()) == 0 {
		return l, nil
	}
	resp, err := s.cfg.As(l.GetTokens()[0].GetToken()).RenewLogin(ctx, &identityv1.RenewLoginRequest{ReadOnly: true})
	return resp.GetLogin(), err
}

// keep unlocks a terminal for as long as the tokens of the log-in last. Unless the person has asked for a log-in that decides,
// the tokens are read-only.
func (s *Server) keep(ctx context.Context, at terminal, l *identityv1.Login, decide bool, err error) Answer {
	if err == nil && !decide {
		l, err = s.readOnly(ctx, l)
	}
	if err != nil {
		return Answer{Error: text(err)}
	}
	u := unlocked{tokens: map[string]string{}, person: l.GetPerson(), until: l.GetExpiresAt().AsTime(), readOnly: !decide}
	for _, t := range l.GetTokens() {
		u.tokens[t.GetRole()] = t.GetToken()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for old, of := range s.terminals {
		if !s.cfg.now().Before(of.until) {
			delete(s.terminals, old)
		}
	}
	if len(s.terminals) >= maxTerminals {
		return Answer{Error: "too many terminals are unlocked; log out at one"}
	}
	s.terminals[at] = u
	return Answer{Person: l.GetPerson(), Presence: l.GetPresence(), Until: u.until}
}

func (s *Server) forget(at terminal) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.terminals[at]
	delete(s.terminals, at)
	if ok && s.cfg.Locked != nil {
		s.cfg.Locked()
	}
	return Answer{Nobody: !ok, Person: u.person}
}

// token returns a short-lived token of a role, as long as the person may have it.
func (s *Server) token(ctx context.Context, at terminal, role string) Answer {
	s.mu.Lock()
	u, ok := s.terminals[at]
	s.mu.Unlock()
	if !ok || !s.cfg.now().Before(u.until) {
		return Answer{Nobody: true, Error: "no person has logged in at this terminal"}
	}
	as := role
	if u.tokens[as] == "" && u.readOnly { // who has another role reads as that
		for _, reads := range []auth.Role{auth.Operator, auth.Approver, auth.Observer} {
			if u.tokens[string(reads)] != "" {
				as = string(reads)
				break
			}
		}
	}
	if u.tokens[as] == "" {
		return Answer{Error: fmt.Sprintf("%s does not have the role %s", u.person, role)}
	}
	a := s.renewed(ctx, u.tokens[as], as, u.person)
	a.Until, a.ReadOnly, a.Role = u.until, u.readOnly, as
	return a
}

// renewed returns a token of a role for one command.
func (s *Server) renewed(ctx context.Context, token, role, person string) Answer {
	resp, err := s.cfg.As(token).RenewLogin(ctx, &identityv1.RenewLoginRequest{Role: role, Ttl: durationpb.New(tokenLife)})
	if err != nil {
		return Answer{Error: text(err), Nobody: fault.ReasonOf(err) == fault.Unauthenticated}
	}
	for _, t := range resp.GetLogin().GetTokens() {
		return Answer{Token: t.GetToken(), Server: s.cfg.Address, Person: person}
	}
	return Answer{Error: "the server gave no token"}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return fault.From(err).Message
}

// limited ends a request that is too long.
type limited struct {
	from net.Conn
	left int
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errors.New("the request is too long")
	}
	n, err := l.from.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// Over returns how a server calls the service of people in its own process.
func Over(dial func(token string) grpc.ClientConnInterface) Config {
	return Config{
		Login: identityv1.NewLoginServiceClient(dial("")),
		As:    func(token string) identityv1.LoginServiceClient { return identityv1.NewLoginServiceClient(dial(token)) },
	}
}
