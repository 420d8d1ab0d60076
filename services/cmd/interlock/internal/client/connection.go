// Package client connects to a server: where it is, who asks, and how its refusals
// read.
//
// It knows the protocol and none of the commands.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"syscall"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/contexts"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/unlock"
)

// defaultServer is where `interlock up` serves gRPC by default.
const defaultServer = "127.0.0.1:7421"

// Connection is the flags of every command that talks to a server.
type Connection struct {
	As        string `help:"Call with the token of this role in the data folder; all but agent need a person at a terminal." enum:"agent,operator,approver,observer,runtime,root," default:"" placeholder:"ROLE" group:"Connection"`
	Server    string `help:"The server: a gRPC address, the http:// address of its edge, or the name of a context. Found in the data folder by default." env:"INTERLOCK_SERVER" placeholder:"ADDRESS" group:"Connection"`
	Token     string `help:"Token to call with. By default that of the ${caller} in the data folder." env:"INTERLOCK_TOKEN" placeholder:"TOKEN" group:"Connection"`
	Namespace string `help:"Namespace." env:"INTERLOCK_NAMESPACE" placeholder:"NAME" group:"Connection"`
	Data      string `name:"data-dir" help:"Data folder of the server on this machine; by default that of the nearest workspace, here or upwards." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR" group:"Connection"`
	Insecure  bool   `help:"Talk to another machine without TLS, where the network itself is trusted." env:"INTERLOCK_INSECURE" group:"Connection"`
	CA        string `name:"ca" help:"CA of the server's certificate (PEM); turns TLS on." env:"INTERLOCK_CA" type:"path" placeholder:"FILE" group:"Connection"`

	// person is set for operations that agents never may, and alone when the agent's token was taken because
	// no person has logged in.
	person, alone bool
	// decides is set where the command decides: the person proves to be there before it.
	decides bool
	// source is where the token is from, once it was chosen.
	source string
	// bare is set when the context has no token: that of the data folder is for its own server.
	bare bool
	// home is the address of the only server that the token may be sent to; empty for any.
	home string
	// context is the name of the one that names the server; empty for none.
	context string
	// current is the token of the next call, and readOnly says that it changes nothing.
	current  string
	readOnly bool
}

// Demoted reports that the agent's token was taken because no person has logged in.
func (c *Connection) Demoted() bool { return c.alone }

// TokenVariable names the variable with a token to call with.
const TokenVariable = "INTERLOCK_TOKEN"

// logIn is the source of a token of the person who has logged in.
const logIn = "the log-in at this terminal"

// Source returns where the token is from that the connection calls with, once it is dialed; "" before.
func (c *Connection) Source() string { return c.source }

// fromVariable reports whether the token is that of the environment.
func (c *Connection) fromVariable() bool { return c.Token != "" && c.Token == os.Getenv(TokenVariable) }

// AfterApply lets --as count more than a token of the environment. The parser calls it.
func (c *Connection) AfterApply() error {
	switch {
	case c.As == "":
		return nil
	case c.Token != "" && !c.fromVariable():
		return errors.New("give --as or --token, not both: --as takes a token of the data folder")
	case contexts.IsName(c.Server):
		return fmt.Errorf("give --as or a context, not both: the context %q has a token of its own", c.Server)
	}
	c.Token = ""
	return nil
}

// caller returns the role to call as: that of --as, or else the command's own, and the agent's
// where no person is at a terminal.
func (c *Connection) caller(io console.Streams, role auth.Role) (auth.Role, error) {
	switch {
	case io.Attended() || c.As == string(auth.Agent):
		return cmp.Or(auth.Role(c.As), role), nil
	case c.As != "":
		return "", NeedsPerson(io, "--as "+c.As, "give --token or INTERLOCK_TOKEN")
	default:
		return auth.Agent, nil
	}
}

