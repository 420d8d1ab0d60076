package workspace

import (
	"strconv"
	"testing"
	"time"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookclient"
)

// S13.10: a hook gives up, and blocks, before the agent gives up on it.
func TestHookGivesUpBeforeTheAgent(t *testing.T) {
	t.Parallel()
	for _, wait := range []int{0, 1, 9, 120, 3600} {
		words, seconds := patient([]string{"interlock", "hook"}, wait)
		var client hookclient.Client
		client.Agent = "codex"
		if !client.Parse(words[2:]) {
			t.Fatalf("%d: %q cannot be read", wait, words)
		}
		own := hookclient.Timeout
		if client.Patience != "" {
			n, err := strconv.Atoi(client.Patience)
			if err != nil {
				t.Fatal(err)
			}
			own = max(own, time.Duration(n)*time.Second)
		}
		for _, agents := range []int{seconds, agentEvent{asks: true}.unlimited(seconds), agentEvent{}.unlimited(seconds)} {
			if own >= time.Duration(agents)*time.Second {
				t.Errorf("with a wait of %d s the hook has %s, and the agent %d s", wait, own, agents)
			}
		}
	}
}
