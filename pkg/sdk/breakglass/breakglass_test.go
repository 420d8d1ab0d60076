package breakglass_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/sdk/breakglass"
)

var now = time.Date(2026, 5, 5, 3, 0, 0, 0, time.UTC)

type signer struct{ ed25519.PrivateKey }

func (s signer) Public() ed25519.PublicKey { return s.PrivateKey.Public().(ed25519.PublicKey) }

func (s signer) Sign(message []byte) ([]byte, error) { return ed25519.Sign(s.PrivateKey, message), nil }

func key(seed byte) signer {
	return signer{ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), ed25519.SeedSize)))}
}

func grant(change func(*breakglass.Grant)) *breakglass.Grant {
	g := breakglass.New(breakglass.Grant{
		ID: "bg_1", Namespace: "default", Principal: "deployer", Tools: []string{"Bash", "mcp__k8s__*"}, IssuedAt: now.Unix(), Expires: now.Add(8 * time.Hour).Unix(),
		Reason: "on call", By: "olga",
	})
	if change != nil {
		change(g)
	}
	return g
}

func token(t *testing.T, g *breakglass.Grant) string {
	t.Helper()
	text, err := g.Token(key('k'))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// files writes a grant and its key as a client has them.
func files(t *testing.T, token string) breakglass.Settings {
	t.Helper()
	folder := t.TempDir()
	der, err := x509.MarshalPKIXPublicKey(key('k').Public())
	if err != nil {
		t.Fatal(err)
	}
	s := breakglass.Settings{Grant: filepath.Join(folder, "g.jws"), Namespace: "default", Principal: "deployer", Client: "go"}
	for name, text := range map[string]string{s.Grant: token + "\n", s.Grant + ".pub": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func at(d time.Duration) func() time.Time { return func() time.Time { return now.Add(d) } }

func open(t *testing.T, s breakglass.Settings) *breakglass.Glass {
	t.Helper()
	g, err := breakglass.Open(s, at(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// signed makes a token of any parts, with a signature that holds.
func signed(header, claims string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	signature, _ := key('k').Sign([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// S23.49: a client takes a grant only if its key has signed it as it is, for this namespace and principal, and for now.
func TestGrantsThatDoNotCount(t *testing.T) {
	t.Parallel()
	good := token(t, grant(nil))
	part := strings.Split(good, ".")
	header, _ := base64.RawURLEncoding.DecodeString(part[0])
	claims, _ := base64.RawURLEncoding.DecodeString(part[1])
	changed := func(old, new string) string {
		return part[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(claims), old, new, 1))) + "." + part[2]
	}
	claimed := func(old, new string) string {
		return signed(string(header), strings.Replace(string(claims), old, new, 1))
	}
	headed := func(old, new string) string {
		return signed(strings.Replace(string(header), old, new, 1), string(claims))
	}
	forged, err := grant(nil).Token(key('x'))
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		token  string
		change func(*breakglass.Settings)
		after  time.Duration
		why    string
	}{
		"as it is":                  {token: good},
		"of another key":            {token: forged, why: "another key"},
		"of another key as this":    {token: strings.Split(forged, ".")[0] + "." + part[1] + "." + part[2], why: "another key"},
		"altered":                   {token: changed("deployer", "intruder"), why: "signature"},
		"with more tools":           {token: changed(`"Bash"`, `"Edit"`), why: "signature"},
		"without a signature":       {token: part[0] + "." + part[1] + ".", why: "signature"},
		"with half a signature":     {token: good[:len(good)-42], why: "signature"},
		"of two parts":              {token: part[0] + "." + part[1], why: "three parts"},
		"with padding":              {token: good + "=", why: "base64url"},
		"with the algorithm none":   {token: headed("EdDSA", "none"), why: "header"},
		"of another type":           {token: headed("interlock-breakglass+jwt", "JWT"), why: "header"},
		"with a member twice":       {token: headed(`"alg":"EdDSA"`, `"alg":"EdDSA","alg":"EdDSA"`), why: "twice"},
		"with crit":                 {token: headed(`"alg":"EdDSA"`, `"alg":"EdDSA","crit":["x"]`), why: "belong"},
		"of another issuer":         {token: claimed(`"interlock"`, `"elsewhere"`), why: "issuer"},
		"of another namespace":      {token: good, change: func(s *breakglass.Settings) { s.Namespace = "other" }, why: "namespace"},
		"of another principal":      {token: good, change: func(s *breakglass.Settings) { s.Principal = "Deployer" }, why: "principal"},
		"of no principal":           {token: good, change: func(s *breakglass.Settings) { s.Principal = "" }, why: "INTERLOCK_PRINCIPAL"},
		"expired":                   {token: good, after: 8 * time.Hour, why: "ended"},
		"not yet":                   {token: good, after: -2 * time.Minute, why: "later"},
		"too long":                  {token: claimed(`"exp":`, `"exp":9`), why: "24 hours"},
		"for every tool":            {token: claimed(`"Bash"`, `"*"`), why: "not a name"},
		"for no tool":               {token: claimed(`["Bash","mcp__k8s__*"]`, `[]`), why: "tools"},
		"with an unknown claim":     {token: claimed(`"reason"`, `"nbf":1,"reason"`), why: "belong"},
		"with a claim twice":        {token: claimed(`"reason"`, `"sub":"x","reason"`), why: "twice"},
		"with a claim in capitals":  {token: claimed(`"sub"`, `"Sub"`), why: "belong"},
		"with a claim of null":      {token: claimed(`"on call"`, `null`), why: "belong"},
		"with a number for a text":  {token: claimed(`"on call"`, `1`), why: "another kind"},
		"with an empty command":     {token: claimed(`"reason"`, `"commands":[""],"reason"`), why: "one line"},
		"with no commands":          {token: claimed(`"reason"`, `"commands":[],"reason"`), why: "commands"},
		"with an empty reason":      {token: claimed(`"on call"`, `""`), why: "required"},
		"followed by something":     {token: good + "\n" + good, why: "three parts"},
		"followed by another claim": {token: signed(string(header), string(claims)+"{}"), why: "object"},
		"with a key that is not there": {token: good, why: "no such file", change: func(s *breakglass.Settings) {
			s.Key = s.Grant + ".gone"
		}},
		"that others can write": {token: good, why: "chmod", change: func(s *breakglass.Settings) {
			if err := os.Chmod(s.Grant, 0o622); err != nil { //nolint:gosec // that is what the test is about
				t.Error(err)
			}
		}},
		"with a key that others can write": {token: good, why: "chmod", change: func(s *breakglass.Settings) {
			if err := os.Chmod(s.Grant+".pub", 0o662); err != nil { //nolint:gosec // that is what the test is about
				t.Error(err)
			}
		}},
	} {
		s := files(t, row.token)
		if row.change != nil {
			row.change(&s)
		}
		_, err := breakglass.Open(s, at(row.after))
		if row.why == "" && err != nil || row.why != "" && (err == nil || !strings.Contains(err.Error(), row.why)) {
			t.Errorf("a grant %s: %v, want %q", name, err, row.why)
		}
	}
}

// S23.50: only calls of its tools and commands pass.
func TestCallsThatPass(t *testing.T) {
	t.Parallel()
	commands := grant(func(g *breakglass.Grant) { g.Commands = []string{"kubectl get pods"} })
	for _, row := range []struct {
		of          *breakglass.Grant
		tool, input string
		lets        bool
	}{
		{grant(nil), "Bash", `{"command": "rm -rf /"}`, true},
		{grant(nil), "bash", `{}`, false},
		{grant(nil), "Bash2", `{}`, false},
		{grant(nil), "mcp__k8s__scale", ``, true},
		{grant(nil), "mcp__k8s", ``, false},
		{grant(nil), "Edit", `{}`, false},
		{commands, "Bash", `{"command": "kubectl get pods"}`, true},
		{commands, "Bash", `{"command": "kubectl get pods", "timeout": 5}`, true},
		{commands, "Bash", `{"command": "kubectl get pods "}`, false},
		{commands, "Bash", `{"command": "kubectl get pods; rm x"}`, false},
		{commands, "Bash", `{"command": "kubectl get pods", "command": "rm x"}`, false},
		{commands, "Bash", `{"Command": "kubectl get pods"}`, false},
		{commands, "Bash", `{"command": ["kubectl get pods"]}`, false},
		{commands, "Bash", `{"command": null}`, false},
		{commands, "Bash", `{}`, false},
		{commands, "Bash", `x`, false},
		{commands, "Bash", ``, false},
		{commands, "mcp__k8s__scale", `{}`, false},
	} {
		if _, lets := row.of.Lets(row.tool, []byte(row.input)); lets != row.lets {
			t.Errorf("%s %s: %v", row.tool, row.input, lets)
		}
	}
}

// S23.50: a call that Interlock refused does not pass later, and each other call is in the spool before it is made.
func TestSpool(t *testing.T) {
	t.Parallel()
	s := files(t, token(t, grant(func(g *breakglass.Grant) { g.Commands = []string{"a", "b"} })))
	g := open(t, s)
	call := func(command string) breakglass.Call {
		return breakglass.Call{Tool: "Bash", Input: []byte(`{"command":"` + command + `"}`), Session: "s"}
	}
	for range 2 { // once is enough
		if err := g.Deny(call("b")); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Deny(call("c")); err != nil { // which would not pass in any case
		t.Fatal(err)
	}
	if err := g.Use(call("a")); err != nil {
		t.Fatal(err)
	}
	for _, refused := range []string{"b", "c"} {
		if err := open(t, s).Use(call(refused)); !errors.Is(err, breakglass.ErrNotGranted) {
			t.Errorf("%s: %v", refused, err)
		}
	}
	lines, err := breakglass.Lines(s.Grant + ".spool")
	if err != nil {
		t.Fatal(err)
	}
	read := breakglass.ReadSpool("bg_1", lines)
	if read.Altered != "" || len(read.Entries) != 2 || read.Entries[0].Kind != breakglass.Refused || read.Entries[1].Kind != breakglass.Used ||
		read.Entries[1].Command != "a" || string(read.Entries[1].Input) != `{"command":"a"}` || !read.Entries[1].Time.Equal(now.Add(time.Hour)) {
		t.Errorf("%+v", read)
	}
	info, err := os.Stat(s.Grant + ".spool")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// With a broken spool, no call passes.
	for name, text := range map[string]string{
		"changed":   strings.Replace(strings.Join(lines, "\n"), "Bash", "Bush", 1) + "\n",
		"shortened": lines[1] + "\n",
		"cut":       strings.Join(lines, "\n"),
	} {
		if err := os.WriteFile(s.Grant+".spool", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := g.Use(call("a")); err == nil {
			t.Errorf("a spool that is %s lets a call pass", name)
		}
	}
	// Neither does one that cannot be written.
	s.Spool = filepath.Join(s.Grant, "no folder")
	if err := open(t, s).Use(call("a")); err == nil {
		t.Error("a call passed without a line")
	}
}

// S23.51: each change of a spool is found, but for lines that are cut off at its end.
func TestAlteredSpools(t *testing.T) {
	t.Parallel()
	s := files(t, token(t, grant(nil)))
	g := open(t, s)
	for _, tool := range []string{"Bash", "mcp__k8s__a", "mcp__k8s__b"} {
		if err := g.Use(breakglass.Call{Tool: tool}); err != nil {
			t.Fatal(err)
		}
	}
	lines, err := breakglass.Lines(s.Grant + ".spool")
	if err != nil {
		t.Fatal(err)
	}
	whole := breakglass.ReadSpool("bg_1", lines)
	if whole.Altered != "" || !whole.Continues(3, whole.Head) || !whole.Continues(0, "") || whole.Continues(4, whole.Head) {
		t.Errorf("%+v", whole)
	}
	for i := range lines {
		for at := range lines[i] {
			changed := append([]string{}, lines...)
			changed[i] = lines[i][:at] + string(rune(lines[i][at]^1)) + lines[i][at+1:]
			if read := breakglass.ReadSpool("bg_1", changed); read.Altered == "" {
				t.Fatalf("line %d with another byte %d holds: %s", i, at, changed[i])
			}
		}
	}
	for name, altered := range map[string][]string{
		"without the first":  lines[1:],
		"without the second": {lines[0], lines[2]},
		"in another order":   {lines[0], lines[2], lines[1]},
		"with one twice":     {lines[0], lines[1], lines[1], lines[2]},
	} {
		if read := breakglass.ReadSpool("bg_1", altered); read.Altered == "" {
			t.Errorf("a spool %s holds", name)
		}
	}
	if read := breakglass.ReadSpool("bg_2", lines); read.Altered == "" || len(read.Entries) > 0 {
		t.Errorf("the spool of another grant: %+v", read)
	}
}

// S23.51: clients that use one grant at the same time write one chain.
func TestClientsAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := files(t, token(t, grant(nil)))
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for range 5 {
				if err := open(t, s).Use(breakglass.Call{Tool: "Bash"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	lines, err := breakglass.Lines(s.Grant + ".spool")
	if read := breakglass.ReadSpool("bg_1", lines); err != nil || read.Altered != "" || len(read.Entries) != 40 {
		t.Errorf("%d lines, %q, %v", len(lines), read.Altered, err)
	}
}
