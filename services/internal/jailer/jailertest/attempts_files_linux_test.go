package jailertest

// writeAttempts write outside of the workspace, or in one that is only read.
var writeAttempts = []attempt{
	{name: "make a file", line: `echo x > /srv/outside/new`},
	{name: "append to a file", line: `echo x >> /srv/outside/canary.txt`},
	{name: "truncate a file", line: `: > /srv/outside/canary.txt`},
	{name: "truncate by its name", py: `os.truncate(OUT+"/canary.txt", 0)`},
	{name: "remove a file", line: `rm -f /srv/outside/canary.txt`},
	{name: "remove a folder", line: `rm -rf /srv/outside/dir`},
	{name: "remove all folders", line: `rm -rf /srv/* /home/* 2>/dev/null; true`},
	{name: "rename a file", line: `mv /srv/outside/canary.txt /srv/outside/other`},
	{name: "rename into the workspace", line: `mv /srv/outside/canary.txt stolen`},
	{name: "rename out of the workspace", line: `mv main.py /srv/outside/main.py`},
	{name: "rename a folder out", line: `mv src /srv/outside/src`},
	{name: "exchange two files", py: `
open("mine", "w").write("x")
call(316, -100, b"/srv/ws/mine", -100, b"/srv/outside/canary.txt", 2)`},
	{name: "link a file outside", line: `ln /srv/outside/canary.txt /srv/outside/other`},
	{name: "link a file into the workspace and write it", line: `ln /srv/outside/canary.txt mine && echo x >> mine`},
	{name: "link by a descriptor", py: `
fd = os.open(OUT+"/canary.txt", os.O_RDONLY)
call(265, -100, b"/proc/self/fd/%d" % fd, -100, b"/srv/ws/mine", 0x400)
open("/srv/ws/mine", "a").write("x")`},
	{name: "make a symbolic link", line: `ln -s /etc /srv/outside/link`},
	{name: "write through a link of the workspace", line: `echo x > link-file`},
	{name: "write through a folder's link", line: `echo x > link-out/new`},
	{name: "remove through a folder's link", line: `rm -rf link-out/dir`},
	{name: "make a link and write through it", line: `ln -s /srv/outside l; echo x > l/new`},
	{name: "make a chain of links", line: `ln -s /srv a; ln -s a/outside b; ln -s b/canary.txt c; echo x > c`},
	{name: "make a folder", line: `mkdir -p /srv/outside/x/y`},
	{name: "make a pipe", line: `mkfifo /srv/outside/pipe`},
	{name: "make a node", py: `os.mknod(OUT+"/node", 0o100644)`},
	{name: "make a device", line: `mknod /srv/outside/null c 1 3; mknod null c 1 3 && echo ESCAPED; true`, root: true},
	{name: "make a socket", py: `socket.socket(socket.AF_UNIX).bind(OUT+"/s")`},
	{name: "a file without a name, linked", py: `
fd = os.open(OUT, os.O_TMPFILE | os.O_RDWR)
call(265, -100, b"/proc/self/fd/%d" % fd, -100, b"/srv/outside/named", 0x400)`},
	{name: "send a file to a file", py: `
src = os.open("main.py", os.O_RDONLY); dst = os.open(OUT+"/canary.txt", os.O_WRONLY)
os.sendfile(dst, src, 0, 10)`},
	{name: "copy a range", py: `
src = os.open("main.py", os.O_RDONLY); dst = os.open(OUT+"/canary.txt", os.O_RDWR)
os.copy_file_range(src, dst, 5)`},
	{name: "splice into a file", py: `
r, w = os.pipe(); os.write(w, b"spliced"); dst = os.open(OUT+"/canary.txt", os.O_RDWR)
os.splice(r, dst, 7)`},
	{name: "map a file that is open for reading", py: `
for flags in (os.O_RDWR, os.O_RDONLY):
    try:
        m = mmap.mmap(os.open(OUT+"/canary.txt", flags), 6, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        m[0:3] = b"xxx"; m.flush(); break
    except OSError: pass`},
	{name: "protect a map for writing", py: `
fd = os.open(OUT+"/canary.txt", os.O_RDWR)
at = libc.mmap(None, 4096, 1, 1, fd, 0)
m = mmap.mmap(fd, 6, mmap.MAP_SHARED); m[0:3] = b"xxx"`},
	{name: "allocate room", line: `fallocate -l 100000 /srv/outside/canary.txt`},
	{name: "punch a hole", line: `fallocate -p -o 0 -l 4 /srv/outside/canary.txt`},
	{name: "write a pipe outside", py: `
fd = os.open(OUT+"/fifo", os.O_RDWR | os.O_NONBLOCK); os.write(fd, b"x"); won("wrote a pipe of others")`},
	{name: "open again by /proc for writing", line: `exec 8</srv/outside/canary.txt; echo x > /proc/self/fd/8`},
	{name: "open again by /dev/fd", line: `exec 8</srv/outside/canary.txt; echo x >> /dev/fd/8`},
	{name: "write by /proc/self/root", line: `echo x > /proc/self/root/srv/outside/new`},
	{name: "write by /proc/self/cwd", line: `echo x > /proc/self/cwd/../outside/new`},
	{name: "by the thread's root", line: `echo x > /proc/thread-self/root/srv/outside/new`},
	{name: "by dots", line: `echo x > ../../../../../srv/outside/new; echo x > src/../../outside/new2`},
	{name: "into a folder whose name begins alike", line: `echo x > /srv/ws-other/file.txt`},
	{name: "into the folder above", line: `echo x > ../new`},
	{name: "rename the workspace", line: `mv /srv/ws /srv/gone`},
	{name: "a workspace of its own by a link", line: `mv /srv/ws /srv/w2; ln -s /srv/outside /srv/ws; echo x > /srv/ws/new`},
	{name: "a file of the workspace", inside: true, line: `echo x > main.py`},
	{name: "a new file of the workspace", inside: true, line: `echo x > new.txt; mkdir -p d/e; touch d/e/f`},
	{name: "all files of the workspace", inside: true, line: `rm -rf ./* .[a-z]*; true`},
	{name: "sed in place", inside: true, line: `sed -i s/main/x/ main.py`},
	{name: "a hard link of the workspace", line: `echo x >> hard.txt`},
	{name: "a hard link of the workspace, editing", as: editing, line: `echo x >> hard.txt`, open: "123"},
	{name: "the attributes of an overlay", vain: "there is no overlay", py: `
os.makedirs("o", exist_ok=True)
for k, v in ((b"user.overlay.redirect", b"/../outside"), (b"trusted.overlay.redirect", b"/../outside"), (b"user.overlay.opaque", b"y"), (b"user.overlay.metacopy", b"")):
    try: os.setxattr("o", k, v)
    except OSError: pass
open("o/canary.txt", "w").write("x")`},
	{name: "a whiteout", inside: true, py: `
call(316, -100, b"/srv/ws/main.py", -100, b"/srv/ws/moved", 4)
call(316, -100, b"/srv/outside/canary.txt", -100, b"/srv/ws/moved2", 4)`, vain: ""},
	{name: "the folder for scratch files", inside: true, line: `echo x > /tmp/canary; rm -f /tmp/canary`},
	{name: "the second folder for scratch files", line: `rm -f /var/tmp/canary`},
	{name: "shared memory", line: `rm -f /dev/shm/canary; echo x > /dev/shm/new`},
	{name: "a new scratch file of another's", inside: true, line: `echo x > /tmp/evil-for-others`},
	{name: "/run", line: `echo x > /run/x; mkdir /run/y`},
	{name: "/var", line: `echo x > /var/x`},
	{name: "a race of links", line: `
mkdir -p d; (for i in $(seq 150); do rm -rf d; ln -s /srv/outside d; rm -f d; mkdir d; done) 2>/dev/null & p=$!
while kill -0 $p; do echo x > d/raced; done 2>/dev/null; true`},
	{name: "a race of links, editing", as: editing, line: `
mkdir -p d; (for i in $(seq 150); do rm -rf d; ln -s /srv/outside d; rm -f d; mkdir d; done) 2>/dev/null & p=$!
while kill -0 $p; do echo x > d/raced; done 2>/dev/null; true`},
	{name: "a race of renames, editing", as: editing, line: `
(for i in $(seq 150); do mv src src2; ln -s /srv/outside src; rm src; mv src2 src; done) 2>/dev/null & p=$!
while kill -0 $p; do echo x > src/raced; done 2>/dev/null; true`},
	{name: "outside, editing", as: editing, line: `echo x > /srv/outside/new; rm -rf /srv/outside/dir`},
	{name: "by a link, editing", as: editing, line: `ln -s /srv/outside l; echo x > l/new; echo x > link-file`},
	{name: "a link to a file outside, editing", as: editing, line: `ln /srv/outside/canary.txt mine && echo x >> mine`},
	{name: "rename in and write, editing", as: editing, line: `mv /srv/outside/canary.txt c; echo x >> c`},
	{name: "the folder above, editing", as: editing, line: `echo x > ../new; mv /srv/ws /srv/gone`},
	{name: "by /proc/self/root, editing", as: editing, line: `echo x > /proc/self/root/srv/outside/new`},
	{name: "a descriptor of the folder above, editing", as: editing, py: `
fd = os.open("/srv", os.O_RDONLY); os.open("outside/new", os.O_CREAT | os.O_WRONLY, dir_fd=fd)`},
	{name: "leave by fchdir, editing", as: editing, py: `
fd = os.open("/srv/outside", os.O_RDONLY); os.fchdir(fd); open("new", "w")`},
}

