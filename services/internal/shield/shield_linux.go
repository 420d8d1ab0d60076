package shield

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Shield closes the memory, the environment and the open files of this process to other programs of its user. Programs that
// it starts are not affected. A program that has opened the memory before can still read it: see Restart.
func Shield() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close the memory of this process to other programs: %w", err)
	}
	return nil
}

// Unshield opens the process again, where it has to start jails and is not root: the kernel lets a closed
// process set up no user namespace. It reports whether the process is open.
func Unshield() bool {
	return os.Geteuid() != 0 && unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) == nil
}

// ErrDebugged refuses a process that another program debugs.
var ErrDebugged = errors.New("another program debugs this process, and could read what it is to keep secret: end that program, and start again")

// ErrOpen means that the memory was closed only after the start of the process.
var ErrOpen = errors.New("this system cannot start a program with closed memory, so a program of your user that looked in the first moment can still look")

// Restart executes a copy of this program that its user cannot read: the kernel then closes the memory at the start of the
// program, and not only some moments later. It returns in the copy, and where none is needed: for root, whose memory no other
// user reads, and for a program whose file the user cannot read. Where it fails, the memory is closed as by Shield.
//
// Call it before the process knows a secret, and before it has read any input: it starts from the beginning.
func Restart() error {
	own()
	closed, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("look at this process: %w", err)
	}
	if err := Shield(); err != nil {
		return err
	}
	if debugged, err := debugged(); err != nil || debugged {
		return errors.Join(err, ErrDebugged)
	}
	switch {
	case closed == 0 || os.Geteuid() == 0:
		return nil
	case Self() != self: // the copy is open, too
		return ErrOpen
	}
	return errors.Join(ErrOpen, execute())
}

// debugged reports that another process is the tracer of this one.
func debugged() (bool, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false, fmt.Errorf("look at this process: %w", err)
	}
	_, tracer, found := bytes.Cut(status, []byte("\nTracerPid:\t"))
	return !found || !bytes.HasPrefix(tracer, []byte("0\n")), nil
}

// keptFrom is the lowest number of the descriptor of the program: those of a process that it starts are lower.
const keptFrom = 100

// execute replaces this process by the copy. It returns only when it fails.
func execute() error {
	program, err := os.Open(self)
	if err != nil {
		return err //nolint:wrapcheck // names the file
	}
	defer func() { _ = program.Close() }()
	fd, err := unix.MemfdCreate("interlock", unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // a kernel before Linux 6.3 has no such flag
		fd, err = unix.MemfdCreate("interlock", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return fmt.Errorf("make a copy of the program: %w", err)
	}
	sealed := os.NewFile(uintptr(fd), "the copy of the program") //nolint:gosec // the kernel's number
	defer func() { _ = sealed.Close() }()
	if _, err := io.Copy(sealed, program); err != nil {
		return fmt.Errorf("make a copy of the program: %w", err)
	}
	if err := sealed.Chmod(0o111); err != nil {
		return fmt.Errorf("make a copy of the program: %w", err)
	}
	number, err := unix.FcntlInt(program.Fd(), unix.F_DUPFD, keptFrom) // it stays open in the copy
	if err != nil {
		return fmt.Errorf("keep the program open: %w", err)
	}
	defer func() { _ = unix.Close(number) }()
	env := append(os.Environ(), kept+"="+strconv.Itoa(number))
	if err := syscall.Exec("/proc/self/fd/"+strconv.Itoa(fd), os.Args, env); err != nil { //nolint:gosec // this program
		return fmt.Errorf("start the copy of the program: %w", err)
	}
	return nil
}

// own returns the path by which this process executes its own program.
var own = sync.OnceValue(func() string {
	text, ok := os.LookupEnv(kept)
	if !ok {
		return self
	}
	_ = os.Unsetenv(kept) // programs that it starts are no copies
	number, err := strconv.Atoi(text)
	if err != nil || number < keptFrom {
		return self
	}
	if _, err := unix.FcntlInt(uintptr(number), unix.F_SETFD, unix.FD_CLOEXEC); err != nil { //nolint:gosec // at least keptFrom
		return self
	}
	return "/proc/self/fd/" + strconv.Itoa(number)
})

// Self returns the path by which this process executes its own program, which other programs of the user can read.
func Self() string { return own() }
