package redisstore_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// withUsers starts a server with an ACL, and returns how a service uses it.
func withUsers(t *testing.T, acl ...string) (*redistest.Server, redisstore.Config) {
	t.Helper()
	server := redistest.Start(t, "--aclfile", secretFile(t, "users.acl", strings.Join(acl, "\n")+"\n"))
	return server, redisstore.Config{
		URL: "redis://" + server.Addr(), Username: "service", PasswordFile: secretFile(t, "password", "secret"), Prefix: "il",
	}
}

const serviceUser = "user service on >secret resetchannels ~il:* "

// A server that drops its transactions when it replays its append-only file is refused for any
// missing right of the user default, and is warned of where loss is allowed.
func TestServersThatCannotReplayAreRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ acl, service, says string }{
		"off, without rights":      {"user default off", redisstore.ACL, "may not run del"},
		"on, without rights":       {"user default on nopass -@all", redisstore.ACL, "may not run del"},
		"only reads":               {"user default off ~* +@read", redisstore.ACL, "may not run del"},
		"other keys":               {"user default off ~other:* +@all", redisstore.ACL, "may not run del"},
		"keys to read":             {"user default off %R~* +@all", redisstore.ACL, "may not run del"},
		"no lists":                 {"user default off ~* +@all -@list", redisstore.ACL, "may not run rpush"},
		"no hash":                  {"user default off ~* +@all -hset", redisstore.ACL, "may not run hset"},
		"no streams":               {"user default off ~* +@all -@stream", redisstore.ACL, "may not run xadd"},
		"nothing lapses":           {"user default off ~* +@all -pexpireat", redisstore.ACL, "may not run pexpireat"},
		"a service cannot ask":     {redisstore.ReplayerACL, strings.Replace(redisstore.ACL, " +acl|dryrun", "", 1), "allow +acl|dryrun"},
		"neither right nor answer": {"user default off", strings.Replace(redisstore.ACL, " +acl|dryrun", "", 1), "allow +acl|dryrun"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, config := withUsers(t, tt.acl, serviceUser+tt.service)
			s, err := redisstore.Open(t.Context(), config)
			if err == nil {
				_ = s.Close()
			}
			if !errors.Is(err, redisstore.ErrLossy) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("opened with %v; want %q", err, tt.says)
			}
			config.AllowLossy = true
			safe, err := open(t, config).Settings(t.Context())
			if err != nil || safe["acl-default-user"] || !safe["appendonly"] {
				t.Errorf("the settings are %v, %v", safe, err)
			}
		})
	}
}

// With the shipped line, and with a default that may do everything, all that was acknowledged is
// there after a restart, whether the server was stopped or killed.
func TestReplayBringsEverythingBack(t *testing.T) {
	t.Parallel()
	for name, acl := range map[string]string{
		"as shipped": redisstore.ReplayerACL, "open": "user default on nopass ~* &* +@all",
		"only what is replayed": "user default off ~il:* +@write +@keyspace +select +pexpireat",
	} {
		for how, end := range map[string]func(*redistest.Server) error{
			"stopped": (*redistest.Server).Stop, "killed": func(s *redistest.Server) error { s.Kill(); return nil },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				server, config := withUsers(t, acl, serviceUser+redisstore.ACL)
				s := open(t, config)
				ids := []string{"a", "b", "c", "d"}
				for _, id := range ids {
					commit(t, s, put(id, 0, "kept "+id))
				}
				if err := errors.Join(end(server), server.Restart()); err != nil {
					t.Fatal(err)
				}
				late := open(t, config)
				for _, id := range ids {
					if record, err := late.Get(t.Context(), key(id)); err != nil || string(record.Data) != "kept "+id {
						t.Errorf("%s is %q, %v", id, record.Data, err)
					}
				}
			})
		}
	}
}

