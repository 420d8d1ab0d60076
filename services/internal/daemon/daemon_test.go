package daemon

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// A mistake in the flags is reported before any file is opened.
func TestRunRefusesWhatCanNotServe(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		flags   Flags
		storage *StoreFlags
		want    []string
	}{
		"nobody to serve": {Flags{GRPC: "127.0.0.1:0"}, nil, []string{"--tokens", "--allow-anonymous"}},
		"anybody":         {Flags{GRPC: ":0", AllowAnonymous: true}, nil, []string{"--allow-anonymous", "127.0.0.1"}},
		"in the clear":    {Flags{GRPC: ":0", Tokens: "x"}, nil, []string{"--grpc :0", "--tls-cert", "--insecure-plaintext"}},
		"half an issuer": {
			Flags{GRPC: "127.0.0.1:0", AuthFlags: AuthFlags{OIDCIssuer: "https://id.example.com"}},
			nil,
			[]string{"--oidc-issuer https://id.example.com", "--oidc-audience"},
		},
		"no key":    {Flags{GRPC: "127.0.0.1:0", AuthFlags: AuthFlags{TokenKey: "nowhere.key"}}, nil, []string{"--token-key", "nowhere.key"}},
		"no tokens": {Flags{GRPC: "127.0.0.1:0", Tokens: "nowhere.json"}, nil, []string{"nowhere.json"}},
		"no URL of a Redis": {
			Flags{GRPC: "127.0.0.1:0", AllowAnonymous: true},
			&StoreFlags{Store: "redis://127.0.0.1:1/0?x=y", NATSURL: "nats://127.0.0.1:1"},
			[]string{"--store: ", "parameters"},
		},
	} {
		err := Run(t.Context(), "test", "v", tc.flags, tc.storage, func(*Daemon) error { return errors.New("it was built") })
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, word := range tc.want {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: no %s in %v", name, word, err)
			}
		}
	}
}

func TestDialNamesTheFlags(t *testing.T) {
	t.Parallel()
	d := &Daemon{}
	_, err := d.Dial("engine", "engine:7431", ClientFlags{})
	for _, word := range []string{"--engine engine:7431", "plaintext", "--ca", "--insecure-plaintext"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("no %s in %v", word, err)
		}
	}
	d.flags.InsecurePlaintext = true
	for _, target := range []string{"engine:7431", "127.0.0.1:7431"} {
		if _, err := d.Dial("engine", target, ClientFlags{}); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
	if err := d.close(); err != nil || len(d.closers) != 2 {
		t.Errorf("%d connections are closed, %v", len(d.closers), err)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args      string
		code      int
		done      bool
		out, errs string // their beginnings
	}{
		{"--tokens t.json --store s", 0, false, "", ""},
		{"--help", 0, true, "Usage: interlock-test", ""},
		{"", 2, true, "", "interlock-test: missing flags: --store=URL; see interlock-test --help\n"},
		{"--store s --frob", 2, true, "", "interlock-test: unknown flag --frob; see interlock-test --help\n"},
		{"--store s x", 2, true, "", "interlock-test: unexpected argument x; see interlock-test --help\n"},
	} {
		var flags struct {
			Flags
			Store string `required:"" placeholder:"URL"`
		}
		var out, errs bytes.Buffer
		code, done := parseArgs(&flags, Program{"interlock-test", "Tests.", "127.0.0.1:7499"}, strings.Fields(tc.args), &out, &errs)
		if code != tc.code || done != tc.done || !strings.HasPrefix(out.String(), tc.out) || errs.String() != tc.errs {
			t.Errorf("%q: %d, %t\n%s\n%s", tc.args, code, done, &out, &errs)
		}
		if !tc.done && (flags.GRPC != "127.0.0.1:7499" || !strings.HasSuffix(flags.Tokens, "t.json")) {
			t.Errorf("%q: %+v", tc.args, flags)
		}
	}
}
