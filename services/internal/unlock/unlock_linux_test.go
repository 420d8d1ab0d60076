package unlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
)

// command is one that a shell at a terminal has started, and its shell, which leads the session.
func command() (p, shell, leader process) {
	shell = process{pid: 100, parent: 50, group: 100, session: 100, tty: 34817, foreground: 200, start: 1000, age: time.Hour}
	p = process{pid: 200, parent: 100, group: 200, session: 100, tty: 34817, foreground: 200, start: 9000, age: time.Second, same: true}
	return p, shell, shell
}

// Only a command that the shell of a terminal has started itself, a moment ago and in the foreground, is one
// of the person's (S23.16).
func TestWhoseCommandItIs(t *testing.T) {
	t.Parallel()
	p, shell, leader := command()
	at, err := judge(p, shell, leader, true)
	if want := (terminal{34817, 100, 100, 1000, 1000}); err != nil || at != want {
		t.Fatalf("%+v, %v", at, err)
	}
	for name, change := range map[string]func(p, shell, leader *process){
		"another program":       func(p, _, _ *process) { p.same = false },
		"no terminal":           func(p, _, _ *process) { p.tty = 0 },
		"in the background":     func(p, _, _ *process) { p.foreground = 300 },
		"setsid":                func(p, _, _ *process) { p.session = p.pid },
		"an orphan":             func(p, shell, _ *process) { p.parent = 1; shell.pid, shell.session, shell.tty = 1, 1, 0 },
		"an orphan of a reaper": func(_, shell, _ *process) { shell.session, shell.tty = 7, 0 },
		"started by a program of another session": func(_, shell, _ *process) { shell.session = 7 },
		"script, with a terminal of its own":      func(_, shell, _ *process) { shell.tty = 34818 },
		"started by interlock itself":             func(_, shell, _ *process) { shell.same = true },
		"a session whose leader is gone":          func(_, _, leader *process) { leader.tty = 0 },
		"a program that was started long ago":     func(p, _, _ *process) { p.age = freshFor + 1 },
	} {
		p, shell, leader := command()
		change(&p, &shell, &leader)
		if at, err := judge(p, shell, leader, true); err == nil {
			t.Errorf("%s: %+v", name, at)
		}
	}
	p.age = time.Hour
	p.same = false
	if _, err := judge(p, shell, leader, false); err != nil {
		t.Errorf("a person who takes their time to log in, by a program with closed memory: %v", err)
	}
}

// people is a service that knows one passphrase. A token that it gives names its role.
type people struct {
	identityv1.LoginServiceClient
	token string
}

func (people) BeginLogin(context.Context, *identityv1.BeginLoginRequest, ...grpc.CallOption) (*identityv1.BeginLoginResponse, error) {
	return &identityv1.BeginLoginResponse{ChallengeId: "c", Challenge: []byte("sign this")}, nil
}

func (people) FinishLogin(_ context.Context, req *identityv1.FinishLoginRequest, _ ...grpc.CallOption) (*identityv1.FinishLoginResponse, error) {
	if req.GetChallengeId() != "c" || req.GetPassphrase().GetPassphrase() != "right" {
		return nil, errors.New("refused")
	}
	return &identityv1.FinishLoginResponse{Login: &identityv1.Login{
		Person: "ann", Presence: "passphrase", ExpiresAt: timestamppb.New(start.Add(15 * time.Minute)),
		Tokens: []*identityv1.RoleToken{{Role: "operator", Token: "of operator"}, {Role: "approver", Token: "of approver"}},
	}}, nil
}

