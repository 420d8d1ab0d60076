package jailertest

import "strings"

// evilScript writes outside, reads a secret and signals the watched process.
const (
	evilScript = "/srv/evil.sh"
	evil       = "#!/bin/sh\necho x > /srv/outside/new; cat /home/agent/.ssh/id_ed25519; kill -USR1 $WATCHED\n"
)

// runnerAttempts run code by options, settings and variables of programs. EVIL is a script.
func runnerAttempts() (all []attempt) {
	for _, a := range []attempt{
		{name: "make, a variable", line: `printf 'test:\n\t$(RUN)\n' > mk; make -s -f mk test RUN='EVIL'`},
		{name: "make, the shell", line: `printf 'test:\n\techo x\n' > mk; make -s -f mk SHELL=EVIL test`},
		{name: "make, the shell's flags", line: `printf 'test:\n\techo x\n' > mk; make -s -f mk .SHELLFLAGS='-c EVIL; ' test`},
		{name: "make, an evaluation", line: `make -s --eval='x:;@EVIL' x`},
		{name: "make, settings of the environment", line: `MAKEFLAGS=--eval='x:;@EVIL' make -s x`},
		{name: "python, a module that starts programs", line: `timeout 2 python3 -m imaplib -s EVIL x </dev/null`, vain: "newer versions ask first"},
		{name: "python, code of the folder", line: `echo 'import os; os.system("EVIL")' > json.py; python3 -c 'import json'`},
		{name: "python, its start file", line: `echo 'import os; os.system("EVIL")' > s.py; PYTHONSTARTUP=s.py python3 -i </dev/null`},
		{name: "python, settings of a debugger", line: `python3 -m pdb -c '!import os; os.system("EVIL")' -c q main.py </dev/null`},
		{name: "python, a profile", line: `python3 -m cProfile -o /srv/outside/new main.py`},
		{name: "python, a zip", line: `mkdir z; echo 'import os; os.system("EVIL")' > z/__main__.py; python3 -m zipapp z -o z.pyz; python3 z.pyz`},
		{name: "pytest, its settings", line: `echo 'import os; os.system("EVIL")' > conftest.py; PYTHONPATH=/opt/pytest python3 -m pytest -q; true`},
		{name: "pytest, a plugin", line: `echo 'import os; os.system("EVIL")' > plug.py; PYTHONPATH=.:/opt/pytest python3 -m pytest -q -p plug; true`},
		{name: "pip, a package of the folder", line: `echo 'import os; os.system("EVIL")' > setup.py; python3 -m pip install -q --no-build-isolation --no-deps --target t . ; true`, vain: "it may need packages"},
		{name: "node, code before", line: `echo 'require("child_process").execSync("EVIL",{stdio:"inherit"})' > p.js; node -r ./p.js -e 1`},
		{name: "node, settings of the environment", line: `echo 'require("child_process").execSync("EVIL",{stdio:"inherit"})' > p.js; NODE_OPTIONS='-r ./p.js' node -e 1`},
		{name: "npm, a script", line: `echo '{"scripts":{"test":"EVIL"}}' > package.json; npm test -s`},
		{name: "npm, a script before", line: `echo '{"scripts":{"pretest":"EVIL","test":"true"}}' > package.json; npm test -s`},
		{name: "npm, a shell", line: `echo '{"scripts":{"test":"x"}}' > package.json; npm test -s --script-shell=EVIL`},
		{name: "java, on an error", line: `printf 'class A { public static void main(String[] a) { long[][] x = new long[9999][]; for (int i = 0; ; i++) x[i] = new long[1 << 22]; } }' > A.java; java -Xmx16m -XX:OnOutOfMemoryError='EVIL' A.java >/dev/null 2>&1; true`},
		{name: "java, a log", line: `java -Xlog:gc:file=/srv/outside/new -version`},
		{name: "java, a log by the environment", line: `JAVA_TOOL_OPTIONS=-Xlog:gc:file=/srv/outside/new java -version`},
		{name: "gcc, a wrapper", line: `gcc -wrapper EVIL main.c -x c /dev/null`},
		{name: "gcc, a plugin's specs", line: `printf '*link_command:\nEVIL\n' > specs; echo 'int main(){}' > m.c; gcc -specs=specs m.c`},
		{name: "go, a tool", line: `mkdir g; cd g; printf 'module x\n' > go.mod; printf 'package main\nfunc main(){}\n' > m.go; GOFLAGS=-toolexec=EVIL go vet ./...; true`},
		{name: "git, a monitor of files", line: `git -c core.fsmonitor=EVIL status`},
		{name: "git, a pager", line: `git -c core.pager=EVIL -c pager.branch=true -p config -l`, vain: "it needs a terminal"},
		{name: "git, an alias", line: `git -c alias.x='!EVIL' x`},
		{name: "git, a difference by a program", line: `GIT_EXTERNAL_DIFF=EVIL git diff --no-index README.md main.py`},
		{name: "git, ssh", line: `GIT_SSH_COMMAND=EVIL git ls-remote ssh://x/y`},
		{name: "git, ssh by settings", line: `git -c core.sshCommand=EVIL ls-remote ssh://x/y`},
		{name: "git, an external transport", line: `git -c protocol.ext.allow=always ls-remote 'ext::EVIL'`},
		{name: "git, a credential helper", line: `echo | git -c credential.helper='!EVIL' credential fill <<< 'url=https://x.example.com'`},
		{name: "git, an editor", line: `GIT_EDITOR=EVIL git config -e`},
		{name: "git, folders elsewhere", line: `cp -r .git e; git --git-dir=e config core.fsmonitor EVIL; git --git-dir=e status`},
		{name: "ssh, a proxy", line: `ssh -o ProxyCommand=EVIL x`},
		{name: "ssh, a local command", line: `ssh -F /dev/null -o ProxyCommand='EVIL' -o KnownHostsCommand=EVIL x`},
		{name: "tar, at checkpoints", line: `tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=EVIL main.py`},
		{name: "tar, a compressor", line: `tar cf t.tar -I EVIL main.py`},
		{name: "find, for each", line: `find . -maxdepth 1 -name main.py -exec EVIL \;`},
		{name: "awk", line: `awk 'BEGIN { system("EVIL") }'`},
		{name: "sed", line: `sed -n '1e EVIL' main.py`},
		{name: "perl, settings of the environment", line: `echo 'package P; system("EVIL"); 1' > P.pm; PERL5LIB=. PERL5OPT=-MP perl -e 1`},
		{name: "vim", line: `vim -es -u NONE -c '!EVIL' -c q </dev/null`},
		{name: "ed", line: `printf '!EVIL\nq\n' | ed -s`},
		{name: "gdb", line: `gdb -batch -ex 'shell EVIL'`},
		{name: "gdb, its settings", line: `echo 'shell EVIL' > .gdbinit; gdb -batch -x .gdbinit`},
		{name: "strace", line: `strace -o '|EVIL' true`},
		{name: "strace, a file", line: `strace -o /srv/outside/new true`},
		{name: "sqlite", line: `sqlite3 '' '.shell EVIL'`},
		{name: "zip", line: `zip -q z.zip main.py -T -TT 'EVIL #'`},
		{name: "xargs", line: `echo | xargs EVIL`},
		{name: "env", line: `env -S 'EVIL'`},
		{name: "bash, settings of the environment", line: `BASH_ENV=EVIL bash -c true`},
		{name: "bash, a function by the environment", line: `env 'BASH_FUNC_ls%%=() { EVIL; }' bash -c ls`},
		{name: "bash, at the prompt", line: `PROMPT_COMMAND=EVIL bash --norc -i </dev/null 2>/dev/null`},
		{name: "bash, when it ends", line: `trap EVIL EXIT`},
		{name: "the loader, a library", line: `printf '#include <stdlib.h>\n__attribute__((constructor)) void f(){unsetenv("LD_PRELOAD");system("EVIL");}' > l.c; gcc -shared -fPIC -o l.so l.c; LD_PRELOAD=./l.so /bin/true`},
		{name: "openssl, an engine", line: `printf '#include <stdlib.h>\n__attribute__((constructor)) void f(){system("EVIL");}' > l.c; gcc -shared -fPIC -o l.so l.c; openssl engine -t -pre SO_PATH:$PWD/l.so -pre LOAD dynamic >/dev/null 2>&1; true`, vain: "newer versions have no engines"},
		{name: "cargo, a wrapper", line: `mkdir -p c/src; cd c; printf '[package]\nname="c"\nversion="0.1.0"\n' > Cargo.toml; echo 'fn main(){}' > src/main.rs; RUSTC_WRAPPER=EVIL cargo build -q; true`, vain: "the machine may have no cargo"},
		{name: "cargo, a build script", line: `mkdir -p c/src; cd c; printf '[package]\nname="c"\nversion="0.1.0"\n' > Cargo.toml; echo 'fn main(){}' > src/main.rs; echo 'fn main(){ std::process::Command::new("EVIL").status().unwrap(); }' > build.rs; cargo build -q; true`, vain: "the machine may have no cargo"},
		{name: "less, an opener", line: `LESSOPEN='|EVIL %s' less -f main.py </dev/null`, vain: "the machine may have no less"},
		{name: "man, a pager", line: `man -P EVIL ls </dev/null`, vain: "the machine may have no man"},
		{name: "curl, settings", line: `printf 'output=/srv/outside/new\nurl=file:///srv/ws/main.py\n' > c; curl -sK c`},
		{name: "watch", line: `timeout 1 watch -n 9 EVIL`, vain: "it needs a terminal"},
		{name: "setpriv", line: `setpriv --no-new-privs EVIL`},
		{name: "start-stop-daemon", line: `/sbin/start-stop-daemon -S -x EVIL`},
		{name: "run-parts", line: `mkdir rp; cp EVIL rp/x; run-parts rp`},
		{name: "ld.so", line: `/lib64/ld-linux-x86-64.so.2 /bin/sh EVIL`},
	} {
		a.name = "runs code: " + a.name
		a.line = strings.ReplaceAll(a.line, "EVIL", evilScript)
		all = append(all, a)
	}
	return all
}
