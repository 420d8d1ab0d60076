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
	"net/url"
	"os"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/contexts"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// defaultServer is where `interlock up` serves gRPC by default.
const defaultServer = "127.0.0.1:7421"

// Connection is the flags of every command that talks to a server.
type Connection struct {
	As        string `help:"Call with the token of this role in the data folder; all but agent need a person at a terminal." enum:"agent,operator,approver,observer,runtime," default:"" placeholder:"ROLE" group:"Connection"`
	Server    string `help:"The server: a gRPC address, the http:// address of its edge, or the name of a context. Found in the data folder by default." env:"INTERLOCK_SERVER" placeholder:"ADDRESS" group:"Connection"`
	Token     string `help:"Token to call with. By default that of the ${caller} in the data folder." env:"INTERLOCK_TOKEN" placeholder:"TOKEN" group:"Connection"`
	Namespace string `help:"Namespace." env:"INTERLOCK_NAMESPACE" placeholder:"NAME" group:"Connection"`
	Data      string `name:"data-dir" help:"Data folder of the server on this machine; by default that of the nearest workspace, here or upwards." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR" group:"Connection"`
	Insecure  bool   `help:"Talk to another machine without TLS, where the network itself is trusted." env:"INTERLOCK_INSECURE" group:"Connection"`
	CA        string `name:"ca" help:"CA of the server's certificate (PEM); turns TLS on." env:"INTERLOCK_CA" type:"path" placeholder:"FILE" group:"Connection"`
}

// AfterApply lets --as count more than a token of the environment. The parser calls it.
func (c *Connection) AfterApply() error {
	switch {
	case c.As == "":
		return nil
	case c.Token != "" && c.Token != os.Getenv("INTERLOCK_TOKEN"):
		return errors.New("give --as or --token, not both: --as takes a token of the data folder")
	case contexts.IsName(c.Server):
		return fmt.Errorf("give --as or a context, not both: the context %q has a token of its own", c.Server)
	}
	c.Token = ""
	return nil
}

// caller returns the role to call as: that of --as, or else the command's own, and the agent's
// where nobody is at a terminal.
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
	target, secure, err := c.Target(ctx)
	if err != nil {
		return nil, err
	}
	token, err := c.Credentials(io, role)
	if err != nil {
		return nil, err
	}
	conn, err := rpc.Dial(target, rpc.ClientConfig{
		Token: token, Namespace: c.Namespace, Insecure: c.Insecure, TLS: rpc.ClientTLS{Enable: secure, CAFile: c.CA},
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
	return NeedsPerson(io, what, "give --token or INTERLOCK_TOKEN with that of a person")
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
// only a person at a terminal is anything but the agent there (S13.5).
func (c *Connection) Credentials(io console.Streams, role auth.Role) (string, error) {
	if err := c.choose(io, role); err != nil || c.Token != "" {
		return c.Token, err
	}
	role, err := c.caller(io, role)
	if err != nil {
		return "", err
	}
	folder, err := DataFolder(c.Data)
	if err != nil {
		return "", err
	}
	token, err := auth.FileToken(folder.Tokens(), role)
	if err != nil {
		return "", fmt.Errorf("no token: give --token or INTERLOCK_TOKEN, "+
			"or --data-dir with the folder of `interlock up`: %w", err)
	}
	return token, nil
}

// errAsAgent is a refusal of a request that was made as the agent only because there is no
// terminal.
type errAsAgent struct{ error }

func (e errAsAgent) Unwrap() error { return e.error }

// demoted marks a refusal that another role would maybe not have met.
func (c *Connection) demoted(io console.Streams, role auth.Role, err error) error {
	if err == nil || c.Token != "" || c.As != "" || role == auth.Agent || io.Attended() {
		return err
	}
	switch fault.ReasonOf(err) {
	case fault.PermissionDenied, fault.SessionRequired, fault.NameTaken, fault.NotFound:
		return errAsAgent{err}
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
	witness, err := auth.FileToken(folder.Tokens(), auth.Runtime)
	if err != nil {
		return conn
	}
	return rpc.Vouching(conn, func() string { return witness })
}

// Target returns where the gRPC services are, and whether they want TLS regardless of the
// other flags.
func (c *Connection) Target(ctx context.Context) (target string, secure bool, err error) {
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
