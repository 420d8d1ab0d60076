// Package console gives a command access to the terminal that it runs in: the standard
// streams, and a person who may be asked.
//
// It does not interpret the output. It must never open a file or a connection.
package console

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
)

// ErrNo means that the command was carried out and the answer is no: invalid,
// denied, rejected. The command has already said why.
var ErrNo = errors.New("no")

// ErrWaits means that the command was carried out, and that its request waits for a
// human. The command has already printed that.
var ErrWaits = errors.New("waits for a human")

// Exit is an exit code of a command that has said why already.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// misused is an error of the command line itself.
type misused struct{ error }

func (m misused) Unwrap() error { return m.error }

// Misused marks an error of the command line: it cannot be carried out anywhere.
func Misused(err error) error {
	if err == nil {
		return nil
	}
	return misused{err}
}

// Misusedf returns a new error of the command line.
func Misusedf(format string, args ...any) error { return misused{fmt.Errorf(format, args...)} }

// IsMisused reports an error of the command line.
func IsMisused(err error) bool { return errors.As(err, new(misused)) }

// Version is the version of the program.
type Version string

// Streams are where a command reads and writes.
type Streams struct {
	In       io.ReadCloser
	Out, Err io.Writer
}

// Confirm asks a yes-or-no question on standard input. Anything but a yes is a no.
func (s Streams) Confirm(question string) bool {
	fmt.Fprint(s.Out, question+" [y/N] ")
	line, err := bufio.NewReader(s.In).ReadString('\n')
	if err != nil && line == "" {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	default:
		return false
	}
}

// Interactive reports that standard input is a terminal, where a person can answer.
func (s Streams) Interactive() bool { return terminal(s.In) }

// Attended reports that a person is at a terminal: standard input is one, or standard error
// where standard input or output are a pipe.
func (s Streams) Attended() bool { return terminal(s.In) || terminal(s.Err) }

func terminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && (isatty.IsTerminal(file.Fd()) || isatty.IsCygwinTerminal(file.Fd()))
}