// toolAttempts write by programs that have options for it.
var toolAttempts = []attempt{
	{name: "tee", line: `echo x | tee /srv/outside/new`},
	{name: "dd", line: `dd if=/dev/zero of=/srv/outside/canary.txt bs=1 count=9 status=none`},
	{name: "cp", line: `cp main.py /srv/outside/`},
	{name: "install", line: `install -m 755 main.py /srv/outside/x`},
	{name: "tar", line: `tar cf - main.py | tar xf - -C /srv/outside`},
	{name: "tar with names that lead out", line: `tar cPf t.tar /srv/outside/canary.txt; tar xPf t.tar --transform s,canary,evil,`},
	{name: "awk", line: `awk 'BEGIN { print "x" > "/srv/outside/new" }'`},
	{name: "sed", line: `sed -n 'w /srv/outside/new' main.py`},
	{name: "sort", line: `sort -o /srv/outside/new main.py`},
	{name: "find", line: `find /srv/outside -name canary.txt -delete`},
	{name: "find that prints", line: `find . -fprint /srv/outside/new`},
	{name: "split", line: `split -b 3 main.py /srv/outside/part`},
	{name: "perl", line: `perl -e 'open F, ">/srv/outside/new"; print F 1'`},
	{name: "perl in place", line: `perl -pi -e s/c/x/ /srv/outside/canary.txt`},
	{name: "python", py: `open(OUT+"/new", "w").write("x")`},
	{name: "python's zip", line: `python3 -c 'import shutil; shutil.make_archive("/srv/outside/z", "zip", "src")'`},
	{name: "git init", line: `git init -q /srv/outside/repo`},
	{name: "git work tree", line: `git --work-tree=/srv/outside init -q x; git -C /srv/outside init -q`},
	{name: "git config of the user", line: `git config --global core.pager evil`},
	{name: "git config of the system", line: `git config --system core.pager evil`, root: true},
	{name: "vim", line: `vim -es -u NONE -c 'w! /srv/outside/new' -c q main.py </dev/null`},
	{name: "ed", line: `printf 'w /srv/outside/new\nq\n' | ed -s main.py`},
	{name: "gcc", line: `echo 'int main(){return 0;}' | gcc -x c - -o /srv/outside/a.out`},
	{name: "make of another folder", line: `printf 'all:\n\techo x > /srv/outside/new\n' > mk; make -s -f mk`},
	{name: "ssh-keygen", line: `ssh-keygen -q -t ed25519 -N "" -f /srv/outside/key </dev/null`},
	{name: "curl", line: `curl -s file:///srv/ws/main.py -o /srv/outside/new`},
	{name: "openssl", line: `openssl rand -out /srv/outside/new 9`},
	{name: "sqlite", line: `sqlite3 /srv/outside/new.db 'create table t(a)'`},
	{name: "node", line: `node -e 'require("fs").writeFileSync("/srv/outside/new", "x")'`},
	{name: "a script of the workspace", line: `printf '#!/bin/sh\necho x > /srv/outside/new\n' > /tmp/s.sh; sh /tmp/s.sh`},
	{name: "a program from memory", py: `
fd = os.memfd_create("x"); os.write(fd, open("/bin/sh", "rb").read())
os.execve("/proc/self/fd/%d" % fd, ["sh", "-c", "echo x > /srv/outside/new"], os.environ)`},
	{name: "the loader", line: `/lib64/ld-linux-x86-64.so.2 /bin/sh -c 'echo x > /srv/outside/new'`},
	{name: "a copy of a shell", line: `cp /bin/bash /tmp/harmless; /tmp/harmless -c 'echo x > /srv/outside/new'`},
	{name: "xargs", line: `echo /srv/outside/new | xargs -I{} sh -c 'echo x > {}'`},
	{name: "env -S", line: `env -S 'touch /srv/outside/new'`},
	{name: "timeout", line: `timeout 5 touch /srv/outside/new`},
	{name: "nohup", line: `nohup touch /srv/outside/new >/dev/null 2>&1`},
	{name: "setsid", line: `setsid -w touch /srv/outside/new`},
	{name: "script", line: `script -qc 'touch /srv/outside/new' /dev/null </dev/null`},
	{name: "core dump", line: `cd /tmp; ulimit -c unlimited; cd /srv/outside; sh -c 'kill -SEGV $$'; true`, vain: "where cores go is a matter of the machine"},
}

