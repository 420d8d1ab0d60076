package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// What a browser has to show, and within which time.
const (
	// manyEvents is how many events the long run has.
	manyEvents = 50_000
	// paintGoal is the bound on the first paint of each page, and shownGoal that on the contents of the long run.
	paintGoal = 800 * time.Millisecond
	shownGoal = 1500 * time.Millisecond
)

// painted has the times of a page, in milliseconds.
type painted struct {
	Page  string `json:"page"`
	Paint loads  `json:"paint"`
	Shown loads  `json:"shown"`
}

// loads has the median and the maximum of some loads, in milliseconds.
type loads struct {
	Half float64 `json:"half"`
	Most float64 `json:"most"`
}

// lengthen moves a run until it has many events.
func (g *grown) lengthen(ctx context.Context, p pool, run string) error {
	client := enginev1.NewRunServiceClient(p.of(0))
	for n := range manyEvents {
		if _, err := client.TransitionRun(ctx, transitionRequest(run, n)); err != nil {
			return err
		}
	}
	return nil
}

// paintSheet measures the pages in Chromium. script is console/e2e/paint.mjs.
func (g *grown) paintSheet(ctx context.Context, script, run string) (*sheet, error) {
	cmd := exec.CommandContext(ctx, "node", script, g.up.http, run)
	cmd.Stdin, cmd.Stderr = strings.NewReader(g.tokensOf[auth.Operator]), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", script, err)
	}
	s := &sheet{
		title: "The console's pages in Chromium, `interlock up` on " + g.backend,
		notes: fmt.Sprintf("The same store; the run has %d events. Browser and server share the processors.", manyEvents),
		header: []string{
			"page", "first paint, median / max, ms", "contents, median / max, ms",
			fmt.Sprintf("below %d ms, and %d ms for the run", paintGoal.Milliseconds(), shownGoal.Milliseconds()),
		},
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		var p painted
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, err
		}
		met := "yes"
		if p.Paint.Most > float64(paintGoal.Milliseconds()) || strings.HasPrefix(p.Page, "run of") && p.Shown.Most > float64(shownGoal.Milliseconds()) {
			met = "NO"
		}
		s.add(p.Page, p.Paint.text(), p.Shown.text(), met)
	}
	return s, lines.Err()
}

func (l loads) text() string { return fmt.Sprintf("%.0f / %.0f", l.Half, l.Most) }
