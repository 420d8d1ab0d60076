package console

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// OpenTerminal opens the terminal of this command.
func OpenTerminal() (*os.File, error) {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("a person logs in at a terminal, and this command has none: %w", err)
	}
	return terminal, nil
}

// errStopped refuses a text that was not typed to its end.
var errStopped = errors.New("stopped while it was asked")

// Ask asks for a line of text. A signal that ends the program ends the question.
func Ask(terminal io.ReadWriter, question string) (string, error) {
	stops := make(chan os.Signal, 1)
	signal.Notify(stops, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(stops)
	if _, err := fmt.Fprint(terminal, question); err != nil {
		return "", fmt.Errorf("ask at the terminal: %w", err)
	}
	type line struct {
		text string
		err  error
	}
	typed := make(chan line, 1)
	go func() {
		text, err := ReadLine(terminal)
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		return l.text, l.err
	case <-stops:
		return "", errStopped
	}
}

// ReadLine reads no further than the line: what follows is another answer.
func ReadLine(from io.Reader) (string, error) {
	line, err := bufio.NewReaderSize(oneByOne{from}, 16).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read from the terminal: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// oneByOne reads a byte at a time.
type oneByOne struct{ io.Reader }

// Read implements io.Reader.
func (o oneByOne) Read(p []byte) (int, error) { return o.Reader.Read(p[:min(1, len(p))]) }
