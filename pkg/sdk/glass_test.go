package sdk

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/sdk/breakglass"
)

type glassKey struct{ ed25519.PrivateKey }

func (k glassKey) Public() ed25519.PublicKey { return k.PrivateKey.Public().(ed25519.PublicKey) }

func (k glassKey) Sign(message []byte) ([]byte, error) {
	return ed25519.Sign(k.PrivateKey, message), nil
}

// grantOf writes a grant of a tool for an hour with its key.
func grantOf(t *testing.T, tool string) BreakGlass {
	t.Helper()
	key, now := glassKey{ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}, time.Now()
	token, err := breakglass.New(breakglass.Grant{
		ID: "bg_1", Namespace: "default", Principal: "agent", Tools: []string{tool}, IssuedAt: now.Unix(), Expires: now.Add(time.Hour).Unix(), Reason: "r", By: "olga",
	}).Token(key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "g.jws")
	for name, text := range map[string]string{file: token, file + ".pub": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return BreakGlass{Grant: file, Principal: "agent"}
}

// listener is an address that does with connections what the test says; nil refuses them.
func listener(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if serve == nil {
		lis.Close()
		return lis.Addr().String()
	}
	t.Cleanup(func() { lis.Close() })
	go func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			serve(conn)
		}
	}()
	return lis.Addr().String()
}

// S23.50: a call passes by the grant only where no connection could be made, and is written down before it is made.
func TestBreakGlass(t *testing.T) {
	t.Parallel()
	away := listener(t, nil)
	for name, row := range map[string]struct {
		at     string
		change func(*Options)
		tool   string
		opts   []CallOption
		passes bool
	}{
		"no connection":       {passes: true},
		"another tool":        {tool: "Edit"},
		"the full name":       {tool: "deploy", opts: []CallOption{QualifiedTool("Bash")}, passes: true},
		"no grant":            {change: func(o *Options) { o.BreakGlass = BreakGlass{} }},
		"another principal":   {change: func(o *Options) { o.BreakGlass.Principal = "root" }},
		"another namespace":   {change: func(o *Options) { o.Namespace = "other" }},
		"a dry run":           {opts: []CallOption{DryRun()}},
		"a closed connection": {at: listener(t, func(conn net.Conn) { conn.Close() })},
		"no TLS":              {at: listener(t, func(conn net.Conn) { conn.Close() }), change: func(o *Options) { o.TLS.Enable = true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := Options{Session: "s", BreakGlass: grantOf(t, "Bash")}
			file := opts.BreakGlass.Grant
			if row.change != nil {
				row.change(&opts)
			}
			at, tool := row.at, row.tool
			if at == "" {
				at = away
			}
			if tool == "" {
				tool = "Bash"
			}
			c, err := Dial(at, opts)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			made := false
			if row.passes {
				_, err = c.Guard(ctx, tool, map[string]string{"command": "ls"}, func(context.Context) (Result, error) {
					made = true
					if lines, err := breakglass.Lines(file + ".spool"); err != nil || len(breakglass.ReadSpool("bg_1", lines).Entries) != 1 {
						t.Errorf("the call is made before it is written down: %v", err)
					}
					return Result{}, nil
				}, row.opts...)
			} else {
				var d Decision
				d, err = c.Check(ctx, tool, nil, append(row.opts, CallID("c"))...) // which is not withdrawn
				made = err == nil && d.Allowed()
			}
			if made != row.passes || (err == nil) != row.passes {
				t.Errorf("made: %v, %v", made, err)
			}
			if denied := (*DeniedError)(nil); !row.passes && !errors.As(err, &denied) {
				t.Errorf("%v is not a denial", err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// S23.50: an answer of the server is contact, whatever it says, and what it has denied does not pass later.
func TestAnswersAreContact(t *testing.T) {
	t.Parallel()
	glass := grantOf(t, "Bash")
	answers := []func() (*policyv1.CheckToolCallResponse, error){
		func() (*policyv1.CheckToolCallResponse, error) {
			return nil, status.Error(codes.Unavailable, "connection error: desc = \"transport: Error while dialing: connect: connection refused\"")
		},
		func() (*policyv1.CheckToolCallResponse, error) {
			return &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_DENY, Code: policyv1.DecisionCode_DECISION_CODE_POLICY_DENIED, Message: "no"}, nil
		},
	}
	for _, answer := range answers {
		policy := &fakePolicy{decide: func(*policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) { return answer() }}
		c := New(connect(t, fakes{policy: policy}), Options{Session: "s", BreakGlass: glass})
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if d, err := c.Check(ctx, "Bash", nil, CallID("c")); err == nil && d.Allowed() {
			t.Error("an answer lets the call pass")
		}
		cancel()
	}
	c, err := Dial(listener(t, nil), Options{Session: "s", BreakGlass: glass})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.Check(ctx, "Bash", nil, CallID("c")); err == nil || !strings.Contains(err.Error(), "denied it") {
		t.Errorf("what was denied: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
