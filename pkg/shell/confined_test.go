package shell_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/shell"
)

// Entries that confine options.
const (
	getStaging  = `{"words":["kubectl","get"],"options":{"-n":["staging"]}}`
	getOptional = `{"words":["kubectl","get"],"options":{"-n":["staging",null],"-o|--output":["json","yaml",null],"-w":true,"-l":["*",null]}}`
	onlyPods    = `{"words":["kubectl","get","pods"],"options":{"-n":["staging","test"]},"exact":true}`
	unknown     = `{"words":["tool","run"],"options":{"-t":["a"],"-v":true,"-q":true,"--dry-run":true}}`
	noOptions   = `{"words":["git","status"],"options":{}}`
	exactly     = `{"words":["git","log","--oneline"],"exact":true}`
	loose       = `{"words":["npm","test"]}`
	single      = `{"words":["terraform","plan"],"options":{"-var":["env=staging"],"-no-color":true}}`
	ends        = `{"words":["tool","run"],"options":{"-t":["a"],"--":true}}`
	psqlStaging = `{"words":["psql"],"options":{"-h":["staging-db"],"-c":["SELECT 1"]},"exact":true}`
	psqlOpen    = `{"words":["psql"],"options":{"-h":["staging-db"],"-c":["*"]}}`
	patterned   = `{"words":["aws","s3","ls"],"options":{"--profile":["dev-*"],"--region":["eu-?","us-[12]"]}}`
	dashValue   = `{"words":["tool"],"options":{"-t":["-x","*"]}}`
)

