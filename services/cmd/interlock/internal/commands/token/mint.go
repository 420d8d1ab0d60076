package token

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

type mintCommand struct {
	keyFlags
	Session   string        `help:"Session that the agent may act in, by the name or id that its requests give." required:"" placeholder:"SESSION"`
	Parent    string        `help:"Session that this one is below: its policies, limits and budgets hold here too, and POST /v1/sessions creates this one there. A session whose name begins with that of another and a slash is below that one anyway." placeholder:"SESSION"`
	Branch    string        `help:"Only branch of the session's run that it may act in." placeholder:"BRANCH"`
	Namespace string        `help:"Namespace of the session." default:"default" env:"INTERLOCK_NAMESPACE" placeholder:"NAME"`
	Name      string        `help:"Name of the agent, for history and approvals, of ASCII letters, digits and ._:/@-; by default that of the session." placeholder:"NAME"`
	Human     string        `help:"Person of the deployment on whose behalf the agent acts, by the word of the one who holds the key." placeholder:"NAME"`
	TTL       time.Duration `name:"ttl" help:"How long the token counts: at most 720h. Only another key ends it earlier." default:"1h" placeholder:"DURATION"`
}

// Run signs a token without asking any server.
func (c *mintCommand) Run(streams console.Streams) error {
	// Agents of one name would share objects that are distinguished by name.
	c.Name = cmp.Or(c.Name, c.Session)
	if !rpc.ValidNamespace(c.Namespace) {
		return console.Misusedf("--namespace %q: give 1 to 63 lower-case letters, digits and hyphens", c.Namespace)
	}
	if c.TTL < time.Second || c.TTL > sessiontoken.MaxTTL {
		return console.Misusedf("--ttl %s: give between 1s and %dh", c.TTL, int(sessiontoken.MaxTTL.Hours()))
	}
	file, folder, err := c.file()
	if err != nil {
		return err
	}
	key, err := sessiontoken.LoadKey(file)
	if errors.Is(err, fs.ErrNotExist) && c.Key == "" {
		return fmt.Errorf("there is no key in %s: `interlock up` makes one when it starts there; "+
			"or give --key with that of the services", folder)
	}
	if err != nil {
		return err
	}
	if err := c.checkName(folder); err != nil {
		return err
	}
	if c.Key == "" {
		if err := client.NeedsPerson(streams, "minting a token", "give --key or INTERLOCK_TOKEN_KEY with the key"); err != nil {
			return err
		}
	}
	now := time.Now().Truncate(time.Second)
	var human *auth.Human
	if c.Human != "" {
		human = &auth.Human{Name: c.Human, Source: auth.Registered}
	}
	token, err := key.Mint(sessiontoken.Claims{
		Human: human,
		Name:  c.Name, Namespace: c.Namespace, Session: c.Session, Branch: c.Branch, Parent: c.Parent,
		IssuedAt: now, Expires: now.Add(c.TTL.Truncate(time.Second)),
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(streams.Out, token)
	return err
}

// checkName refuses a name that the server would refuse. The names of a server
// elsewhere are not known here.
func (c *mintCommand) checkName(folder datadir.Dir) error {
	var names *auth.Tokens
	if c.Key == "" {
		var err error
		if names, err = auth.LoadTokens(folder.Tokens()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := sessiontoken.CheckName(c.Name, c.Namespace, names); err != nil {
		return console.Misusedf("--name: %w", err)
	}
	return nil
}
