package shell

import (
	"slices"
	"strings"
)

// Programs hand variables of the environment on, or show them, by options and words of their own (R4).

// containers are clients that build and run containers.
var containers = wordSet(`docker podman nerdctl buildah docker-compose`)

// environment finds what reads the environment by a name in the words of a command.
func (s *scan) environment(at int) {
	switch {
	case containers[s.name]:
		s.containerEnvironment(at)
	case s.name == "keytool":
		for i, w := range s.words[at+1:] {
			if strings.HasSuffix(w.Text, ":env") && at+i+2 < len(s.words) {
				s.readsPatterns(s.words[at+i+2], at+1+i)
			}
		}
	case s.name == "mvn" && slices.ContainsFunc(s.words[at+1:], func(w Word) bool { return strings.HasSuffix(w.Text, "help:system") }):
		s.note(Dumps, s.c, at, "shows the environment")
	case strings.HasPrefix(s.name, "openssl "):
		for _, w := range s.words[at+1:] {
			if name, ok := strings.CutPrefix(w.Text, "env:"); ok {
				s.readsNames(name)
			}
		}
	}
}

// containerEnvironment walks the options of a client of containers, at any place: -e NAME takes the
// variable from the environment, and so do build arguments and secrets.
func (s *scan) containerEnvironment(at int) {
	for i := at + 1; i < len(s.words); i++ {
		name, value, attached := strings.Cut(s.words[i].Text, "=")
		arg := part(s.words[i], len(name)+1)
		if !attached {
			if arg = (Word{Static: true}); i+1 < len(s.words) {
				arg = s.words[i+1]
			}
		}
		switch {
		case strings.HasPrefix(name, "--env-host"):
			if !refuses[value] {
				s.note(Dumps, s.c, i, "shows the whole environment to a container")
			}
		case name == "--env", name == "--build-arg", name == "--unsetenv":
			s.passesOn(arg, i)
		case name == "--secret":
			s.readsPatterns(arg, i)
		case name == "secret": // podman secret create --env x NAME
			for _, w := range s.words[i+1:] {
				s.readsNames(w.Text)
			}
		default:
			s.clusteredEnvironment(i)
		}
	}
}

// clusteredEnvironment finds -e among options of one letter.
func (s *scan) clusteredEnvironment(i int) {
	text := s.words[i].Text
	if len(text) < 2 || text[0] != '-' || text[1] == '-' {
		return
	}
	letters := strings.TrimLeft(text[1:], "itdPq")
	switch {
	case letters == "e" && i+1 < len(s.words):
		s.passesOn(s.words[i+1], i)
	case strings.HasPrefix(letters, "e"):
		s.passesOn(part(s.words[i], len(text)-len(letters)+1), i)
	}
}

// network finds changes to the network of this machine by ip: the verb after the object.
func (s *scan) network() {
	if s.name != "ip" || len(s.operands) < 2 {
		return
	}
	object, verb := s.words[s.operands[0]].Text, s.words[s.operands[1]]
	if strings.HasPrefix(verb.Text, "e") && (strings.HasPrefix("netns", object) || strings.HasPrefix("vrf", object)) {
		return // exec, which has a line
	}
	if !verb.Static || !slices.ContainsFunc(ipReads, func(known string) bool {
		return strings.HasPrefix(known, verb.Text) && (known != "show" || len(verb.Text) > 1) // s is set
	}) {
		s.note(Writes, s.c, s.operands[1], "changes the network of this machine, or may")
	}
}

// ipReads are the verbs of ip that only show; their beginnings do as well.
var ipReads = strings.Fields(`show list lst ls get help identify pids monitor list-id`)