// lateAttempts write files that others run later.
var lateAttempts = []attempt{
	{name: "shell profile", line: `echo evil >> ~/.bashrc; echo evil >> ~/.profile`},
	{name: "new shell profile", line: `echo evil > ~/.zshrc; echo evil > ~/.bash_login`},
	{name: "authorized keys", line: `echo key >> ~/.ssh/authorized_keys`},
	{name: "ssh configuration", line: `echo 'ProxyCommand evil' > ~/.ssh/config`},
	{name: "autostart", line: `cp main.py ~/.config/autostart/evil.desktop`},
	{name: "systemd unit", line: `echo '[Service]' > ~/.config/systemd/user/evil.service`},
	{name: "program in PATH", line: `echo evil > ~/.local/bin/git; chmod +x ~/.local/bin/git`},
	{name: "replaced program in PATH", line: `echo evil > ~/.local/bin/tool`},
	{name: "program of the system", line: `echo evil > /usr/local/bin/git`, root: true},
	{name: "shell of the system", line: `echo evil > /bin/dash; rm -f /usr/bin/dash`, root: true},
	{name: "library of the system", line: `echo /tmp/evil.so > /etc/ld.so.preload`, root: true},
	{name: "profile of the system", line: `echo evil > /etc/profile.d/evil.sh`, root: true},
	{name: "cron of the system", line: `mkdir -p /etc/cron.d; echo evil > /etc/cron.d/evil`, root: true},
	{name: "users of the system", line: `echo 'evil::0:0::/:/bin/sh' >> /etc/passwd`, root: true},
	{name: "names of hosts of the system", line: `echo '127.0.0.1 github.com' >> /etc/hosts`, root: true},
	{name: "crontab", line: `echo '* * * * * evil' >> /var/spool/cron/crontabs/agent`},
	{name: "at job", line: `echo evil > /var/spool/cron/atjobs/a01`},
	{name: "npm configuration", line: `echo 'script-shell=/tmp/evil' >> ~/.npmrc`},
	{name: "cargo configuration", line: `echo '[build]' > ~/.cargo/config.toml`},
	{name: "pip configuration", line: `mkdir -p ~/.config/pip; echo '[global]' > ~/.config/pip/pip.conf`},
	{name: "go configuration", line: `mkdir -p ~/.config/go; echo GOFLAGS=-toolexec=evil > ~/.config/go/env`},
	{name: "git ignore of the user", line: `echo '*' >> ~/.config/git/ignore`},
	{name: "git attributes of the user", line: `echo '* filter=evil' > ~/.config/git/attributes`},
	{name: "agent's settings of the user", line: `echo '{}' > ~/.claude/settings.json`},
	{name: "vim configuration", line: `echo ':!evil' > ~/.vimrc`},
	{name: "python's start file", line: `mkdir -p ~/.local/lib/python3.11/site-packages; echo 'import os' > ~/.local/lib/python3.11/site-packages/evil.pth`},
	{name: "makefile of another folder", line: `echo 'all: ; evil' > /srv/outside/Makefile`},
	{name: "script of another folder", line: `echo evil >> /srv/outside/script.sh`},
	{name: "scheduled by systemd", line: `systemd-run --user touch /srv/outside/new`, vain: "no systemd runs in a pen"},
	{name: "a cache that others use", line: `echo evil > ~/.cache/pip/x; rm -rf ~/.npm/x`},
	{name: "interlock's folder", line: `echo x > ~/.local/share/interlock/tokens.json; rm -rf ~/.local/share/interlock ~/.config/interlock; true`},
	{name: "interlock's folder renamed", line: `mv ~/.local/share/interlock /srv/outside/i; mv ~/.local/share ~/.local/s2; true`},
}