func (p people) RenewLogin(_ context.Context, req *identityv1.RenewLoginRequest, _ ...grpc.CallOption) (*identityv1.RenewLoginResponse, error) {
	if req.GetReadOnly() {
		if req.GetRole() != "" || p.token != "of operator" {
			return nil, fmt.Errorf("asked for %v with %q", req, p.token)
		}
		return &identityv1.RenewLoginResponse{Login: &identityv1.Login{
			Person: "ann", Presence: "passphrase", ExpiresAt: timestamppb.New(start.Add(15 * time.Minute)),
			Tokens: []*identityv1.RoleToken{{Role: "operator", Token: "reads of operator"}, {Role: "approver", Token: "reads of approver"}},
		}}, nil
	}
	if p.token == "reads of "+req.GetRole() {
		return &identityv1.RenewLoginResponse{Login: &identityv1.Login{Tokens: []*identityv1.RoleToken{{Role: req.GetRole(), Token: "reads " + req.GetRole()}}}}, nil
	}
	if req.GetTtl().AsDuration() != time.Minute || p.token != "of "+req.GetRole() {
		return nil, fmt.Errorf("asked for %v with %q", req, p.token)
	}
	return &identityv1.RenewLoginResponse{Login: &identityv1.Login{Tokens: []*identityv1.RoleToken{{Role: req.GetRole(), Token: "short " + req.GetRole()}}}}, nil
}

