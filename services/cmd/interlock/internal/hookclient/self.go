package hookclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// longestProbe is how long a probe of a machine may take.
const longestProbe = 3 * time.Second

// Self has another process of this program find out, which has all that it needs for it.
type Self struct{}

// Probe implements Prober.
func (Self) Probe() (Support, error) {
	out, err := run("jail", "probe", "--json")
	if err != nil {
		return Support{}, err
	}
	var found Support
	if json.Unmarshal(out, &found) != nil || found.Level < 0 || found.Level > 3 {
		return Support{}, errors.New("`interlock jail probe` gives no answer")
	}
	return found, nil
}

// run runs this program without input, and returns its standard output. It fails unless the program succeeds within longestProbe.
// Package os/exec would be initialised late.
func run(args ...string) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	out, err := outputOf(longestProbe, self, args...)
	if err != nil {
		return nil, fmt.Errorf("run %s %s: %w", self, strings.Join(args, " "), err)
	}
	return out, nil
}

// outputOf runs a program without input for at most a time, and returns its standard output.
func outputOf(limit time.Duration, program string, args ...string) ([]byte, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer from.Close()
	process, err := os.StartProcess(program, append([]string{program}, args...), &os.ProcAttr{Files: []*os.File{null, to, null}})
	if err = errors.Join(err, to.Close()); err != nil {
		return nil, err
	}
	end := time.AfterFunc(limit, func() { _ = process.Kill() }) // it may have ended
	defer end.Stop()
	_ = from.SetReadDeadline(time.Now().Add(limit)) // others may have the pipe still; some systems set none
	out, err := io.ReadAll(io.LimitReader(from, maxMessage))
	state, waited := process.Wait()
	if err = errors.Join(err, waited); err != nil {
		return nil, err
	}
	if !state.Success() {
		return nil, errors.New(state.String())
	}
	return out, nil
}
