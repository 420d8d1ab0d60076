package console

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// keepers are the service of people: it lets ann in by any proof.
type keepers struct {
	identityv1.LoginServiceClient
	now   *time.Time
	ends  time.Time
	made  int
	token string // of the last renewal's caller
	pad   string
	err   error
}

func (k *keepers) login() *identityv1.Login {
	k.made++
	return &identityv1.Login{
		Person: "ann", ExpiresAt: timestamppb.New(k.now.Add(15 * time.Minute)), EndsAt: timestamppb.New(k.ends),
		Tokens: []*identityv1.RoleToken{
			{Role: "approver", Token: "approver-" + string(rune('a'+k.made)) + k.pad}, {Role: "operator", Token: "operator-" + string(rune('a'+k.made))},
		},
	}
}

// BeginLogin implements LoginServiceClient.
func (k *keepers) BeginLogin(context.Context, *identityv1.BeginLoginRequest, ...grpc.CallOption) (*identityv1.BeginLoginResponse, error) {
	return &identityv1.BeginLoginResponse{ChallengeId: "c", Challenge: []byte{251, 255}, RpId: "localhost", Origins: []string{"http://localhost:7420"}}, k.err
}

// FinishLogin implements LoginServiceClient.
func (k *keepers) FinishLogin(context.Context, *identityv1.FinishLoginRequest, ...grpc.CallOption) (*identityv1.FinishLoginResponse, error) {
	if k.err != nil {
		return nil, k.err
	}
	return &identityv1.FinishLoginResponse{Login: k.login()}, nil
}

// Register implements LoginServiceClient.
func (k *keepers) Register(context.Context, *identityv1.RegisterRequest, ...grpc.CallOption) (*identityv1.RegisterResponse, error) {
	if k.err != nil {
		return nil, k.err
	}
	return &identityv1.RegisterResponse{Login: k.login()}, nil
}

// RenewLogin implements LoginServiceClient.
func (k *keepers) RenewLogin(ctx context.Context, _ *identityv1.RenewLoginRequest, _ ...grpc.CallOption) (*identityv1.RenewLoginResponse, error) {
	md, _ := metadata.FromOutgoingContext(ctx)
	k.token = strings.Join(md.Get("authorization"), ",")
	if k.err != nil {
		return nil, k.err
	}
	return &identityv1.RenewLoginResponse{Login: k.login()}, nil
}

const byPassphrase = `{"person":"ann","passphrase":"four plain words here"}`

// newPeople is a console of people whose log-in lasts for an hour.
func newPeople(t *testing.T, change func(*Config)) (*bench, *keepers) {
	t.Helper()
	k := &keepers{}
	b := newBench(t, func(c *Config) {
		c.People = k
		if change != nil {
			change(c)
		}
	})
	k.now, k.ends = &b.now, b.now.Add(time.Hour)
	return b, k
}

// get reads by the session, and returns the token that the API got.
func (b *bench) get(v *visitor, path string) (token string, status int) {
	b.t.Helper()
	w := b.do(http.MethodGet, Path+path, "", v.sends)
	if cookies := w.Result().Cookies(); len(cookies) == 1 {
		v.cookie = cookies[0]
	}
	if b.got != nil {
		token = b.got.Header.Get("Authorization")
	}
	return token, w.Code
}