// Dial connects as the given role, unless a token was given or there is no terminal: see
// Credentials.
func (c *Connection) Dial(ctx context.Context, io console.Streams, role auth.Role) (*grpc.ClientConn, error) {
	if err := c.choose(io, role); err != nil {
		return nil, err
	}
	target, secure, err := c.named(ctx)
	if err != nil {
		return nil, err
	}
	token, err := c.Credentials(ctx, io, role)
	if c.decides && (c.readOnly || errors.As(err, new(*NobodyError))) && unlock.Supported() == nil {
		token, err = c.proveFirst(ctx, io, role)
	}
	if errNobody := (*NobodyError)(nil); errors.As(err, &errNobody) && !c.person && !c.bare && c.As == "" {
		token, err = c.fromFolder(auth.Agent)
		c.alone = err == nil
	}
	if err != nil {
		return nil, err
	}
	if target, secure, err = c.atHome(target, secure); err != nil {
		return nil, err
	}
	c.current = token
	conn, err := rpc.Dial(target, rpc.ClientConfig{
		TokenFrom: func() string { return c.current }, Namespace: c.Namespace, Insecure: c.Insecure, TLS: rpc.ClientTLS{Enable: secure, CAFile: c.CA},
	})
	if errors.Is(err, rpc.ErrPlaintext) {
		return nil, fmt.Errorf("%s: %w; give --ca with the CA of the server's certificate, "+
			"or --insecure where the network itself is trusted", target, rpc.ErrPlaintext)
	}
	return conn, err
}

// PersonCredentials refuses operations that agents never may, before any question, where
// Credentials would be the agent's.
func (c *Connection) PersonCredentials(io console.Streams, what string) error {
	if c.Token != "" {
		return nil
	}
	c.person = true
	return NeedsPerson(io, what, "do it at a terminal after `interlock login`, or in the console, "+
		"or give --token or INTERLOCK_TOKEN with that of a person")
}

// Decides is PersonCredentials of a command that decides: a person who has no token that decides proves to be there before the
// command does anything.
func (c *Connection) Decides(io console.Streams, what string) error {
	c.decides = c.Token == ""
	return c.PersonCredentials(io, what)
}

// NeedsPerson refuses operations for people where there is no terminal. instead is the
// alternative for a program.
func NeedsPerson(io console.Streams, what, instead string) error {
	if io.Attended() {
		return nil
	}
	return fmt.Errorf("%s uses the secrets in the data folder only for a person at a terminal, "+
		"and neither standard input nor standard error is a terminal: %s", what, instead)
}

// Credentials returns the token to call with: as given, or from the data folder that of a
// role. Any program of this user can have a command run, one that an agent wrote too. So
// only a person at a terminal is anything but the agent there (S13.5), and the folder has tokens
// of people only where its server runs without presence (S23.2).
func (c *Connection) Credentials(ctx context.Context, io console.Streams, role auth.Role) (string, error) {
	if err := c.choose(io, role); err != nil || c.Token != "" {
		return c.Token, err
	}
	return c.local(ctx, io, role)
}

// local returns the token of the data folder, or of the person who has logged in.
func (c *Connection) local(ctx context.Context, io console.Streams, role auth.Role) (string, error) {
	role, err := c.caller(io, role)
	if err != nil {
		return "", err
	}
	if token, err := c.fromShell(ctx, role); err == nil || c.bare || !errors.As(err, new(*NobodyError)) {
		c.source = logIn
		return token, err
	}
	token, err := c.fromFolder(role)
	if err == nil || role.Local() || errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	folder, err := DataFolder(c.Data)
	if err != nil {
		return "", err
	}
	c.source = logIn
	token, c.home, err = c.personToken(ctx, folder, role)
	if nobody := (*NobodyError)(nil); errors.As(err, &nobody) {
		nobody.Server = c.Server
	}
	return token, err
}

// Has reports that the person at the terminal, who gave no token, may call as a role.
func (c *Connection) Has(ctx context.Context, io console.Streams, role auth.Role) bool {
	if c.Token != "" || !io.Attended() {
		return false
	}
	other := *c
	if other.choose(io, role) != nil || other.Token != "" {
		return false
	}
	other.As = string(role) // or the token of another role counts
	_, err := other.local(ctx, io, role)
	return err == nil
}

