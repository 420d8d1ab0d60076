// Package login logs a person in at a terminal of the server's machine, and out again.
package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/unlock"
)

// shortestPassphrase is how many characters a new passphrase has at least; the server asks for as many.
const shortestPassphrase = 12

// Command logs a person in at this terminal.
type Command struct {
	where
	Person string `help:"Name of the person; asked by default." placeholder:"NAME"`
	Code   string `help:"Register a key by a code: that which interlock up printed for the first person, or that of an invitation." placeholder:"CODE"`
	SSH    string `name:"ssh" help:"Use an SSH key, which ssh-keygen signs with: its file, or its .pub file where an agent has the key." env:"INTERLOCK_SSH" type:"path" placeholder:"KEYFILE"`
	Decide bool   `help:"Let the commands of this shell decide until the log-in ends, without asking again. A program that was started from this shell can decide, too."`
}

// where says which server is meant.
type where struct {
	Server   string `help:"A server elsewhere: a gRPC address, the https:// address of its edge, or the name of a context. That of the data folder by default." env:"INTERLOCK_SERVER" placeholder:"ADDRESS"`
	CA       string `name:"ca" help:"CA of that server's certificate (PEM); turns TLS on." env:"INTERLOCK_CA" type:"path" placeholder:"FILE"`
	Insecure bool   `help:"Talk to another machine without TLS, where the network itself is trusted." env:"INTERLOCK_INSECURE"`
	Data     string `name:"data-dir" help:"Data folder of the server on this machine; by default that of the nearest workspace, here or upwards." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
}

// elsewhere returns the connection to a server elsewhere; its server is empty for that of the data folder.
func (w *where) elsewhere(streams console.Streams) (*client.Connection, error) {
	c := &client.Connection{Server: w.Server, CA: w.CA, Insecure: w.Insecure, Data: w.Data}
	return c, c.Choose(streams)
}

// door returns where the person logs in, which server that is, and a function that closes it.
func (w *where) door(ctx context.Context, streams console.Streams) (door, client.Destination, func(), error) {
	c, err := w.elsewhere(streams)
	if err != nil {
		return nil, client.Destination{}, nil, err
	}
	if c.Server != "" {
		e, done, err := openElsewhere(ctx, c)
		if err != nil {
			return nil, client.Destination{}, nil, err
		}
		return e, c.Destination(e.Target, e.TLS), done, nil
	}
	if err := unlock.Supported(); err != nil {
		return nil, client.Destination{}, nil, err
	}
	folder, socket, err := socketOf(w.Data)
	return socket, client.Destination{Address: string(folder), Local: true}, func() {}, err
}

// Run logs in.
func (c *Command) Run(ctx context.Context, streams console.Streams) error {
	if err := client.Close(streams); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	door, to, done, err := c.door(ctx, streams)
	if err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	defer done()
	answer, err := c.enter(ctx, door, to)
	if err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	out := "interlock logout"
	if c.Server != "" {
		out += " --server " + c.Server
	}
	fmt.Fprintf(streams.Out, "logged in as %s at this terminal, until %s; `%s` ends it\n", answer.Person, answer.Until.Local().Format(time.TimeOnly), out)
	if os.Getenv(client.TokenVariable) != "" {
		fmt.Fprintf(streams.Out, "%s is set here, and commands call with that token, not as %s: `unset %s`\n",
			client.TokenVariable, answer.Person, client.TokenVariable)
	}
	if c.Decide {
		fmt.Fprintln(streams.Out, "commands of this shell decide without asking again, and so does any program that was started from it: start no agent here")
	}
	if answer.Presence == "" {
		fmt.Fprintln(streams.Out, "this SSH key does not show that you are there: any program that can use your SSH agent can log in as you")
	}
	return nil
}

func (c *Command) enter(ctx context.Context, at door, to client.Destination) (unlock.Answer, error) {
	if c.Code != "" {
		return c.register(ctx, at, to)
	}
	proof, err := client.Who{Person: c.Person, SSH: c.SSH}.Prove(ctx, at, to)
	if err != nil {
		return unlock.Answer{}, err
	}
	return at.Login(ctx, proof, c.Decide)
}

// register adds a key for a code: a passphrase, or an SSH key.
func (c *Command) register(ctx context.Context, at door, to client.Destination) (unlock.Answer, error) {
	if err := to.TakesPassphrase(); err != nil {
		return unlock.Answer{}, err
	}
	terminal, err := console.OpenTerminal()
	if err != nil {
		return unlock.Answer{}, err
	}
	defer func() { _ = terminal.Close() }()
	if _, err := fmt.Fprintln(terminal, "register at "+show.Text(to.String())); err != nil {
		return unlock.Answer{}, fmt.Errorf("write to the terminal: %w", err)
	}
	name, err := c.registers(ctx, at, terminal)
	if err != nil {
		return unlock.Answer{}, err
	}
	request := &identityv1.RegisterRequest{Code: c.Code, Person: name, Credential: &identityv1.NewCredential{}}
	if c.SSH != "" {
		line, err := client.PublicKey(c.SSH)
		if err != nil {
			return unlock.Answer{}, err
		}
		request.Credential.Key = &identityv1.NewCredential_SshPublicKey{SshPublicKey: line}
		return at.Register(ctx, request, c.Decide)
	}
	words, err := console.AskSecret(terminal, fmt.Sprintf("a new passphrase, of at least %d characters: ", shortestPassphrase))
	if err != nil {
		return unlock.Answer{}, err
	}
	if len([]rune(words)) < shortestPassphrase {
		return unlock.Answer{}, fmt.Errorf("the passphrase is shorter than %d characters; no key was registered", shortestPassphrase)
	}
	again, err := console.AskSecret(terminal, "once more: ")
	if err != nil {
		return unlock.Answer{}, err
	}
	if words != again {
		return unlock.Answer{}, errors.New("the two passphrases differ; no key was registered")
	}
	request.Credential.Key = &identityv1.NewCredential_Passphrase{Passphrase: words}
	return at.Register(ctx, request, c.Decide)
}

// registers returns the name of the person whom the code is for: the first person chooses it, and an invitation has it.
func (c *Command) registers(ctx context.Context, at door, terminal io.ReadWriter) (string, error) {
	invited, err := at.Invited(ctx, c.Code)
	switch {
	case err != nil:
		return "", err
	case invited == "":
		return client.Who{Person: c.Person}.Name(terminal)
	case c.Person != "" && c.Person != invited:
		return "", fmt.Errorf("the code is for %s, and not for %s; leave out --person", invited, c.Person)
	}
	if _, err := fmt.Fprintf(terminal, "the code invites %s\n", invited); err != nil {
		return "", fmt.Errorf("write to the terminal: %w", err)
	}
	return invited, nil
}

// Logout locks this terminal.
type Logout struct{ where }

// Run logs out.
func (c *Logout) Run(ctx context.Context, streams console.Streams) error {
	socket, err := c.socket(streams)
	if err != nil {
		return err
	}
	person, err := socket.Logout(ctx)
	switch {
	case errors.Is(err, unlock.ErrNobody), c.Server != "" && errors.Is(err, fs.ErrNotExist):
		fmt.Fprintln(streams.Out, "no person was logged in at this terminal")
		return nil
	case err != nil:
		return fmt.Errorf("log out: %w", err)
	}
	fmt.Fprintf(streams.Out, "%s is logged out at this terminal\n", person)
	return nil
}

// socket returns where this terminal is unlocked.
func (c *Logout) socket(streams console.Streams) (unlock.Socket, error) {
	at, err := c.elsewhere(streams)
	if err != nil {
		return "", err
	}
	if at.Server == "" {
		_, socket, err := socketOf(c.Data)
		return socket, err
	}
	c.Server = at.Server
	return unlock.Elsewhere(at.Server, os.Getppid())
}

func socketOf(data string) (datadir.Dir, unlock.Socket, error) {
	folder, err := client.DataFolder(data)
	if err != nil {
		return "", "", err
	}
	socket := folder.PersonSocket()
	if socket == "" {
		return "", "", errors.New("the path of the data folder is too long for a socket; choose a shorter one with --data-dir")
	}
	return folder, unlock.Socket(socket), nil
}