func proofOf(challenge, words string) *identityv1.FinishLoginRequest {
	return &identityv1.FinishLoginRequest{ChallengeId: challenge, Proof: &identityv1.FinishLoginRequest_Passphrase{
		Passphrase: &identityv1.PassphraseProof{Person: "ann", Passphrase: words},
	}}
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A terminal that a person has unlocked stays so for its shell alone, until they log out or the time is up.
func TestTerminals(t *testing.T) {
	t.Parallel()
	p, shell, leader := command()
	other := shell
	other.pid, other.session, other.tty, other.start = 500, 500, 34900, 5000
	there := p
	there.pid, there.parent, there.session, there.tty, there.group, there.foreground = 600, 500, 500, 34900, 600, 600
	agents := p // of a program that the same shell has started
	agents.pid, agents.parent = 700, 300
	agent := p
	agent.pid, agent.same = 300, false
	all := map[int]process{100: shell, 200: p, 500: other, 600: there, 700: agents, 300: agent}
	asks, clock, uid := 200, start, os.Geteuid()
	s := New(Config{
		Login: people{}, As: func(token string) identityv1.LoginServiceClient { return people{token: token} }, Log: slog.New(slog.DiscardHandler),
		peer:  func(net.Conn) (int, int, error) { return asks, uid, nil },
		lives: func(net.Conn) error { return nil },
		look: func(pid int) (process, error) {
			if p, ok := all[pid]; ok {
				return p, nil
			}
			return process{}, errors.New("gone")
		},
		now: func() time.Time { return clock },
	})
	_ = leader
	path := filepath.Join(t.TempDir(), "p.sock")
	lis, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, lis) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	socket := Socket(path)
	decide, prefix := false, "reads "
	login := func(words string) error {
		id, challenge, err := socket.Begin(t.Context())
		if err != nil || string(challenge) != "sign this" {
			t.Fatalf("%q, %v", challenge, err)
		}
		a, err := socket.Login(t.Context(), proofOf(id, words), decide)
		if err == nil && (a.Person != "ann" || !a.Until.Equal(start.Add(15*time.Minute))) {
			t.Errorf("%+v", a)
		}
		return err
	}
	token := func(name string, pid int, role string, want error) {
		t.Helper()
		asks = pid
		defer func() { asks = 200 }()
		got, err := socket.Token(t.Context(), role)
		if want == nil && (err != nil || got.Token != prefix+role || got.ReadOnly != (prefix == "reads ")) || want != nil && (got.Token != "" || !errors.Is(err, want)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	token("before the log-in", 200, "operator", ErrNobody)
	if err := login("wrong"); err == nil {
		t.Error("a wrong passphrase unlocks")
	}
	token("after a wrong passphrase", 200, "operator", ErrNobody)
	if err := login("right"); err != nil {
		t.Fatal(err)
	}
	token("a command of the shell", 200, "operator", nil)
	token("another role of the person", 200, "approver", nil)
	if got, err := socket.Token(t.Context(), "root"); err != nil || got.Role != "operator" || !got.ReadOnly || got.Token != "reads operator" {
		t.Errorf("who lacks a role reads in another: %+v, %v", got, err)
	}
	// A proof gives a token that decides, to any process and without a log-in.
	for name, row := range map[string]struct{ words, role, want string }{
		"a proof":               {"right", "approver", "short approver"},
		"a wrong proof":         {"wrong", "approver", ""},
		"a role she has not":    {"right", "root", ""},
		"a proof without roles": {"right", "", ""},
	} {
		got, err := socket.Prove(t.Context(), row.role, proofOf("c", row.words))
		if got.Token != row.want || (err == nil) != (row.want != "") || got.ReadOnly {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if who, err := socket.Who(t.Context()); err != nil || who != "ann" {
		t.Errorf("who is there: %q, %v", who, err)
	}
	// A log-in that decides is asked for.
	decide, prefix = true, "short "
	if err := login("right"); err != nil {
		t.Fatal(err)
	}
	token("a command of a shell that decides", 200, "operator", nil)
	decide, prefix = false, "reads "
	if err := login("right"); err != nil {
		t.Fatal(err)
	}
	token("another terminal", 600, "operator", ErrNobody)
	token("a command of an agent at the same terminal", 700, "operator", ErrNobody)
	token("the agent itself", 300, "operator", ErrNobody)
	uid++
	token("another user", 200, "operator", ErrNobody)
	uid--
	again := shell
	again.start++
	all[100] = again
	token("another shell with the number of the first", 200, "operator", ErrNobody)
	all[100] = shell
	clock = start.Add(15 * time.Minute)
	token("a quarter of an hour later", 200, "operator", ErrNobody)
	clock = start
	if who, err := socket.Logout(t.Context()); err != nil || who != "ann" {
		t.Errorf("%q, %v", who, err)
	}
	token("after the log-out", 200, "operator", ErrNobody)
}

// The kernel's own view of processes is read.
func TestLook(t *testing.T) {
	t.Parallel()
	p, err := look(os.Getpid())
	if err != nil || p.parent != os.Getppid() || p.pid != os.Getpid() || !p.same || p.start == 0 || p.age < 0 || p.age > time.Hour {
		t.Errorf("%+v, %v", p, err)
	}
	lis, err := Listen(filepath.Join(t.TempDir(), "p.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lis.Close() }()
	conn, err := net.Dial("unix", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	there, err := lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = there.Close() }()
	pid, uid, err := peerOf(there)
	if err != nil || !slices.Equal([]int{pid, uid}, []int{os.Getpid(), os.Geteuid()}) {
		t.Errorf("%d, %d, %v", pid, uid, err)
	}
}

// A connection is refused once the process that made it has ended: another may have its number (S23.16).
func TestEndedProcess(t *testing.T) {
	t.Parallel()
	const env = "INTERLOCK_TEST_CONNECT"
	if path := os.Getenv(env); path != "" {
		if _, err := net.Dial("unix", path); err != nil {
			t.Fatal(err)
		}
		return
	}
	lis, err := Listen(filepath.Join(t.TempDir(), "p.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lis.Close() }()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEndedProcess$")
	child.Env = append(os.Environ(), env+"="+lis.Addr().String())
	own, err := net.Dial("unix", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = own.Close() }()
	lived, err := lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lived.Close() }()
	if err := lives(lived); err != nil {
		t.Errorf("a process that lives: %v", err)
	}
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ended, err := lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ended.Close() }()
	if err := lives(ended); !errors.Is(err, errGone) && kernelSays(t, ended) {
		t.Errorf("a process that has ended: %v", err)
	}
}

// kernelSays reports whether the kernel tells apart processes of one number.
func kernelSays(t *testing.T, conn net.Conn) bool {
	t.Helper()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { _, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD) }); err != nil {
		t.Fatal(err)
	}
	return !errors.Is(failed, unix.ENOPROTOOPT)
}
