package jailer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/interlock-run/interlock/pkg/jail"
)

// left is a jail whose programs have outlived their command.
type left struct {
	// Stage and Started are the process that all programs of the jail descend from.
	Stage   int          `json:"stage"`
	Started string       `json:"started"`
	Profile jail.Profile `json:"profile"`
}

// keepLeft writes down which process the programs that a command leaves descend from.
func (r *run) keepLeft() error {
	if !r.order.Background || r.command.Left == "" {
		return nil
	}
	if <-r.process.started; r.process.err != nil {
		return nil //nolint:nilerr // send reports it
	}
	pid := r.process.pid
	started, _, err := statOf(pid)
	if err != nil {
		return err
	}
	data, err := json.Marshal(left{pid, started, *r.command.Profile})
	if err != nil {
		return fmt.Errorf("write the rest: %w", err)
	}
	if err := os.MkdirAll(r.command.Left, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.command.Left, strconv.Itoa(pid)+".json"), data, 0o600)
}

// EndLeft ends the programs that earlier commands have left in a folder, where their jails let them do more than a profile does.
func EndLeft(folder string, now *jail.Profile) error {
	names, err := filepath.Glob(filepath.Join(folder, "*.json"))
	for _, name := range names {
		err = errors.Join(err, endProcess(name, now))
	}
	return err
}

func endProcess(name string, now *jail.Profile) error {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var l left
	if err := json.Unmarshal(data, &l); err != nil { // a write that was cut off: its command has not started
		return os.Remove(name)
	}
	for until := time.Now().Add(ending); ; time.Sleep(time.Millisecond) {
		started, _, err := statOf(l.Stage)
		if err != nil || started != l.Started {
			return os.Remove(name)
		}
		if len(l.Profile.Gained(now)) == 0 {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("programs that process %d has left running may do more than this state lets commands do, and do not end", l.Stage)
		}
		endTree(l.Stage)
	}
}

// endTree ends a process and all that descend from it, the youngest generations first: those of a process that has ended are no
// one's.
func endTree(stage int) {
	entries, _ := os.ReadDir("/proc")
	parents := map[int]int{}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if _, parent, err := statOf(pid); err == nil {
				parents[pid] = parent
			}
		}
	}
	more := false
	for pid := range parents {
		for at, hops := parents[pid], 0; at > 1 && hops < len(parents); at, hops = parents[at], hops+1 {
			if at == stage {
				more = true
				_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
				break
			}
		}
	}
	if !more { // it adopts those whose parent has ended, so it is the last one
		_ = unix.Kill(stage, unix.SIGKILL)
	}
}

// statOf returns when a process has started, and its parent. One that has ended, and is not yet waited for, is an error.
func statOf(pid int) (started string, parent int, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, err
	}
	words := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:]) // STATE PARENT …, 20th the start
	if len(words) < 20 || words[0] == "Z" {
		return "", 0, fs.ErrNotExist
	}
	parent, err = strconv.Atoi(words[1])
	return words[19], parent, err
}
