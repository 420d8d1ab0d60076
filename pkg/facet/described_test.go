package facet_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/sqlscan"
	"github.com/interlock-run/interlock/pkg/toolinput"
)

var describedTools = facet.Tools{
	"query":                {SQL: &toolinput.SQLText{Text: "/q", Dialect: sqlscan.Postgres}},
	"undeclared":           {SQL: &toolinput.SQLText{Text: "/q"}},
	"mcp__gh__merge":       {Git: map[string]string{"verb": "=push", "refs": "/branch", "remote": "/repo", "force": "/force", "delete": "=false"}},
	"push":                 {Git: map[string]string{"refs": "/branch"}},
	"delete_pod":           {K8s: map[string]string{"verb": "=delete", "resource": "=pods", "name": "/name", "namespace": "/namespace"}, Closed: true},
	"job":                  {Command: "/run"},
	"line":                 {Command: "/run", Closed: true},
	"nested":               {URLs: []string{"/a/b", "/list/*/url"}, Closed: true},
	"plain":                {Hosts: []string{}},
	"mcp__stripe__refund":  {Git: map[string]string{}},
	"copy":                 {Reads: []string{"/from"}, Writes: []string{"/to/*"}},
	"cat":                  {Reads: []string{"/path"}},
	"Read":                 {Command: "/run"},
	"mcp__interlock__edit": {Closed: true},
}

// TestDescribedTools: facets of described tools follow their descriptions (S21.14).
func TestDescribedTools(t *testing.T) {
	t.Parallel()
	sql := []condition.Facet{condition.SQLKinds, condition.SQLTables, condition.SQLStatements}
	files := []condition.Facet{condition.Reads, condition.Writes}
	git := []condition.Facet{condition.GitVerb, condition.GitRefs, condition.GitRemote, condition.GitForce, condition.GitDelete}
	k8s := []condition.Facet{condition.K8sVerb, condition.K8sResource, condition.K8sName, condition.K8sNamespace, condition.K8sContext}
	command := []condition.Facet{condition.Command, condition.GitVerb}
	for _, row := range []struct {
		call   string
		facets []condition.Facet
		want   string
	}{
		{`query {"q":"select * from pay"}`, sql, "sql.kinds=select sql.tables=pay sql.statements=1"},
		{`query {"q":"select 1; drop table pay"}`, sql, "sql.kinds=ddl,select sql.tables=pay sql.statements=2"},
		{`query {"q":["drop table pay"]}`, sql, "sql.kinds=? sql.tables=? sql.statements=?"},
		{`query {"q":"select 1","Q":"drop table pay"}`, sql, "sql.kinds=select,? sql.tables=? sql.statements=1,?"},
		{`query {}`, sql, "sql.kinds=? sql.tables=? sql.statements=?"},
		{`copy {"from":"a/../b","to":["c","/etc/x"]}`, files, "reads=b|../b writes=c,/etc/x"},
		{`copy {"from":"a","to":"c"}`, files, "reads=a writes=?"},
		{`copy {"from":"a","From":"b","to":[]}`, files, "reads=a,? writes=?"},
		{`cat {"path":"a"}`, files, "reads=a writes=?"},
		{`plain {"path":"a"}`, files, "reads=? writes=?"},
		{`line {}`, files, "reads=? writes=?"},
		{`line {"run":"cat a > b"}`, files, "reads=a writes=b"},
		{`undeclared {"q":"select $$; drop table t$$"}`, sql, "sql.kinds=? sql.tables=? sql.statements=?"},
		{`plain {"q":"drop table pay"}`, sql, "sql.kinds=? sql.tables=? sql.statements=?"},
		{`mcp__gh__merge {"branch":"main","repo":"o/r","force":true}`, git, "git.verb=push git.refs=refs/heads/main,refs/tags/main git.remote=o/r git.force=true git.delete=false"},
		{`mcp__gh__merge {"branch":"refs/heads/x"}`, git, "git.verb=push git.refs=refs/heads/x git.remote=? git.force=false git.delete=false"},
		{`mcp__gh__merge {"branch":"HEAD","force":"yes"}`, git, "git.verb=push git.refs=? git.remote=? git.force=? git.delete=false"},
		{`mcp__gh__merge {"branch":["main"]}`, git, "git.verb=push git.refs=? git.remote=? git.force=false git.delete=false"},
		{`push {"branch":"main"}`, git, "git.verb=? git.refs=refs/heads/main,refs/tags/main git.remote=? git.force=? git.delete=?"},
		{`mcp__stripe__refund {"branch":"main"}`, git, ""},
		{`delete_pod {"name":"a","namespace":"prod"}`, k8s, "k8s.verb=delete k8s.resource=pods k8s.name=a k8s.namespace=prod"},
		{`delete_pod {"name":"a","namespace":"prod","context":"x"}`, k8s, "k8s.verb=? k8s.resource=? k8s.name=? k8s.namespace=? k8s.context=?"},
		{`delete_pod {"name":"a"}`, git, ""},
		{`job {"run":"git push origin x && rm y"}`, command, "command=git push origin x,rm y git.verb=push"},
		{`job {"run":"$X"}`, command, "command=…,? git.verb=?"},
		{`job {"run":{"command":"rm"}}`, command, "command=? git.verb=?"},
		{`line {"run":"ls","cwd":"/"}`, command, "command=? git.verb=?"},
		{`line {}`, command, "command=? git.verb=?"},
		{`Read {"run":"rm x"}`, command, ""},
		{`REPL {"code":"x"}`, command, "command=? git.verb=?"},
		{`REPL {"code":"x"}`, git, "git.verb=? git.refs=? git.remote=? git.force=? git.delete=?"},
		{`REPL {"code":"x"}`, sql, "sql.kinds=? sql.tables=? sql.statements=?"},
		{`nested {"a":{"b":"https://a.example"},"list":[{"url":"https://b.example"}]}`, []condition.Facet{condition.Host}, "host=a.example,b.example"},
		{`nested {"a":{"b":"https://a.example","c":1}}`, []condition.Facet{condition.Host}, "host=?"},
		{`nested {"list":[{"url":"https://b.example","x":1}]}`, []condition.Facet{condition.Host}, "host=?"},
		{`nested {"list":[5]}`, []condition.Facet{condition.Host}, "host=?"},
		{`nested {"list":{"url":"https://b.example"}}`, []condition.Facet{condition.Host}, "host=?"},
		{`nested {`, []condition.Facet{condition.Host}, "host=?"},
	} {
		tool, input, _ := strings.Cut(row.call, " ")
		got := showSets(facet.Of(facet.Subject{Tool: tool, Input: []byte(input), Tools: describedTools}), row.facets)
		if got = strings.ReplaceAll(got, "\ufffd", "…"); got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.call, got, row.want)
		}
	}
	plain := facet.Subject{Tool: "merge", Qualified: "mcp__gh__merge", Input: []byte(`{"branch":"x"}`), Tools: describedTools}
	if set := facet.Of(plain).Facet(condition.GitVerb); !set.Known || len(set.Values) != 1 {
		t.Errorf("a tool that is called by its plain name has the description of its full name: %+v", set)
	}
	if set := facet.Of(facet.Subject{Tool: "delete_pod", Input: []byte(`{"x":1}`), RunState: "a", Tools: describedTools}).Facet(condition.RunState); !set.Known {
		t.Errorf("an argument that is not described leaves the state of the run known: %+v", set)
	}
}
