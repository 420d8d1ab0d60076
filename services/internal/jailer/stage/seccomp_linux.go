package stage

import (
	"slices"
	"syscall"
	"unsafe"

	"github.com/interlock-run/interlock/services/internal/jailer/stage/sys"
)

// errnoReturn makes a filter's answer that fails a call.
func errnoReturn(errno syscall.Errno) uint32 {
	return sys.SECCOMP_RET_ERRNO | uint32(errno)
}

// The offsets of struct seccomp_data.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// refused are calls that a command has no use for, or that lead out of a jail: they see or steer other
// processes, change mounts or namespaces, name files around the folders that are allowed, or reach much
// of the kernel.
var refused = []uint32{
	syscall.SYS_PTRACE, sys.SYS_PROCESS_VM_READV, sys.SYS_PROCESS_VM_WRITEV, sys.SYS_PIDFD_GETFD, sys.SYS_KCMP,
	sys.SYS_PROCESS_MADVISE, sys.SYS_PROCESS_MRELEASE,
	sys.SYS_BPF, syscall.SYS_PERF_EVENT_OPEN, sys.SYS_USERFAULTFD, syscall.SYS_LOOKUP_DCOOKIE,
	syscall.SYS_KEYCTL, syscall.SYS_ADD_KEY, syscall.SYS_REQUEST_KEY,
	sys.SYS_IO_URING_SETUP, sys.SYS_IO_URING_ENTER, sys.SYS_IO_URING_REGISTER,
	syscall.SYS_MOUNT, syscall.SYS_UMOUNT2, sys.SYS_MOVE_MOUNT, sys.SYS_OPEN_TREE, sysOpenTreeAttr, sys.SYS_FSOPEN, sys.SYS_FSCONFIG,
	sys.SYS_FSMOUNT, sys.SYS_FSPICK, sys.SYS_MOUNT_SETATTR, syscall.SYS_PIVOT_ROOT, syscall.SYS_CHROOT,
	syscall.SYS_UNSHARE, sys.SYS_SETNS,
	syscall.SYS_KEXEC_LOAD, sys.SYS_KEXEC_FILE_LOAD, syscall.SYS_INIT_MODULE, sys.SYS_FINIT_MODULE, syscall.SYS_DELETE_MODULE,
	syscall.SYS_REBOOT, syscall.SYS_SWAPON, syscall.SYS_SWAPOFF, syscall.SYS_ACCT, syscall.SYS_QUOTACTL, sys.SYS_QUOTACTL_FD, syscall.SYS_NFSSERVCTL,
	sys.SYS_OPEN_BY_HANDLE_AT, sys.SYS_NAME_TO_HANDLE_AT, syscall.SYS_FANOTIFY_INIT,
	syscall.SYS_SYSLOG, syscall.SYS_SETTIMEOFDAY, syscall.SYS_CLOCK_SETTIME, sys.SYS_CLOCK_ADJTIME, syscall.SYS_ADJTIMEX,
	syscall.SYS_SETHOSTNAME, syscall.SYS_SETDOMAINNAME, syscall.SYS_VHANGUP,
}

// nesting are those of refused that make a jail.
var nesting = []uint32{
	syscall.SYS_MOUNT, syscall.SYS_UMOUNT2, sys.SYS_MOVE_MOUNT, sys.SYS_OPEN_TREE, sys.SYS_FSOPEN, sys.SYS_FSCONFIG, sys.SYS_FSMOUNT,
	sys.SYS_MOUNT_SETATTR, syscall.SYS_PIVOT_ROOT, syscall.SYS_UNSHARE,
}

const (
	sysOpenTreeAttr = 467 // the same number on every architecture
	namespaceFlags  = syscall.CLONE_NEWNS | syscall.CLONE_NEWCGROUP | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUSER |
		syscall.CLONE_NEWPID | syscall.CLONE_NEWNET
	socketTypeMask = 0xf // the rest of socket's second argument are flags
)

// program collects the instructions of a filter. Each rule falls through to the next where it does not
// answer.
type program []syscall.SockFilter

func (p *program) load(offset uint32) {
	*p = append(*p, syscall.SockFilter{Code: syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS, K: offset})
}

func (p *program) answer(value uint32) {
	*p = append(*p, syscall.SockFilter{Code: syscall.BPF_RET | syscall.BPF_K, K: value})
}

// unless skips n instructions unless the loaded word compares as op says.
func (p *program) unless(op uint16, k uint32, n int) {
	*p = append(*p, syscall.SockFilter{Code: syscall.BPF_JMP | op | syscall.BPF_K, Jf: uint8(n), K: k})
}

// when skips n instructions when the loaded word is k.
func (p *program) when(k uint32, n int) {
	*p = append(*p, syscall.SockFilter{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, Jt: uint8(n), K: k})
}

// call adds rules that apply to one call alone, which see the number loaded before and leave it loaded.
func (p *program) call(number uint32, rules func(*program)) {
	inner := program{}
	rules(&inner)
	inner.load(offsetNumber)
	p.unless(syscall.BPF_JEQ, number, len(inner))
	*p = append(*p, inner...)
}

func argument(n uint32) uint32 { return offsetArgs + 8*n } // its low word: both architectures are little-endian

