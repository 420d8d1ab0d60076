package hookclient

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// longestProbe is how long a probe of a machine may take.
const longestProbe = 3 * time.Second

// Self has another process of this program find out, which has all that it needs for it.
type Self struct{}

// Probe implements Prober.
func (Self) Probe() (Support, error) {
	self, err := os.Executable()
	if err != nil {
		return Support{}, fmt.Errorf("find this program: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestProbe)
	defer cancel()
	out, err := exec.CommandContext(ctx, self, "jail", "probe", "--json").Output()
	var found Support
	if err != nil || json.Unmarshal(out, &found) != nil || found.Level < 0 || found.Level > 3 {
		return Support{}, fmt.Errorf("%s jail probe gives no answer: %w", self, err)
	}
	return found, nil
}
