package approval

import (
	"context"

	known "github.com/interlock-run/interlock/pkg/people"
	"github.com/interlock-run/interlock/pkg/signature"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/approval/internal/people"
)

// keys are those of the registered people, for signatures of their votes.
type keys struct{ people *people.App }

var _ app.Keys = keys{}

// Keys implements app.Keys. People are the same in every namespace.
func (k keys) Keys(ctx context.Context, _, person string) ([]app.Key, error) {
	found, err := k.people.Keys(ctx, person)
	if err != nil {
		return nil, err
	}
	var all []app.Key
	for _, c := range found {
		key := app.Key{ID: c.ID, Label: c.Label, Count: c.SignCount}
		if c.Kind == known.Passkey {
			id, err := known.RawPasskeyID(c.ID)
			if err != nil {
				continue // no assertion has that id
			}
			key.Passkey = &signature.Credential{ID: id, Key: c.PublicKey, Count: c.SignCount}
		} else {
			ssh, err := signature.ReadSSHBlob(c.PublicKey)
			if err != nil {
				continue // it cannot sign
			}
			key.SSH = ssh.String()
		}
		all = append(all, key)
	}
	return all, nil
}

// Counted implements app.Keys.
func (k keys) Counted(ctx context.Context, _, person string, key app.Key, count uint32) error {
	return k.people.Counted(ctx, person, key.ID, count)
}

// signing returns the place where people sign.
func (c *Config) signing() app.Signing {
	site := c.site()
	return app.Signing{Deployment: site.RPID, RPID: site.RPID, Origins: site.Origins}
}