// filter returns the program that every process of the command is under.
func filter(o *Order) program {
	p := program{}
	p.load(offsetArch)
	p.when(auditArch, 1)
	p.answer(sys.SECCOMP_RET_KILL_PROCESS)
	p.load(offsetNumber)
	if highestCall != 0 { // x32 calls have a bit of their own
		p.unless(syscall.BPF_JGE, highestCall, 1)
		p.answer(errnoReturn(syscall.ENOSYS))
	}
	nests := o.nests()
	for _, number := range append(refused, refusedHere...) {
		if nests && slices.Contains(nesting, number) {
			continue
		}
		p.unless(syscall.BPF_JEQ, number, 1)
		p.answer(errnoReturn(syscall.EPERM))
	}
	p.unless(syscall.BPF_JEQ, sys.SYS_CLONE3, 1) // its flags are in memory; the C library falls back to clone
	p.answer(errnoReturn(syscall.ENOSYS))
	if !nests {
		p.call(syscall.SYS_CLONE, func(p *program) {
			p.load(argument(0))
			p.unless(syscall.BPF_JSET, namespaceFlags, 1)
			p.answer(errnoReturn(syscall.EPERM))
		})
	}
	p.call(syscall.SYS_IOCTL, func(p *program) {
		p.load(argument(1))
		for _, request := range []uint32{syscall.TIOCSTI, tiocLinux, syscall.TIOCSETD, syscall.TIOCCONS} {
			p.unless(syscall.BPF_JEQ, request, 1)
			p.answer(errnoReturn(syscall.EPERM))
		}
	})
	p.call(syscall.SYS_PERSONALITY, func(p *program) {
		p.load(argument(0))
		p.when(0, 3)
		p.when(noRandomLayout, 2)
		p.when(askPersonality, 1)
		p.answer(errnoReturn(syscall.EPERM))
	})
	if !o.Namespaces {
		others(&p)
	}
	p.call(syscall.SYS_SOCKET, func(p *program) { sockets(o, p) })
	if !connects(o) {
		p.call(syscall.SYS_SOCKETPAIR, pairs)
	}
	p.answer(sys.SECCOMP_RET_ALLOW)
	return p
}

// Values of personality: what debuggers set, and the question for it.
const (
	noRandomLayout = 0x0040000
	askPersonality = 0xffffffff
)

// others adds rules against calls that steer another process of the user, where that can be named. A
// thread's own number is refused as well: 0 names it.
func others(p *program) {
	for _, call := range []struct{ number, process uint32 }{
		{syscall.SYS_SETPRIORITY, 1},
		{syscall.SYS_IOPRIO_SET, 1},
		{syscall.SYS_SCHED_SETAFFINITY, 0},
		{syscall.SYS_SCHED_SETSCHEDULER, 0},
		{syscall.SYS_SCHED_SETPARAM, 0},
		{sys.SYS_SCHED_SETATTR, 0},
		{syscall.SYS_PRLIMIT64, 0},
		{syscall.SYS_MOVE_PAGES, 0},
		{syscall.SYS_MIGRATE_PAGES, 0},
	} {
		p.call(call.number, func(p *program) {
			p.load(argument(call.process))
			p.when(0, 1)
			p.answer(errnoReturn(syscall.EPERM))
		})
	}
}

// tiocLinux pastes into a virtual console's input.
const tiocLinux = 0x541c

// connects reports that a command may have sockets that connect by name: mounts hide those that have one in the file system, and a
// network of its own, or the scopes of Landlock, the abstract ones.
func connects(o *Order) bool {
	return o.Namespaces && (o.Closed || o.Proxy || o.abi() >= abiScopes && !o.nests())
}

// pairs adds the rule for pairs of sockets: one of datagrams can be connected, and send, to any name.
func pairs(p *program) {
	p.load(argument(1))
	*p = append(*p, syscall.SockFilter{Code: syscall.BPF_ALU | syscall.BPF_AND | syscall.BPF_K, K: socketTypeMask})
	p.when(syscall.SOCK_STREAM, 2)
	p.when(syscall.SOCK_SEQPACKET, 1)
	p.answer(errnoReturn(syscall.EPERM))
}

// sockets adds the rules for the families and types of sockets.
func sockets(o *Order, p *program) {
	families := []uint32{syscall.AF_UNIX, syscall.AF_INET, syscall.AF_INET6, syscall.AF_NETLINK}
	switch {
	case connects(o):
	case o.Namespaces:
		families = families[1:]
	case o.Proxy: // the kernel compares the port alone, so the address must be of one family
		families = []uint32{syscall.AF_INET}
	case o.Closed:
		families = []uint32{syscall.AF_NETLINK}
	default: // a socket with a name in the file system is under no rule of Landlock
		families = []uint32{syscall.AF_INET, syscall.AF_INET6, syscall.AF_NETLINK}
	}
	p.load(argument(0))
	for i, family := range families {
		p.when(family, len(families)-i)
	}
	p.answer(errnoReturn(syscall.EAFNOSUPPORT))
	// Routes are all that a command may ask the kernel for.
	p.unless(syscall.BPF_JEQ, syscall.AF_NETLINK, 3)
	p.load(argument(2))
	p.when(syscall.NETLINK_ROUTE, 1)
	p.answer(errnoReturn(syscall.EPROTONOSUPPORT))
	if o.Proxy && !o.Namespaces {
		p.load(argument(1))
		*p = append(*p, syscall.SockFilter{Code: syscall.BPF_ALU | syscall.BPF_AND | syscall.BPF_K, K: socketTypeMask})
		p.when(syscall.SOCK_STREAM, 1)
		p.answer(errnoReturn(syscall.EPERM))
		p.load(argument(2)) // TCP: Landlock knows no rule for MPTCP and SCTP
		p.when(0, 2)
		p.when(syscall.IPPROTO_TCP, 1)
		p.answer(errnoReturn(syscall.EPERM))
	}
}

// install puts this thread, and what it starts, under a filter.
func install(p program) error {
	prog := syscall.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	if _, _, errno := syscall.RawSyscall(sys.SYS_SECCOMP, sys.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return about("seccomp", errno)
	}
	return nil
}
