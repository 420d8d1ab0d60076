// Package notify tries the channels over which people are told of approvals.
package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/services/approval"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/redact"
)

// Command is the family of commands on channels.
type Command struct {
	Test testCommand `cmd:"" help:"Send a test message to every receiver of the flags. It needs no server."`
}

type testCommand struct {
	approval.NotifyFlags
	redact.Flags
}

// Run sends a message to each receiver, and says who took it.
func (c *testCommand) Run(ctx context.Context, io console.Streams) error {
	masks, err := c.Masks()
	if err != nil {
		return err
	}
	all, err := approval.NotifyTest(ctx, c.NotifyFlags, masks, time.Now().UTC())
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return console.Misused(errors.New("there is no receiver; name one with --notify or --webhook, as for the server"))
	}
	failed := 0
	for _, one := range all {
		word := "sent"
		if one.Err != nil {
			word, failed = "not sent: "+one.Err.Error(), failed+1
		}
		fmt.Fprintf(io.Out, "%s  %s\n", one.Receiver, word)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d receivers did not take the message", failed, len(all))
	}
	return nil
}
