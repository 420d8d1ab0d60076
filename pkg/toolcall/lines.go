package toolcall

import "strings"

// countLines is how many lines a text has. A line break at its end begins no
// further line. \n, \r\n and \r break lines.
func countLines(text string) int64 {
	n := breaks(text)
	if text != "" && !strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, "\r") {
		n++
	}
	return n
}

func breaks(text string) int64 {
	n := strings.Count(text, "\n")
	if returns := strings.Count(text, "\r"); returns > 0 {
		n += returns - strings.Count(text, "\r\n")
	}
	return int64(n)
}
