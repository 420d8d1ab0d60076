// Package breakglass makes grants for calls without contact, and hands in what clients did by them.
package breakglass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/pkg/rpc"
	grants "github.com/interlock-run/interlock/pkg/sdk/breakglass"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/receipts"
	"github.com/interlock-run/interlock/services/internal/seal"
)

// Command is the family of commands on break-glass grants.
type Command struct {
	Grant   grantCommand   `cmd:"" set:"caller=operator" help:"Sign a grant: a principal may call a few tools while it cannot reach Interlock."`
	List    listCommand    `cmd:"" help:"List the grants, with what was handed in."`
	Get     getCommand     `cmd:"" set:"caller=operator" help:"Sign a grant again, as after another operator has confirmed it."`
	Confirm confirmCommand `cmd:"" set:"caller=operator" help:"Confirm another operator's grant, where the deployment demands four eyes."`
	Revoke  revokeCommand  `cmd:"" set:"caller=operator" help:"Revoke a grant. No client without contact learns of it."`
	HandIn  handInCommand  `cmd:"" name:"hand-in" help:"Hand in the calls that a client made by a grant. Each is recorded once."`
}

// signing signs the grants of a command.
type signing struct {
	client.Connection
	show.Printer
	Key string `help:"The deployment's key; that in the data folder by default. Of a server elsewhere, POST /v1/breakglass signs with its own." type:"path" placeholder:"FILE"`
	Out string `short:"f" help:"Write the grant there, and its public key to FILE.pub; by default the grant goes to the output." type:"path" placeholder:"FILE"`
}

// signer returns the key of receipts; nil for one that only the running server opens, which then signs.
func (c *signing) signer() (receipt.Signer, error) {
	file := c.Key
	if file == "" {
		folder, err := client.DataFolder(c.Data)
		if err != nil {
			return nil, err
		}
		if file = folder.ReceiptKey(); seal.Sealed(file) {
			return nil, c.served(folder)
		}
	}
	key, err := gateway.ReadReceiptKey(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; name the deployment's key with --key FILE, or ask its gateway: POST /v1/breakglass", err)
	}
	return key, err
}

// served refuses to go on where no server runs that could sign.
func (c *signing) served(folder datadir.Dir) error {
	if c.Server != "" {
		return nil
	}
	at, err := folder.ReadEndpoints()
	if err == nil && at.GRPC == "" && at.GRPCSocket == "" {
		err = fmt.Errorf("the key of grants in %s is sealed, so the running server signs them, and %s", folder, client.NotServed(c.Data))
	}
	return err
}

// token returns the signed grant and the public key of it: by the key, or as the server has signed it for nil.
func (c *signing) token(g *policyv1.BreakGlassGrant, key receipt.Signer) (token, public string, err error) {
	if key == nil {
		if g.GetToken() == "" {
			return "", "", fmt.Errorf("the server has made grant %s and has no key to sign it: ask its gateway for GET /v1/breakglass/%[1]s, "+
				"or name the deployment's key: interlock breakglass get %[1]s --key FILE", g.GetGrantId())
		}
		return g.GetToken(), g.GetPublicKey(), nil
	}
	if token, err = receipts.BreakGlassToken(g, cmp.Or(c.Namespace, rpc.DefaultNamespace), key); err != nil {
		return "", "", err
	}
	text, err := receipt.PublicPEM(key.Public())
	if err != nil {
		return "", "", fmt.Errorf("encode the public key: %w", err)
	}
	return token, string(text), nil
}

// give writes a signed grant, and describes it. One that is pending or revoked is not signed.
func (c *signing) give(io console.Streams, g *policyv1.BreakGlassGrant, key receipt.Signer) error {
	if g.GetPending() || g.GetRevokedAt() != nil {
		return table(c.Printer, io, jsonview.BreakGlassGrantOf(g))
	}
	view := jsonview.BreakGlassGrantOf(g)
	token, public, err := c.token(g, key)
	if err != nil {
		return err
	}
	if view.Token = token; c.Out == "" {
		return c.Print(io.Out, view, func(w *show.Sheet) { fmt.Fprintln(w, token) })
	}
	for name, text := range map[string]string{c.Out: token + "\n", c.Out + ".pub": public} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the grant: %w", err)
		}
	}
	fmt.Fprintf(io.Err, "written to %s, and its public key to %s.pub\n", show.Text(c.Out), show.Text(c.Out))
	return table(c.Printer, io, view)
}

type grantCommand struct {
	signing
	Principal string   `required:"" help:"Name of the principal that may use it." placeholder:"NAME"`
	Tool      []string `required:"" help:"Name of a tool, or its beginning with * at the end; may be repeated." sep:"none" placeholder:"NAME"`
	Command   []string `help:"A whole command line that passes; may be repeated. Without it, any input of the tools passes." sep:"none" placeholder:"LINE"`
	Until     string   `required:"" help:"Its end, at most 24 hours from now: 8h, or 2026-01-31T08:00:00Z." placeholder:"TIME"`
	Reason    string   `required:"" help:"Why it is made, in one line." placeholder:"TEXT"`
}

func (c *grantCommand) Run(ctx context.Context, io console.Streams) error {
	until, err := input.End(c.Until, time.Now())
	if err != nil {
		return err
	}
	key, err := c.signer()
	if err != nil {
		return err
	}
	return c.AskAs(ctx, auth.Operator, io, client.Refusals, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewBreakGlassServiceClient(conn).CreateBreakGlassGrant(ctx, &policyv1.CreateBreakGlassGrantRequest{
			Principal: c.Principal, Tools: c.Tool, Commands: c.Command, Until: timestamppb.New(until), Reason: c.Reason,
		})
		if err != nil {
			return err
		}
		return c.give(io, resp.GetGrant(), key)
	})
}

