package shell

import (
	"strings"
	"testing"
)

// TestPatternsEndAtTargets: R2. Lines that two entries have in common are only those that a list
// with the entry allows.
func TestPatternsEndAtTargets(t *testing.T) {
	t.Parallel()
	for entry, cases := range map[string]map[string]bool{
		"make test":                {"make test": true, "make test -k": true, "make test deploy": false, "make test -C a deploy": false},
		"kubectl -n staging get":   {"kubectl -n staging get x": true, "kubectl -n staging get x -n prod": false},
		"gradle test":              {"gradle test --info": true, "gradle test -I x": false},
		"npm test":                 {"npm test -- deploy": true},
		"timeout -s KILL 5 ls":     {"timeout -s KILL 5 ls -s": true},
		"docker compose -f a.yaml": {"docker compose -f a.yaml ps": true, "docker compose -f a.yaml -f b.yaml ps": false},
	} {
		list := NewList([]string{entry})
		for line, want := range cases {
			plan, err := Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := list.Match(plan.Commands[0]); ok != want {
				t.Errorf("%q matches %q: %t", entry, line, ok)
			}
			if got := len(NewPattern(entry).Matching([]string{line})) == 1; got != want {
				t.Errorf("%q and the pattern %q: %t", line, entry, got)
			}
		}
	}
}

// TestOnlyReads: R3, S2.9. A line is proved only to read, or it is not.
func TestOnlyReads(t *testing.T) {
	t.Parallel()
	for want, lines := range map[bool][]string{
		true: {
			"ls", "/bin/ls -l", "cat a | grep b", "git status; git log", "git diff -- $X", "git show HEAD:a", "git blame -L 1,2 x", "sort -u a",
			"find . -name '*.go'", "find . -exec cat {} +", "sed -n 1,5p f", "jq . f", "rg x", "tree", "head -n 1 *", "cat {a,b} ~/x",
			"cat < f", "cat <<< x", "cat << E\nx\nE", "ls 2>/dev/null", "ls 2>&1 >/dev/null", "git log | head -5", "wc -l $(find . -name x)", "cat <(ls)",
			"cat < <(ls)", "test -f a && cat a || echo no", "if grep -q x f; then cat f; fi", "for f in a b; do cat $f; done",
			"while read -r l; do echo $l; done < f", "for ((i=0;i<3;i++)); do cat $i; done", "cd sub && ls", "timeout 5 ls", "time ls", "(ls)",
			"command -v x", "echo $((1+2))", "zcat a", "printf '%s' $X",
		},
		false: {
			// It writes, or could.
			"rm x", "ls > f", "ls >> f", "ls >| f", "ls 2> f", "ls &> f", "cat a <> b", "cat a | tee b", "cat $(rm x)", "cat >(rm x)", "sed -i s/a/b/ f",
			"sed 'w out' f", "sort -o f f", "sort $X", "uniq a b", "uniq $X", "tree -o f", "find . -delete", "find . -fprint f", "find . -exec rm {} +", "find $X",
			"git commit -m x", "git add .", "git diff --output=f", "git log $X", "git stash", "git branch x", "git fetch", "dd if=f", "cp a /dev/stdout", "history -w f",
			"cat f\nrm g", "cat f # x\nrm g", "ls; cat f > g", "ls && { cat f; rm f; }",
			// It runs other code.
			"go test ./...", "./x.sh", "./ls", "bin/ls", "~/ls", "/tmp/cat f", "unknown", "python -c x", "python3 x.py", "node -e 1", "bash -c ls", "ls | sh",
			"cat f | python3", "eval ls", "exec cat x", "source x", "$X", "\"$X\" a", "${X:-ls}", "xargs cat < f", "sudo cat f", "sed -n 'e rm x' f", "rg --pre ./x y",
			"git -c core.pager=x log", "git --git-dir=x status", "git diff --ext-diff", "git grep -O x", "jq -L . 'include \"x\";.' f", "awk '{print}' f",
			"awk 'BEGIN{system(\"rm x\")}'", "make -n", "npm ls", "mamba run x", "knip", "less f", "vim f", "man ls", "compgen -C ./x", "f() { rm x; }; f",
			// It changes what later commands are.
			"X=1 ls", "X=1; ls", "PATH=. ls", "export PATH=.; ls", "export X=1; ls", "env ls", "env X=1 ls", "hash -p ./x ls; ls", "enable -f ./x.so y", "unset PATH; ls",
			"let PATH=1; ls", "echo $((PATH=1)); ls", "cat ${PATH:=.}; ls", "for PATH in .; do ls; done", "for LD_PRELOAD in ./x; do ls; done",
			"read PATH < f; ls", "printf -v PATH .; ls", "declare -x PATH=.; ls", "shopt -s expand_aliases; alias ls=rm; ls x", "trap 'rm x' EXIT", "set -a; ls",
			// It reaches another machine, or a process.
			"git push", "git ls-remote x", "git -C x push", "kubectl get pods", "kubectl delete x", "curl https://x", "curl -d x https://x", "wget x", "npm publish", "gh pr view",
			"dig x", "host x", "nslookup x", "whois x", "ping x", "getent hosts x.example.com", "finger x@y", "showmount -e x", "rpcinfo -p x", "ssh x ls", "rsync a b",
			"cat < /dev/tcp/a/1", "cat < /dev/udp/a/1", "cat 0</dev/tcp/a/1", "{ cat; } < /dev/tcp/a/1", "read x < /dev/t'c'p/a/1", "cat < $X",
			"cat < \"/dev/$X/a/1\"", "while read x; do echo $x; done < /dev/tcp/a/1", "echo x > /dev/tcp/a/1", "exec 3<>/dev/tcp/a/1",
			"timeout 5 dig x", "command dig x", "find . -exec dig {} \\;", "cat $(dig x)", "coproc dig x", "if dig x; then ls; fi",
			"kill 12", "pkill x", "fuser -k f", "command kill 1",
			// It is nothing.
			"", "# ls", "  ",
		},
	} {
		for _, line := range lines {
			plan, err := Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			if plan.OnlyReads() != want {
				t.Errorf("%q: only reads: %t", line, !want)
			}
			if !want {
				continue
			}
			for _, c := range plan.Commands {
				var words []string
				for _, w := range c.Words[:min(2, len(c.Words))] {
					words = append(words, strings.ReplaceAll(w.Text, string(Unknown), "*"))
				}
				for _, entry := range []string{words[0], strings.Join(words, " "), strings.Join(words, " ") + " *", "*"} {
					if !NewPattern(entry).MayRead() {
						t.Errorf("%q has a command of %q, which may not read", line, entry)
					}
				}
			}
		}
	}
}

// TestPatternsThatMayRead: S2.9. No line that begins with one of these only reads.
func TestPatternsThatMayRead(t *testing.T) {
	t.Parallel()
	for want, entries := range map[bool][]string{
		false: {
			"git push", "git push *", "git commit", "git -C * log", "rm", "rm -rf *", "rm *", "make deploy", "kubectl", "kubectl delete *", "curl", "/usr/bin/curl *", "dig *",
			"awk", "go test", "./deploy.sh", "npm run *", "export *", "",
		},
		true: {
			"*", "l*", "?s", "ls", "ls *", "cat *", "git", "git *", "git l*", "git log", "git log *", "/bin/cat *", "find", "find * -delete", "sed -i *", "timeout *", "echo", "@inert",
			"X=1 ls", "[lr]m *",
		},
	} {
		for _, entry := range entries {
			if got := NewPattern(entry).MayRead(); got != want {
				t.Errorf("%q may read: %t", entry, got)
			}
		}
	}
}
