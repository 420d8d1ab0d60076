package jailertest

// namespaceAttempts change the jail's view.
var namespaceAttempts = []attempt{
	{name: "a user namespace", line: `unshare -U true && echo ESCAPED`},
	{name: "root in a user namespace", line: `unshare -r sh -c 'id -u' | grep -qx 0 && echo ESCAPED`},
	{name: "a mount namespace", line: `unshare -rm true && echo ESCAPED`},
	{name: "a network namespace", line: `unshare -rn true && echo ESCAPED`},
	{name: "a process namespace", line: `unshare -rpf true && echo ESCAPED`},
	{name: "namespaces of root", line: `for o in -m -n -p -u -i -C -T; do unshare $o true && echo ESCAPED; done`, root: true},
	{name: "a namespace by clone", py: `
pid = call(56, 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
won("cloned", pid > 0)`},
	{name: "a namespace by clone3", py: `
args = ctypes.create_string_buffer(struct.pack("Q" * 8, 0x10000000, 0, 0, 0, 17, 0, 0, 0))
pid = call(435, args, 64)
if pid == 0: os._exit(0)
won("cloned", pid > 0)`},
	{name: "the namespaces of process 1", line: `for n in mnt net pid user ipc uts; do nsenter --$n=/proc/1/ns/$n true && echo ESCAPED; done`, vain: "a user may not"},
	{name: "the namespaces of the parent", py: `
for n in ("user", "mnt", "net", "pid"):
    try: won(n, libc.setns(os.open("/proc/%d/ns/%s" % (os.getppid(), n), os.O_RDONLY), 0) == 0)
    except OSError: pass`, vain: "a user may not"},
	{name: "the namespaces of the parent, as root", py: `
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    for n in ("mnt", "net", "uts", "ipc"):
        try: won(n, libc.setns(os.open("/proc/%s/ns/%s" % (pid, n), os.O_RDONLY), 0) == 0)
        except OSError: pass`, root: true},
	{name: "a parent namespace by ioctl", py: `
fd = fcntl.ioctl(os.open("/proc/self/ns/user", os.O_RDONLY), 0xb702, 0); won("has the parent's namespace")`, vain: "a pen's user has no parent namespace to see"},
	{name: "mount", line: `mount -t tmpfs x /mnt && echo ESCAPED; mount -t tmpfs x /srv && echo ESCAPED`, root: true},
	{name: "mount a folder", line: `mount --bind /srv/outside /srv/ws && echo ESCAPED`, root: true},
	{name: "mount for writing", line: `mount -o remount,rw / && echo ESCAPED; mount -o remount,bind,rw / && echo ESCAPED; mount -o remount,bind,rw /srv && echo ESCAPED`, root: true},
	{name: "unmount", line: `for m in ~/.ssh ~/.aws ~/.local/share/interlock /srv/ws /proc /tmp; do umount $m && echo ESCAPED; umount -l $m && echo ESCAPED; done`, root: true},
	{name: "mount by the new calls", py: `
won("open_tree", call(428, -100, b"/", 1 | 0x8000) >= 0); won("fsopen", call(430, b"tmpfs", 0) >= 0)
won("mount_setattr", call(442, -100, b"/", 0, ctypes.create_string_buffer(struct.pack("QQQQ", 0, 1, 0, 0)), 32) == 0)`, root: true},
	{name: "mount by the new calls, as a user", py: `
won("open_tree", call(428, -100, b"/", 1 | 0x8000) >= 0); won("fsopen", call(430, b"tmpfs", 0) >= 0)`, vain: "a user may not"},
	{name: "another root", line: `chroot /srv/outside /bin/true; mkdir -p x; chroot x true; true`, vain: "nothing is there"},
	{name: "leave a root", py: `
os.makedirs("c", exist_ok=True); fd = os.open("/", os.O_RDONLY); os.chroot("c"); won("has another root")
os.fchdir(fd)
for i in range(20): os.chdir("..")
os.chroot("."); print(open("/home/agent/.netrc").read())`, root: true},
	{name: "pivot", py: `won("pivoted", call(155, b"/srv/ws", b"/srv/ws/src") == 0)`, vain: "a user may not"},
	{name: "helpers of namespaces", line: `newuidmap $$ 0 0 1 && echo ESCAPED; newgidmap $$ 0 0 1 && echo ESCAPED`, vain: "a pen's user is in no list"},
	{name: "bubblewrap in the jail", line: `bwrap --bind / / true && echo ESCAPED`, vain: "it may not be there"},
	{name: "the name of the machine", line: `hostname evil; true`, root: true},
	{name: "memory of System V", py: `won("made", libc.shmget(0x1234, 4096, 0o1666) < -1)`, open: "12"},
	{name: "messages of System V", py: `libc.msgget(0x1234, 0o1666)`, open: "12"},
	{name: "messages of POSIX", py: `
q = call(240, b"canary-queue", os.O_CREAT | os.O_RDWR, 0o666, 0); won("made", q >= 0 and os.path.exists("/proc/%d/root" % watched()))`},
	{name: "settings of the kernel", line: `for f in kernel/core_pattern kernel/hostname net/ipv4/ip_forward vm/overcommit_memory kernel/panic; do (cat /proc/sys/$f | tee /proc/sys/$f >/dev/null) && echo ESCAPED; done`, root: true},
	{name: "settings of the kernel, as a user", line: `echo x > /proc/sys/kernel/core_pattern && echo ESCAPED; echo b > /proc/sysrq-trigger && echo ESCAPED`, vain: "a user may not"},
	{name: "settings of the user's namespaces", line: `for f in /proc/sys/user/*; do (cat $f > /tmp/v; cat /tmp/v > $f) && echo ESCAPED; done`, root: true},
	{name: "maps of the user", line: `echo '0 0 1' > /proc/self/uid_map && echo ESCAPED; echo allow > /proc/self/setgroups && echo ESCAPED`, vain: "they are set once"},
	{name: "devices", line: `ls /dev | grep -vxE 'null|zero|full|random|urandom|tty|ptmx|pts|shm|fd|stdin|stdout|stderr|core|mqueue|console' | sed 's/^/ESCAPED /'`, vain: "a pen has few"},
	{name: "the kernel's files", line: `ls -d /sys/kernel/debug/* /sys/kernel/tracing/* /sys/fs/bpf/* 2>/dev/null | head -3 | sed 's/^/ESCAPED /'`, vain: "a pen's user may not"},
	{name: "write to /sys", line: `find /sys -writable -type f 2>/dev/null | head -3 | sed 's/^/ESCAPED /'`, vain: "a pen has it read-only"},
}

