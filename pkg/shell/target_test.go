package shell

import "testing"

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

// TestOnlyReads: R3. A line is proved only to read, or it is not.
func TestOnlyReads(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"ls": true, "cat a | grep b": true, "git status; git -C x log": true, "kubectl get pods": true, "curl https://x": true, "go vet ./...": true, "sort -u a": true,
		"go test ./...": false, "./x.sh": false, "rm x": false, "ls > f": false, "git commit -m x": false, "git add .": false, "git push": false, "kubectl delete x": false,
		"kill 12": false, "unknown": false, "python -c 'x()'": false, "python -c 'print(1)'": true, "eval ls": false, "$X": false, "curl -d x https://x": false, "npm publish": false, "mamba run x": false,
		"git --git-dir=x status": false, "X=1 ls": true, "git fetch": false,
	} {
		plan, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.OnlyReads(); got != want {
			t.Errorf("%q: %t", line, got)
		}
	}
}
