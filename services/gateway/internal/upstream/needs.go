package upstream

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/interlock-run/interlock/pkg/jail"
)

// Needs lists the rights of a server's process on its machine: it runs in a jail that allows
// only these. Its JSON is "needs" of an entry.
type Needs struct {
	// Read are paths that are hidden otherwise, such as "~/.ssh".
	Read []string `json:"read,omitempty"`
	// Write are files and folders that it may change; "." is the workspace.
	Write []string `json:"write,omitempty"`
	// Hosts are those that it may reach; "*" for any.
	Hosts []string `json:"hosts,omitempty"`
	// Lend are variables of Interlock's environment that it gets.
	Lend []string `json:"lend,omitempty"`
	// Jail is the least level of the jail. The default depends on Hosts.
	Jail Least `json:"jail,omitzero"`
}

// Least is the least level of a jail: 1 to 3, "off", or 0 for the default.
type Least int

// Off starts a server without a jail.
const Off Least = -1

// UnmarshalJSON implements json.Unmarshaler.
func (l *Least) UnmarshalJSON(data []byte) error {
	switch text := string(data); text {
	case `"off"`:
		*l = Off
	case "1", "2", "3":
		*l = Least(text[0] - '0')
	default:
		return fmt.Errorf(`"jail" is %s; it must be 1, 2, 3 or "off"`, text)
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler: a need that is not known is an error.
func (n *Needs) UnmarshalJSON(data []byte) error {
	type plain Needs
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*plain)(n)); err != nil {
		var typed *json.UnmarshalTypeError
		if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
			return fmt.Errorf(`"needs" has no %s; it has "read", "write", "hosts", "lend" and "jail"`, name)
		} else if errors.As(err, &typed) && typed.Field == "" {
			return errors.New(`"needs" must be an object`)
		} else if errors.As(err, &typed) {
			return fmt.Errorf("%q of \"needs\" must be a list of texts", typed.Field)
		}
		return err
	}
	return nil
}

// check refuses needs that no jail can have.
func (n *Needs) check(name string) error {
	wrong := func(what, entry, why string) error {
		return fmt.Errorf("upstream %q: %q of %q in its needs: %s", name, entry, what, why)
	}
	for what, paths := range map[string][]string{"read": n.Read, "write": n.Write} {
		for _, path := range paths {
			switch {
			case path == "" || strings.ContainsAny(path, "\x00\n"):
				return wrong(what, path, "write a path")
			case path == "/" || path == "~" || path == "~/":
				return wrong(what, path, "name the folders that the server needs, not all of them")
			}
		}
	}
	for _, host := range n.Hosts {
		if !hostRule().MatchString(host) {
			return wrong("hosts", host, `write a host such as "api.example.com", "*.example.com" or "api.example.com:8443", without a scheme or path`)
		}
	}
	for _, variable := range n.Lend {
		if !variableName().MatchString(variable) {
			return wrong("lend", variable, "write the name of a variable, without a value")
		}
		if strings.HasPrefix(strings.ToUpper(variable), "INTERLOCK_") {
			return wrong("lend", variable, "variables of Interlock are lent to no server")
		}
	}
	if n.level() < jail.Full && slices.ContainsFunc(n.Hosts, func(host string) bool { return host != "*" }) {
		return wrong("jail", fmt.Sprint(int(n.Jail)), "only level 3 allows some hosts and no others")
	}
	return nil
}

