package shell

import (
	"slices"
	"strings"
	"sync"
)

// client is a program whose options choose the target that it acts on.
type client struct {
	// targets are the options by which a target is chosen, each with its names.
	targets [][]string
	// before is true where they stand in front of the first operand only.
	before bool
	// equals is true where -n=x gives -n the value x.
	equals bool
	// also describes another way to choose a target; empty for none.
	also string
}

// clients are programs by name. The list is not complete: an entry for a program that is not in it
// gets no warning.
var clients = sync.OnceValue(func() map[string]client {
	kubernetes := [][]string{
		{"-n", "--namespace"}, {"--context"}, {"--cluster"}, {"--kubeconfig"}, {"-s", "--server"}, {"--user"},
	}
	postgres := client{targets: [][]string{{"-h", "--host"}, {"-d", "--dbname"}, {"-p", "--port"}, {"-U", "--username"}}, also: "a connection string"}
	mysql := client{targets: [][]string{{"-h", "--host"}, {"-D", "--database"}, {"-P", "--port"}, {"-u", "--user"}, {"-S", "--socket"}}}
	docker := client{targets: [][]string{{"-H", "--host"}, {"-c", "--context"}, {"--config"}}, before: true, equals: true}
	return map[string]client{
		"kubectl": {targets: kubernetes, equals: true}, "oc": {targets: kubernetes, equals: true},
		"helm": {targets: [][]string{{"-n", "--namespace"}, {"--kube-context"}, {"--kubeconfig"}, {"--kube-apiserver"}}, equals: true},
		"psql": postgres, "pg_dump": postgres, "pg_restore": postgres, "createdb": postgres, "dropdb": postgres,
		"mysql": mysql, "mysqldump": mysql, "mariadb": mysql,
		"redis-cli": {targets: [][]string{{"-h"}, {"-p"}, {"-u"}, {"-n"}, {"-s"}}},
		"mongosh":   {targets: [][]string{{"--host"}, {"--port"}}, also: "a connection string"},
		"gh":        {targets: [][]string{{"-R", "--repo"}, {"--hostname"}}, equals: true, also: "an address"},
		"git":       {targets: [][]string{{"-C"}, {"--git-dir"}, {"--work-tree"}}, before: true},
		"docker":    docker, "podman": {targets: [][]string{{"--url"}, {"-c", "--connection"}}, before: true, equals: true},
		"aws":       {targets: [][]string{{"--profile"}, {"--region"}, {"--endpoint-url"}}},
		"gcloud":    {targets: [][]string{{"--project"}, {"--account"}, {"--configuration"}, {"--impersonate-service-account"}}},
		"az":        {targets: [][]string{{"--subscription"}, {"-g", "--resource-group"}}},
		"terraform": {targets: [][]string{{"-chdir"}}, before: true}, "tofu": {targets: [][]string{{"-chdir"}}, before: true},
		"flyctl": {targets: [][]string{{"-a", "--app"}, {"-c", "--config"}, {"-o", "--org"}}, equals: true},
		"heroku": {targets: [][]string{{"-a", "--app"}, {"-r", "--remote"}}},
		"vault":  {targets: [][]string{{"-address"}, {"-namespace"}}},
		"nomad":  {targets: [][]string{{"-address"}, {"-region"}, {"-namespace"}}},
		"make":   {targets: [][]string{{"-C", "--directory"}, {"-f", "--file", "--makefile"}}},
		"npm":    {targets: [][]string{{"-C", "--prefix"}, {"-w", "--workspace"}, {"--registry"}}},
	}
})

func clientOf(program string) client {
	return clients()[programName(program[strings.LastIndexByte(program, '/')+1:])]
}

// TargetOpen reports an entry of a list that chooses a target by an option, while words behind it
// can choose another one. named is that option, and open says how.
func TargetOpen(entry string) (named string, open []string) {
	words := strings.Fields(entry)
	if IsConfinement(entry) {
		c := ReadConfinement(entry)
		if c == nil || c.Exact || c.Confined {
			return "", nil
		}
		words = c.Words
	}
	if i := slices.IndexFunc(words, isGlob); i >= 0 {
		words = words[:i]
	}
	if len(words) < 2 {
		return "", nil
	}
	of := clientOf(words[0])
	given, operand := givenTargets(of, words[1:])
	if len(given) == 0 || of.before && operand {
		return "", nil
	}
	for i, group := range of.targets {
		if !slices.Contains(given, i) {
			open = append(open, group[len(group)-1])
		}
	}
	if of.also != "" {
		open = append(open, of.also)
	}
	return of.targets[given[0]][0], open
}

// givenTargets returns which options of a client some words give, and whether there is an operand
// besides.
func givenTargets(of client, words []string) (given []int, operand bool) {
	for i := 0; i < len(words); i++ {
		name, _, attached := strings.Cut(words[i], "=")
		group := slices.IndexFunc(of.targets, func(names []string) bool { return slices.Contains(names, name) })
		letter := slices.IndexFunc(of.targets, func(names []string) bool {
			return len(name) > 2 && name[0] == '-' && name[1] != '-' && slices.Contains(names, name[:2])
		})
		switch {
		case group >= 0:
			given = append(given, group)
			if !attached {
				i++
			}
		case letter >= 0:
			given = append(given, letter)
		case !strings.HasPrefix(words[i], "-"):
			operand = true
		}
	}
	return given, operand
}
