package redisstore_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/certtest"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// secured starts a server that takes TLS with client certificates, and users of an ACL.
func secured(t *testing.T, authority *certtest.Authority, acl ...string) (server *redistest.Server, url string) {
	t.Helper()
	cert, key := authority.Issue(t, "redis")
	users := secretFile(t, "users.acl", strings.Join(acl, "\n")+"\n")
	port := unusedPort(t)
	server = redistest.Start(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", authority.CA(), "--tls-auth-clients", "yes", "--aclfile", users)
	return server, "rediss://" + net.JoinHostPort("127.0.0.1", port) + "/0"
}

func secretFile(t *testing.T, name, content string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The whole suite with TLS, a client's certificate, and a user with exactly
// the permissions that a service needs.
func TestSecuredServerKeepsTheContract(t *testing.T) {
	t.Parallel()
	authority := certtest.New(t)
	cert, key := authority.Issue(t, "service")
	server, url := secured(t, authority, "user default on nopass ~* &* +@all", "user service on >secret resetchannels ~test* "+redisstore.ACL)
	keepsTheContractAs(t, redisstore.Config{
		URL: url, Username: "service", PasswordFile: secretFile(t, "password", "secret\n"), CA: authority.CA(), Cert: cert, Key: key,
	}, server.URL())
}

func TestLogins(t *testing.T) {
	t.Parallel()
	authority, stranger := certtest.New(t), certtest.New(t)
	cert, key := authority.Issue(t, "service")
	_, url := secured(t, authority, redisstore.ReplayerACL, "user service on >secret resetchannels ~il:* "+redisstore.ACL)
	password := secretFile(t, "password", "secret")
	good := redisstore.Config{URL: url, Username: "service", PasswordFile: password, CA: authority.CA(), Cert: cert, Key: key, Prefix: "il"}
	open(t, good)
	for name, tt := range map[string]struct {
		change func(*redisstore.Config)
		says   string
	}{
		"no certificate":         {func(c *redisstore.Config) { c.Cert, c.Key = "", "" }, "unavailable"},
		"another CA":             {func(c *redisstore.Config) { c.CA = stranger.CA() }, "unknown authority"},
		"no CA":                  {func(c *redisstore.Config) { c.CA = "" }, "unknown authority"},
		"no user":                {func(c *redisstore.Config) { c.Username, c.PasswordFile = "", "" }, "NOAUTH"},
		"wrong password":         {func(c *redisstore.Config) { c.PasswordFile = secretFile(t, "password", "other") }, "WRONGPASS"},
		"a key without its pair": {func(c *redisstore.Config) { c.Cert = "" }, "needs its key"},
		"a password for all": {func(c *redisstore.Config) {
			c.PasswordFile = secretFile(t, "password", "secret")
			if err := os.Chmod(c.PasswordFile, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "chmod 600"},
		"two passwords":        {func(c *redisstore.Config) { c.URL = strings.Replace(url, "://", "://a:b@", 1) }, "give one of them"},
		"certificates, no TLS": {func(c *redisstore.Config) { c.URL = strings.Replace(url, "rediss", "redis", 1) }, "write rediss://"},
		"keys of others":       {func(c *redisstore.Config) { c.Prefix = "other" }, "NOPERM"},
	} {
		config := good
		tt.change(&config)
		s, err := redisstore.Open(t.Context(), config)
		if err == nil {
			_ = s.Close()
			t.Errorf("%s: opened", name)
		} else if !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "secret") && !strings.Contains(err.Error(), "secrets") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A password is replaced while the store is open: new connections use the new one.
func TestPasswordsAreReadAgain(t *testing.T) {
	t.Parallel()
	authority := certtest.New(t)
	cert, key := authority.Issue(t, "service")
	server, url := secured(t, authority, "user admin on >admin ~* &* +@all", redisstore.ReplayerACL, "user service on >secret resetchannels ~il:* "+redisstore.ACL)
	password := secretFile(t, "password", "secret")
	config := redisstore.Config{URL: url, Username: "service", PasswordFile: password, CA: authority.CA(), Cert: cert, Key: key, Prefix: "il"}
	s := open(t, config)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "admin", Password: "admin", Protocol: 2, DisableIdentity: true})
	defer func() { _ = admin.Close() }()
	if err := os.Rename(secretFile(t, "password", "renewed"), password); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(
		admin.Do(t.Context(), "ACL", "SETUSER", "service", "resetpass", ">renewed").Err(),
		admin.Do(t.Context(), "CLIENT", "KILL", "USER", "service").Err())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for err = s.Ping(ctx); err != nil; err = s.Ping(ctx) {
		if ctx.Err() != nil {
			t.Fatalf("with the new password: %v", err)
		}
	}
}
