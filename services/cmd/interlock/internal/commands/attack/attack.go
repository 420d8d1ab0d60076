// Package attack has the command that lets a hostile agent loose on a workflow.
package attack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/attack"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	engine "github.com/interlock-run/interlock/services/internal/attack"
)

// Command attacks a workflow.
type Command struct {
	Workflow   string   `arg:"" optional:"" name:"workflow" help:"The workflow or process to attack, JSON or YAML by its name. NAME.properties.yaml next to NAME.json is read too." placeholder:"FILE"`
	Policy     []string `help:"A policy that judges the calls; may be repeated." placeholder:"FILE" sep:"none"`
	Invoked    []string `help:"A workflow that it invokes; may be repeated." placeholder:"FILE" sep:"none"`
	Properties string   `help:"A file of more properties." placeholder:"FILE"`
	Seeds      int      `help:"How many schedules to play, each of another seed." default:"100" placeholder:"N"`
	Seed       uint64   `help:"The seed of the first schedule." default:"1" placeholder:"N"`
	Steps      int      `help:"How many steps a schedule has." default:"40" placeholder:"N"`
	MaxStates  int      `help:"The most states that are explored for one property, to find impossible outcomes." default:"1000000" placeholder:"N"`
	Out        string   `help:"Write findings there: as a schedule for --replay and, where that can be, as a scenario for interlock test." placeholder:"DIR"`
	Replay     string   `help:"Play a schedule again that --out has written." placeholder:"FILE"`
	Format     string   `help:"Output: text or json." enum:"text,json" default:"text"`
}

// format is the form of schedules that are kept.
const format = "interlock-attack/1"

// schedule is a finding with all that it takes to play it again.
type schedule struct {
	Format string `json:"format"`
	engine.Found
	Definitions []source `json:"definitions"`
	Policies    []source `json:"policies,omitempty"`
	Properties  []source `json:"properties,omitempty"`
}

// source is a document by its file.
type source struct {
	File string         `json:"file"`
	Text jsontext.Value `json:"text"`
}

// Run attacks, or plays a schedule again.
func (c *Command) Run(ctx context.Context, io console.Streams) error {
	switch {
	case c.Replay != "" && c.Workflow != "":
		return console.Misusedf("--replay plays a schedule with the workflow that is in it: leave %s out", c.Workflow)
	case c.Replay != "":
		return c.again(ctx, io)
	case c.Workflow == "":
		return console.Misusedf("name the workflow to attack; see interlock attack --help")
	case c.Seeds < 1 || c.Steps < 1 || c.MaxStates < 1:
		return console.Misusedf("--seeds, --steps and --max-states must be at least 1")
	}
	target, err := c.read(io)
	if err != nil {
		return err
	}
	result, err := play(ctx, target, engine.Config{
		Seeds: c.Seeds, Seed: c.Seed, Steps: c.Steps, MaxStates: c.MaxStates, Progress: progress(io, c.Seeds),
	})
	if err != nil {
		return err
	}
	written, err := c.write(target, result)
	if err != nil {
		return err
	}
	if err := c.print(io, target, result, written); err != nil {
		return err
	}
	if len(result.Found) > 0 {
		return console.ErrNo
	}
	return nil
}

// play attacks a target in a folder that is removed.
func play(ctx context.Context, t *target, cfg engine.Config) (result *engine.Result, err error) {
	attacker, done, err := begin(ctx, t, cfg)
	if err != nil {
		return nil, err
	}
	defer func() {
		if removed := done(); err == nil {
			err = removed
		}
	}()
	return attacker.Run(ctx)
}

// begin prepares an attack; done cleans up.
func begin(ctx context.Context, t *target, cfg engine.Config) (attacker *engine.Attacker, done func() error, err error) {
	dir, err := engine.Scratch()
	if err != nil {
		return nil, nil, err
	}
	done = func() error { return os.RemoveAll(dir) }
	cfg.Model, cfg.Properties, cfg.Dir = t.model, t.properties, dir
	attacker, err = engine.New(ctx, cfg)
	if err != nil {
		_ = done()
		return nil, nil, err
	}
	return attacker, done, nil
}

// progress shows a person at a terminal how far an attack is that takes more than a minute.
func progress(io console.Streams, all int) func(int) {
	last := time.Now().Add(50 * time.Second)
	return func(played int) {
		if io.Attended() && time.Since(last) > 10*time.Second {
			last = time.Now()
			fmt.Fprintf(io.Err, "interlock: %d of %s played\n", played, show.Counted(all, "schedule"))
		}
	}
}

// again plays a schedule that was kept.
func (c *Command) again(ctx context.Context, io console.Streams) error {
	text, err := input.File(c.Replay, io.In)
	if err != nil {
		return err
	}
	var s schedule
	if err := json.Unmarshal(text, &s, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("%s is not a schedule that interlock attack --out has written", c.Replay)
	}
	if s.Format != format {
		return fmt.Errorf("%s is not a schedule of this version: its format is %q, not %q", c.Replay, s.Format, format)
	}
	target, err := s.target(io)
	if err != nil {
		return err
	}
	attacker, done, err := begin(ctx, target, engine.Config{MaxStates: c.MaxStates})
	if err != nil {
		return err
	}
	played, err := attacker.Replay(ctx, s.Steps)
	if removed := done(); err == nil {
		err = removed
	}
	if err != nil {
		return err
	}
	if err := c.printPlayed(io, played); err != nil {
		return err
	}
	if len(played.Findings) > 0 {
		return console.ErrNo
	}
	return nil
}

