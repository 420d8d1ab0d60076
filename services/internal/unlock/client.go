package unlock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"google.golang.org/protobuf/encoding/protojson"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
)

// ErrNobody means that no person has logged in at this terminal.
var ErrNobody = errors.New("no person has logged in at this terminal")

// Socket is that of a server on this machine.
type Socket string

func (s Socket) ask(ctx context.Context, req request) (Answer, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", string(s))
	if err != nil {
		return Answer{}, fmt.Errorf("reach the server of this data folder: %w; start it with `interlock up`", err)
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := json.NewEncoder(conn).Encode(req); err != nil {
		return Answer{}, fmt.Errorf("ask the server: %w", err)
	}
	var a Answer
	if err := json.NewDecoder(conn).Decode(&a); err != nil {
		return Answer{}, fmt.Errorf("read the server's answer: %w", err)
	}
	switch {
	case a.Nobody:
		return a, ErrNobody
	case a.Error != "":
		return a, errors.New(a.Error)
	}
	return a, nil
}

// Begin returns a challenge and its text, for a key to sign.
func (s Socket) Begin(ctx context.Context) (id string, challenge []byte, err error) {
	a, err := s.ask(ctx, request{Op: opBegin})
	return a.ChallengeID, a.Challenge, err
}

// Invited returns the person whom a code is for; empty for the first person, who chooses the name.
func (s Socket) Invited(ctx context.Context, code string) (person string, err error) {
	a, err := s.ask(ctx, request{Op: opInvited, Code: code})
	return a.Person, err
}

// Login unlocks this terminal by a proof. Its tokens are read-only unless decide is set.
func (s Socket) Login(ctx context.Context, proof *identityv1.FinishLoginRequest, decide bool) (Answer, error) {
	data, err := protojson.Marshal(proof)
	if err != nil {
		return Answer{}, fmt.Errorf("encode the proof: %w", err)
	}
	return s.ask(ctx, request{Op: opLogin, Proof: data, Decide: decide})
}

// Register adds a key for a code, and unlocks this terminal.
func (s Socket) Register(ctx context.Context, proof *identityv1.RegisterRequest, decide bool) (Answer, error) {
	data, err := protojson.Marshal(proof)
	if err != nil {
		return Answer{}, fmt.Errorf("encode the key: %w", err)
	}
	return s.ask(ctx, request{Op: opRegister, Proof: data, Decide: decide})
}

// Token returns a token of a role, for one command, with the address of the only server that it may be sent to; empty for that
// of the log-in.
func (s Socket) Token(ctx context.Context, role string) (Answer, error) {
	return s.ask(ctx, request{Op: opToken, Role: role})
}

// Who returns the person who has logged in at this terminal.
func (s Socket) Who(ctx context.Context) (person string, err error) {
	a, err := s.ask(ctx, request{Op: opWho})
	return a.Person, err
}

// Prove returns a token of a role that decides, for one command.
func (s Socket) Prove(ctx context.Context, role string, proof *identityv1.FinishLoginRequest) (Answer, error) {
	data, err := protojson.Marshal(proof)
	if err != nil {
		return Answer{}, fmt.Errorf("encode the proof: %w", err)
	}
	return s.ask(ctx, request{Op: opProve, Role: role, Proof: data})
}

// Logout locks this terminal, and returns who was logged in.
func (s Socket) Logout(ctx context.Context) (person string, err error) {
	a, err := s.ask(ctx, request{Op: opLogout})
	return a.Person, err
}
