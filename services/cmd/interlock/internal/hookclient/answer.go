package hookclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// answer is the answer of the edge: the text to print, and how to end.
type answer struct {
	Exit   *int   `json:"exit"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

// parse takes no answer that does not say how to end: an empty object from some
// other server must not be a yes.
func parse(body []byte) (*answer, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, errors.New("the server's answer is not JSON; is it Interlock's edge?")
	}
	if a.Exit == nil || (*a.Exit != ExitDone && *a.Exit != ExitBlock) {
		return nil, errors.New("the server's answer is not one of Interlock's edge")
	}
	return &a, nil
}

func (a *answer) give(out, errs io.Writer) int {
	text := a.Stderr
	if *a.Exit != ExitDone && strings.TrimSpace(text) == "" {
		text = "Interlock blocks this" // some agents continue when a block has no text
	}
	if text != "" {
		fmt.Fprintln(errs, text)
	}
	if *a.Exit != ExitDone {
		return ExitBlock
	}
	if _, err := io.WriteString(out, a.Stdout); err != nil {
		fmt.Fprintf(errs, "Interlock blocks this: the answer could not be written: %v\n", err)
		return ExitBlock
	}
	return ExitDone
}
