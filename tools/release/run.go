package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"
)

func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	return cmd
}

// check runs a command, and says what it said when it fails.
func check(cmd *exec.Cmd) error {
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, text)
	}
	return nil
}

func do(dir, name string, args ...string) error { return check(command(dir, name, args...)) }

// output is what a command prints, without the blanks around it.
func output(dir, name string, args ...string) (string, error) {
	cmd := command(dir, name, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, &said)
	}
	return strings.TrimSpace(string(text)), nil
}

// goIn is a go command in the workspace of a repository.
func goIn(repo string, args ...string) *exec.Cmd {
	cmd := command(repo, "go", args...)
	cmd.Env = append(os.Environ(), "GOWORK="+repo+"/go.work", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=readonly -buildvcs=false", "CGO_ENABLED=0")
	return cmd
}

func modfileHash(mod []byte) (string, error) {
	return dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(mod)), nil
	})
}
