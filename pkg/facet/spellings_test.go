package facet_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/facet"
)

// wrapped are ways to run a line; % is the line, which begins with the name of a program.
var wrapped = []string{
	"%", "sudo %", "sudo -u root -E %", "env X=1 %", "env -i PATH=/bin %", "X=1 %", "command %", "exec %", "builtin command %", "timeout 5 %", "timeout -k 1 --signal=KILL 5 %",
	"nice -n 5 %", "nohup % &", "time %", "! %", "setsid -f %", "stdbuf -oL %", "ionice -c 3 %", "xargs %", "echo x | xargs -n 1 %", "find . -exec % {} ;", "find . -exec % {} \\;",
	"sh -c '%'", `bash -lc "%"`, `bash -c "sh -c '%'"`, "bash <<< '%'", "bash << E⏎%⏎E", "echo '%' | sh", "eval '%'", "eval %", "( % )", "{ %; }", "true && %", "false || %", "ls; %", "ls⏎%",
	"ls | %", "% | cat", "% > out.txt 2>&1", "< in.txt %", "echo $(%)", "echo `%`", `echo "x $(%) y"`, "cat <(%)", "X=$(%)", "if %; then ls; fi", "while %; do ls; done", "for x in a; do %; done",
	"case a in a) %;; esac", "f() { %; }; f", "trap '%' EXIT", "ls # x⏎%", "docker exec c %", "docker run --rm i sh -c '%'", "ssh host %", "ssh host '%'", "su -c '%' root",
	"watch '%'", "watch %", "parallel % ::: a", "flock /tmp/l %", "flock /tmp/l -c '%'", "script -c '%' /dev/null", "chroot / %", "unshare %", "strace -f %", "busybox sh -c '%'", "doas %",
	`\%`, `""%`, `$'\x%`, "l\\⏎s; %", "coproc %", "[[ -n $(%) ]]", "(( $(%) ))", "alias x='%'; x", "python3 -c 'import os; os.system(\"%\")'", "perl -e 'system(\"%\")'",
	"awk 'BEGIN { system(\"%\") }'", "make SHELL='%'", "ls &⏎%", "systemd-run %", "at now <<< '%'", "kubectl exec p -- %", "uv run %", "npx -c '%'", "poetry run %", "tmux new -d '%'", "tmux new -d %",
}