type listCommand struct {
	client.Connection
	show.Printer
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewBreakGlassServiceClient(conn).ListBreakGlassGrants(ctx, &policyv1.ListBreakGlassGrantsRequest{})
		if err != nil {
			return err
		}
		return table(c.Printer, io, jsonview.Each(resp.GetGrants(), jsonview.BreakGlassGrantOf)...)
	})
}

type getCommand struct {
	signing
	ID string `arg:"" name:"grant" help:"Id of the grant."`
}

func (c *getCommand) Run(ctx context.Context, io console.Streams) error {
	key, err := c.signer()
	if err != nil {
		return err
	}
	return c.AskAs(ctx, auth.Operator, io, client.Refusals, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewBreakGlassServiceClient(conn).GetBreakGlassGrant(ctx, &policyv1.GetBreakGlassGrantRequest{GrantId: c.ID})
		if err != nil {
			return err
		}
		return c.give(io, resp.GetGrant(), key)
	})
}

// oneGrant names the grant of a command.
type oneGrant struct {
	client.Connection
	show.Printer
	ID string `arg:"" name:"grant" help:"Id of the grant."`
}

func (c *oneGrant) ask(ctx context.Context, io console.Streams, act func(policyv1.BreakGlassServiceClient) (*policyv1.BreakGlassGrant, error)) error {
	return c.AskAs(ctx, auth.Operator, io, client.Refusals, func(conn grpc.ClientConnInterface) error {
		g, err := act(policyv1.NewBreakGlassServiceClient(conn))
		if err != nil {
			return err
		}
		return table(c.Printer, io, jsonview.BreakGlassGrantOf(g))
	})
}

type confirmCommand struct{ oneGrant }

func (c *confirmCommand) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(service policyv1.BreakGlassServiceClient) (*policyv1.BreakGlassGrant, error) {
		resp, err := service.ConfirmBreakGlassGrant(ctx, &policyv1.ConfirmBreakGlassGrantRequest{GrantId: c.ID})
		return resp.GetGrant(), err
	})
}

type revokeCommand struct{ oneGrant }

func (c *revokeCommand) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(service policyv1.BreakGlassServiceClient) (*policyv1.BreakGlassGrant, error) {
		resp, err := service.RevokeBreakGlassGrant(ctx, &policyv1.RevokeBreakGlassGrantRequest{GrantId: c.ID})
		return resp.GetGrant(), err
	})
}

type handInCommand struct {
	client.Connection
	show.Printer
	File  string `arg:"" name:"file" help:"File of the grant." type:"path"`
	Key   string `help:"Its public key; FILE.pub by default." env:"INTERLOCK_BREAKGLASS_KEY" type:"path" placeholder:"FILE"`
	Spool string `help:"The spool; FILE.spool by default." env:"INTERLOCK_BREAKGLASS_SPOOL" type:"path" placeholder:"FILE"`
}

func (c *handInCommand) Run(ctx context.Context, io console.Streams) error {
	token, err := os.ReadFile(c.File)
	if err != nil {
		return fmt.Errorf("read the grant: %w", err)
	}
	public, err := os.ReadFile(cmp.Or(c.Key, c.File+".pub"))
	if err != nil {
		return fmt.Errorf("read the key of the grant: %w", err)
	}
	key, err := grants.ReadKey(public)
	if err != nil {
		return fmt.Errorf("the key of the grant: %w", err)
	}
	g, err := grants.Read(string(token), key)
	if err != nil {
		return fmt.Errorf("the grant %s: %w", c.File, err)
	}
	lines, err := grants.Lines(cmp.Or(c.Spool, c.File+".spool"))
	if err != nil {
		return err
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewBreakGlassServiceClient(conn).HandInBreakGlass(ctx, &policyv1.HandInBreakGlassRequest{GrantId: g.ID, Lines: lines})
		if err != nil {
			return err
		}
		return c.Print(io.Out, jsonview.BreakGlassHandInOf(resp), func(w *show.Sheet) {
			fmt.Fprintf(w, "recorded\t%d\nrecorded before\t%d\n", resp.GetRecorded(), resp.GetKnown())
			if resp.GetAltered() != "" {
				fmt.Fprintf(w, "ALTERED\t%s\n", show.Text(resp.GetAltered()))
			}
		})
	})
}

func table(p show.Printer, io console.Streams, all ...jsonview.BreakGlassGrant) error {
	return show.Table(p, io.Out, "GRANT\tFOR\tTOOLS\tCOMMANDS\tUNTIL\tSTATUS\tCALLS\tBY\tREASON", all, func(g *jsonview.BreakGlassGrant) []any {
		return []any{g.GrantID, g.Principal, strings.Join(g.Tools, ", "), strings.Join(g.Commands, ", "), g.Until, status(g), g.Calls, g.CreatedBy, g.Reason}
	})
}

// status returns whether a grant counts.
func status(g *jsonview.BreakGlassGrant) string {
	text := "live"
	switch {
	case g.RevokedBy != "":
		text = "revoked by " + g.RevokedBy
	case g.Pending:
		text = "waits for another operator"
	case !time.Now().Before(g.Until):
		text = "ended"
	}
	if g.Altered {
		text += ", spool altered"
	}
	return text
}
