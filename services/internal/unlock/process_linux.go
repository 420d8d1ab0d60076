package unlock

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/interlock-run/interlock/services/internal/shield"
)

// peerOf returns the process that connected, as the kernel knows it.
func peerOf(conn net.Conn) (pid, uid int, err error) {
	local, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, 0, errors.New("the connection is no unix socket")
	}
	raw, err := local.SyscallConn()
	if err != nil {
		return 0, 0, fmt.Errorf("look at the connection: %w", err)
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, 0, fmt.Errorf("look at the connection: %w", err)
	}
	if failed != nil {
		return 0, 0, fmt.Errorf("look at the connection: %w", failed)
	}
	return int(cred.Pid), int(cred.Uid), nil
}

// lives refuses a connection whose process has ended. A kernel older than Linux 6.5 has no
// such option: there, every connection passes.
func lives(conn net.Conn) error {
	local, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("the connection is no unix socket")
	}
	raw, err := local.SyscallConn()
	if err != nil {
		return fmt.Errorf("look at the connection: %w", err)
	}
	var peer int
	var failed error
	if err := raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD) }); err != nil {
		return fmt.Errorf("look at the connection: %w", err)
	}
	if errors.Is(failed, unix.ENOPROTOOPT) {
		return nil
	}
	if failed != nil {
		return errGone
	}
	defer func() { _ = unix.Close(peer) }()
	// It can be read when the process has ended.
	ended, err := unix.Poll([]unix.PollFd{{Fd: int32(peer), Events: unix.POLLIN}}, 0) //nolint:gosec // a descriptor
	if err != nil || ended != 0 {
		return errGone
	}
	return nil
}

// ticks are those of a second in /proc, on every architecture that Go runs on.
const ticks = 100

// look reads /proc/PID/stat.
func look(pid int) (process, error) {
	folder := "/proc/" + strconv.Itoa(pid)
	text, err := os.ReadFile(folder + "/stat")
	if err != nil {
		return process{}, fmt.Errorf("look at the process %d: %w", pid, err)
	}
	// The name of the program is in parentheses, and may have some itself.
	_, rest, ok := cutLast(string(text), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return process{}, fmt.Errorf("look at the process %d: its state is not readable", pid)
	}
	p := process{pid: pid}
	for at, into := range map[int]*int{1: &p.parent, 2: &p.group, 3: &p.session, 4: &p.tty, 5: &p.foreground} {
		if *into, err = strconv.Atoi(fields[at]); err != nil {
			return process{}, fmt.Errorf("look at the process %d: %w", pid, err)
		}
	}
	if p.start, err = strconv.ParseUint(fields[19], 10, 64); err != nil {
		return process{}, fmt.Errorf("look at the process %d: %w", pid, err)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return process{}, fmt.Errorf("look at the clock: %w", err)
	}
	p.age = time.Duration(now.Nano()) - time.Duration(p.start)*time.Second/ticks //nolint:gosec // since the machine was started
	own, err := os.Stat(shield.Self())
	if err != nil {
		return process{}, fmt.Errorf("look at this program: %w", err)
	}
	other, err := os.Stat(folder + "/exe")
	p.same = err == nil && os.SameFile(own, other)
	return p, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
