package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/metadata"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
	"github.com/interlock-run/interlock/pkg/rpc"
)

const aliceToken = "aaaaaaaaaaaaaaaaaaaaaaaa"

// write makes a file that only its owner can read.
func write(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func keyFile(t *testing.T) (string, sessiontoken.Key) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token.key")
	if err := sessiontoken.CreateKey(file); err != nil {
		t.Fatal(err)
	}
	key, err := sessiontoken.LoadKey(file)
	if err != nil {
		t.Fatal(err)
	}
	return file, key
}

func TestWhoseTokensCount(t *testing.T) {
	t.Parallel()
	tokens, err := auth.ParseTokens([]byte(`{"tokens":[{"name":"alice","role":"approver","token":"` + aliceToken + `"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	file, key := keyFile(t)
	mint := func(name string) string {
		now := time.Now()
		token, err := key.Mint(sessiontoken.Claims{Name: name, Namespace: "default", Session: "s", IssuedAt: now, Expires: now.Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	alice := auth.Principal{Name: "alice", Role: auth.Approver}
	agent := auth.Principal{Name: "agent", Role: auth.Agent, Session: "s", Namespace: "default"}
	issuer := AuthFlags{OIDCIssuer: "https://127.0.0.1:1", OIDCAudience: "interlock"}
	all := issuer
	all.TokenKey = file
	for name, tc := range map[string]struct {
		flags  AuthFlags
		tokens *auth.Tokens
		token  string
		want   auth.Principal
	}{
		"a file's":                 {AuthFlags{}, tokens, aliceToken, alice},
		"a file's of all":          {all, tokens, aliceToken, alice},
		"a session's":              {AuthFlags{TokenKey: file}, nil, mint("agent"), agent},
		"a session's of all":       {all, tokens, mint("agent"), agent},
		"a session's, no key":      {issuer, tokens, mint("agent"), auth.Principal{}},
		"a session's in her name":  {all, tokens, mint("alice"), auth.Principal{}},
		"a file's, only an issuer": {issuer, nil, aliceToken, auth.Principal{}},
		"nobody's":                 {all, tokens, auth.Mint(), auth.Principal{}},
	} {
		a, err := tc.flags.Authenticator(tc.tokens, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := a.Authenticate(t.Context(), tc.token)
		known := tc.want != auth.Principal{}
		// Packages of the tokens test the rest of it.
		got = auth.Principal{Name: got.Name, Role: got.Role, Session: got.Session, Namespace: got.Namespace}
		if got != tc.want || known != (err == nil) || !known && !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if a, err := (AuthFlags{}).Authenticator(nil, nil); a != nil || err != nil {
		t.Errorf("nobody's token can be told by %v, %v", a, err)
	}
}

func TestAuthFlagsSayTheMend(t *testing.T) {
	t.Parallel()
	issuer := func(change func(*AuthFlags)) AuthFlags {
		f := AuthFlags{OIDCIssuer: "https://id.example.com", OIDCAudience: "interlock"}
		change(&f)
		return f
	}
	for name, tc := range map[string]struct {
		flags AuthFlags
		want  []string
	}{
		"no audience":       {issuer(func(f *AuthFlags) { f.OIDCAudience = "" }), []string{"--oidc-audience"}},
		"no issuer":         {AuthFlags{OIDCAudience: "interlock"}, []string{"--oidc-issuer"}},
		"roles, no issuer":  {AuthFlags{OIDCRoleMap: []string{"a=agent"}}, []string{"--oidc-issuer"}},
		"in the clear":      {issuer(func(f *AuthFlags) { f.OIDCIssuer = "http://id.example.com" }), []string{"--oidc-issuer", "https://"}},
		"no such role":      {issuer(func(f *AuthFlags) { f.OIDCRoleMap = []string{"a=boss"} }), []string{`--oidc-role-map "a=boss"`, "approver", "root"}},
		"no such namespace": {issuer(func(f *AuthFlags) { f.OIDCNamespaces = []string{"Shop"} }), []string{`--oidc-namespaces "Shop"`}},
		"role of services":  {issuer(func(f *AuthFlags) { f.OIDCRoleMap = []string{"a=service"} }), []string{`--oidc-role-map "a=service"`}},
		"no role":           {issuer(func(f *AuthFlags) { f.OIDCRoleMap = []string{"agent"} }), []string{"VALUE=ROLE"}},
		"no value":          {issuer(func(f *AuthFlags) { f.OIDCRoleMap = []string{"=agent"} }), []string{"VALUE=ROLE"}},
		"two roles":         {issuer(func(f *AuthFlags) { f.OIDCRoleMap = []string{"a=agent", "a=operator"} }), []string{"agent and operator"}},
		"no CA":             {issuer(func(f *AuthFlags) { f.OIDCCA = "nowhere.pem" }), []string{"--oidc-issuer", "nowhere.pem"}},
		"no key":            {AuthFlags{TokenKey: "nowhere.key"}, []string{"--token-key", "nowhere.key"}},
		"no key of a token": {AuthFlags{TokenKey: write(t, "token.key", "short")}, []string{"--token-key", "openssl rand"}},
	} {
		_, err := tc.flags.Authenticator(nil, nil)
		for _, word := range tc.want {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: no %s in %v", name, word, err)
			}
		}
	}
}

func TestRoleMap(t *testing.T) {
	t.Parallel()
	var flags struct{ Flags }
	args := []string{"--oidc-role-map", "sre=operator, leads = approver", "--oidc-role-map", `cn=x\,ou=y=observer`}
	var out, errs bytes.Buffer
	if code, done := parseArgs(&flags, Program{"interlock-test", "Tests.", "127.0.0.1:7499"}, args, &out, &errs); done {
		t.Fatalf("%d: %s", code, &errs)
	}
	got, err := roleMap(flags.OIDCRoleMap)
	want := map[string]auth.Role{"sre": auth.Operator, "leads": auth.Approver, "cn=x,ou=y": auth.Observer}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if flags.OIDCNameClaim != "sub" || flags.OIDCRoleClaim != "interlock_role" {
		t.Errorf("by default %+v", flags.AuthFlags)
	}
}

// whoami is a RunService that notes who calls.
type whoami struct {
	enginev1.UnimplementedRunServiceServer
	seen auth.Principal
}

func (w *whoami) GetRun(ctx context.Context, _ *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
	w.seen, _ = auth.FromContext(ctx)
	return &enginev1.GetRunResponse{}, nil
}

// A service is itself to another, unless it calls for its caller.
func TestServicesCallAsThemselves(t *testing.T) {
	t.Parallel()
	file := write(t, "tokens.json", `{"tokens":[`+
		`{"name":"alice","role":"approver","token":"`+aliceToken+`"},`+
		`{"name":"interlock-test","role":"service","token":"`+auth.Mint()+`"}]}`)
	tokens, err := auth.LoadTokens(file)
	if err != nil {
		t.Fatal(err)
	}
	server, err := rpc.NewServer(rpc.Config{Listen: []string{"127.0.0.1:0"}, Authenticator: tokens})
	if err != nil {
		t.Fatal(err)
	}
	engine := new(whoami)
	enginev1.RegisterRunServiceServer(server.GRPC(), engine)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	d := &Daemon{Name: "interlock-test", flags: Flags{Tokens: file}}
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-served, d.close()); err != nil {
			t.Error(err)
		}
	})
	conn, err := d.DialAs("engine", server.Addrs()[0].String(), ClientFlags{})
	if err != nil {
		t.Fatal(err)
	}
	of := metadata.NewIncomingContext(t.Context(), metadata.Pairs("authorization", "Bearer "+aliceToken))
	for name, tc := range map[string]struct {
		ctx  context.Context
		want auth.Principal
	}{
		"for itself":       {of, auth.Principal{Name: "interlock-test", Role: auth.Service}},
		"for its caller":   {rpc.Forward(of), auth.Principal{Name: "alice", Role: auth.Approver}},
		"in its namespace": {rpc.InNamespace(of, "team"), auth.Principal{Name: "interlock-test", Role: auth.Service}},
	} {
		_, err := enginev1.NewRunServiceClient(conn).GetRun(tc.ctx, &enginev1.GetRunRequest{})
		engine.seen.Kind, engine.seen.TokenID, engine.seen.Namespaces = "", "", ""
		if engine.seen != tc.want || err != nil {
			t.Errorf("%s: %+v, %v", name, engine.seen, err)
		}
	}
}

// Tokens are added, replaced and removed while services run.
func TestTokensAreReadAgain(t *testing.T) {
	t.Parallel()
	first, second := auth.Mint(), auth.Mint()
	file := func(token string) string {
		return `{"tokens":[{"name":"interlock-test","role":"service","token":"` + token + `"}]}`
	}
	name := write(t, "tokens.json", file(first))
	tokens, err := auth.LoadTokens(name)
	if err != nil {
		t.Fatal(err)
	}
	follow, err := auth.FollowToken(name, auth.Service)
	if err != nil {
		t.Fatal(err)
	}
	known := func(token string) bool {
		_, err := tokens.Authenticate(t.Context(), token)
		return err == nil
	}
	if !known(first) || known(second) || follow() != first {
		t.Fatal("the first token is not the one")
	}
	if err := os.Rename(write(t, "tokens.json", file(second)), name); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for again := time.NewTicker(10 * time.Millisecond); known(first) || !known(second) || follow() != second; {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatal("the file was not read again")
		}
	}
}

func TestDialAsWantsATokenOfItsOwn(t *testing.T) {
	t.Parallel()
	service := write(t, "tokens.json", `{"tokens":[{"name":"x","role":"service","token":"`+aliceToken+`"}]}`)
	people := write(t, "tokens.json", `{"operator":"`+aliceToken+`"}`)
	for name, tc := range map[string]struct {
		flags Flags
		want  []string // of the error
	}{
		"its token":             {Flags{Tokens: service}, nil},
		"a file of its own":     {Flags{Tokens: people, ServiceToken: write(t, "service", aliceToken+"\n")}, nil},
		"a file that is gone":   {Flags{Tokens: people, ServiceToken: filepath.Join(t.TempDir(), "none")}, []string{"--engine 127.0.0.1:7431", "none"}},
		"nobody needs one":      {Flags{AllowAnonymous: true}, nil},
		"none, and nobody does": {Flags{AllowAnonymous: true, Tokens: people}, nil},
		"none":                  {Flags{Tokens: people}, []string{"--engine 127.0.0.1:7431", "role service", "token add service --name interlock-test", "--service-token-file"}},
		"no file":               {Flags{}, []string{"--engine 127.0.0.1:7431", "--tokens", "token add service"}},
	} {
		d := &Daemon{Name: "interlock-test", flags: tc.flags}
		_, err := d.DialAs("engine", "127.0.0.1:7431", ClientFlags{})
		if (tc.want == nil) != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, word := range tc.want {
			if err == nil || !strings.Contains(err.Error(), word) || strings.Contains(err.Error(), aliceToken) {
				t.Errorf("%s: no %s in %v", name, word, err)
			}
		}
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}
}