// metadataAttempts change a file's metadata. Landlock does not know these.
var metadataAttempts = []attempt{
	{name: "modes", line: `chmod 777 /srv/outside/canary.txt`, open: "12"},
	{name: "modes of a folder", line: `chmod 000 /srv/outside/dir`, open: "12"},
	{name: "owners", line: `chown 12:12 /srv/outside/canary.txt`, root: true, open: "12"},
	{name: "times", line: `touch -d 2001-01-01 /srv/outside/canary.txt`, open: "12"},
	{name: "attributes", py: `os.setxattr(OUT+"/canary.txt", "user.x", b"y")`, open: "12"},
	{name: "modes by a descriptor", py: `os.fchmod(os.open(OUT+"/canary.txt", os.O_RDONLY), 0o777)`, open: "12"},
	{name: "times by a descriptor", py: `os.utime(os.open(OUT+"/canary.txt", os.O_RDONLY), (1, 1))`, open: "12"},
	{name: "attributes by a descriptor", py: `os.setxattr(os.open(OUT+"/canary.txt", os.O_RDONLY), "user.x", b"y")`, open: "12"},
	{name: "modes by /proc/self/fd", py: `fd = os.open(OUT+"/canary.txt", os.O_RDONLY); os.chmod("/proc/self/fd/%d" % fd, 0o777)`, open: "12"},
	{name: "modes by fchmodat2", py: `call(452, -100, b"/srv/outside/canary.txt", 0o777, 0)`, open: "12"},
	{name: "flags", py: `
fcntl.ioctl(os.open(OUT+"/canary.txt", os.O_RDONLY), 0x40086602, struct.pack("l", 0x40)); won("flags are set")`, open: "12"},
	{name: "modes of the workspace", inside: true, line: `chmod 777 main.py`, open: "12"},
	{name: "times of the workspace", inside: true, line: `touch -d 2001-01-01 main.py src`, open: "12"},
	{name: "a setuid program in the workspace", as: editing, line: `cp /bin/sh mine; chmod u+s mine; [ -u mine ] && ./mine -p -c 'echo uid $EUID'; chmod u-s mine`, vain: "it is the user's own"},
	{name: "an access list", py: `
os.setxattr(OUT+"/canary.txt", "system.posix_acl_access", struct.pack("<IHHIHHIHHIHHI", 2, 1, 7, 0xffffffff, 4, 4, 0xffffffff, 0x10, 7, 0xffffffff, 0x20, 7, 0xffffffff))`, open: "12"},
}
