package shell

import (
	"slices"
	"strings"
	"sync"
)

// The effects of programs have two sides: those on files here, and those on other machines and
// services. A client that only queries them reads; any other act is Elsewhere.

const (
	actsElsewhere = "acts on another machine or service, or may"
	sendsThere    = "sends data to another machine or service"
)

// readingMethods make no change on a server that keeps to the standard.
var readingMethods = wordSet(`GET HEAD OPTIONS TRACE PROPFIND REPORT`)

// elsewhere finds the effects of a command on another machine or service.
func (s remoteScan) elsewhere(at int) {
	if s.spec.elsewhere {
		s.unlessHarmless(Elsewhere, at, actsElsewhere)
	}
	switch s.spec.name {
	case "curl":
		s.request(at)
	case "gh api":
		if s.acts > 0 || s.sends > 0 && !s.asks {
			s.builtinPart().note(Elsewhere, s.c, max(s.acts, s.sends), sendsThere)
		}
	case "wget":
		if s.acts > 0 {
			s.builtinPart().note(Elsewhere, s.c, s.acts, sendsThere)
		}
	case "rsync":
		if slices.ContainsFunc(s.operands, func(i int) bool { return strings.Contains(s.words[i].Text, ":") }) {
			s.builtinPart().note(Elsewhere, s.c, at, actsElsewhere)
		}
	case "http":
		s.httpie(at)
	case "openssl s_client":
		if s.plan.Commands[s.c].Fed {
			s.builtinPart().note(Elsewhere, s.c, at, "sends what it reads to another machine (to read a certificate, give it </dev/null)")
		}
	case "nc":
		if !slices.ContainsFunc(s.words[at+1:], func(w Word) bool { return w.Static && strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "z") }) {
			s.builtinPart().note(Elsewhere, s.c, at, sendsThere)
		}
	}
}

// request judges curl: a method other than of reading and data that it sends change something on
// the server, which is of this machine when all addresses are. Both that and -G count only where every
// option is known (harmless.go): another may choose the address, or take back -G.
func (s remoteScan) request(at int) {
	asksOnly := false
	for _, w := range s.words[at+1:] {
		name, _, _ := strings.Cut(w.Text, "=")
		if name == "--get" || len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-' && strings.Trim(w.Text[1:], "sSLfkivG") == "" && strings.Contains(w.Text, "G") {
			asksOnly = true
		}
	}
	place := s.acts
	if place == 0 && s.sends > 0 && (!asksOnly || s.uploads > 0 || s.doubted > 0) {
		place = s.sends
	}
	if place > 0 && !s.loopback() && (s.uploads == 0 || s.sendsAway()) {
		s.builtinPart().note(Elsewhere, s.c, place, sendsThere)
	}
	for _, i := range s.operands {
		if scheme, _, ok := strings.Cut(s.words[i].Text, "://"); ok && !readingSchemes()[strings.ToLower(scheme)] && !strings.ContainsRune(scheme, Unknown) {
			s.builtinPart().note(Elsewhere, s.c, i, sendsThere)
		}
	}
}

// readingSchemes are those of addresses that a request without data only reads.
var readingSchemes = sync.OnceValue(func() map[string]bool { return wordSet(`http https ftp ftps sftp scp file`) })

// redirecting are the beginnings of options of curl by which a request goes to another address than
// the line says.
var redirecting = strings.Fields(`--url --expand- --unix-socket --abstract-unix-socket --connect-to --resolve -x --proxy --preproxy --socks --doh-url --dns- --ipfs-gateway`)

// loopback reports that all addresses of a request are of this machine.
func (s remoteScan) loopback() bool {
	if len(s.operands) == 0 || s.doubted > 0 || slices.ContainsFunc(s.words, func(w Word) bool {
		return slices.ContainsFunc(redirecting, func(begin string) bool { return strings.HasPrefix(w.Text, begin) })
	}) || s.proxied() {
		return false
	}
	return !slices.ContainsFunc(s.operands, func(i int) bool { return !isLoopback(s.words[i]) })
}

// proxied reports a line that sets a variable by which requests go through another machine.
func (s remoteScan) proxied() bool {
	for name := range s.vars {
		if strings.HasSuffix(strings.ToLower(name), "_proxy") {
			return true
		}
	}
	return false
}