var (
	hostRule     = lazily(`^(\*|(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)
	variableName = lazily(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// level returns the least level that enforces the needs.
func (n *Needs) level() jail.Level {
	switch {
	case n.Jail > 0:
		return jail.Level(n.Jail)
	case len(n.Hosts) > 0 && !slices.Contains(n.Hosts, "*"):
		return jail.Full
	default:
		return jail.Scoped
	}
}

// profile returns the limits of a server. Relative paths are those of its folder.
func (n *Needs) profile(workspace, folder string) *jail.Profile {
	rules := jail.Rules{Level: n.level(), Writes: jail.WritesDeny, Hosts: append([]string{}, n.Hosts...), Background: true}
	call := jail.Command{ReadOnly: true, Workspace: workspace, Folder: folder}
	for _, path := range n.Write {
		path = within(folder, path)
		if path == workspace {
			call.ReadOnly = false
			continue
		}
		rules.Write = append(rules.Write, path)
	}
	for _, path := range n.Read {
		rules.Read = append(rules.Read, within(folder, path))
	}
	p := jail.Compile(rules, call)
	// A server lasts, and its environment comes from environment.
	p.DropEnv, p.SetEnv, p.Background = nil, nil, false
	p.Limits.WallSeconds, p.Limits.CPUSeconds, p.Limits.OutputBytes = 0, 0, 0
	return &p
}

// within returns an absolute path, or one that begins with "~/".
func within(folder, path string) string {
	if strings.HasPrefix(path, "~/") || filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}

// harmless are variables that a server in a jail has without being named.
var harmless = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR", "TMPDIR",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
	"SYSTEMROOT", "PATHEXT", "COMSPEC", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
}

// passed returns the part of our environment that a server in a jail has.
func (n *Needs) passed(ours []string) []string {
	return slices.DeleteFunc(slices.Clone(ours), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !strings.HasPrefix(name, "LC_") && !slices.Contains(harmless, strings.ToUpper(name)) && !slices.Contains(n.Lend, name)
	})
}

// Jails says how servers are jailed.
type Jails string

// The values of Jails.
const (
	// JailsAuto jails servers that have Needs.
	JailsAuto Jails = "auto"
	// JailsRequired jails every process, without Needs as with empty ones.
	JailsRequired Jails = "required"
	// JailsOff jails none.
	JailsOff Jails = "off"
)

// jailed returns the needs that the process of a server is jailed by, or nil and why it has no jail.
func (s Server) jailed(mode Jails) (needs *Needs, why string) {
	switch {
	case len(s.Command) == 0:
		return nil, "it is reached by a URL"
	case mode == JailsOff:
		return nil, "--jail is off"
	case s.Needs != nil && s.Needs.Jail == Off:
		return nil, `its needs have "jail": "off"`
	case s.Needs == nil && mode == JailsRequired:
		return &Needs{}, ""
	case s.Needs == nil:
		return nil, `its configuration has no "needs", from which a jail is made`
	default:
		return s.Needs, ""
	}
}

// local reports a server that is a process on this machine.
func (s Server) local() bool { return len(s.Command) > 0 }

// Unjailed returns the reason why a server runs on this machine without a jail; empty where it runs in one, and where it is reached by a URL.
func (s Server) Unjailed(mode Jails) string {
	if !s.local() {
		return ""
	}
	_, why := s.jailed(cmp.Or(mode, JailsAuto))
	return why
}

// Texts that programs print after a denial by their jail.
var (
	refusedHost = lazily(`(?i)ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED|getaddrinfo|name resolution|resolve host|network is unreachable|fetch failed`)
	refusedFile = lazily(`(?i)EROFS|EACCES|EPERM|read-only file system|permission denied|operation not permitted`)
	aPath       = lazily(`(?:~|/)[^\s'":,]+`)
	aVariable   = lazily(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)
)

// lacks returns the entries of the needs that could help a server that has ended: by its last words, and by the observations of its jail, which may be
// nil. ours is the environment of Interlock, hidden are the paths that the jail hides, with "~" for home.
func (n *Needs) lacks(words string, ours, hidden []string, home string, witness *jail.Witness) []string {
	const most = 4
	var could []string
	add := func(need, entry string) {
		if line := fmt.Sprintf(`"%s": [%q]`, need, entry); !slices.Contains(could, line) && len(could) < most {
			could = append(could, line)
		}
	}
	asked := false
	if witness != nil {
		for _, host := range witness.Hosts {
			asked = true
			if !host.Allowed {
				add("hosts", strings.TrimSuffix(host.Host, ":443"))
			}
		}
		for _, file := range witness.Tried {
			add("write", file)
		}
	}
	for line := range strings.Lines(words) {
		if refusedFile().MatchString(line) {
			path := cmp.Or(underHome(aPath().FindString(line), home), "PATH")
			if at := slices.IndexFunc(hidden, func(at string) bool { return path == at || strings.HasPrefix(path, at+"/") }); at >= 0 {
				add("read", hidden[at])
			} else {
				add("write", path)
			}
		}
	}
	if !asked && refusedHost().MatchString(words) {
		add("hosts", "HOST")
	}
	for _, name := range aVariable().FindAllString(words, -1) {
		has := slices.ContainsFunc(ours, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
		if has && !slices.Contains(n.Lend, name) && !strings.HasPrefix(name, "INTERLOCK_") {
			add("lend", name)
		}
	}
	return could
}

// underHome returns a path with "~" for the home folder.
func underHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "" {
		return "~/" + rest
	}
	return path
}

func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
