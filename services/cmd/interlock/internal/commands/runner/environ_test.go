package runner

import (
	"cmp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// tokensAt is a data folder of a server that runs, or not.
func tokensAt(t *testing.T, endpoints datadir.Endpoints) (folder string, tokens map[auth.Role]string) {
	t.Helper()
	dir := datadir.Dir(t.TempDir())
	tokens = auth.Generate()
	if _, err := auth.WriteFile(dir.Local(), tokens); err != nil {
		t.Fatal(err)
	}
	if err := dir.WriteEndpoints(endpoints); err != nil {
		t.Fatal(err)
	}
	return string(dir), tokens
}

// Agents have a token of their own or none, and never the runner's.
func TestEnvironOfAgents(t *testing.T) {
	t.Parallel()
	folder, tokens := tokensAt(t, datadir.Endpoints{HTTP: "http://127.0.0.1:1", GRPC: "127.0.0.1:2"})
	secure, _ := tokensAt(t, datadir.Endpoints{HTTP: "https://127.0.0.1:1", GRPC: "127.0.0.1:2", GRPCSocket: "/run/i.sock"})
	operator, agent := tokens[auth.Operator], tokens[auth.Agent]
	for name, tc := range map[string]struct {
		flags Command
		want  []string
	}{
		"this machine": {
			Command{Connection: client.Connection{Data: folder}},
			[]string{"INTERLOCK_TOKEN=" + agent, "INTERLOCK_SERVER=127.0.0.1:2", "INTERLOCK_HTTP_SERVER=http://127.0.0.1:1"},
		},
		"this machine, with TLS": {
			Command{Connection: client.Connection{Data: secure, Token: operator}, AgentToken: "ilk_a"},
			[]string{"INTERLOCK_TOKEN=ilk_a", "INTERLOCK_SERVER=unix:/run/i.sock", "INTERLOCK_HTTP_SERVER=https://127.0.0.1:1"},
		},
		"this machine, by a token": {
			Command{Connection: client.Connection{Data: folder, Token: operator, Namespace: "team"}},
			[]string{"INTERLOCK_TOKEN=" + agent, "INTERLOCK_SERVER=127.0.0.1:2", "INTERLOCK_HTTP_SERVER=http://127.0.0.1:1", "INTERLOCK_NAMESPACE=team"},
		},
		// The folder's tokens are for another server than that.
		"another machine": {
			Command{Connection: client.Connection{Data: folder, Token: "ilk_far", Server: "https://gateway:7420", CA: "ca.pem", Insecure: true}},
			[]string{"INTERLOCK_SERVER=https://gateway:7420", "INTERLOCK_HTTP_SERVER=https://gateway:7420", "INTERLOCK_CA=ca.pem", "INTERLOCK_INSECURE=true"},
		},
		"another machine, with a token": {
			Command{Connection: client.Connection{Data: folder, Token: "ilk_far", Server: "engine:7421"}, AgentToken: "ilk_b"},
			[]string{"INTERLOCK_TOKEN=ilk_b", "INTERLOCK_SERVER=engine:7421"},
		},
	} {
		token := cmp.Or(tc.flags.Token, operator)
		got, err := tc.flags.environ(t.Context(), token, []string{"INTERLOCK_TOKEN=" + token, "COPY=" + token})
		if diff := gocmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	for name, flags := range map[string]Command{
		"its own":                       {Connection: client.Connection{Data: folder}, AgentToken: operator},
		"its own, as given":             {Connection: client.Connection{Token: "ilk_x", Server: "h:1"}, AgentToken: "ilk_x"},
		"an agent's, by which it works": {Connection: client.Connection{Data: folder, Token: agent}},
	} {
		if got, err := flags.environ(t.Context(), cmp.Or(flags.Token, operator), nil); err == nil || !strings.Contains(err.Error(), "give --agent-token") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
