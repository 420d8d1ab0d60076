package session

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type tokenCommand struct {
	Mint   mintTokenCommand    `cmd:"" help:"Mint a token for a session or one below it, and print it."`
	List   listTokensCommand   `cmd:"" help:"List the tokens that were minted at a session."`
	Revoke revokeTokensCommand `cmd:"" help:"Revoke a token, or all tokens of a session and of those below it."`
}

type mintTokenCommand struct {
	oneSession
	For       string        `help:"Session that the token is for, if that is one below, by id or name. It need not be there yet if its name begins with the session's and a slash." placeholder:"SESSION"`
	Branch    string        `help:"Only branch of the session's run that it may act in." placeholder:"BRANCH"`
	TokenName string        `name:"name" help:"Name of the agent, for history and approvals; by default that of the session. A token that an agent mints has the agent's own." placeholder:"NAME"`
	TTL       time.Duration `name:"ttl" help:"How long the token counts: at most 720h, and not longer than your own. An hour by default." placeholder:"DURATION"`
	Human     string        `help:"Person of the deployment on whose behalf the token acts; only an operator gives one, for a session that has no other human." placeholder:"NAME"`
	Only      string        `help:"Entries that its calls must meet in addition to those of its session: a JSON list; @FILE reads a file." placeholder:"JSON|@FILE"`
}

func (c *mintTokenCommand) Run(ctx context.Context, io console.Streams) error {
	if c.TTL < 0 || c.TTL > 0 && c.TTL < time.Second {
		return console.Misusedf("--ttl %s: give at least 1s", c.TTL)
	}
	only, err := input.Text(c.Only, io)
	if err != nil {
		return err
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewSessionServiceClient(conn).MintSessionToken(ctx, &statev1.MintSessionTokenRequest{
			SessionId: c.Name, Session: c.AsSession, ForSession: c.For, Branch: c.Branch, Name: c.TokenName, TtlSeconds: int64(c.TTL / time.Second), Only: only, Human: c.Human,
		})
		if err != nil {
			return err
		}
		view := mintedToken{resp.GetSecret(), jsonview.SessionTokenOf(resp.GetToken())}
		return c.Print(io.Out, view, func(w *show.Sheet) { fmt.Fprintln(w, view.Token) })
	})
}

// mintedToken is the JSON of a token that was minted.
type mintedToken struct {
	Token string `json:"token"`
	jsonview.SessionToken
}

type listTokensCommand struct{ oneSession }

func (c *listTokensCommand) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewSessionServiceClient(conn).ListSessionTokens(ctx, &statev1.ListSessionTokensRequest{SessionId: c.Name, Session: c.AsSession})
		if err != nil {
			return err
		}
		return printTokens(c.Printer, io, resp.GetTokens())
	})
}

func printTokens(p show.Printer, io console.Streams, tokens []*statev1.SessionToken) error {
	all := jsonview.Each(tokens, jsonview.SessionTokenOf)
	return show.Table(p, io.Out, "TOKEN\tNAME\tSESSION\tMINTED BY\tEXPIRES\tREVOKED BY", all, func(t *jsonview.SessionToken) []any {
		return []any{t.TokenID, t.Name, t.Session, t.MintedBy, t.ExpiresAt, t.RevokedBy}
	})
}

type revokeTokensCommand struct {
	oneSession
	TokenID string `arg:"" optional:"" name:"token" xor:"which" help:"Id of the token."`
	All     bool   `xor:"which" help:"All tokens of the session, and of those below it."`
}

func (c *revokeTokensCommand) Run(ctx context.Context, io console.Streams) error {
	if c.TokenID == "" && !c.All {
		return console.Misusedf("give the id of the token, as `interlock session token list` shows it, or --all")
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewSessionServiceClient(conn).RevokeSessionTokens(ctx, &statev1.RevokeSessionTokensRequest{
			SessionId: c.Name, Session: c.AsSession, TokenId: c.TokenID,
		})
		if err != nil {
			return err
		}
		return printTokens(c.Printer, io, resp.GetTokens())
	})
}
