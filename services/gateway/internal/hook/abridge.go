package hook

import (
	"strings"
	"unicode/utf8"
)

// gap marks the omitted part of a prompt. It ends the line that was cut, and begins one,
// so that it is seen inside of a block of JSON, too.
const gap = "\n\n[... left out here: read the state with `state_read`, in parts by its pointers, and the schema with `state_schema` ...]\n\n"

// abridged returns a prompt within a number of bytes, because agents cut a longer text at
// its end, which has the instructions. The omitted part is in the middle: the state and
// its schema, which the agent can read.
func abridged(prompt string, size int) string {
	if len(prompt) <= size {
		return prompt
	}
	room := size - len(gap)
	head, tail := room/2, len(prompt)-room/2
	for !utf8.RuneStart(prompt[head]) {
		head--
	}
	for tail < len(prompt) && !utf8.RuneStart(prompt[tail]) {
		tail++
	}
	return strings.TrimRight(prompt[:head], "\n") + gap + strings.TrimLeft(prompt[tail:], "\n")
}
