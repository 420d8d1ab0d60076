package jailertest

import (
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/jail"
)

// processAttempts signal, stop, watch or outlive processes.
var processAttempts = []attempt{
	{name: "kill a process", line: `kill -9 $WATCHED`, open: "1"},
	{name: "signal a process", line: `kill -USR1 $WATCHED`, open: "1"},
	{name: "stop a process", line: `kill -STOP $WATCHED`, open: "1"},
	{name: "kill by name", line: `pkill -9 -f canary-process; true`, open: "1"},
	{name: "kill all", least: jail.Scoped, line: `kill -TERM -1; kill -9 -1`, vain: "it would end the test"},
	{name: "kill the parent", line: `kill -9 $PPID; sleep 1`},
	{name: "stop the parent", least: jail.Scoped, line: `kill -STOP $PPID; sleep 1`, limits: jail.Limits{WallSeconds: 2}},
	{name: "kill process 1", line: `kill -9 1; kill -STOP 1; kill -TERM 1; true`, vain: "the kernel keeps process 1 of a pen"},
	{name: "kill the group", line: `kill -9 0`, check: endedOnlyItself},
	{name: "kill the parent's group", line: `kill -9 -- -$(ps -o pgid= -p $PPID | tr -d ' ')`},
	{name: "kill all ancestors", least: jail.Scoped, py: `
pid = os.getppid()
while pid > 1:
    try:
        nxt = int(open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[1]); os.kill(pid, 9); pid = nxt
    except OSError: break
time.sleep(0.2)`, vain: "it would end the test"},
	{name: "signal a thread", py: `call(234, watched(), watched(), 10)`, open: "1"},
	{name: "queue a signal", py: `
info = ctypes.create_string_buffer(struct.pack("iii", 10, 0, -1) + bytes(128)); call(129, watched(), 10, info)`, open: "1"},
	{name: "signal by a descriptor", py: `
fd = call(434, watched(), 0); call(424, fd, 10, 0, 0)`, open: "1"},
	{name: "signal by a file's owner", py: `
a, b = socket.socketpair()
fcntl.fcntl(a, fcntl.F_SETOWN, watched()); fcntl.fcntl(a, 10, signal.SIGUSR1)
fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK); b.send(b"x"); time.sleep(0.1)`, open: "1"},
	{name: "signal by a pipe's owner", py: `
r, w = os.pipe()
fcntl.fcntl(r, fcntl.F_SETOWN, watched()); fcntl.fcntl(r, 10, signal.SIGUSR1)
fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK); os.write(w, b"x"); time.sleep(0.1)`, open: "1"},
	{name: "signal by a lease", py: `
fd = os.open("main.py", os.O_RDONLY)
fcntl.fcntl(fd, fcntl.F_SETOWN, watched()); fcntl.fcntl(fd, 10, signal.SIGUSR1); fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
if os.fork() == 0:
    try: os.open("main.py", os.O_RDONLY | os.O_NONBLOCK)
    except OSError: pass
    os._exit(0)
os.wait(); time.sleep(0.1)`, vain: "a lease goes to who takes it"},
	{name: "attach to a process", py: `won("attached", call(101, 16, watched(), 0, 0) == 0)`},
	{name: "seize a process", py: `won("seized", call(101, 0x4206, watched(), 0, 0) == 0)`},
	{name: "attach to the parent", py: `won("attached", call(101, 16, os.getppid(), 0, 0) == 0)`},
	{name: "attach with strace", line: `timeout 2 strace -o /dev/null -p $WATCHED 2>&1 | grep -q 'attached' && echo ESCAPED`},
	{name: "attach with gdb", line: `timeout 5 gdb -batch -p $WATCHED 2>&1 | grep -q '^0x' && echo ESCAPED`, vain: "which words gdb prints is a matter of its version"},
	{name: "write a process's memory", py: `
pid = watched(); buf = ctypes.create_string_buffer(8)
for line in open("/proc/%d/maps" % pid):
    if "rw-p" in line:
        a = int(line.split("-")[0], 16)
        l = (ctypes.c_uint64 * 2)(ctypes.addressof(buf), 0); r = (ctypes.c_uint64 * 2)(a, 0)
        if call(311, pid, l, 1, r, 1, 0) == 0: won("may write another's memory")
        break`, vain: "a write of no bytes is not checked"},
	{name: "write a process's memory by /proc", py: `won("may write", bool(os.open("/proc/%d/mem" % watched(), os.O_RDWR)))`},
	{name: "advise on a process's memory", py: `
fd = call(434, watched(), 0)
r = (ctypes.c_uint64 * 2)(0, 0); won("advised", fd >= 0 and call(440, fd, r, 1, 20, 0) >= 0)`, vain: "advice on nothing is not checked"},
	{name: "limits of a process", py: `
buf = ctypes.create_string_buffer(struct.pack("QQ", 1, 1)); won("set a limit", call(302, watched(), 4, buf, None) == 0)`},
	{name: "priority of a process", py: `os.setpriority(os.PRIO_PROCESS, watched(), 19); won("set a priority")`},
	{name: "processors of a process", py: `os.sched_setaffinity(watched(), {0}); won("set processors")`},
	{name: "schedule of a process", py: `os.sched_setscheduler(watched(), os.SCHED_IDLE, os.sched_param(0)); won("set a schedule")`},
	{name: "input and output priority of a process", py: `won("set it", call(251, 1, watched(), 3 << 13) == 0)`},
	{name: "score of a process when memory is short", line: `echo 1000 > /proc/$WATCHED/oom_score_adj && echo ESCAPED`},
	{name: "name of a process", line: `echo evil > /proc/$WATCHED/comm && echo ESCAPED`, vain: "only its own threads may"},
	{name: "core filter of a process", line: `echo 1 > /proc/$WATCHED/coredump_filter && echo ESCAPED`},
	{name: "group of a process", line: `echo x > /proc/$WATCHED/autogroup && echo ESCAPED; echo 5 > /proc/$WATCHED/autogroup && echo ESCAPED`},
	{name: "control groups", line: `for f in $(find /sys/fs/cgroup -name cgroup.procs 2>/dev/null | head); do echo $WATCHED > $f && echo ESCAPED; done`, vain: "a pen has them read-only"},
	{name: "freeze control groups", line: `find /sys/fs/cgroup -name 'cgroup.freeze' -exec sh -c 'echo 1 > $1 && echo ESCAPED' _ {} \;`, vain: "a pen has them read-only"},
	{name: "outlive the one who ends it", line: `setsid sleep 60 & sleep 0.1; kill -9 $PPID; sleep 1`, open: "1"},
	{name: "outlive", line: `sleep 60 & exit 0`},
	{name: "outlive in a session", line: `setsid sleep 60 & exit 0`},
	{name: "outlive by nohup", line: `nohup sleep 60 >/dev/null 2>&1 & disown; exit 0`},
	{name: "outlive by two forks", py: `
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for s in (1, 2, 3, 13, 15): signal.signal(s, signal.SIG_IGN)
        for fd in range(3): os.close(fd)
        time.sleep(60)
    os._exit(0)
os.wait()`},
	{name: "outlive by many forks", py: `
for i in range(200):
    if os.fork(): os._exit(0)
time.sleep(60)`},
	{name: "outlive by a chain that never ends", vain: "it is rarely seen", py: `
end = time.time() + 15
while time.time() < end:
    if os.fork(): os._exit(0)`},
	{name: "outlive and write later", line: `(setsid sh -c 'sleep 0.3; echo x > /srv/outside/new; sleep 60' >/dev/null 2>&1 &) ; exit 0`},
	{name: "outlive in a new group, stopped", py: `
if os.fork() == 0:
    os.setpgid(0, 0); os.kill(os.getpid(), signal.SIGSTOP); time.sleep(60)
time.sleep(0.1)`},
	{name: "outlive with a trace", py: `
if os.fork() == 0:
    call(101, 0, 0, 0, 0); os.setsid(); time.sleep(60)`},
	{name: "outlive while editing", as: editing, line: `setsid sleep 60 & exit 0`},
	{name: "take over orphans", py: `
libc.prctl(36, 1)
if os.fork() == 0:
    if os.fork() == 0: time.sleep(60)
    os._exit(0)
time.sleep(0.1)`},
	{name: "ignore the end of the parent", py: `
if os.fork() == 0:
    libc.prctl(1, 0); os.setsid(); time.sleep(60)
os._exit(0)`},
	{name: "a program of the super-user", line: `/opt/suid/run`, vain: ""},
	{name: "sudo and su", user: true, line: `sudo -n id 2>/dev/null | grep -q uid=0 && echo ESCAPED; su -c id </dev/null 2>/dev/null | grep -q uid=0 && echo ESCAPED`, vain: "a pen's user is in no list"},
	{name: "regain privileges", py: `won("privileges", libc.prctl(38, 0, 0, 0, 0) == 0)`, vain: "the kernel never allows it"},
	{name: "become root", user: true, py: `won("root", libc.setuid(0) == 0 and os.getuid() == 0 and open("/proc/self/status").read().find("CapEff:\t0000000000000000") < 0)`, vain: "a user may not"},
	{name: "capabilities", py: `
caps = int([l for l in open("/proc/self/status") if l.startswith("CapEff")][0].split()[1], 16)
won("has %x" % caps, caps & ~(1<<0|1<<1|1<<3|1<<4|1<<5|1<<6|1<<7) != 0)
bnd = int([l for l in open("/proc/self/status") if l.startswith("CapBnd")][0].split()[1], 16)
won("may have %x" % bnd, bnd & ~(1<<0|1<<1|1<<3|1<<4|1<<5|1<<6|1<<7) != 0)`, open: "12"},
}

func endedOnlyItself(r result) []string {
	if r.Witness == nil || r.Witness.Signal == "" && r.Witness.ExitStatus == 0 || strings.Contains(r.Error, "runner") {
		return []string{fmt.Sprintf("the witness is %+v, %s", r.Witness, r.Error)}
	}
	return nil
}
