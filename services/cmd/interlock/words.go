package main

import (
	"bufio"
	"fmt"
	"strings"
)

// shellJoin quotes words for a POSIX shell.
func shellJoin(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:@") != "" {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// splitFields splits what shellJoin joined well enough to recognise a command.
func splitFields(command string) []string {
	fields := strings.Fields(command)
	for i, f := range fields {
		fields[i] = strings.Trim(f, `'"`)
	}
	return fields
}

// confirmed asks on standard input.
func confirmed(io streams) bool {
	fmt.Fprint(io.out, "Write these files? [y/N] ")
	line, err := bufio.NewReader(io.in).ReadString('\n')
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
