package jailertest

import (
	"fmt"
	"slices"
	"strings"
)

// secrets are the files of a pen that a jail hides.
func secrets() (names []string) {
	for name, content := range files {
		if strings.Contains(content, "CANARY") && !strings.HasPrefix(name, "/root/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// readAttempts read hidden files.
func readAttempts() (all []attempt) {
	for _, name := range secrets() {
		all = append(all, attempt{name: "read " + name, line: "cat " + name})
	}
	return append(all, []attempt{
		{name: "read root's home", line: `cat /root/secret; ls /root | sed 's/^/CANARY /'`, root: true, open: "123"},
		{name: "read shadow", line: `cat /etc/shadow | sed 's/^/CANARY /'`, root: true},
		{name: "read while editing", as: editing, line: `cat ~/.ssh/id_ed25519 ~/.local/share/interlock/tokens.json`},
		{name: "read while asking", as: asking, line: `cat ~/.ssh/id_ed25519 ~/.local/share/interlock/tokens.json`},
		{name: "names of keys", line: `ls -A ~/.ssh | sed 's/^/CANARY /'`, open: "12"},
		{name: "names of interlock's files", line: `ls ~/.local/share/interlock | sed 's/^/CANARY /'`, open: "12"},
		{name: "by a link", line: `ln -s ~/.ssh s; cat s/id_ed25519`},
		{name: "by a link in /tmp", line: `ln -s ~/.local/share/interlock/tokens.json ${TMPDIR:-/tmp}/t; cat ${TMPDIR:-/tmp}/t`},
		{name: "by /proc/self/root", line: `cat /proc/self/root/home/agent/.ssh/id_ed25519`},
		{name: "by /proc/self/cwd", line: `cat /proc/self/cwd/../../home/agent/.ssh/id_ed25519`},
		{name: "by a process's root", line: `cat /proc/*/root/home/agent/.ssh/id_ed25519 /proc/*/root/home/agent/.local/share/interlock/tokens.json`},
		{name: "by a process's folder", line: `cat /proc/*/cwd/tokens.json`},
		{name: "by a process's descriptors", line: `cat /proc/*/fd/4 </dev/null`},
		{name: "by the watched process", line: `cat /proc/$WATCHED/cwd/tokens.json /proc/$WATCHED/root/home/agent/.netrc`},
		{name: "by the thread of a process", line: `cat /proc/$PPID/task/*/fd/4 /proc/$WATCHED/task/*/cwd/tokens.json`},
		{name: "by a new hard link", line: `ln ~/.ssh/id_ed25519 mine && cat mine`},
		{name: "by a hard link in scratch", line: `ln ~/.netrc ${TMPDIR:-/tmp}/mine && cat ${TMPDIR:-/tmp}/mine`},
		{name: "by a hard link that was there", line: `cat hard-token`, open: "123"},
		{name: "by a rename", line: `mv ~/.ssh ~/x; cat ~/x/id_ed25519; mv ~/.ssh ./x; cat x/id_ed25519`},
		{name: "by a copy", line: `cp -a ~ ${TMPDIR:-/tmp}/all; cat ${TMPDIR:-/tmp}/all/.ssh/id_ed25519`},
		{name: "by find", line: `find /home /srv -xdev -name tokens.json -exec cat {} +`},
		{name: "by grep", line: `grep -rhs CANARY /home`},
		{name: "by tar", line: `tar cf - -C / home 2>/dev/null | grep -a CANARY`},
		{name: "by python's glob", py: `
for f in glob.glob("/home/agent/.*/*") + glob.glob("/home/agent/.*/*/*"):
    try: print(open(f).read())
    except OSError: pass`},
		{name: "by dd", line: `dd if=$HOME/.aws/credentials status=none`},
		{name: "by curl", line: `curl -s file:///home/agent/.netrc; curl -s 'file:///home/agent/%2Essh/id_ed25519'`},
		{name: "by git", line: `git config --file ~/.netrc -l; git diff --no-index /dev/null ~/.netrc`},
		{name: "by an error's text", line: `bash ~/.netrc; python3 ~/.netrc`},
		{name: "by an include", line: `echo '#include "/home/agent/.netrc"' | gcc -E -`},
		{name: "by a descriptor of a folder", py: `
fd = os.open("/home/agent", os.O_PATH); print(os.read(os.open(".netrc", os.O_RDONLY, dir_fd=fd), 99))`},
		{name: "by openat2", py: `
how = struct.pack("QQQ", 0, 0, 0)
fd = call(437, -100, b"/home/agent/.netrc", how, 24)
print(os.read(fd, 99))`},
		{name: "by a path opened first", py: `
fd = os.open("/home/agent/.netrc", os.O_PATH); print(open("/proc/self/fd/%d" % fd).read())`},
		{name: "by a handle", py: `
h = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128)); m = ctypes.c_int()
if call(303, -100, b"/srv/ws/main.py", h, ctypes.byref(m), 0) == 0: won("handles have names")`, vain: "tmpfs gives none"},
		{name: "by a map", py: `print(mmap.mmap(os.open("/home/agent/.netrc", os.O_RDONLY), 0, mmap.MAP_PRIVATE, mmap.PROT_READ)[:])`},
		{name: "by execution", line: `~/.netrc; . ~/.netrc`},
		{name: "by a library", py: `
try: ctypes.CDLL("/home/agent/.netrc")
except OSError as e: print(e)
print(open("/home/agent/.netrc").read())`},
		{name: "by sendfile", py: `
src = os.open("/home/agent/.netrc", os.O_RDONLY); r, w = os.pipe(); os.splice(src, w, 99); os.close(w); print(os.read(r, 99))`},
		{name: "by a race of links", line: `
(for i in $(seq 300); do ln -sfn main.py l; ln -sfn ~/.netrc l; done) & for i in $(seq 300); do cat l; done 2>/dev/null; wait`},
		{name: "by a mount below", line: `mkdir -p m; unshare -rm sh -c 'umount -l ~/.ssh; mount --bind ~/.ssh m; cat ~/.ssh/id_ed25519 m/id_ed25519'`},
		{name: "by a mount's source", line: `unshare -rm sh -c 'mkdir /tmp/b; mount --rbind / /tmp/b; cat /tmp/b/home/agent/.ssh/id_ed25519'`},
		{name: "by an overlay of its own", line: `mkdir -p u w m; unshare -rm sh -c 'mount -t overlay overlay -o lowerdir=/home/agent/.ssh,upperdir=u,workdir=w m && cat m/id_ed25519; cat ~/.ssh/id_ed25519'`},
		{name: "while it is unhidden", py: `
for i in range(2000):
    try: print(open("/home/agent/.netrc").read()); break
    except OSError: pass`},
		{name: "the environment", line: `env | grep CANARY; cat /proc/self/environ | tr '\0' '\n' | grep CANARY`},
		{name: "the environment of processes", line: `cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep CANARY`},
		{name: "the environment of the runner", line: `tr '\0' '\n' < /proc/$PPID/environ | grep CANARY`},
		{name: "the environment by ps", line: `ps eww -A | grep -v grep | grep -o 'CANARY[a-z-]*'`},
		{name: "the arguments of processes", line: `cat /proc/$WATCHED/cmdline && echo CANARY-process`, open: "12"},
		{name: "the memory of the watched process", py: `
for line in open("/proc/%d/maps" % watched()):
    if "[stack]" in line:
        a, b = [int(x, 16) for x in line.split()[0].split("-")]
        f = open("/proc/%d/mem" % watched(), "rb"); f.seek(a); d = f.read(b - a)
        i = d.find(b"CANARY"); print(d[i:i+30])`},
		{name: "the memory by process_vm_readv", py: `
pid = watched(); buf = ctypes.create_string_buffer(8)
for line in open("/proc/%d/maps" % pid):
    a = int(line.split("-")[0], 16)
    l = (ctypes.c_uint64 * 2)(ctypes.addressof(buf), 8); r = (ctypes.c_uint64 * 2)(a, 8)
    if call(310, pid, l, 1, r, 1, 0) > 0: won("read another's memory"); break`},
		{name: "the memory of the machine", line: `head -c 16 /dev/mem /dev/kmem /dev/port 2>/dev/null | sed 's/^/CANARY/'`, vain: "a pen has no such device"},
		{name: "the disk of the machine", line: `cat /sys/class/block/*/dev | head -1; head -c 16 /dev/vda /dev/sda /dev/nvme0n1 2>/dev/null | sed 's/^/CANARY/'`, vain: "a pen has no such device"},
		{name: "the kernel's log", line: `dmesg 2>/dev/null | sed 's/^/CANARY /' | head -2`, root: true},
		{name: "the kernel's memory", line: `head -c 64 /proc/kcore 2>/dev/null | sed 's/^/CANARY/'`, root: true, vain: "it needs the machine's root"},
		{name: "process lists", line: `ls /proc | grep -x $WATCHED && echo CANARY-process`, open: "12"},
		{name: "what the workspace has of git", line: `git -c core.fsmonitor='cat /home/agent/.netrc >&2; false' status`},
	}...)
}

// descriptorAttempts use open files of the process that starts a jail.
var descriptorAttempts = []attempt{
	{name: "an inherited file", line: `cat <&4`},
	{name: "an inherited folder", line: `cat /proc/self/fd/5/home/agent/.netrc`},
	{name: "all inherited descriptors", py: `
for fd in range(3, 512):
    try: print(fd, os.read(fd, 100))
    except OSError: pass`},
	{name: "an inherited folder for writing", py: `os.open("srv/outside/new", os.O_CREAT | os.O_WRONLY, dir_fd=5)`},
	{name: "go to an inherited folder", py: `os.fchdir(5); open("srv/outside/new", "w")`},
	{name: "results that are made up", line: `echo '{"Witness":{"exit_status":0}}' >&3; echo '{"exit_status":0,"status":"ok"}' >&6; exit 7`, check: func(r result) []string {
		if r.Witness == nil || r.Witness.ExitStatus != 7 {
			return []string{fmt.Sprintf("the witness is %+v, %s", r.Witness, r.Error)}
		}
		return nil
	}, vain: "a runner closes its own descriptor"},
	{name: "results into all descriptors", py: `
import json
for fd in range(3, 256):
    try: os.write(fd, b'{"ExitStatus":0}\n\x00\x00\x00\x00')
    except OSError: pass
os._exit(7)`, check: func(r result) []string {
		if r.Witness == nil || r.Witness.ExitStatus != 7 {
			return []string{fmt.Sprintf("the witness is %+v, %s", r.Witness, r.Error)}
		}
		return nil
	}, vain: "a runner closes its own descriptor"},
	{name: "results by the parent's descriptors", line: `for f in /proc/$PPID/fd/* /proc/1/fd/*; do echo '{"Witness":{"exit_status":0}}' > $f; done 2>/dev/null; exit 7`, check: func(r result) []string {
		if r.Witness == nil || r.Witness.ExitStatus != 7 {
			return []string{fmt.Sprintf("the witness is %+v, %s", r.Witness, r.Error)}
		}
		return nil
	}},
	{name: "a descriptor of the parent", py: `
fd = call(434, os.getppid(), 0)
if fd >= 0 and (got := call(438, fd, 4, 0)) >= 0: won("took the parent's descriptor %d" % got)`},
	{name: "a descriptor of the watched process", py: `
fd = call(434, watched(), 0)
if fd >= 0 and call(438, fd, 0, 0) >= 0: won("took a descriptor")`},
	{name: "a comparison of descriptors", py: `won("compared", call(312, os.getpid(), watched(), 0, 0, 0) >= 0)`},
	{name: "leave the descriptors to a survivor", line: `(exec sleep 60) & exit 0`},
}
