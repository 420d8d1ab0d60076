// Package slack runs a relay to Slack: `interlock slack`.
package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/slack"
)

// Command shows approvals in a channel of Slack, and passes on decisions of people there.
type Command struct {
	client.Connection
	Team          string `required:"" help:"Id of the workspace of Slack, such as T01ABCDEF." env:"INTERLOCK_SLACK_TEAM" placeholder:"ID"`
	App           string `required:"" help:"Id of the app in Slack, such as A01ABCDEF." env:"INTERLOCK_SLACK_APP" placeholder:"ID"`
	Channel       string `required:"" help:"Id of the channel where approvals are shown, such as C01ABCDEF. The app must be a member." env:"INTERLOCK_SLACK_CHANNEL" placeholder:"ID"`
	BotToken      string `required:"" name:"bot-token-file" help:"File with the bot's token (xoxb-), with the scope chat:write; channels:history prevents double messages after a crash." env:"INTERLOCK_SLACK_BOT_TOKEN_FILE" type:"path" placeholder:"FILE"`
	AppToken      string `name:"app-token-file" help:"File with the app's token (xapp-, connections:write): Socket Mode, which needs no address that Slack can reach." env:"INTERLOCK_SLACK_APP_TOKEN_FILE" type:"path" placeholder:"FILE"`
	SigningSecret string `name:"signing-secret-file" help:"File with the signing secret: Slack posts clicks to --listen." env:"INTERLOCK_SLACK_SIGNING_SECRET_FILE" type:"path" placeholder:"FILE"`
	Listen        string `help:"Where Slack's requests arrive, with the signing secret; a proxy with TLS is before it." default:"127.0.0.1:7430" env:"INTERLOCK_SLACK_LISTEN" placeholder:"HOST:PORT"`
	State         string `help:"File that knows which message shows which approval." default:"interlock-slack.json" env:"INTERLOCK_SLACK_STATE" type:"path" placeholder:"FILE"`
	PublicURL     string `name:"public-url" help:"Where people reach the gateway, for links to approvals and for their page." env:"INTERLOCK_PUBLIC_URL" placeholder:"URL"`
	API           string `name:"slack-api" hidden:"" default:"https://slack.com/api/" help:"Address of Slack's Web API."`
}

// Run relays until it is stopped.
func (c *Command) Run(ctx context.Context, io console.Streams) error {
	if c.Token == "" {
		return console.Misused(errors.New("give --token or INTERLOCK_TOKEN with the token of a relay: interlock token add relay --name slackbot"))
	}
	cfg := slack.Config{
		API: c.API, Team: c.Team, App: c.App, Channel: c.Channel, PublicURL: c.PublicURL, State: filepath.Clean(c.State),
		Log: slog.New(slog.NewTextHandler(io.Err, nil)),
	}
	for _, secret := range []struct {
		file string
		into *string
	}{{c.BotToken, &cfg.BotToken}, {c.AppToken, &cfg.AppToken}, {c.SigningSecret, &cfg.SigningSecret}} {
		if secret.file == "" {
			continue
		}
		text, err := auth.ReadSecret(secret.file)
		if err != nil {
			return err
		}
		*secret.into = strings.TrimSpace(string(text))
	}
	conn, err := c.Dial(ctx, io, auth.Relay)
	if err != nil {
		return err
	}
	defer conn.Close()
	cfg.Approvals = approvalv1.NewApprovalServiceClient(conn)
	// A token that may not read approvals is found now, and not by a click.
	if _, err := cfg.Approvals.ListApprovals(ctx, &approvalv1.ListApprovalsRequest{PageSize: 1}); err != nil {
		return err
	}
	relay, err := slack.New(ctx, cfg)
	if err != nil {
		return err
	}
	if cfg.SigningSecret == "" {
		fmt.Fprintf(io.Out, "approvals are shown in %s, and clicks come over Socket Mode\n", c.Channel)
		return relay.Run(ctx)
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: relay.Handler(), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	failed := make(chan error, 1)
	within, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		failed <- server.Serve(listener)
		stop()
	}()
	fmt.Fprintf(io.Out, "approvals are shown in %s, and clicks come to http://%s/\n", c.Channel, listener.Addr())
	err = relay.Run(within)
	ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = server.Shutdown(ended)
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
