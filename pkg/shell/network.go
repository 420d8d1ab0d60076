package shell

import "strings"

// Connects reports that a redirection of the line may reach another machine: bash opens /dev/tcp/HOST/PORT.
func (p *Plan) Connects() bool {
	if p.connects {
		return true
	}
	for _, f := range p.Findings {
		if f.Kind == Writes && f.Command < 0 && mayBeConnection(f.About) {
			return true
		}
	}
	return false
}

// mayBeConnection reports the name of a file, as a message shows it, that may be one of a connection.
func mayBeConnection(name string) bool {
	begin, _, unknown := strings.Cut(name, "…")
	for _, folder := range []string{"/dev/tcp/", "/dev/udp/"} {
		if strings.HasPrefix(begin, folder) || unknown && strings.HasPrefix(folder, begin) {
			return true
		}
	}
	return false
}

// Single reports a word that is exactly one when the line runs.
func (w Word) Single() bool { return !w.many }