// The runbook's remedy for an ACL that loses writes: with the line corrected and
// the old file, everything is back once an operator has accepted that the store was refused.
func TestMendedACLBringsTheOldFileBack(t *testing.T) {
	t.Parallel()
	users := secretFile(t, "users.acl", "user default off\n"+serviceUser+redisstore.ACL+"\n")
	server := redistest.Start(t, "--aclfile", users)
	config := redisstore.Config{
		URL: "redis://" + server.Addr(), Username: "service", PasswordFile: secretFile(t, "password", "secret"), Prefix: "il", AllowLossy: true,
	}
	s := open(t, config)
	for _, id := range []string{"a", "b", "c"} {
		commit(t, s, put(id, 0, id))
	}
	kept, err := s.Mark()
	if err := errors.Join(err, s.Close(), server.Stop(), server.Restart()); err != nil {
		t.Fatal(err)
	}
	late := open(t, config)
	if err := late.Compare(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	if late.Ping(t.Context()) == nil { // a server that checks no rights when it replays
		if _, err := late.Get(t.Context(), key("a")); err != nil {
			t.Errorf("a store that lacks what was acknowledged is used: %v", err)
		}
		return
	}
	rolledBack(t, late)
	if err := errors.Join(late.Close(), server.Stop()); err != nil {
		t.Fatal(err)
	}
	mended := redisstore.ReplayerACL + "\n" + serviceUser + redisstore.ACL + "\n"
	if err := errors.Join(os.WriteFile(users, []byte(mended), 0o600), server.Restart()); err != nil {
		t.Fatal(err)
	}
	config.AllowLossy = false
	if _, err := redisstore.AcceptRollback(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	back := open(t, config)
	if err := errors.Join(back.Compare(t.Context(), kept), back.Ping(t.Context())); err != nil {
		t.Fatalf("with the corrected line: %v", err)
	}
	for _, id := range []string{"a", "b", "c"} {
		if record, err := back.Get(t.Context(), key(id)); err != nil || string(record.Data) != id {
			t.Errorf("%s is %q, %v", id, record.Data, err)
		}
	}
}

// A right that is taken away later is seen by the metric of the settings.
func TestALaterChangeOfTheReplayerIsSeen(t *testing.T) {
	t.Parallel()
	server, config := withUsers(t, redisstore.ReplayerACL, "user admin on >admin ~* &* +@all", serviceUser+redisstore.ACL)
	s := open(t, config)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "admin", Password: "admin", Protocol: 2, DisableIdentity: true})
	defer func() { _ = admin.Close() }()
	if safe, err := s.Settings(t.Context()); err != nil || !safe["acl-default-user"] {
		t.Fatalf("%v, %v", safe, err)
	}
	if err := admin.Do(t.Context(), "ACL", "SETUSER", "default", "reset").Err(); err != nil {
		t.Fatal(err)
	}
	if safe, err := s.Settings(t.Context()); err != nil || safe["acl-default-user"] {
		t.Errorf("%v, %v", safe, err)
	}
}

// A mark that was kept outside refuses a store without its data: one that was emptied, an
// older copy, another one. An operator can accept that, and then the mark is met.
func TestMarksOfAStore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	config := redisstore.Config{URL: server.URL(), Prefix: "il"}
	s := open(t, config)
	if vouched, err := s.Vouched(t.Context()); vouched || err != nil {
		t.Fatalf("a new store is vouched for: %v, %v", vouched, err)
	}
	first, err := s.Mark()
	if err := errors.Join(err, s.Compare(t.Context(), first), s.Ping(t.Context())); err != nil {
		t.Fatalf("the mark %s of a store without a write: %v", first, err)
	}
	commit(t, s, put("a", 0, "1"))
	kept, err := s.Mark()
	if err := errors.Join(err, s.Vouch(t.Context()), s.Compare(t.Context(), ""), s.Compare(t.Context(), kept), s.Ping(t.Context())); err != nil {
		t.Fatalf("its own mark %s: %v", kept, err)
	}
	if err := s.Compare(t.Context(), "{"); err == nil {
		t.Error("a mark that cannot be read is met")
	}
	if err := errors.Join(s.Close(), server.Stop(), server.Restart()); err != nil {
		t.Fatal(err)
	}
	again := open(t, config)
	if vouched, err := again.Vouched(t.Context()); !vouched || err != nil {
		t.Errorf("after a restart: %v, %v", vouched, err)
	}
	if err := errors.Join(again.Compare(t.Context(), kept), again.Ping(t.Context())); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	if err := errors.Join(again.Close(), server.Client(t).FlushAll(t.Context()).Err()); err != nil {
		t.Fatal(err)
	}
	emptied := open(t, config)
	other := open(t, redisstore.Config{URL: server.URL(), Prefix: "other"})
	if err := errors.Join(other.Compare(t.Context(), kept), other.Ping(t.Context())); err != nil {
		t.Errorf("the mark of another store: %v", err)
	}
	if vouched, err := emptied.Vouched(t.Context()); vouched || err != nil {
		t.Errorf("an emptied store is vouched for: %v, %v", vouched, err)
	}
	if err := emptied.Compare(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	rolledBack(t, emptied)
	if mark, err := emptied.Mark(); mark != "" || err != nil {
		t.Errorf("a refused store has the mark %s, %v", mark, err)
	}
	rolledBack(t, open(t, config))
	if lost, err := redisstore.AcceptRollback(t.Context(), config); err != nil || len(lost) != 1 {
		t.Fatalf("accepted %q, %v", lost, err)
	}
	until(t, func() bool { return emptied.Ping(t.Context()) == nil })
	if err := errors.Join(emptied.Compare(t.Context(), kept), emptied.Ping(t.Context())); err != nil {
		t.Errorf("after the loss was accepted: %v", err)
	}
}

func rolledBack(t *testing.T, s *redisstore.Store) {
	t.Helper()
	if err := s.Ping(t.Context()); !isRolledBack(err) {
		t.Errorf("it is used: %v", err)
	}
}

func isRolledBack(err error) bool { return errors.As(err, new(*store.RolledBackError)) }