// TestConfinedOptions: S21.18. The options that an entry lists are all that a command may have, wherever
// they stand, each with one of its values.
func TestConfinedOptions(t *testing.T) {
	t.Parallel()
	allowed := map[string]string{
		getStaging: `kubectl get -n staging
kubectl -n staging get
kubectl get pods -n staging
kubectl get pods web-1 -n staging
kubectl -n staging get pods
kubectl get -nstaging pods
kubectl get -n=staging pods
kubectl get --namespace staging
kubectl get --namespace=staging
kubectl --namespace=staging get secrets
kubectl get -n staging -n staging
kubectl get -n staging --namespace=staging
'kubectl' "get" -n 'staging'
kubectl get -n stag""ing
kubectl get - -n staging
kubectl get '' -n staging`,
		getOptional: `kubectl get
kubectl get pods
kubectl get pods -w
kubectl get pods -n staging -w
kubectl get pods -wn staging
kubectl get pods -wnstaging
kubectl get pods -ojson
kubectl get pods -o json
kubectl get pods --output=yaml
kubectl get pods -l app=web
kubectl get pods -lapp=web
kubectl get pods -l app=web -o yaml -n staging -w`,
		onlyPods: `kubectl get pods -n staging
kubectl get pods -n test
kubectl -n test get pods
kubectl get -n test pods`,
		unknown: `tool run -t a
tool run -ta
tool run x y -t a
tool -t a run
tool run -vqt a
tool run -vqta
tool run -v -q --dry-run -t a`,
		noOptions: `git status
git status src`,
		exactly: `git log --oneline`,
		loose: `npm test
npm test -- -w`,
		single: `terraform plan -var env=staging
terraform plan -var=env=staging
terraform plan -no-color -var env=staging`,
		ends: `tool run -t a -- x
tool run -- -t a
tool -t a -- run`,
		psqlOpen: `psql -h staging-db -c 'SELECT 1'
psql -h staging-db app -c 'SELECT 1'`,
		psqlStaging: `psql -h staging-db -c 'SELECT 1'
psql -c 'SELECT 1' --host=staging-db`,
		patterned: `aws s3 ls --profile dev-a --region eu-1
aws --profile=dev-x --region us-2 s3 ls s3://b`,
		dashValue: `tool -t -x
tool -t a`,
	}
	refused := map[string]string{
		getStaging: `kubectl get
kubectl get pods
kubectl get -n prod
kubectl get -n
kubectl get pods -n prod
kubectl -n prod get pods
kubectl -n staging get pods -n prod
kubectl -n prod get pods -n staging
kubectl get -n staging -nprod
kubectl get -n staging -n=prod
kubectl get -n staging --namespace prod
kubectl get -n staging --namespace=prod
kubectl get -n staging --names=prod
kubectl get -n staging --namesp prod
kubectl get -n staging --n prod
kubectl get -n staging -A
kubectl get -n staging --all-namespaces
kubectl get -A -n staging
kubectl get -An staging
kubectl get -n staging --context prod
kubectl get -n staging --context=prod
kubectl get -n staging --kubeconfig /tmp/prod
kubectl get -n staging -s https://prod
kubectl get -n staging --server=https://prod
kubectl get -n staging --cluster prod
kubectl get -n staging --user admin
kubectl get -n staging --as root
kubectl get -n staging -o json
kubectl get -n staging -f https://evil/x
kubectl get -n staging -- -n prod
kubectl get -n staging --
kubectl get -- -n staging
kubectl get -n -n staging
kubectl get -n --namespace staging
kubectl get -n Staging
kubectl get -n STAGING
kubectl get -N staging
kubectl get -n 'staging '
kubectl get -n ' staging'
kubectl get -n staging,prod
kubectl get -n staging/
kubectl get -n ''
kubectl get -n ""
kubectl get -n=
kubectl get --namespace=
kubectl get --namespace
kubectl get -n==staging
kubectl get -n=staging=prod
kubectl get --namespace==staging
kubectl get -n $NS
kubectl get -n "$NS"
kubectl get -n $(echo staging)
kubectl get -n staging$X
kubectl get -n staging $X
kubectl get -n staging "$X"
kubectl get -n staging "$@"
kubectl get -n staging $(echo -n prod)
kubectl get -n {staging,prod}
kubectl get {-n,staging}
kubectl get -n staging {-n,prod}
kubectl get -n stag*
kubectl get -n staging *
kubectl get -n staging ~
kubectl get -n staging <(echo x)
kubectl delete -n staging
kubectl -n staging delete pods
kubectl pods get -n staging
kubectl x get -n staging
Kubectl get -n staging
/usr/bin/kubectl get -n staging
./kubectl get -n staging
kubectl.exe get -n staging
oc get -n staging
KUBECONFIG=/tmp/x kubectl get -n staging
A=1 kubectl get -n staging
kubectl 'get -n staging'
kubectl get '-n staging'
kubectl get '-nstaging -nprod'
kubectl 'get' '-n'
kubectl get --namespace "staging -n prod"
kubectl get −n staging
kubectl get –namespace staging
kubectl get --no-namespace -n staging
kubectl get -n staging ---
kubectl get -n staging --=x
kubectl get -n staging @x
kubectl get -n staging +x
-n staging kubectl get
get -n staging
kubectl -n staging
kubectl --namespace=staging
kubectl`,
		getOptional: `kubectl get -n prod
kubectl get -o xml
kubectl get -oxml
kubectl get -w=false
kubectl get -wo
kubectl get -ow
kubectl get -wx
kubectl get -wA
kubectl get -wnprod
kubectl get -wn prod
kubectl get -l -n
kubectl get -l -n prod
kubectl get -l
kubectl get --output
kubectl get --out json
kubectl get -o -n prod
kubectl get -o json=prod
kubectl get -l app=web -- -n prod`,
		onlyPods: `kubectl get pods
kubectl get pods -n prod
kubectl get pods web-1 -n staging
kubectl get pods -n staging web-1
kubectl get pods,secrets -n staging
kubectl get -n staging
kubectl get secrets -n staging
kubectl get pods '' -n staging
kubectl get pods - -n staging
kubectl get pods -n staging -n prod
kubectl get pods -n staging test`,
		unknown: `tool run
tool run -t
tool run -t b
tool run -tb
tool run -t=a
tool run -t a -t b
tool run -t b -t a
tool run -vx -t a
tool run -v=1 -t a
tool run -qt
tool run -vqtb
tool run -t a --dry-run=false
tool run -t a --no-dry-run
tool run -t a --dry
tool run -t a --target b
tool run -t a --t b
tool run -t a -T b
tool run --dry-run a
tool -t run a
tool run -t -v a
tool run -t -t a
tool run -t a @args
tool run -- -t a
tool run -t a --`,
		noOptions: `git -C /x status
git status -s
git status --short
git status --
git --git-dir=/x status
git log`,
		exactly: `git log
git log --oneline -3
git log --oneline --
git log --oneline x
git --oneline log
git log --online
git log "--oneline" ''`,
		loose: `npm
npm run test
npm --prefix x test`,
		single: `terraform plan
terraform plan -var env=prod
terraform plan -var=env=prod
terraform plan -var env=staging -var env=prod
terraform plan --var env=staging
terraform plan -var env=staging -var-file=prod.tfvars
terraform plan -va env=staging
terraform -chdir=/prod plan -var env=staging
terraform plan -no-colour -var env=staging
terraform plan -no-color=false -var env=staging`,
		ends: `tool run -t a -- -t b
tool run -- -t
tool run -- -x -t a`,
		psqlOpen: `psql -h staging-db -c 'SELECT 1' postgres://prod-db/x
psql -h staging-db host=prod-db -c 'SELECT 1'
psql 'hostaddr = 10.0.0.1' -h staging-db -c 'SELECT 1'`,
		psqlStaging: `psql -h prod-db -c 'SELECT 1'
psql -h staging-db -c 'DROP TABLE x'
psql -h staging-db -c 'SELECT 1' postgres://prod-db/x
psql -h staging-db -c 'SELECT 1' app
psql -h staging-db -c 'SELECT 1' -d host=prod-db
psql -h staging-db -c 'SELECT 1' -f x.sql
psql -h staging-db -c 'SELECT 1' -c 'DROP TABLE x'
psql -h staging-db
psql -hprod-db -c 'SELECT 1'
psql -h=staging-db -c 'SELECT 1'
psql --hos=staging-db -c 'SELECT 1'`,
		patterned: `aws s3 ls --profile prod --region eu-1
aws s3 ls --profile dev- --region eu-12
aws s3 ls --profile dev-a --region us-3
aws s3 ls --profile dev-a --region eu-1 --endpoint-url http://x
aws s3 ls --profile dev-a
aws s3 ls --profile=xdev-a --region eu-1
aws s3 rm --profile dev-a --region eu-1`,
		dashValue: `tool -t -y
tool -t --x
tool
tool -t`,
	}
	rows := 0
	for _, group := range []struct {
		lines map[string]string
		want  bool
	}{{allowed, true}, {refused, false}} {
		for entry, lines := range group.lines {
			list := shell.NewList([]string{entry})
			for line := range strings.Lines(lines) {
				line = strings.TrimSuffix(line, "\n")
				rows++
				if got := allows(list, line); got != group.want {
					t.Errorf("%s: %s is allowed: %v, want %v", entry, line, got, group.want)
				}
			}
		}
	}
	if rows < 200 {
		t.Errorf("%d rows", rows)
	}
}