// A person's session goes on while a page is open, and ends with the log-in (S23.17).
func TestSessionsOfPeopleAreRenewed(t *testing.T) {
	t.Parallel()
	b, k := newPeople(t, nil)
	v, w := b.login(byPassphrase)
	if w.Code != http.StatusOK || v.view.Name != "ann" || !v.view.Renews || len(v.view.Roles) != 2 || v.cookie.MaxAge != 15*60 {
		t.Fatalf("%d %s %v", w.Code, w.Body, v.cookie)
	}
	if token, _ := b.get(&v, "/api/v1/runs"); token != "Bearer operator-b" || k.token != "" {
		t.Errorf("got %q, renewed by %q", token, k.token)
	}
	if token, _ := b.get(&v, "/api/v1/approvals/apr_1"); token != "Bearer approver-b" {
		t.Errorf("an approval is read by %q", token)
	}
	old := v
	b.now = b.now.Add(10 * time.Minute)
	if token, _ := b.get(&v, "/api/v1/runs"); token != "Bearer operator-c" || k.token != "Bearer operator-b" || v.cookie.Value == old.cookie.Value {
		t.Errorf("got %q, renewed by %q", token, k.token)
	}
	b.now = b.now.Add(10 * time.Minute)
	if _, status := b.get(&old, "/api/v1/runs"); status != http.StatusUnauthorized {
		t.Errorf("the tokens before have ended, and the answer is %d", status)
	}
	for range 3 {
		if _, status := b.get(&v, "/session"); status != http.StatusOK {
			t.Errorf("an open page is told %d", status)
		}
		b.now = b.now.Add(10 * time.Minute)
	}
	if _, status := b.get(&v, "/api/v1/runs"); status != http.StatusTeapot {
		t.Errorf("after 50 minutes with an open page: %d", status)
	}
	k.ends = k.ends.Add(time.Hour) // the service would go on; the session does not
	b.now = b.now.Add(10 * time.Minute)
	if _, status := b.get(&v, "/api/v1/runs"); status != http.StatusUnauthorized {
		t.Errorf("after the end of the log-in: %d", status)
	}
}

// A page names the role that a call needs; a role that the session does not have is refused (S23.61).
func TestCallsNameTheirRole(t *testing.T) {
	t.Parallel()
	b, _ := newPeople(t, nil)
	v, _ := b.login(byPassphrase)
	for _, test := range []struct {
		path, role, want string
		status           int
	}{
		{"/api/v1/halts", "", "Bearer operator-b", http.StatusTeapot},
		{"/api/v1/halts", "approver", "Bearer approver-b", http.StatusTeapot},
		{"/api/v1/approvals", "operator", "Bearer operator-b", http.StatusTeapot},
		{"/api/v1/halts", "root", "", http.StatusForbidden},
	} {
		b.got = nil
		w := b.do(http.MethodPost, Path+test.path, "{}", func(r *http.Request) {
			v.sends(r)
			r.Header.Set("X-Interlock-Role", test.role)
		})
		token, passed := "", ""
		if b.got != nil {
			token, passed = b.got.Header.Get("Authorization"), b.got.Header.Get("X-Interlock-Role")
		}
		if w.Code != test.status || token != test.want || passed != "" {
			t.Errorf("%s as %q: %d with %q, passed on %q", test.path, test.role, w.Code, token, passed)
		}
	}
}

func TestRenewalsThatFail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want int
	}{
		"the person is gone":    {fault.New(fault.Unauthenticated, "gone"), http.StatusUnauthorized},
		"no role is left":       {fault.New(fault.PermissionDenied, "none"), http.StatusUnauthorized},
		"the service is away":   {fault.New(fault.Unavailable, "away"), http.StatusTeapot},
		"a refusal of the wire": {fault.New(fault.Unauthenticated, "gone").GRPCStatus().Err(), http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, k := newPeople(t, nil)
			v, _ := b.login(byPassphrase)
			before := v
			b.now, k.err = b.now.Add(10*time.Minute), test.err
			if _, status := b.get(&v, "/api/v1/runs"); status != test.want {
				t.Errorf("%d, want %d", status, test.want)
			}
			if k.err = nil; test.want != http.StatusUnauthorized {
				return
			}
			if _, status := b.get(&before, "/api/v1/runs"); status != http.StatusUnauthorized {
				t.Errorf("a copy of the cookie goes on: %d", status)
			}
		})
	}
}

func TestLogOutEndsAPersonsSession(t *testing.T) {
	t.Parallel()
	b, _ := newPeople(t, nil)
	v, _ := b.login(byPassphrase)
	later := v
	b.now = b.now.Add(10 * time.Minute)
	b.get(&later, "/session") // renewed
	if w := b.do(http.MethodDelete, Path+"/session", "", v.sends); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for name, copied := range map[string]visitor{"the cookie": v, "a renewed one": later} {
		if _, status := b.get(&copied, "/api/v1/runs"); status != http.StatusUnauthorized {
			t.Errorf("%s still counts: %d", name, status)
		}
	}
}

