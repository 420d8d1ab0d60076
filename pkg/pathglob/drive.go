package pathglob

import (
	"slices"
	"strings"
)

// windowsName is a name as Windows reads it.
type windowsName struct {
	// volume is "C:" or "//host/share", or empty.
	volume string
	// rooted is true when it begins at the top of the volume.
	rooted bool
	parts  []string
}

// windowsAbsolute reports C:\x, \\host\share and \\?\C:\x, with either slash.
func windowsAbsolute(name string) bool {
	n := len(name)
	drive := n >= 3 && isLetter(name[0]) && name[1] == ':' && isSlash(name[2])
	return drive || n >= 2 && name[0] == '\\' && name[1] == '\\'
}

func isSlash(c byte) bool  { return c == '/' || c == '\\' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func readWindows(name string) windowsName {
	rest := strings.ReplaceAll(name, `\`, "/")
	if strings.HasPrefix(rest, "//") {
		rest = "//" + strings.TrimLeft(rest, "/")
	}
	// \\?\ and \\.\ only switch the normalisation off.
	for _, prefix := range []string{"//?/UNC/", "//./UNC/"} {
		if len(rest) >= len(prefix) && strings.EqualFold(rest[:len(prefix)], prefix) {
			rest = "//" + rest[len(prefix):]
		}
	}
	device := false
	for _, prefix := range []string{"//?/", "//./", "/??/"} {
		if after, ok := strings.CutPrefix(rest, prefix); ok {
			rest, device = after, true
		}
	}
	var n windowsName
	switch {
	case len(rest) >= 2 && isLetter(rest[0]) && rest[1] == ':':
		n.volume, rest = strings.ToUpper(rest[:2]), rest[2:]
	case device: // a volume by another name, a pipe
		n.volume, n.rooted = "//?", true
	case strings.HasPrefix(rest, "//"):
		host, after, _ := strings.Cut(rest[2:], "/")
		share, after, _ := strings.Cut(after, "/")
		n.volume, n.rooted, rest = "//"+host+"/"+share, true, after
	}
	n.rooted = n.rooted || strings.HasPrefix(rest, "/")
	for part := range strings.SplitSeq(rest, "/") {
		if part = plainPart(part); part != "" {
			n.parts = append(n.parts, part)
		}
	}
	return n
}

// plainPart returns the name of the file that Windows opens: without the name of a
// stream, and without dots and blanks at its end.
func plainPart(part string) string {
	part, _, _ = strings.Cut(part, ":")
	if dots := strings.TrimRight(part, " "); dots == ".." {
		return dots
	}
	return strings.TrimRight(part, " .")
}

func (r Root) cleanWindows(name string) (clean string, inside bool) {
	root, n := readWindows(r.Path), readWindows(name)
	known := root.volume != "" && root.rooted
	if known && (n.volume == "" || strings.EqualFold(n.volume, root.volume)) {
		n.volume = root.volume
		if !n.rooted { // C:x too: from the folder of that drive that is likely the workspace
			n.rooted, n.parts = true, slices.Concat(root.parts, n.parts)
		}
	}
	n.parts, root.parts = withoutDots(n.parts, n.rooted), withoutDots(root.parts, true)
	if n.volume == "" && !n.rooted {
		return relative(orDot(strings.Join(n.parts, "/")))
	}
	if len(n.parts) == 0 {
		return "", false
	}
	full := n.volume + "/" + strings.Join(n.parts, "/")
	if !known || !strings.EqualFold(n.volume, root.volume) || len(n.parts) < len(root.parts) {
		return full, false
	}
	for i, part := range root.parts {
		if fold(part) != fold(n.parts[i]) {
			return full, false
		}
	}
	clean = strings.Join(n.parts[len(root.parts):], "/")
	return clean, clean != ""
}

func orDot(name string) string {
	if name == "" {
		return "."
	}
	return name
}

// withoutDots resolves .. ; at the top of a volume it leads nowhere.
func withoutDots(parts []string, rooted bool) []string {
	var kept []string
	for _, part := range parts {
		switch n := len(kept); {
		case part != "..":
			kept = append(kept, part)
		case n > 0 && kept[n-1] != "..":
			kept = kept[:n-1]
		case !rooted:
			kept = append(kept, part)
		}
	}
	return kept
}
