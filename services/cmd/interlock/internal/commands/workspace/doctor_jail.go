package workspace

import (
	"fmt"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookclient"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// jails reports the jail of agents' commands here, its missing part, and the number of testimonies that the server has
// not received.
func (c *Doctor) jails(folder datadir.Dir) []finding {
	if c.Jails == nil {
		return nil
	}
	var findings []finding
	switch has, err := c.Jails.Probe(); {
	case err != nil:
		findings = append(findings, finding{warning, "the jail of commands cannot be determined: " + err.Error(), ""})
	case has.Level < int(jail.Full):
		findings = append(findings, finding{note, jail.Sentence(jail.Level(has.Level), has.Missing), "see docs/jail.md for the requirements of each level"})
	default:
		findings = append(findings, finding{fine, jail.Sentence(jail.Full, ""), ""})
	}
	client := hookclient.Client{Data: string(folder)}
	if n, err := client.Unheard(); err == nil && n > 0 {
		findings = append(findings, finding{
			warning, fmt.Sprintf("witnesses of %d commands wait for the server: until they are delivered, they give no evidence", n),
			"start `interlock up`, which takes it in",
		})
	}
	return findings
}
