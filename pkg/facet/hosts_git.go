package facet

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/shell"
)

var (
	// gitQuiet are subcommands of git that reach no host.
	gitQuiet = wordSet(`add am annotate apply blame branch cat-file check-attr check-ignore check-mailmap check-ref-format checkout checkout-index cherry
cherry-pick clean column commit commit-graph commit-tree count-objects describe diff diff-files diff-index diff-tree fast-export fast-import fmt-merge-msg
for-each-ref format-patch fsck gc get-tar-commit-id grep hash-object index-pack init interpret-trailers log ls-files ls-tree mailinfo mailsplit merge
merge-base merge-file merge-index merge-tree mktag mktree mv name-rev notes pack-objects pack-refs patch-id prune range-diff read-tree rebase reflog repack
replace rerere reset restore rev-list rev-parse revert rm shortlog show show-branch show-index show-ref sparse-checkout stage stash status stripspace
switch symbolic-ref tag unpack-file unpack-objects update-index update-ref var verify-commit verify-pack verify-tag version whatchanged worktree write-tree`)
	gitReaching = map[string]commandOptions{
		"clone": {
			flags: wordSet(`-q --quiet -v --verbose --progress -n --no-checkout --bare --mirror --single-branch --no-single-branch --no-tags --sparse --shallow-submodules
-l --local --no-hardlinks -s --shared --no-shallow-submodules`),
			values: wordSet(`-b --branch --depth -o --origin --filter --shallow-since --shallow-exclude -j --jobs --separate-git-dir`),
		},
		"fetch": {
			flags:  wordSet(`-q --quiet -v --verbose --progress -t --tags -n --no-tags -p --prune -f --force --unshallow --dry-run -k --keep -u --update-head-ok --atomic`),
			values: wordSet(`--depth --deepen --shallow-since --shallow-exclude -j --jobs --filter --refmap`),
		},
		"pull": {
			flags: wordSet(`-q --quiet -v --verbose --progress --rebase --no-rebase -r --ff --no-ff --ff-only --squash --no-squash --commit --no-commit -e --edit --no-edit
-t --tags --no-tags -p --prune -f --force --autostash --no-autostash --allow-unrelated-histories --stat -n --no-stat`),
			values: wordSet(`--depth -s --strategy -X --strategy-option -j --jobs`),
		},
		"ls-remote": {
			flags:  wordSet(`-h --heads --branches -t --tags --refs -q --quiet --exit-code --get-url --symref`),
			values: wordSet(`--sort`),
		},
		"push": gitPushOptions,
	}
)

// gitHosts notes the hosts that a command of git reaches.
func gitHosts(p parts, plan *shell.Plan, arguments []shell.Word) {
	options, rest := gitGlobal.read(arguments, true)
	switch {
	case len(rest) == 0:
		return
	case !rest[0].Static:
		p.doubt("the subcommand of git is known only when the line runs", hostFacets...)
		return
	}
	for _, o := range options {
		key, _, _ := strings.Cut(strings.ToLower(o.value), "=")
		if !o.known || o.name == "-c" && (!o.static || !plainSetting(key) || key == "core.pager") || o.name == "--config-env" || o.name == "--exec-path" {
			p.doubt("git is given an option or setting by which it may reach another host", hostFacets...)
		}
	}
	verb := rest[0].Text
	known, reaches := gitReaching[verb]
	switch {
	case gitQuiet.has(verb), gitAsksItself(rest):
		return
	case !reaches:
		p.doubt("git "+verb+" may reach hosts that the line does not show", hostFacets...)
		return
	}
	for _, c := range plan.Commands {
		if c.Program() == "git" && slices.ContainsFunc(c.Words, func(w shell.Word) bool { return w.Text == "config" || w.Text == "remote" }) {
			p.doubt("the line changes settings of git, which decide the host", hostFacets...)
		}
	}
	words, _ := known.read(rest[1:], false)
	found := false
	for _, o := range words {
		switch {
		case !o.judged():
			p.doubt("git "+verb+" has an option that is not judged: "+shown(o.name), hostFacets...)
		case o.name == "--repo":
			found = true
			p.repository(o)
		case o.name == "--receive-pack", o.name == "--exec", o.name == "--recurse-submodules":
			p.doubt("git "+verb+" "+o.name+" may reach another host", hostFacets...)
		case o.name == "" && !found:
			found = true
			p.repository(o)
		}
	}
	if !found {
		p.doubt("git "+verb+" reaches the host of a remote, which the line does not show; write its URL", hostFacets...)
	}
}

var gitSchemes = wordSet("http https ssh git file ftp ftps")

// repository notes the host of a repository of git: a URL, or host:path. A folder has none.
func (p parts) repository(o option) {
	text := o.value
	before, _, colon := strings.Cut(text, ":")
	switch {
	case !o.static:
		p.doubt("a repository is known only when the line runs", hostFacets...)
	case strings.Contains(text, "::"):
		p.doubt("the repository is reached by a helper of git", hostFacets...)
	case strings.HasPrefix(text, "//"), strings.Contains(text, `\`), colon && gitSchemes.has(strings.ToLower(before)) && !strings.Contains(text, "://"):
		p.doubt("the repository can be read in more than one way", hostFacets...)
	case strings.HasPrefix(strings.ToLower(text), "file:///"), strings.HasPrefix(text, "/"), strings.HasPrefix(text, "./"), strings.HasPrefix(text, "../"), text == ".", text == "..":
	case strings.Contains(text, "://"):
		p.url(text)
	case colon && !strings.Contains(before, "/"):
		p.account(before)
		p.text(condition.Scheme, "ssh")
		p.doubt("the port of ssh is in its settings", condition.Port)
	default:
		p.doubt("git reaches the host of a remote, which the line does not show; write its URL", hostFacets...)
	}
}

// ghCommands are commands of gh that reach the host of GitHub alone. Others may be aliases or extensions.
var ghCommands = wordSet(`api pr issue run workflow search label release`)

// ghHosts notes the hosts of a command of gh: those of GitHub where an option says so, and else those of its settings.
func ghHosts(p parts, arguments []shell.Word) {
	host := ""
	for i, w := range arguments {
		name, value, attached := cutOption(w.Text)
		if !attached && i+1 < len(arguments) {
			value = arguments[i+1].Text
		}
		named := i > 0 && (arguments[i-1].Text == "-R" || arguments[i-1].Text == "--repo")
		switch {
		case !w.Static:
			p.doubt("gh has a word that is known only when the line runs", hostFacets...)
		case name == "--hostname":
			host = value
		case (name == "-R" || name == "--repo") && strings.Count(value, "/") == 2:
			host, _, _ = strings.Cut(value, "/")
		case strings.Contains(w.Text, "://"):
			p.url(w.Text)
		case !named && arguments[0].Text != "api" && strings.Count(w.Text, "/") > 1 || strings.HasPrefix(w.Text, "-R"):
			p.doubt("gh may reach the host of "+shown(w.Text), hostFacets...)
		}
	}
	if host != "github.com" || !ghCommands.has(arguments[0].Text) {
		p.doubt("gh reaches the host of its settings; write -R github.com/OWNER/REPO or --hostname github.com", hostFacets...)
		return
	}
	p.plainHost("github.com")
	p.plainHost("api.github.com")
	p.text(condition.Scheme, "https")
	p.add(condition.Port, numberElement(443))
	p.doubt("gh does not show the paths and methods of its requests", condition.URLPath, condition.Method)
}