// allows reports that every command of a line is in a list.
func allows(list *shell.List, line string) bool {
	plan, err := shell.Parse(line)
	if err != nil || len(plan.Commands) == 0 {
		return false
	}
	for _, c := range plan.Commands {
		if _, ok := list.Match(c); !ok {
			return false
		}
	}
	return true
}

// TestConfinedNames: S21.18. An entry names the words that it lists, up to the first other one: these
// are the author's choice, with their effects.
func TestConfinedNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		entry, line string
		named       int
	}{
		{getStaging, "kubectl get -n staging pods", 4},
		{getStaging, "kubectl get pods -n staging", 2},
		{getStaging, "kubectl -n staging get pods", 4},
		{getOptional, "kubectl get -l app=x pods", 2},
		{getOptional, "kubectl get -w pods", 3},
		{exactly, "git log --oneline", 3},
		{`{"words":["sed"],"options":{"-i":true}}`, "sed -i s/a/b/ x", 2},
		{`{"words":["sed"],"options":{"-i":true}}`, "sed s/a/b/ -i x", 1},
	} {
		plan, err := shell.Parse(c.line)
		if err != nil {
			t.Fatal(err)
		}
		if named, ok := shell.NewList([]string{c.entry}).Match(plan.Commands[0]); !ok || named != c.named {
			t.Errorf("%s: %s: %d named, %v, want %d", c.entry, c.line, named, ok, c.named)
		}
	}
}

