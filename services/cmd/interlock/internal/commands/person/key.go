package person

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
)

type keyCommand struct {
	Add    keyAdd    `cmd:"" help:"Add an SSH key for a person. A person registers passkeys and a passphrase by an invitation, or in the console."`
	Remove keyRemove `cmd:"" help:"Remove a key of a person."`
}

type keyAdd struct {
	oneOf
	SSH   string `name:"ssh" required:"" help:"File of the public key, such as ~/.ssh/id_ed25519_sk.pub." type:"path" placeholder:"FILE"`
	Label string `help:"Name of the key." placeholder:"TEXT"`
}

func (c *keyAdd) Run(ctx context.Context, io console.Streams) error {
	line, err := os.ReadFile(c.SSH)
	if err != nil {
		return console.Misusedf("--ssh: %w", err)
	}
	if strings.Contains(string(line), "PRIVATE KEY") {
		return console.Misusedf("--ssh %s: this is a private key, which no server needs; give the file that ends with .pub", c.SSH)
	}
	key := &identityv1.NewCredential{Label: c.Label, Key: &identityv1.NewCredential_SshPublicKey{SshPublicKey: strings.TrimSpace(string(line))}}
	return call(ctx, &c.Connection, io, "adding a key", func(people identityv1.PersonServiceClient) error {
		resp, err := people.AddCredential(ctx, &identityv1.AddCredentialRequest{Name: c.Name, Credential: key})
		if err != nil {
			return err
		}
		return print(c.Printer, io, "added a key of", resp.GetPerson())
	})
}

type keyRemove struct {
	oneOf
	Key string `arg:"" help:"Id of the key, as interlock person get shows it."`
}

func (c *keyRemove) Run(ctx context.Context, io console.Streams) error {
	return call(ctx, &c.Connection, io, "removing a key", func(people identityv1.PersonServiceClient) error {
		resp, err := people.RemoveCredential(ctx, &identityv1.RemoveCredentialRequest{Name: c.Name, CredentialId: c.Key})
		if err != nil {
			return err
		}
		return print(c.Printer, io, "removed a key of", resp.GetPerson())
	})
}

type identityCommand struct {
	Add    identityAdd    `cmd:"" help:"Add names that a person has elsewhere."`
	Remove identityRemove `cmd:"" help:"Remove names that a person has elsewhere."`
}

type identityAdd struct {
	oneOf
	Identities []string `arg:"" name:"identity" help:"Such as slack:T01/U02, oidc:ISSUER/SUBJECT or github:LOGIN."`
}

func (c *identityAdd) Run(ctx context.Context, io console.Streams) error {
	return change(ctx, &c.oneOf, io, "changed", func(s *identityv1.PersonSpec) error {
		s.Identities = append(s.Identities, c.Identities...)
		return nil
	})
}

type identityRemove struct {
	oneOf
	Identities []string `arg:"" name:"identity" help:"As interlock person get shows them."`
}

func (c *identityRemove) Run(ctx context.Context, io console.Streams) error {
	return change(ctx, &c.oneOf, io, "changed", func(s *identityv1.PersonSpec) error {
		for _, id := range c.Identities {
			i := slices.Index(s.GetIdentities(), id)
			if i < 0 {
				return errors.New(c.Name + " has no identity " + id + "; interlock person get " + c.Name + " shows them")
			}
			s.Identities = slices.Delete(s.Identities, i, i+1)
		}
		return nil
	})
}