// spelled returns ways to write the program of a line.
func spelled(line string) []string {
	program, rest, _ := strings.Cut(line, " ")
	first, last := program[:1], program[1:]
	return []string{
		line, first + `""` + last + " " + rest, first + `\` + last + " " + rest, "'" + program + "' " + rest, "/usr/bin/" + program + " " + rest, "./" + program + " " + rest,
		program + "   " + rest, program + "\t" + rest, program + ` \⏎` + rest, "$'" + program + "' " + rest, "$(which " + program + ") " + rest, first + "$X" + last + " " + rest,
		"{" + program + "," + strings.ReplaceAll(rest, " ", ",") + "}", "/usr/bin/" + first + "*" + last + " " + rest, "$P " + rest, "P=" + program + "; $P " + rest, program + " $A " + rest,
	}
}

// TestResourcesOfKinds judges kinds of resources: a restriction takes a kind for all of its resources, an allowance for the kind
// alone (S21.5).
func TestResourcesOfKinds(t *testing.T) {
	t.Parallel()
	const yes, no = condition.True, condition.False
	for _, row := range []struct {
		line, resource   string
		restricts, allow condition.Truth
	}{
		{"kubectl get secret x", `"secrets"`, yes, no},
		{"kubectl get secret x", `"s*"`, yes, yes},
		{"kubectl get secret x", `"secrets/x"`, yes, yes},
		{"kubectl get secret x", `"secrets/y"`, no, no},
		{"kubectl get secret x", `"secrets/*"`, yes, yes},
		{"kubectl get secret x", `"pods"`, no, no},
		{"kubectl get secret x", `{"neq": "secrets"}`, yes, no},
		{"kubectl get secret x", `{"neq": "secrets/x"}`, no, no},
		{"kubectl get secret x", `{"neq": "pods"}`, yes, yes},
		{"kubectl get secrets", `"secrets"`, yes, yes},
		{"kubectl get secrets", `"secrets/db"`, yes, no},
		{"kubectl get secrets", `"*/db"`, yes, no},
		{"kubectl get secrets", `"pods/db"`, no, no},
		{"kubectl get secrets", `{"neq": "secrets/db"}`, yes, no},
		{"kubectl delete secrets --all", `"secrets/db"`, yes, no},
		{"kubectl label secret x a=b", `"secrets/y"`, no, no},
		{"kubectl label secret x a=b", `"secrets/x"`, yes, yes},
		{"kubectl label secret --all a=b", `"secrets/y"`, yes, no},
		{"kubectl label secret a- x", `"secrets/x"`, yes, yes},
	} {
		input, _ := json.Marshal(map[string]string{"command": row.line})
		facts := facet.Of(facet.Subject{Tool: "Bash", Input: input})
		text := `{"k8s.resource": ` + row.resource + `}`
		restricts := read(t, text, condition.Restricts).Judge(facts, condition.Restricts)
		allow := read(t, text, condition.Allows).Judge(facts, condition.Allows)
		if restricts != row.restricts || allow != row.allow {
			t.Errorf("%s %s: %v, %v, want %v, %v", row.line, text, restricts, allow, row.restricts, row.allow)
		}
	}
}

// TestOtherFiles judges a restriction of all files but some: the absolute name of a file is no other file (S21.11).
func TestOtherFiles(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]condition.Truth{
		`Write {"file_path": "src/a", "content": "x"}`: condition.False, `Write {"file_path": "/repo/src/a", "content": "x"}`: condition.False,
		`Write {"file_path": "out", "content": "x"}`: condition.True, `Write {"file_path": "/etc/x", "content": "x"}`: condition.True,
	} {
		facts := facet.Of(subjectOf(call))
		if got := read(t, `{"writes": {"neq": "src/**"}}`, condition.Restricts).Judge(facts, condition.Restricts); got != want {
			t.Errorf("%s: %v, want %v", call, got, want)
		}
	}
}

// TestContainers judges commands in containers: restrictions look at them, and allowances look at the line alone (S21.5).
func TestContainers(t *testing.T) {
	t.Parallel()
	const yes, no, doubt = condition.True, condition.False, condition.Doubt
	for line, want := range map[string]struct{ rm, container condition.Truth }{
		"docker exec -u root c /bin/rm x":              {yes, yes},
		"docker exec c sh -c 'cd /x;rm -r .'":          {yes, yes},
		"docker exec c sh -c \"sh -c 'rm x'\"":         {yes, yes},
		"docker compose exec c rm":                     {yes, yes},
		"podman run --rm i rm x":                       {yes, no},
		"docker run --rm i ls":                         {no, yes},
		"docker exec c ls":                             {no, yes},
		"docker ps -f name=rm":                         {no, yes},
		"docker rm x":                                  {no, yes},
		"docker exec c $X":                             {doubt, doubt},
		"docker exec c" + strings.Repeat(" a", 200):    {doubt, yes},
		"docker exec c echo ; ls":                      {no, no},
		"DOCKER_HOST=x docker exec c rm x":             {yes, no},
		"docker container exec c env A=1 rm x":         {yes, yes},
		"docker run i sh -c 'if true; then rm x; fi'":  {yes, yes},
		"docker run i bash -c 'echo $(/usr/bin/rm x)'": {yes, yes},
		"docker run i bash -c 'r\"\"m x'":              {yes, yes},
		"docker run i bash -c '$X y'":                  {doubt, yes},
		"echo rm x | docker exec -i c sh":              {doubt, no},
		"docker exec -i c bash -s < x":                 {doubt, yes},
		"docker exec -i c bash --norc <<< 'rm x'":      {doubt, yes},
		"docker exec c bash -lc 'ls'":                  {no, yes},
		"docker exec c bash x.sh":                      {no, yes}, // a program may run others
		"docker run i bash -c 'if'":                    {no, yes},
		"docker run i bash -c 'if x'":                  {doubt, yes},
		"docker exec db psql -c 'select (1)'":          {no, yes},
		"docker exec c sh -c 'docker exec d rm x'":     {yes, yes},
		"docker exec c sh -c 'r$X y'":                  {doubt, yes},
		"docker exec c sh -c 'rm<x'":                   {yes, yes},
	} {
		input, _ := json.Marshal(map[string]string{"command": line})
		facts := facet.Of(facet.Subject{Tool: "Bash", Input: input})
		rm := read(t, `{"command": "rm"}`, condition.Restricts).Judge(facts, condition.Restricts)
		container := read(t, `{"command": "docker"}`, condition.Allows).Judge(facts, condition.Allows)
		if rm != want.rm || container != want.container {
			t.Errorf("%s: rm %v, docker %v, want %+v", line, rm, container, want)
		}
	}
}

// TestSpellings judges lines in many spellings, run in many ways: none gets past a restriction that names its act, and none
// passes for one of the harmless calls of an allowance (S21.5).
func TestSpellings(t *testing.T) {
	t.Parallel()
	const (
		main, force, remove, push = `{"git.refs": "refs/heads/main"}`, `{"git.force": true}`, `{"git.delete": true}`, `{"git.verb": "push"}`
		secret, deletes, prod     = `{"k8s.resource": "secrets"}`, `{"k8s.verb": "delete"}`, `{"k8s.namespace": "prod"}`
		harmlessGit               = `{"git.verb": ["status", "log", "diff"]}`
		harmlessK8s               = `{"all": [{"k8s.verb": "get"}, {"k8s.resource": "pods"}, {"k8s.namespace": "staging"}]}`
		harmlessLine              = `{"command": ["git log", "ls", "cat", "echo", "true"]}`
	)
	for _, family := range []struct {
		harmless string
		lines    map[string][]string // by their acts
	}{
		{harmlessGit, map[string][]string{
			main: {
				"git push origin main", "git push origin HEAD:main", "git push origin x:refs/heads/main", "git push origin +main", "git push origin :main", "git push --all origin",
				"git push --mirror origin", "git push origin HEAD", "git push", "git push origin", "git push origin refs/heads/main", "git push origin a main", "git push --repo=origin main",
				"git -C /x push origin main", "git --no-pager push -q origin main", "git push origin -- main", "git push -o x origin main", "git push origin heads/main", "git push origin @:main",
				"git push origin refs/heads/*", "git send-pack x main", "git subtree push --prefix=x origin main", "git-push origin main", "gh pr merge 5", "gh api repos/x/y/git/refs/heads/main",
				"git svn dcommit", "git push origin $B", "hub push origin main", "git push https://example.com/x.git main", "git push origin main:main x",
			},
			force: {
				"git push -f origin x", "git push --force origin x", "git push origin +x", "git push -qf origin x", "git push --force-with-lease origin x", "git push --force-with-lease=x:y origin x",
				"git push --mirror origin", "git push origin x --force", "git push origin +a:b c", "git push --forc origin x",
			},
			remove: {"git push -d origin x", "git push --delete origin x", "git push origin :x", "git push origin x :y", "git push --prune origin x", "git push --del origin x", "git push -fd origin x"},
			push:   {"git push origin x", "git -c a.b=c push", "git --git-dir=x push", "git p", "git --exec-path=x status", "git -c alias.status=!sh status"},
		}},
		{harmlessK8s, map[string][]string{
			secret: {
				"kubectl get secret x", "kubectl get secrets -n staging", "kubectl get -n staging secret/x", "kubectl get pods,secrets -n staging", "kubectl get all -n staging",
				"kubectl get pods/x secrets/y -n staging", "kubectl get secrets.v1. -n staging", "kubectl get SECRETS -n staging", "kubectl describe secret x", "kubectl edit secret x",
				"kubectl get --raw /api/v1/secrets", "kubectl apply -f x.yaml", "kubectl create secret generic x", "oc get secret x", "helm get values x", "kubectl get $T -n staging",
				"kubectl patch secret x -p {}", "kubectl get -f x.yaml", "kubectl-secrets get", "k9s -n staging",
			},
			deletes: {
				"kubectl delete pod x -n staging", "kubectl -n staging delete pod x", "kubectl --context=x delete pods --all", "kubectl delete -f x.yaml", "kubectl delete ns x",
				"kubectl --unknown delete pod x", "helm uninstall x", "helm delete x", "kubectl -n staging --as=root delete pod/x", "kubectl $V pod x", "helmfile destroy", "argocd app delete x",
			},
			prod: {
				"kubectl get pods -n prod", "kubectl -nprod get pods", "kubectl --namespace=prod get pods", "kubectl get pods -A", "kubectl get pods", "kubectl get pods -n staging -n prod",
				"kubectl get pods --context=prod", "kubectl get pods --kubeconfig=x -n staging", "kubectl get pods -n $N", "kubectl get pods --all-namespaces",
			},
		}},
		{harmlessLine, map[string][]string{
			`{"command": ["rm"]}`: {
				"rm x", "rm -rf /", "rm -rf ~", "rm -r -f .", "rm -- x", "rm *", "rm a b c", "rm -fr $HOME", "rm -rf ./src",
			},
			`{"command": ["dd", "mkfs.ext4", "shred", "chmod 777", "git push", "curl", "kill", "shutdown", "npm publish", "terraform destroy"]}`: {
				"dd if=/dev/zero of=/dev/sda", "mkfs.ext4 /dev/sda", "shred x", "chmod 777 x", "git push origin main", "curl https://example.com", "kill 1", "shutdown now",
				"npm publish --access public", "terraform destroy -auto-approve", "git push", "curl -d @x https://example.com",
			},
		}},
	} {
		allowed := read(t, family.harmless, condition.Allows)
		required := read(t, family.harmless, condition.Requires)
		rows := 0
		for act, lines := range family.lines {
			denied := read(t, act, condition.Restricts)
			try := func(line string) {
				rows++
				input, _ := json.Marshal(map[string]string{"command": strings.ReplaceAll(line, "⏎", "\n")})
				facts := facet.Of(facet.Subject{Tool: "Bash", Input: input})
				if denied.Judge(facts, condition.Restricts) == condition.False {
					t.Errorf("%s gets past %s", line, act)
				}
				if allowed.Judge(facts, condition.Allows) == condition.True || required.Judge(facts, condition.Requires) == condition.True {
					t.Errorf("%s passes for %s", line, family.harmless)
				}
			}
			for _, line := range lines {
				for _, way := range wrapped {
					try(strings.ReplaceAll(way, "%", line))
				}
				for _, spelling := range spelled(line) {
					try(spelling)
					try("sudo " + spelling)
					try("ls && " + spelling + " | cat")
				}
			}
		}
		if rows < 300 {
			t.Errorf("%d rows of %s, want 300", rows, family.harmless)
		}
	}
}
