"""Programs of a person's user that try to decide or to learn the passphrase. The first argument chooses one."""
import ctypes, os, re, select, signal, sys, time

libc = ctypes.CDLL(None, use_errno=True)


def sibling(*command):
    """Starts a command that looks as if this program's own shell had started it, in the foreground."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    pid = libc.syscall(56, 0x8000 | signal.SIGCHLD, 0, 0, 0, 0)  # clone(CLONE_PARENT)
    if pid == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        os.execvp(command[0], command)
    return pid


def started(name):
    """Waits for a new process of the program with an argument, and returns its number at once."""
    with open("/proc/loadavg") as f:
        seen, new = int(f.read().split()[4]), []
        while True:
            f.seek(0)
            last = int(f.read().split()[4])
            new, seen = (new + list(range(seen + 1, last + 1)))[-64:], last
            for pid in new:
                try:
                    with open("/proc/%d/cmdline" % pid, "rb") as line:
                        words = line.read().split(b"\0")
                except OSError:
                    continue
                if words[0].endswith(b"interlock") and name.encode() in words:
                    return pid


def look(name):
    """Opens the memory of a command in the moment of its start, and reads it until the file SOUGHT is there."""
    sought = os.environ["SOUGHT"]
    open("looks", "w").close()
    pid = started(name)
    try:
        mem, maps = open("/proc/%d/mem" % pid, "rb", 0), open("/proc/%d/maps" % pid)
    except OSError as e:
        print("LOOKED not opened", e.errno)
        return
    while not os.path.exists(sought):
        time.sleep(0.01)
    with open(sought, "rb") as f:
        word = f.read()
    found = False
    while not found and os.path.exists("/proc/%d" % pid):
        try:
            maps.seek(0)
            spans = re.findall(r"^(\w+)-(\w+) rw", maps.read(), re.M)
        except OSError:  # the process has another memory by now
            break
        for low, high in spans:
            for at in range(int(low, 16), int(high, 16), 1 << 16):
                try:
                    mem.seek(at)
                    found = found or word in mem.read(1 << 16)
                except OSError:
                    pass
    print("LOOKED", "found" if found else "nothing")


def trace(name):
    """Becomes the tracer of a command in the moment of its start, and lets it run on."""
    open("looks", "w").close()
    pid = started(name)
    seized = libc.ptrace(0x4206, pid, 0, 0)
    print("TRACED", "attached" if seized == 0 else "refused")
    sys.stdout.flush()
    status = ctypes.c_int()
    while seized == 0 and libc.waitpid(pid, ctypes.byref(status), 0x40000000) == pid and os.WIFSTOPPED(status.value):
        libc.ptrace(7, pid, 0, os.WSTOPSIG(status.value))


def listen(terminal):
    """Opens a terminal, and reads from it."""
    try:
        f = os.open(terminal, os.O_RDONLY | os.O_NOCTTY)
    except OSError as e:
        print("LISTENED", e.errno)
        return
    print("LISTENED open")


if sys.argv[1] == "sibling":
    pid = sibling(*sys.argv[2:])
    if os.environ.get("LEAVE") == "":
        try:
            select.select([os.pidfd_open(pid)], [], [])  # until it has ended
        except ProcessLookupError:
            pass
elif sys.argv[1] == "look":
    look(sys.argv[2])
elif sys.argv[1] == "trace":
    trace(sys.argv[2])
elif sys.argv[1] == "listen":
    listen(sys.argv[2])