// kernelAttempts make system calls that no build and no test needs.
var kernelAttempts = []attempt{
	{name: "bpf", py: `
a = ctypes.create_string_buffer(struct.pack("IIII", 2, 4, 4, 1) + bytes(100)); won("a map", call(321, 0, a, 72) >= 0)`, root: true},
	{name: "bpf, as a user", py: `
a = ctypes.create_string_buffer(struct.pack("IIII", 2, 4, 4, 1) + bytes(100)); r = call(321, 0, a, 72); won("a map", r >= 0)`, vain: "a user may not"},
	{name: "performance events", py: `
a = ctypes.create_string_buffer(struct.pack("IIQ", 1, 128, 0) + bytes(112)); won("an event", call(298, a, 0, -1, -1, 0) >= 0)`, vain: "a matter of kernel.perf_event_paranoid"},
	{name: "faults in user space", py: `won("has it", call(323, 1) >= 0)`},
	{name: "rings", py: `
p = ctypes.create_string_buffer(120); won("has a ring", call(425, 8, p) >= 0)`},
	{name: "keys", py: `
won("added a key", call(248, b"user", b"canary", b"x", 1, -4) > 0); won("searched keys", call(250, 10, -4, b"user", b"none", 0) > 0)`},
	{name: "the keys of the session", py: `won("has keys", call(250, 0, -3, 1) > 0)`},
	{name: "a request for keys", py: `won("requested", call(249, b"user", b"canary", b"x", -4) > 0 or ctypes.get_errno() == 126)`},
	{name: "notices of all files", py: `won("has them", call(300, 0, 0) >= 0)`, root: true},
	{name: "notices of all files, as a user", py: `won("has them", call(300, 0x200, 0) >= 0)`},
	{name: "ports", py: `won("has ports", call(172, 3) == 0 or call(173, 0x70, 1, 1) == 0)`, vain: "it needs the machine's root"},
	{name: "modules", py: `won("loaded", call(175, b"", 0, b"") == 0 or call(313, 0, b"", 0) == 0)`, vain: "it needs the machine's root"},
	{name: "another kernel", py: `won("loads", call(246, 0, 0, 0, 0) == 0 or call(320, -1, -1, 0, b"", 0) == 0)`, vain: "it needs the machine's root"},
	{name: "restart", py: `won("restarts", call(169, 0xfee1dead, 672274793, 0, None) == 0)`, vain: "it would end the pen"},
	{name: "restart, as root", py: `
e = call(169, 0xfee1dead, 672274793, 0x89abcdef, None); won("may switch restarts", e == 0)`, root: true},
	{name: "swap", py: `won("swaps", call(167, b"/srv/ws/main.py", 0) == 0)`, vain: "it needs the machine's root"},
	{name: "accounts of processes", py: `won("accounts", call(163, b"/srv/ws/main.py") == 0)`, vain: "it needs the machine's root"},
	{name: "quotas", py: `won("quotas", call(179, 0x800001 << 8, 0, 0, 0) == 0)`, vain: "it needs the machine's root"},
	{name: "the clock", py: `won("sets it", call(164, None, None) == 0 and False)
t = ctypes.create_string_buffer(208); won("adjusts", call(159, ctypes.create_string_buffer(struct.pack("I", 1) + bytes(204))) == 0)`, vain: "it needs the machine's root"},
	{name: "pages of others", py: `won("moved", call(279, watched(), 0, None, None, None, 0) >= 0)`},
	{name: "memory policy of others", py: `
m = ctypes.create_string_buffer(struct.pack("Q", 1)); won("migrated", call(256, watched(), 64, m, m) >= 0)`, vain: "the kernel may have no NUMA"},
	{name: "files by handles", py: `
h = ctypes.create_string_buffer(struct.pack("Ii", 8, 1) + bytes(8)); call(304, -100, h, 0)
won("opened", ctypes.get_errno() not in (1, 13, 38))`, root: true},
	{name: "calls of another architecture", py: `
m = mmap.mmap(-1, 4096, prot=7)
# mov eax, 20 (getpid of i386); int 0x80; ret
m[:8] = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"
f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m))); won("made a call of i386", f() == os.getpid())`},
	{name: "calls of x32", py: `won("made a call of x32", call(0x40000000 + 39) == os.getpid())`, vain: "the kernel may have no x32"},
	{name: "a trace of a child", py: `
pid = os.fork()
if pid == 0: time.sleep(2); os._exit(0)
won("traces", call(101, 16, pid, 0, 0) == 0); os.kill(pid, 9)`},
	{name: "input for the terminal", py: `
m, s = os.openpty()
if os.fork() == 0:
    os.setsid(); fcntl.ioctl(s, 0x540e, 0)
    try: fcntl.ioctl(s, 0x5412, b"x"); won("typed")
    except OSError: pass
    os._exit(0)
os.wait()`, vain: "newer kernels refuse it"},
	{name: "input for the user's terminal", py: `
fd = os.open("/dev/tty", os.O_RDWR); won("has the terminal")
fcntl.ioctl(fd, 0x5412, b"x"); won("typed")`, vain: "a pen has no terminal"},
	{name: "the console", py: `
fd = os.open("/dev/console", os.O_RDWR); won("has the console")`, vain: "a pen has none"},
	{name: "selection of the console", py: `
for n in ("/dev/tty0", "/dev/tty1", "/dev/vcs", "/dev/vcsa1"):
    try: fcntl.ioctl(os.open(n, os.O_RDWR), 0x541c, b"\x02"); won("selects")
    except OSError: pass`, vain: "a pen has none"},
	{name: "terminals of others", line: `for f in /dev/pts/[0-9]*; do echo x > $f && echo ESCAPED; done`, vain: "a pen has none"},
}
