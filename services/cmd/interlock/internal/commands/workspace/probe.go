package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/decisions"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/listing"
)

// probeSession is the session of all probes of a workspace: where hooks name a workflow, they share one run.
const probeSession = "interlock-probe"

// Probed is a call that the hook's own command has denied, as the log has it.
type Probed struct {
	// What describes the call.
	What string
	// CallID, Code and Policy are those of the record. Policy is empty when no policy decided.
	CallID, Code, Policy string
}

// probe returns the finding of the probe.
func (c *Doctor) probe(ctx context.Context, io console.Streams, folder datadir.Dir, hooks gating) []finding {
	probed, err := probe(ctx, io, c.Dir, folder, hooks.before, c.Line)
	if err != nil {
		return []finding{{failure, "probe: " + err.Error(), "correct what is reported above, and run `interlock doctor --probe` again"}}
	}
	return []finding{{fine, fmt.Sprintf("probe: the hook denied %s, and the log has it: `interlock why %s`", probed, probed.CallID), ""}}
}

// String describes the call and its denial.
func (p *Probed) String() string {
	by := p.Code
	if p.Policy != "" {
		by += ", policy " + p.Policy
	}
	return p.What + " (" + by + ")"
}

// probe asks the hook of Claude Code in a workspace about a call that must be denied, by the command in the settings, and looks
// for the decision in the log. An empty line stands for a read of a secret of the data folder, which is always denied.
func probe(ctx context.Context, io console.Streams, dir string, folder datadir.Dir, hook []string, line string) (*Probed, error) {
	if len(hook) == 0 {
		return nil, errors.New("no hook of Claude Code is set up for calls of tools")
	}
	p := &Probed{What: "a call of Read for " + folder.Local(), CallID: "probe_" + strings.TrimPrefix(typeid.New(typeid.Call), typeid.Call+"_")}
	tool, input := "Read", map[string]string{"file_path": folder.Local()}
	if line != "" {
		p.What, tool, input = "`"+line+"`", "Bash", map[string]string{"command": line}
	}
	event, err := json.Marshal(map[string]any{
		"hook_event_name": "PreToolUse", "session_id": probeSession, "cwd": workspaceName(dir), "tool_use_id": p.CallID,
		"tool_name": tool, "tool_input": input,
	})
	if err != nil {
		return nil, fmt.Errorf("write the event: %w", err)
	}
	if err := refusedBy(ctx, dir, hook, event, p.What); err != nil {
		return nil, err
	}
	record, err := logged(ctx, io, folder, p.CallID)
	if err != nil {
		return nil, err
	}
	p.Code, p.Policy = strings.TrimPrefix(record.GetCode().String(), "DECISION_CODE_"), record.GetPolicy()
	return p, nil
}

// probeTime bounds a run of the hook.
const probeTime = 20 * time.Second

// refusedBy runs the hook's command with an event, and returns nil when its answer denies the call by a decision.
func refusedBy(ctx context.Context, dir string, hook []string, event []byte, what string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	command := exec.CommandContext(ctx, hook[0], hook[1:]...) //nolint:gosec // the command of the settings, as the agent's client runs it
	var out, errs bytes.Buffer
	command.Dir, command.Stdin, command.Stdout, command.Stderr = dir, bytes.NewReader(event), &out, &errs
	if err := command.Run(); err != nil {
		return fmt.Errorf("the hook blocks calls without a decision: %s (%w)", strings.TrimSpace(errs.String()), err)
	}
	var answer struct {
		Specific struct {
			Decision string `json:"permissionDecision"`
		} `json:"hookSpecificOutput"`
	}
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
			return fmt.Errorf("the answer of the hook cannot be read: %w", err)
		}
	}
	if answer.Specific.Decision != "deny" {
		return fmt.Errorf("the hook did NOT deny %s, which must be denied: its answer is %q", what, strings.TrimSpace(out.String()))
	}
	return nil
}

// logged returns the denial of a call of the probe in the log. It reads with the observer's token also without a terminal: the
// record is that of its own call (S13.5).
func logged(ctx context.Context, io console.Streams, folder datadir.Dir, callID string) (found *policyv1.DecisionRecord, err error) {
	token, err := auth.FileToken(folder.Local(), auth.Observer)
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	at := client.Connection{Data: string(folder), Token: token}
	enough := errors.New("found")
	err = at.Do(ctx, io, auth.Observer, func(conn grpc.ClientConnInterface) error {
		req := &policyv1.ListDecisionsRequest{Filter: listing.Filter(listing.Term{Key: "session_id", Value: probeSession})}
		return decisions.Each(ctx, conn, req, func(r *policyv1.DecisionRecord) error {
			if r.GetCallId() != callID {
				return nil
			}
			found = r
			return enough
		})
	})
	switch {
	case found == nil && err != nil:
		return nil, fmt.Errorf("read the log: %w", err)
	case found == nil:
		return nil, fmt.Errorf("the log has no record of the call %s that the hook denied: its server is another one", callID)
	case found.GetDecision() != policyv1.Decision_DECISION_DENY:
		return nil, fmt.Errorf("the log has the call %s as %s", callID, strings.TrimPrefix(found.GetDecision().String(), "DECISION_"))
	}
	return found, nil
}
