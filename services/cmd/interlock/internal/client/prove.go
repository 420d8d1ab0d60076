package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/persontoken"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/shield"
	"github.com/interlock-run/interlock/services/internal/unlock"
)

// sshNamespace is that of signatures of log-ins.
const sshNamespace = "interlock-login"

// SSHVariable names the variable with the SSH key of the person.
const SSHVariable = "INTERLOCK_SSH"

// Challenger gives challenges of a server.
type Challenger interface {
	Begin(ctx context.Context) (id string, challenge []byte, err error)
}

// Who is a person who proves to be there.
type Who struct {
	// Person is the name; asked when it is empty.
	Person string
	// SSH is the file of a key of SSH; empty for a passphrase.
	SSH string
}

// Prove asks the person for a proof. at describes the server that gets it.
func (w Who) Prove(ctx context.Context, c Challenger, at Destination) (*identityv1.FinishLoginRequest, error) {
	if err := shield.Shield(); err != nil {
		return nil, err
	}
	if w.SSH == "" {
		if err := at.TakesPassphrase(); err != nil {
			return nil, err
		}
	}
	id, challenge, err := c.Begin(ctx)
	if err != nil {
		return nil, err
	}
	proof := &identityv1.FinishLoginRequest{ChallengeId: id}
	if w.SSH != "" {
		signed, err := sign(ctx, w.SSH, challenge)
		if err != nil {
			return nil, err
		}
		proof.Proof = &identityv1.FinishLoginRequest_Ssh{Ssh: signed}
		return proof, nil
	}
	terminal, err := console.OpenTerminal()
	if err != nil {
		return nil, err
	}
	defer func() { _ = terminal.Close() }()
	if _, err := fmt.Fprintf(terminal, "log in at %s, for `interlock %s`\n", show.Text(at.String()), show.Text(strings.Join(os.Args[1:], " "))); err != nil {
		return nil, fmt.Errorf("write to the terminal: %w", err)
	}
	name, err := w.Name(terminal)
	if err != nil {
		return nil, err
	}
	words, err := console.AskSecret(terminal, "passphrase of "+name+": ")
	if err != nil {
		return nil, err
	}
	proof.Proof = &identityv1.FinishLoginRequest_Passphrase{Passphrase: &identityv1.PassphraseProof{Person: name, Passphrase: words}}
	return proof, nil
}

// Name returns the person's, which is asked where it was not given.
func (w Who) Name(terminal io.ReadWriter) (string, error) {
	if w.Person != "" {
		return w.Person, nil
	}
	guess, question := "", "your name: "
	if u, err := user.Current(); err == nil && persontoken.CheckName(u.Username, nil) == nil {
		guess, question = u.Username, fmt.Sprintf("your name [%s]: ", u.Username)
	}
	line, err := console.Ask(terminal, question)
	if err != nil {
		return "", err
	}
	line = cmp.Or(strings.TrimSpace(line), guess)
	if line == "" {
		return "", errors.New("a person needs a name; type it, or give --person")
	}
	return line, nil
}

// PublicKey reads the line of a .pub file, next to the key or the file itself.
func PublicKey(file string) (string, error) {
	if !strings.HasSuffix(file, ".pub") {
		file += ".pub"
	}
	line, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the public key: %w", err)
	}
	return strings.TrimSpace(string(line)), nil
}

// sign has ssh-keygen sign a challenge. It asks for a touch where the key needs one.
func sign(ctx context.Context, file string, challenge []byte) (*identityv1.SSHSignature, error) {
	line, err := PublicKey(file)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	command := exec.CommandContext(ctx, "ssh-keygen", "-Y", "sign", "-n", sshNamespace, "-f", file) //nolint:gosec // the person's own key
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(challenge), &out, os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("ssh-keygen did not sign: %w", err)
	}
	return &identityv1.SSHSignature{PublicKey: line, Signature: out.String()}, nil
}

// Destination is the server that a proof goes to.
type Destination struct {
	// Address is its own, or the data folder of a server on this machine.
	Address string
	// Context is the one that names it; empty for a flag or a variable.
	Context string
	// Local is set for the server of a data folder, and TLS for one that shows a certificate.
	Local, TLS bool
}

// String describes the server, and why it is this one.
func (d Destination) String() string {
	switch {
	case d.Local:
		return "the server of this machine, in " + d.Address
	case d.Context != "":
		return d.Address + ", which the context " + d.Context + " names"
	default:
		return d.Address
	}
}

// TakesPassphrase refuses to send a passphrase or a code where another program may listen.
func (d Destination) TakesPassphrase() error {
	switch {
	case d.Local || d.TLS:
		return nil
	case d.Context != "":
		return fmt.Errorf("%s has no TLS, so any program may be listening there, and the context may be another program's: no passphrase and no code is sent to it. "+
			"Leave the context with `interlock context use`, give --server with an address, or log in by --ssh", d)
	case !loopback(d.Address):
		return fmt.Errorf("%s has no TLS, and passphrases and codes are sent only with TLS: give --ca with the CA of the server's certificate, or log in by --ssh", d)
	default:
		return nil
	}
}