func TestLoginsOfPeopleThatAreRefused(t *testing.T) {
	t.Parallel()
	elsewhere := func(r *http.Request) { r.Header.Set("Origin", "http://localhost:9999") }
	crossSite := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	form := func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }
	const register = `{"register":{"code":"AAAAA","person":"ann","passphrase":"four plain words here"}}`
	for name, test := range map[string]struct {
		config     func(*Config)
		path, body string
		change     func(*http.Request)
		want       int
	}{
		"good":                          {nil, "/session", byPassphrase, nil, 200},
		"another origin":                {nil, "/session", byPassphrase, elsewhere, 403},
		"another site":                  {nil, "/session", byPassphrase, crossSite, 403},
		"a form":                        {nil, "/session", byPassphrase, form, 400},
		"another origin registers":      {nil, "/session", register, elsewhere, 403},
		"a challenge":                   {nil, "/session/challenge", "", nil, 200},
		"another origin's challenge":    {nil, "/session/challenge", "", elsewhere, 403},
		"base64 that is padded":         {nil, "/session", `{"passkey":{"challenge_id":"c","credential_id":"AA=="}}`, nil, 400},
		"too long":                      {nil, "/session", `{"person":"ann","passphrase":"` + strings.Repeat("x", maxLogin) + `"}`, nil, 400},
		"registers":                     {nil, "/session", register, nil, 200},
		"registers where it reads only": {func(c *Config) { c.ReadOnly = true }, "/session", register, nil, 403},
		"logs in where it reads only":   {func(c *Config) { c.ReadOnly = true }, "/session", byPassphrase, nil, 200},
		"where there are no people":     {func(c *Config) { c.People = nil }, "/session", byPassphrase, nil, 409},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := newPeople(t, test.config)
			if w := b.do(http.MethodPost, Path+test.path, test.body, test.change); w.Code != test.want || (w.Code >= 400 && len(w.Result().Cookies()) > 0) {
				t.Errorf("%d %s, want %d", w.Code, w.Body, test.want)
			}
		})
	}
}

// A registration takes the place of a session only where the person wants it.
func TestRegistrationAmongSessions(t *testing.T) {
	t.Parallel()
	b, _ := newPeople(t, nil)
	v, _ := b.login(`{"token":"observers-token"}`)
	register := `{"register":{"code":"AAAAA","passphrase":"four plain words here"}`
	if w := b.do(http.MethodPost, Path+"/session", register+"}", v.sends); w.Code != http.StatusConflict {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := b.do(http.MethodPost, Path+"/session", register+`,"replace":true}`, v.sends); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if _, status := b.get(&v, "/api/v1/runs"); status != http.StatusUnauthorized {
		t.Errorf("the session before goes on: %d", status)
	}
}

func TestWrongProofsAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	b, k := newPeople(t, nil)
	k.err = fault.New(fault.Unauthenticated, "the log-in is refused")
	for range maxWrong {
		if _, w := b.login(`{"passkey":{"challenge_id":"c","credential_id":"AA"}}`); w.Code != http.StatusUnauthorized {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if _, w := b.login(`{"passkey":{"challenge_id":"c","credential_id":"AA"}}`); w.Code != http.StatusTooManyRequests {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	k.err = nil
	if _, w := b.login(byPassphrase); w.Code != http.StatusOK {
		t.Errorf("the right proof: %d %s", w.Code, w.Body)
	}
}

// Browsers drop a cookie that is too long, without a word.
func TestTokensThatNoCookieHolds(t *testing.T) {
	t.Parallel()
	b, k := newPeople(t, nil)
	k.pad = strings.Repeat("x", 4000)
	if v, w := b.login(byPassphrase); w.Code != http.StatusConflict || v.cookie != nil || !strings.Contains(w.Body.String(), "too long") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestPagesLearnWhetherPeopleLogInHere(t *testing.T) {
	t.Parallel()
	b, k := newPeople(t, nil)
	says := func() string { return b.do(http.MethodGet, Path+"/session", "", nil).Body.String() }
	if got := says(); !strings.Contains(got, `"people":true,"origins":["http://localhost:7420"]`) {
		t.Error(got)
	}
	k.err = fault.New(fault.FailedPrecondition, "no key")
	if got := says(); !strings.Contains(got, `"people":false`) {
		t.Error(got)
	}
	if s := (session{Tokens: map[auth.Role]string{auth.Root: "r"}}); s.token(true) != "r" || s.token(false) != "r" {
		t.Error("a person who is root only has no token")
	}
}