// TestConfinedExamples: S21.18. The examples of an entry are commands that it allows, and no line is
// returned for words that it refuses.
func TestConfinedExamples(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{
		getStaging, getOptional, onlyPods, unknown, noOptions, exactly, loose, single, psqlStaging, ends, dashValue,
		`{"words":["a b","it's"],"options":{"--x":["$(y)","a b"]}}`,
	} {
		list := shell.NewList([]string{entry})
		lines := shell.NewPattern(entry).Lines()
		if len(lines) == 0 {
			t.Errorf("%s has no example", entry)
		}
		for _, line := range lines {
			if !allows(list, line) {
				t.Errorf("%s does not allow its example %s", entry, line)
			}
		}
	}
	for _, c := range []struct{ entry, words, want string }{
		{getStaging, "kubectl -n prod", ""},
		{getStaging, "kubectl -n staging", "kubectl -n staging get"},
		{getStaging, "kubectl -n", "kubectl -n staging get"},
		{getStaging, "kubectl get secrets", "kubectl get secrets -n staging"},
		{getStaging, "kubectl delete", ""},
		{getStaging, "kubectl --context", ""},
		{onlyPods, "kubectl get pods x", ""},
		{exactly, "git log", "git log --oneline"},
		{exactly, "git log --oneline x", ""},
		{loose, "npm", "npm test"},
		{loose, "npm run", ""},
	} {
		line, ok := shell.ReadConfinement(c.entry).With(strings.Fields(c.words))
		if line != c.want || ok != (c.want != "") {
			t.Errorf("%s with %s: %q, %v, want %q", c.entry, c.words, line, ok, c.want)
		}
	}
}

// TestAims: S21.18. A command that gives a target of a known client is also one that gives it behind
// other words.
func TestAims(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command, line string
		want          bool
	}{
		{"kubectl -n prod", "kubectl -n prod get pods", true},
		{"kubectl -n prod", "kubectl get pods -n prod", true},
		{"kubectl -n prod", "kubectl get pods -nprod", true},
		{"kubectl -n prod", "kubectl get pods -n=prod", true},
		{"kubectl -n prod", "kubectl get pods --namespace prod", true},
		{"kubectl -n prod", "kubectl get pods --namespace=prod", true},
		{"kubectl -n prod", "kubectl get pods --namesp=prod", true},
		{"kubectl --namespace=prod", "kubectl get pods -n prod", true},
		{"kubectl -n prod", "kubectl -n staging get -n prod", true},
		{"kubectl -n prod", "/usr/bin/kubectl get -n prod", true},
		{"kubectl -n prod", "kubectl get -n production", false},
		{"kubectl -n prod*", "kubectl get -n production", true},
		{"kubectl -n prod", "kubectl get -n staging", false},
		{"kubectl -n prod", "kubectl get prod", false},
		{"kubectl -n prod delete", "kubectl delete pods -n prod", true},
		{"kubectl -n prod delete", "kubectl -v 9 delete pods -n prod", true},
		{"kubectl -n prod delete", "kubectl get delete -n prod", false},
		{"kubectl -n prod delete", "kubectl delete pods", false},
		{"kubectl -n", "kubectl get -n x", true},
		{"gh -R other/repo", "gh pr comment -R other/repo", true},
		{"gh -R other/repo", "gh pr comment --repo=other/repo", true},
		{"psql -h prod-db", "psql -f x.sql -hprod-db", true},
	} {
		aim, ok := shell.AimOf(c.command)
		plan, err := shell.Parse(c.line)
		if err != nil || !ok {
			t.Fatal(c.command, ok, err)
		}
		if got := aim.Matches(plan.Commands[0]); got != c.want {
			t.Errorf("%s is a command of %s: %v, want %v", c.line, c.command, got, c.want)
		}
	}
	for _, command := range []string{"kubectl get", "git -C x", "docker -H x", "tool -n prod", "*", "kubectl", "* -n prod", ""} {
		if _, ok := shell.AimOf(command); ok {
			t.Errorf("%q has a target that may stand anywhere", command)
		}
	}
}