// fromFolder returns the token of a role in the data folder.
func (c *Connection) fromFolder(role auth.Role) (string, error) {
	folder, err := DataFolder(c.Data)
	if err != nil {
		return "", err
	}
	token, err := auth.FileToken(folder.Local(), role)
	if err != nil && c.Server != "" && !role.Local() {
		return "", fmt.Errorf("no token for %s: log in with `interlock login --server %[1]s` from this shell, or give --token or INTERLOCK_TOKEN: %w", c.Server, err)
	}
	if err != nil {
		return "", fmt.Errorf("no token: give --token or INTERLOCK_TOKEN, "+
			"or --data-dir with the folder of `interlock up`: %w", err)
	}
	c.source = "the data folder, that of the role " + string(role)
	return token, nil
}

// fromShell returns a short-lived token of the person who has logged in from this shell at the server elsewhere.
func (c *Connection) fromShell(ctx context.Context, role auth.Role) (string, error) {
	nobody := &NobodyError{Role: role, Server: c.Server}
	if c.Server == "" || role.Local() || unlock.Supported() != nil {
		return "", nobody
	}
	socket, err := unlock.Elsewhere(c.Server, os.Getppid())
	if err != nil {
		return "", nobody
	}
	token, _, err := c.tokenAt(ctx, socket, role)
	if errors.As(err, &nobody) {
		nobody.Server = c.Server
	}
	return token, err
}

// NobodyError says that no person has logged in who has a role.
type NobodyError struct {
	Role auth.Role
	// Server is the one elsewhere that was named; empty for that of the data folder.
	Server string
}

// Error implements error.
func (e *NobodyError) Error() string {
	login := "interlock login"
	if e.Server != "" {
		login += " --server " + e.Server
	}
	return fmt.Sprintf("no person has logged in as %s: run `%s`, or give --token or INTERLOCK_TOKEN; "+
		"a server that runs with --presence required keeps no such token in a file", e.Role, login)
}

// personToken returns a short-lived token of the person who has logged in at the server of a data folder.
// The error of a role that the person does not have is a NobodyError.
func (c *Connection) personToken(ctx context.Context, folder datadir.Dir, role auth.Role) (token, server string, err error) {
	socket := folder.PersonSocket()
	if socket == "" {
		return "", "", &NobodyError{Role: role}
	}
	return c.tokenAt(ctx, unlock.Socket(socket), role)
}

func (c *Connection) tokenAt(ctx context.Context, socket unlock.Socket, role auth.Role) (token, server string, err error) {
	a, err := socket.Token(ctx, string(role))
	if errors.Is(err, unlock.ErrNobody) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return "", "", &NobodyError{Role: role}
	}
	if err == nil && c.As != "" && a.Role != c.As {
		return "", "", fmt.Errorf("%s does not have the role %s; leave out --as, or give --as %s", a.Person, c.As, a.Role)
	}
	c.readOnly = a.ReadOnly
	return a.Token, a.Server, err
}

// errAsAgent is a refusal of a request that was made as the agent only because there is no
// terminal, or no person has logged in.
type errAsAgent struct {
	error
	alone bool
}

func (e errAsAgent) Unwrap() error { return e.error }

// errVariable is a refusal of a request with the token of the environment.
type errVariable struct{ error }

func (e errVariable) Unwrap() error { return e.error }

// demoted marks a refusal that another token would maybe not have met.
func (c *Connection) demoted(io console.Streams, role auth.Role, err error) error {
	if c.fromVariable() && fault.ReasonOf(err) == fault.PermissionDenied {
		return errVariable{err}
	}
	if err == nil || c.Token != "" || c.As != "" || role == auth.Agent || io.Attended() && !c.alone {
		return err
	}
	switch fault.ReasonOf(err) {
	case fault.PermissionDenied, fault.SessionRequired, fault.NameTaken, fault.NotFound:
		return errAsAgent{err, c.alone}
	default:
		return err
	}
}

// Vouched returns the connection with the vouching of the runtime's token, where the data folder has one
// and its tokens are used: for this command's observations (S14.4).
func (c *Connection) Vouched(conn grpc.ClientConnInterface) grpc.ClientConnInterface {
	folder, err := DataFolder(c.Data)
	if err != nil || c.Token != "" {
		return conn
	}
	witness, err := auth.FileToken(folder.Local(), auth.Runtime)
	if err != nil {
		return conn
	}
	return rpc.Vouching(conn, func() string { return witness })
}