func loopback(target string) bool {
	host, _, err := net.SplitHostPort(target)
	return err == nil && isLoopbackHost(host) || strings.HasPrefix(target, "unix:")
}

// Destination describes a server that is named.
func (c *Connection) Destination(target string, secure bool) Destination {
	return Destination{Address: target, Context: c.context, TLS: secure || c.CA != ""}
}

// remote is the service of people of a server elsewhere.
type remote struct{ identityv1.LoginServiceClient }

// Begin implements Challenger.
func (r remote) Begin(ctx context.Context) (id string, challenge []byte, err error) {
	c, err := r.BeginLogin(ctx, &identityv1.BeginLoginRequest{})
	return c.GetChallengeId(), c.GetChallenge(), err
}

// proofLife is how long a token lasts that a command gets for a proof.
const proofLife = time.Minute

// proveFirst is prove at the start of a command, which starts again with closed memory.
func (c *Connection) proveFirst(ctx context.Context, io console.Streams, role auth.Role) (string, error) {
	role, err := c.caller(io, role)
	if err != nil {
		return "", err
	}
	if err := Close(io); err != nil {
		return "", err
	}
	c.readOnly = false
	token, err := c.prove(ctx, role)
	if err != nil {
		return "", fmt.Errorf("this needs the role %s, and your proof that you are there: %w", role, err)
	}
	return token, nil
}

// prove returns a token that decides, which the person gets by a new proof of presence. It is for this command alone.
func (c *Connection) prove(ctx context.Context, role auth.Role) (string, error) {
	who := Who{SSH: os.Getenv(SSHVariable)}
	if c.Server != "" {
		return c.proveElsewhere(ctx, who, role)
	}
	folder, err := DataFolder(c.Data)
	if err != nil {
		return "", err
	}
	path := folder.PersonSocket()
	if path == "" {
		return "", &NobodyError{Role: role}
	}
	socket := unlock.Socket(path)
	who.Person, _ = socket.Who(ctx) // or it is asked
	proof, err := who.Prove(ctx, socket, Destination{Address: string(folder), Local: true})
	if err != nil {
		return "", err
	}
	a, err := socket.Prove(ctx, string(role), proof)
	c.home = a.Server
	return a.Token, err
}

func (c *Connection) proveElsewhere(ctx context.Context, who Who, role auth.Role) (string, error) {
	target, secure, err := c.named(ctx)
	if err != nil {
		return "", err
	}
	dial := func(token string) (*grpc.ClientConn, error) {
		return rpc.Dial(target, rpc.ClientConfig{Token: token, Insecure: c.Insecure, TLS: rpc.ClientTLS{Enable: secure, CAFile: c.CA}})
	}
	conn, err := dial("")
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if socket, err := unlock.Elsewhere(c.Server, os.Getppid()); err == nil {
		who.Person, _ = socket.Who(ctx)
	}
	at := remote{identityv1.NewLoginServiceClient(conn)}
	proof, err := who.Prove(ctx, at, c.Destination(target, secure))
	if err != nil {
		return "", err
	}
	resp, err := at.FinishLogin(ctx, proof)
	if err != nil {
		return "", err
	}
	for _, t := range resp.GetLogin().GetTokens() {
		if t.GetRole() != string(role) {
			continue
		}
		as, err := dial(t.GetToken())
		if err != nil {
			return "", err
		}
		defer func() { _ = as.Close() }()
		renewed, err := identityv1.NewLoginServiceClient(as).RenewLogin(ctx, &identityv1.RenewLoginRequest{Role: string(role), Ttl: durationpb.New(proofLife)})
		if err != nil || len(renewed.GetLogin().GetTokens()) == 0 {
			return "", errors.Join(errors.New("the server gave no token"), err)
		}
		return renewed.GetLogin().GetTokens()[0].GetToken(), nil
	}
	return "", fmt.Errorf("%s does not have the role %s", resp.GetLogin().GetPerson(), role)
}

// proving is a connection of a person who has logged in to read. Where a call changes something, the person proves once
// more to be there, and the calls after it have a token that decides.
type proving struct {
	grpc.ClientConnInterface
	c    *Connection
	role auth.Role
}

// Invoke calls a unary RPC.
func (p *proving) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if p.c.readOnly && !auth.Reads(method) {
		token, err := p.c.prove(ctx, p.role)
		if err != nil {
			return fmt.Errorf("this needs the role %s, and your proof that you are there: %w", p.role, err)
		}
		p.c.current, p.c.readOnly = token, false
	}
	return p.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
}

// Close closes the memory of this command from its start, before it knows a secret. It starts the command again.
func Close(io console.Streams) error {
	err := shield.Restart()
	if errors.Is(err, shield.ErrOpen) {
		fmt.Fprintln(io.Err, "interlock:", err)
		return nil
	}
	return err
}
