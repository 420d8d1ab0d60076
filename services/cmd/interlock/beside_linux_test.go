package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

//go:embed testdata/beside/attack.py
var besideAttack []byte

// beside starts an attack of the person's user, and returns what it prints when it has ended.
func (a *atTerminals) beside(args ...string) (ended func() string) {
	a.t.Helper()
	looks := filepath.Join(a.folder, "looks")
	_ = os.Remove(looks)
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	cmd := exec.CommandContext(ctx, "/usr/bin/python3", append([]string{"-"}, args...)...)
	cmd.Dir, cmd.Env = a.folder, append([]string{"SOUGHT=" + filepath.Join(a.folder, "sought")}, a.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.user, Setsid: true}
	cmd.Stdin = bytes.NewReader(besideAttack)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Writer(&out), &out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	if args[0] == "look" || args[0] == "trace" {
		a.eventually("the attack looks for the command", func() bool { _, err := os.Stat(looks); return err == nil })
	}
	return func() string {
		_ = cmd.Wait()
		cancel()
		return out.String()
	}
}

func (a *atTerminals) eventually(what string, done func() bool) {
	a.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(soon)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			a.t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// seek names the word that attacks on memory look for, which they do from then on.
func (a *atTerminals) seek(word string) {
	a.t.Helper()
	file := filepath.Join(a.folder, "sought")
	if err := os.WriteFile(file+".new", []byte(word), 0o644); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		a.t.Fatal(err)
	}
}

// S23.4, S23.6, S23.16, S23.18, S23.19: a program of a person's user that looks on while the person decides learns no passphrase, and does not
// decide: not by the memory of the command or of the server from the moment of their start, not as their debugger, not by the
// terminal, and not by a command that looks like one of the person's shell.
func TestNoProgramBesideAPersonDecides(t *testing.T) {
	t.Parallel()
	a := openTerminals(t, true)
	if err := os.WriteFile(filepath.Join(a.folder, "gate.json"), []byte(gate), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.folder, "attack.py"), besideAttack, 0o644); err != nil {
		t.Fatal(err)
	}
	a.registers("ann", "--person ann --code "+a.code)
	a.decides("ann", "interlock workflow register gate.json")

	// The memory and the terminal of a command that asks.
	approval, run := a.waits()
	for _, command := range []string{"interlock login --person ann", "interlock approval approve --yes " + approval} {
		word := strings.Fields(command)[1]
		looks := a.beside("look", word)
		a.types(command + "; echo en''ded $?")
		a.shows(`(passphrase of ann:)`)
		if out := a.beside("listen", a.path)(); !strings.Contains(out, "LISTENED 16") && os.Getuid() == 0 {
			t.Errorf("%s: another program opens the terminal: %s", command, out)
		}
		if _, err := a.file.WriteString(terminalWords); err != nil {
			t.Fatal(err)
		}
		a.seek(terminalWords)
		a.types("")
		if code := a.shows(`(?s)ended (\d+)`); code != "0" {
			t.Errorf("%s: exit %s", command, code)
		}
		if out := looks(); !strings.Contains(out, "LOOKED nothing") && !strings.Contains(out, "LOOKED not opened") {
			t.Errorf("the memory of %s: %s", command, out)
		}
		if err := os.Remove(filepath.Join(a.folder, "sought")); err != nil {
			t.Fatal(err)
		}
		if out := a.beside("listen", a.path)(); !strings.Contains(out, "LISTENED open") {
			t.Errorf("%s leaves the terminal closed: %s", command, out)
		}
	}
	a.shipped(run)

	// A debugger of the command: either it comes too late, or the command refuses.
	traces := a.beside("trace", "login")
	a.types("interlock login --person ann; echo en''ded $?")
	refused := strings.Contains(a.shows(`(passphrase of ann:|another program debugs this process)`), "debugs")
	if !refused {
		if a.debugged("login") {
			t.Error("a debugger sees the passphrase")
		}
		a.types(terminalWords)
	}
	a.shows(`(?s)ended (\d+)`)
	if out := traces(); !strings.Contains(out, "TRACED") {
		t.Errorf("the debugger has not tried: %s", out)
	}

	// A command that looks like one of the shell where ann is logged in.
	if !refused {
		a.succeeds("interlock policy list")
	} else {
		a.decides("ann", "interlock login --person ann")
	}
	second, run := a.waits()
	sibling := "python3 attack.py sibling interlock approval approve --yes " + second
	a.types("LEAVE= " + sibling)
	a.shows(`(passphrase of ann:|your name[^\n]*: )`)
	if _, err := a.file.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	a.shows(`(stopped while it was asked)`)
	a.types("LEAVE=1 " + sibling) // its parent ends, so that the shell has no other child
	a.shows(`(passphrase of ann:|your name[^\n]*: )`)
	a.waiting(run)
}

// debugged reports that a command of interlock has a debugger.
func (a *atTerminals) debugged(name string) bool {
	a.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		a.t.Fatal(err)
	}
	for _, file := range all {
		line, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(line), "interlock\x00"+name+"\x00") {
			continue
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if err == nil && !strings.Contains(string(status), "\nTracerPid:\t0\n") {
			return true
		}
	}
	return false
}

func (a *atTerminals) stateOf(run string) string {
	a.t.Helper()
	var got struct {
		State string `json:"state"`
	}
	if err := json.Unmarshal([]byte(a.asAgent("run", "get", run)), &got); err != nil {
		a.t.Fatal(err)
	}
	return got.State
}

func (a *atTerminals) shipped(run string) {
	a.t.Helper()
	if state := a.stateOf(run); state != "ship" {
		a.t.Errorf("the person's own decision did not count: %s", state)
	}
}

func (a *atTerminals) waiting(run string) {
	a.t.Helper()
	if state := a.stateOf(run); state != "build" {
		a.t.Errorf("a program beside the person decided: %s", state)
	}
}
