package e2e

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// onFullDisk starts and ends `interlock up` on a disk of its own, and again once others have left
// only some KiB of it. $1 is the program, $2 the KiB, $3 names files that are lost in between.
const onFullDisk = `
mount -t tmpfs -o size=12m disk "$4" && cd "$4" || exit 1
export XDG_DATA_HOME="$4" INTERLOCK_DATA=
serve() {
	coproc exec "$1" up --data-dir data --http 127.0.0.1:0 --grpc 127.0.0.1:0 --nats 127.0.0.1:0 2>&1
	local server=$COPROC_PID
	while IFS= read -r line <&"${COPROC[0]}"; do
		echo "$line"
		case $line in "Interlock is up.") kill "$server";; esac
	done
	wait "$server"
}
serve "$1" >first 2>&1 || { cat first; exit 1; }
test -s data/interlock.db.reserve || exit 1
rm -f first $3
cat /dev/zero >others 2>/dev/null
truncate -s "-$2k" others
serve "$1"
`

// TestUpOnFullDisk: a server starts on a disk that got full while it was down, with the room of the
// store's reserve, also when it needs further small files or when others have left a little.
func TestUpOnFullDisk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		free int // KiB
		lost string
	}{
		"nothing is free":               {},
		"less than a start needs":       {free: 60},
		"less than what it leaves free": {free: 600},
		"without tokens and keys":       {lost: "data/tokens.json data/local.json data/token.key data/receipt.key data/receipt.key.pub"},
		"without its lock":              {lost: "data/lock"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(within(t), "unshare", "--user", "--map-root-user", "--mount",
				"bash", "-c", onFullDisk, "disk", binary(t, "interlock"), strconv.Itoa(c.free), c.lost, t.TempDir()).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "Interlock is up.") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
