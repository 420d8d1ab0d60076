package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

// engineTime is a line of tools/rulesbench: the time of one decision of an engine, by rounds.
type engineTime struct {
	Name        string    `json:"name"`
	NS          []float64 `json:"ns"`
	Allocations int64     `json:"allocations"`
}

// engines compares one decision by a policy of 100 rules with the times of other engines. They
// are no dependencies of Interlock, so a program of a module of its own measures them.
func (b *bencher) engines(ctx context.Context) error {
	err := b.compareEngines(ctx, "One decision by a policy of 100 rules, in process",
		"The same rules and calls in each engine's own language, compiled beforehand.")
	if err != nil {
		return err
	}
	return b.compareEngines(ctx, "One decision by a policy of 100 rules, 20 of them with conditions, in process",
		"Three conditions are about each call. Interlock reads the arguments from JSON; the others get them as structures.", "-conditions")
}

func (b *bencher) compareEngines(ctx context.Context, title, notes string, flags ...string) error {
	if b.rules == "" {
		return nil
	}
	cmd := exec.CommandContext(ctx, b.rules, append(flags, "-rounds", strconv.Itoa(b.rounds))...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(b.procs))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", b.rules, err)
	}
	times, err := engineTimes(out)
	if err != nil {
		return fmt.Errorf("%s: %w", b.rules, err)
	}
	s := &sheet{
		title: title,
		notes: notes,
		header: []string{
			"measured", "ns min / median / max", "allocations",
			"compared with", "ns min / median / max", "allocations", "ratio min / median / max",
		},
	}
	ours := times[0]
	for _, other := range times[1:] {
		s.add(other.Name, spreadOf(other.NS).String(), strconv.FormatInt(other.Allocations, 10),
			ours.Name, spreadOf(ours.NS).String(), strconv.FormatInt(ours.Allocations, 10),
			spreadOf(ratios(other.NS, ours.NS)).String())
	}
	b.print(s)
	return nil
}

// engineTimes reads the output of rulesbench; the first is Interlock's.
func engineTimes(printed []byte) (times []engineTime, err error) {
	lines := json.NewDecoder(bytes.NewReader(printed))
	for {
		var t engineTime
		switch err := lines.Decode(&t); {
		case errors.Is(err, io.EOF) && len(times) > 0:
			return times, nil
		case err != nil:
			return nil, err
		}
		times = append(times, t)
	}
}
