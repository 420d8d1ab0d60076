package jailertest

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
)

// TestManyCommands starts many commands, one after the other: each ends.
func TestManyCommands(t *testing.T) {
	side(t)
	if !(pen{UID: user}).in(t) {
		return
	}
	s := startServices(t)
	makeWorld(t)
	s.listen()
	times := 40
	if full() {
		times = 600
	}
	for i := range times {
		j := job{Argv: shell("echo $((1 + 1)); true | cat"), Caches: cacheFolder, Profile: reading.profile(jail.Full, jail.Limits{})}
		r := run(t, j, patience)
		if r.Error != "" || r.Late || r.Witness == nil || !r.Witness.OK() || r.Output != "2\n" {
			t.Fatalf("command %d: %+v, witness %+v", i, r, r.Witness)
		}
	}
}