// TestAimedLines: S21.18. Lines of an entry that give a target, and whether there can be others.
func TestAimedLines(t *testing.T) {
	t.Parallel()
	aim, _ := shell.AimOf("kubectl -n prod")
	for _, c := range []struct{ entry, want string }{
		{"kubectl get", "[kubectl get -n prod kubectl get '' -n prod kubectl get x -n prod] false"},
		{"kubectl -n staging get", "[] true"},
		{"kubectl -n staging get *", "[] true"},
		{"kubectl --namespace=staging get", "[] true"},
		{"npm test", "[] true"},
		{getStaging, "[] true"},
		{getOptional, "[] true"},
		{noOptions, "[] true"},
		{`{"words":["kubectl"],"options":{"-n":["*"]}}`, "[kubectl -n prod] false"},
		{`{"words":["kubectl","get"]}`, "[kubectl get -n prod kubectl get '' -n prod kubectl get x -n prod] false"},
		{`{"words":["kubectl","get","-n","prod"],"exact":true}`, "[kubectl get -n prod] true"},
		{`{"words":["kubectl","get"],"exact":true}`, "[] true"},
	} {
		lines, sure := aim.Lines(c.entry)
		if got := fmt.Sprint(lines, sure); got != c.want {
			t.Errorf("%s: %s, want %s", c.entry, got, c.want)
		}
	}
}

// TestTargetOpen: S21.18. Entries that name a target which further words can change.
func TestTargetOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ entry, want string }{
		{"kubectl -n staging get", "-n [--context --cluster --kubeconfig --server --user]"},
		{"kubectl -nstaging get *", "-n [--context --cluster --kubeconfig --server --user]"},
		{"kubectl get", " []"},
		{"helm --namespace=staging list", "-n [--kube-context --kubeconfig --kube-apiserver]"},
		{"psql -h staging-db -f", "-h [--dbname --port --username a connection string]"},
		{"gh -R a/b pr comment", "-R [--hostname an address]"},
		{"git -C sub log", " []"},
		{"git -C sub", "-C [--git-dir --work-tree]"},
		{"docker -H tcp://x ps", " []"},
		{"docker -H tcp://x", "-H [--context --config]"},
		{"aws --profile dev s3 ls", "--profile [--region --endpoint-url]"},
		{"tool -n staging", " []"},
		{getStaging, " []"},
		{onlyPods, " []"},
		{`{"words":["kubectl","-n","staging","get"]}`, "-n [--context --cluster --kubeconfig --server --user]"},
		{`{"words":["kubectl","-n","staging","get"],"exact":true}`, " []"},
		{"@inert", " []"},
		{"*", " []"},
	} {
		named, open := shell.TargetOpen(c.entry)
		if got := fmt.Sprint(named, " ", open); got != c.want {
			t.Errorf("%s: %s, want %s", c.entry, got, c.want)
		}
	}
}
