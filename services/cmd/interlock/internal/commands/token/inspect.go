package token

import (
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

type inspectCommand struct {
	keyFlags
	show.Printer
	Token string `arg:"" optional:"" help:"The token; read from standard input by default, where no list of processes shows it." placeholder:"TOKEN"`
}

// inspected is a token for programs.
type inspected struct {
	Status    string    `json:"status"`
	Name      string    `json:"name"`
	Role      auth.Role `json:"role"`
	Namespace string    `json:"namespace"`
	Session   string    `json:"session"`
	Branch    string    `json:"branch,omitzero"`
	Parent    string    `json:"parent,omitzero"`
	IssuedAt  time.Time `json:"issued_at"`
	ExpiresAt time.Time `json:"expires_at"`
	ID        string    `json:"id"`
}

// Status of a token.
const (
	valid     = "valid"
	expired   = "expired"
	refused   = "refused"
	foreign   = "not signed by this key"
	unchecked = "not checked: no key here"
)

// Run shows the claims. It ends with 1 when a server with this key would refuse the
// token.
func (c *inspectCommand) Run(streams console.Streams) error {
	token := c.Token
	if token == "" {
		data, err := input.AtMost(streams.In, 1<<16)
		if err != nil {
			return err
		}
		token = string(data)
	}
	token = strings.TrimSpace(token)
	claims, err := sessiontoken.Read(token)
	if err != nil {
		return err
	}
	status, err := c.status(token, time.Now())
	if err != nil {
		return err
	}
	view := inspected{
		Status: status, Name: claims.Name, Role: auth.Agent, Namespace: claims.Namespace, Session: claims.Session,
		Branch: claims.Branch, Parent: claims.Parent, IssuedAt: claims.IssuedAt, ExpiresAt: claims.Expires, ID: claims.ID,
	}
	if err := c.Print(streams.Out, view, func(w *show.Sheet) { printRows(w, &view) }); err != nil {
		return err
	}
	if status != valid && status != unchecked {
		return console.ErrNo
	}
	return nil
}

// status checks the token where the key is.
func (c *inspectCommand) status(token string, now time.Time) (string, error) {
	file, _, err := c.file()
	if err != nil {
		return "", err
	}
	key, err := sessiontoken.LoadKey(file)
	if errors.Is(err, fs.ErrNotExist) && c.Key == "" {
		return unchecked, nil
	}
	if err != nil {
		return "", err
	}
	claims, err := key.Check(token, now)
	var refusal *auth.Refusal
	switch {
	case err == nil:
		return valid, nil
	case !errors.As(err, &refusal):
		return foreign, nil
	case !claims.Expires.After(now):
		return expired, nil
	default:
		return refused + ": " + refusal.Why, nil
	}
}

func printRows(w *show.Sheet, v *inspected) {
	t := show.Rows{W: w}
	t.Word("status", v.Status)
	t.Row("name", v.Name)
	t.Row("role", string(v.Role))
	t.Row("namespace", v.Namespace)
	t.Row("session", v.Session)
	t.Row("branch", v.Branch)
	t.Row("parent", v.Parent)
	t.Time("issued", v.IssuedAt)
	t.Time("expires", v.ExpiresAt)
	t.Row("id", v.ID)
}
