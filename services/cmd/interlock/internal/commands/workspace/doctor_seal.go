package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/user"
	"time"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/seal"
)

// withPresence notes the level of protection where people log in before they decide: with a seal or without.
func withPresence(folder datadir.Dir, who *user.User) finding {
	info, err := seal.Read(folder.Seal())
	if err != nil {
		return finding{failure, err.Error(), "put the file back from a backup (docs/backup.md)"}
	}
	if info == nil {
		return finding{
			note, fmt.Sprintf("level of protection: same user with presence, not sealed. The agent runs as your user %s. No file has a token that decides; "+
				"a program that it starts could still change the hooks, stop the server, forge receipts and agents' tokens with the keys of the data folder, and write to its database, "+
				"so this protects against mistakes and not against an agent that attacks the database; against that, run `interlock data seal`; against all of it, %s, and check with --agent-user",
				who.Username, apart), "",
		}
	}
	return finding{
		note, fmt.Sprintf("level of protection: same user with presence, sealed by a %s since %s. The agent runs as your user %s. The keys of session tokens and receipts and the hashes of tokens are sealed, "+
			"and records that another program writes into the store are refused; a program that the agent starts could still change the hooks, stop the server, reset counters, and put back an older copy of the whole folder and its twin mark; "+
			"against that, %s, and check with --agent-user", info.Kind, info.ChangedAt.Format(time.DateOnly), who.Username, apart), "",
	}
}

// refused fails where the server has refused records of its store since its start.
func refused(ctx context.Context, folder datadir.Dir) []finding {
	at, err := folder.ReadEndpoints()
	if err != nil || at.HTTP == "" {
		return nil // which has been said
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.HTTP+"/readyz?verbose", http.NoBody)
	if err != nil {
		return nil
	}
	asking := http.Client{Timeout: 5 * time.Second}
	resp, err := asking.Do(req)
	if err != nil {
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	var report struct {
		Checks []struct {
			Name   string `json:"name"`
			Status string `json:"status"`
		} `json:"checks"`
	}
	if json.NewDecoder(resp.Body).Decode(&report) != nil {
		return nil
	}
	for _, check := range report.Checks {
		if check.Name == "seal" && check.Status != "ok" {
			return []finding{{
				failure, "the server has refused records since its start, because another program has written to its store: its log names each, as \"a record is refused\"",
				"find that program; then stop the server and restore the store from a backup (docs/backup.md)",
			}}
		}
	}
	return nil
}

// loosened notes the exceptions from policies that are in force. It is silent for a user who may not list them.
func loosened(ctx context.Context, io console.Streams, folder datadir.Dir) (findings []finding) {
	at := client.Connection{Data: string(folder)}
	_ = at.Do(ctx, io, auth.Observer, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewPolicyServiceClient(conn).ListExceptions(ctx, &policyv1.ListExceptionsRequest{})
		now, counts := time.Now(), 0
		for _, e := range resp.GetExceptions() {
			if !e.GetPending() && e.GetUntil().AsTime().After(now) {
				counts++
			}
		}
		if counts > 0 {
			findings = append(findings, finding{note, fmt.Sprintf("exceptions in force, which allow what a policy denies: %d; `interlock exception list` shows them", counts), ""})
		}
		return err
	})
	return findings
}