// isLoopback reports an address of this machine. Unknown parts may only be behind the host.
func isLoopback(w Word) bool {
	scheme, rest, ok := strings.Cut(w.Text, "://")
	if !ok {
		rest = w.Text
	} else if scheme != "http" && scheme != "https" {
		return false
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	host, port, ok := strings.Cut(strings.TrimPrefix(rest, "[::1]"), ":")
	if ok && !digits(port) {
		return false
	}
	return host == "localhost" || host == "127.0.0.1" || host == "" && strings.HasPrefix(rest, "[::1]")
}

// httpie judges http and its like: a method, and operands that are data.
func (s remoteScan) httpie(at int) {
	for n, i := range s.operands {
		text := s.words[i].Text
		method := n == 0 && strings.ToUpper(text) == text && strings.ToLower(text) != text && !strings.ContainsAny(text, ":/.")
		data := n > 0 && strings.ContainsAny(strings.ReplaceAll(text, "==", ""), "=@")
		if !s.words[i].Static || method && !readingMethods[text] || data {
			s.builtinPart().note(Elsewhere, s.c, i, sendsThere)
			return
		}
	}
	for i, w := range s.words[at+1:] {
		if strings.HasPrefix(w.Text, "--raw") || strings.HasPrefix(w.Text, "-f") || strings.HasPrefix(w.Text, "--form") || strings.HasPrefix(w.Text, "--multipart") {
			s.builtinPart().note(Elsewhere, s.c, at+1+i, sendsThere)
		}
	}
}

// readingVerbs only read, with any operands; readingBeginnings are those of longer ones. readingNouns
// only read when no word follows that may be a verb.
var (
	readingVerbs = wordSet(`list ls get show describe status info read query lookup cat stat du hash wait exists tail inspect validate
help print-access-token print-identity-token`)
	readingBeginnings = strings.Fields(`list- describe- get- head- show- search- lookup- batch-get- filter- check- preview- estimate- simulate- view-`)
	readingNouns      = sync.OnceValue(func() map[string]bool {
		return wordSet(`search version versions log logs ps releases regions sizes plans whoami apps domains events history top find presign config
configurations scan`)
	})
)

func readsByVerb(verb string, last bool) bool {
	return readingVerbs[verb] || last && readingNouns()[verb] ||
		slices.ContainsFunc(readingBeginnings, func(begin string) bool { return strings.HasPrefix(verb, begin) })
}

// actingVerbs are the beginnings of verbs that change something: they name no group of commands.
var actingVerbs = strings.Fields(`add remove delete create update set unset reset start stop restart patch deploy submit import export run exec enable disable move
copy rename attach detach grant revoke approve reject cancel kill destroy purge scale promote rollback restore replace resize invoke publish undelete suspend
resume access send write put upload rsync sync connect ssh execute terminate reboot allocate release associate disassociate modify register deregister
failover rotate generate abandon apply bind unbind install uninstall upgrade migrate clear`)

// verb finds the verb of a client of a cloud: the first word of its operands that is one of reading,
// behind words that name groups of commands. Any other command acts.
func (s remoteScan) verb(at int) {
	if s.looksOnly() || len(s.words) == at+2 && s.words[at+1].Static && asked[s.words[at+1].Text] {
		return
	}
	leading := s.operands
	if end := slices.IndexFunc(leading, func(i int) bool { return !s.words[i].Static || strings.HasPrefix(s.words[i].Text, "-") }); end >= 0 {
		leading = leading[:end]
	}
	place := at
	for n, i := range leading {
		place = i
		name := s.words[i].Text
		if _, sub, ok := strings.Cut(name, ":"); ok { // heroku pg:info
			name = sub
		}
		group := n == 0 && len(leading) > 1 && slices.Contains([]string{"aws", "az", "gcloud"}, s.spec.name)
		if !group && readsByVerb(name, n+1 == len(leading)) {
			return
		}
		if s.spec.name == "aws" && n == 1 || changesByVerb(name) {
			break
		}
	}
	s.builtinPart().note(Elsewhere, s.c, place, actsElsewhere)
}

func changesByVerb(verb string) bool {
	return slices.ContainsFunc(actingVerbs, func(begin string) bool { return verb == begin || strings.HasPrefix(verb, begin+"-") })
}

// networkSchemes are those of addresses that do not name a file here.
var networkSchemes = sync.OnceValue(func() map[string]bool { return wordSet(`http https ftp ftps sftp scp smtp smtps imap mqtt`) })

// sendsAway reports that all addresses are of other machines.
func (s remoteScan) sendsAway() bool {
	if slices.ContainsFunc(s.words, func(w Word) bool {
		return strings.HasPrefix(w.Text, "--url") || strings.HasPrefix(w.Text, "--expand-url")
	}) {
		return false
	}
	return !slices.ContainsFunc(s.operands, func(place int) bool {
		w := s.words[place]
		scheme, _, ok := strings.Cut(w.Text, "://")
		switch {
		case strings.ContainsRune(scheme, Unknown), !ok && strings.ContainsAny(scheme, ":{["):
			return true
		}
		return ok && !networkSchemes()[scheme]
	})
}