func (c *Command) printPlayed(io console.Streams, p *engine.Played) error {
	if c.Format == "json" {
		return show.JSON(io.Out, struct {
			OK         bool             `json:"ok"`
			Found      []engine.Finding `json:"found"`
			Steps      []attack.Step    `json:"steps"`
			Transcript []string         `json:"transcript"`
		}{len(p.Findings) == 0, append([]engine.Finding{}, p.Findings...), p.Steps, p.Lines})
	}
	for i, line := range p.Lines {
		fmt.Fprintf(io.Out, "  %d. %s\n", i+1, show.Text(line))
	}
	for _, f := range p.Findings {
		fmt.Fprintf(io.Out, "%s: %s: %s\n", show.Text(c.Replay), strings.ToUpper(string(f.Kind)), show.Text(f.What))
	}
	if len(p.Findings) == 0 {
		fmt.Fprintf(io.Out, "%s: no finding any more\n", show.Text(c.Replay))
	}
	return nil
}

// files are those that a finding was written to.
type files struct{ schedule, scenario string }

// write keeps the findings.
func (c *Command) write(t *target, r *engine.Result) ([]files, error) {
	all := make([]files, len(r.Found))
	if c.Out == "" {
		return all, nil
	}
	for i := range r.Found {
		f := &r.Found[i]
		if err := os.MkdirAll(c.Out, 0o755); err != nil {
			return nil, fmt.Errorf("write the finding: %w", err)
		}
		name := filepath.Join(c.Out, plain(t.model.Main.Machine.Name()+"."+string(f.Kind)+"."+f.Class))
		text, err := json.Marshal(schedule{format, *f, t.definitions, t.policies, t.sources}, json.Deterministic(true), jsontext.WithIndent("  "))
		if err != nil {
			return nil, fmt.Errorf("encode a schedule: %w", err)
		}
		all[i].schedule = name + ".attack.json"
		if err := os.WriteFile(all[i].schedule, append(text, '\n'), 0o644); err != nil {
			return nil, fmt.Errorf("write a schedule: %w", err)
		}
		if told := engine.Scenario(t.model, f); told != nil {
			all[i].scenario = name + ".test.yaml"
			if err := os.WriteFile(all[i].scenario, told, 0o644); err != nil {
				return nil, fmt.Errorf("write a scenario: %w", err)
			}
		}
	}
	return all, nil
}

// plain returns a name of a file.
func plain(name string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(`/\ :`, c) {
			return '-'
		}
		return c
	}, name)
}

func (c *Command) print(io console.Streams, t *target, r *engine.Result, written []files) error {
	if c.Format == "json" {
		return c.printJSON(io, r, written)
	}
	name := show.Text(c.Workflow)
	counts := map[engine.Kind]int{}
	for i := range r.Found {
		f := &r.Found[i]
		counts[f.Kind]++
		fmt.Fprintf(io.Out, "%s: %s: %s", name, strings.ToUpper(string(f.Kind)), show.Text(f.What))
		if verdict, known := r.Verdicts[f.Class]; known {
			fmt.Fprintf(io.Out, " (interlock verify: %s)", verdict)
		}
		fmt.Fprintln(io.Out)
		for j, line := range f.Lines {
			fmt.Fprintf(io.Out, "  %d. %s\n", j+1, show.Text(line))
		}
		for _, file := range []string{written[i].scenario, written[i].schedule} {
			if file != "" {
				fmt.Fprintf(io.Out, "  written to %s\n", show.Text(file))
			}
		}
		if c.Out == "" {
			fmt.Fprintln(io.Out, "  --out DIR writes it")
		}
	}
	fmt.Fprintf(io.Out, "%s: %s with %s: calls: %d allowed, %d asked about, %d denied; changes of runs: %d; kills: %d\n", name,
		show.Counted(r.Schedules, "schedule"), show.Counted(r.Steps, "step"), r.Allowed, r.Asked, r.Denied, r.Changes, r.Kills)
	open := 0
	for _, n := range r.Open {
		open += n
	}
	fmt.Fprintf(io.Out, "%s: %d recorded entries decided again, %d open; escapes: %d, lost: %d, doubled: %d, broken properties: %d\n", name,
		r.Again, open, counts[engine.Escape], counts[engine.Lost], counts[engine.Doubled], counts[engine.Broken])
	if never := neverReached(t, r); len(never) > 0 {
		fmt.Fprintf(io.Out, "%s: no schedule reached %s, so no step was tried there; try more --seeds and --steps\n", name,
			show.Text(strings.Join(never, ", ")))
	}
	if len(t.properties) == 0 {
		fmt.Fprintf(io.Out, "%s: no properties: the run was compared only with the definition\n", name)
	}
	return nil
}

// neverReached returns the states that no run was in.
func neverReached(t *target, r *engine.Result) (never []string) {
	for i := range t.model.Main.Machine.Definition().States {
		if state := t.model.Main.Machine.Definition().States[i].Name; !slices.Contains(r.Reached, state) {
			never = append(never, state)
		}
	}
	return never
}

func (c *Command) printJSON(io console.Streams, r *engine.Result, written []files) error {
	type found struct {
		engine.Found
		Verdict  string `json:"verdict,omitzero"`
		Schedule string `json:"schedule,omitzero"`
		Scenario string `json:"scenario,omitzero"`
	}
	all := []found{}
	for i := range r.Found {
		all = append(all, found{r.Found[i], string(r.Verdicts[r.Found[i].Class]), written[i].schedule, written[i].scenario})
	}
	return show.JSON(io.Out, struct {
		Workflow string        `json:"workflow"`
		OK       bool          `json:"ok"`
		Counts   engine.Counts `json:"counts"`
		Found    []found       `json:"found"`
	}{c.Workflow, len(all) == 0, r.Counts, all})
}