// Gate returns the token that vouches for how calls came to a gateway in this process: the runtime's, as in Vouched; "" for none.
func (c *Connection) Gate() string {
	folder, err := DataFolder(c.Data)
	if err != nil || c.Token != "" {
		return ""
	}
	token, err := auth.FileToken(folder.Tokens(), auth.Runtime)
	if err != nil {
		return ""
	}
	return token
}

// Target returns where the gRPC services are, and whether they want TLS regardless of the
// other flags.
func (c *Connection) Target(ctx context.Context) (target string, secure bool, err error) {
	if target, secure, err = c.named(ctx); err != nil {
		return "", false, err
	}
	return c.atHome(target, secure)
}

// atHome returns the server that the token may be sent to, by the one that was named or found.
func (c *Connection) atHome(named string, namedSecure bool) (target string, secure bool, err error) {
	switch {
	case c.home == "":
		return named, namedSecure, nil
	case c.Server == "": // and not what a file says, which an agent can write
		return c.home, false, nil
	case !sameAddress(named, c.home):
		return "", false, fmt.Errorf("the log-in at this terminal is at %s, and its token is not sent to %s: "+
			"log in there with `interlock login --server %s`, or leave --server and INTERLOCK_SERVER out", c.home, named, c.Server)
	}
	return named, namedSecure, nil
}

// sameAddress reports whether two addresses are one place: of loopback addresses, the port is.
func sameAddress(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	loopback := func(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }
	return a == b || errA == nil && errB == nil && portA == portB && (hostA == hostB || loopback(hostA) && loopback(hostB))
}

// named returns the server that was named, or else that of the data folder.
func (c *Connection) named(ctx context.Context) (target string, secure bool, err error) {
	if c.Server == "" {
		target, err = c.Local()
		return target, false, err
	}
	edge, err := url.Parse(c.Server)
	if err != nil || edge.Scheme != "http" && edge.Scheme != "https" {
		return c.Server, false, nil
	}
	target, err = discover(ctx, edge, c.CA)
	return target, edge.Scheme == "https" && !c.Insecure, err
}

// Local returns the server of the data folder on this machine.
func (c *Connection) Local() (string, error) {
	folder, err := DataFolder(c.Data)
	if err != nil {
		return "", err
	}
	endpoints, err := folder.ReadEndpoints()
	switch {
	case err != nil:
		return "", err
	case endpoints.GRPCSocket != "" && c.CA == "":
		return "unix:" + endpoints.GRPCSocket, nil
	case endpoints.GRPC != "":
		return endpoints.GRPC, nil
	case c.Token == "":
		// Its token is for its server, not for another program that listens.
		return "", errors.New(NotServed(c.Data) + ", or give --server and --token")
	default:
		return defaultServer, nil
	}
}

// NotServed explains that no server runs in the data folder as given, or else the nearest one,
// and how to get to one: a folder that a server has used before may hide one above where one
// runs.
func NotServed(given string) string {
	if given != "" {
		dir, err := datadir.At(given)
		if err != nil {
			return err.Error()
		}
		return dir.NotServed()
	}
	wd, err := os.Getwd()
	if err != nil {
		return datadir.Dir(datadir.Default).NotServed()
	}
	text := "no server runs in " + wd + " or above it: start `interlock up` in the workspace"
	switch dir, err := datadir.Find(wd); {
	case err != nil:
		return err.Error()
	case dir != "":
		text = dir.NotServed()
	}
	if served := datadir.Served(wd); served != "" {
		return text + ", give --data-dir " + string(served) + ", where one runs"
	}
	return text
}

// DataFolder returns the data folder as given, or else that of the nearest workspace, or else the
// one that a server would use that starts here. An error explains how to fix a pointer that does
// not count.
func DataFolder(given string) (datadir.Dir, error) {
	if given != "" {
		return datadir.At(given)
	}
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the workspace: %w; give --data-dir", err)
	}
	if dir, err := datadir.Find(wd); dir != "" || err != nil {
		return dir, err
	}
	return datadir.New(wd)
}

// ServerFolder returns the data folder as given, or else the one of a server that starts in the
// current folder.
func ServerFolder(given string) (datadir.Dir, error) {
	if given != "" {
		return datadir.At(given)
	}
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the workspace: %w; give --data-dir", err)
	}
	return datadir.New(wd)
}
