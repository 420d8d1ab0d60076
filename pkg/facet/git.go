package facet

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/shell"
)

// gitFacets are the parts of git, in the order of doubt: what a push updates stands behind the verb.
var gitFacets = []condition.Facet{condition.GitVerb, condition.GitRefs, condition.GitRemote, condition.GitForce, condition.GitDelete}

// gitFacet returns a facet of git: what the commands of the line push.
func (f *Facts) gitFacet(name condition.Facet) condition.Set {
	d, _ := f.described()
	all := f.overCommands(d.Git != nil, gitFacets, gitCommand)
	f.partsDescribed(all, gitFacets, d.Git)
	return all.set(name)
}

var (
	gitGlobal = commandOptions{
		flags: wordSet(`-p -P --paginate --no-pager --no-replace-objects --bare --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs
--no-optional-locks --no-advice --version --help -v -h`),
		values: wordSet(`-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --list-cmds --attr-source`),
	}
	gitPushOptions = commandOptions{
		flags: wordSet(`-f --force --force-with-lease --force-if-includes --no-force-if-includes --no-force-with-lease -d --delete --all --branches --mirror --tags
--follow-tags --no-follow-tags -u --set-upstream -n --dry-run -q --quiet -v --verbose --progress --no-progress --porcelain --no-verify --verify --thin --no-thin
--atomic --no-atomic -4 -6 --ipv4 --ipv6 --prune --signed --no-signed`),
		values: wordSet(`--repo -o --push-option --receive-pack --exec --recurse-submodules`),
	}
	// gitLocal are subcommands that update no other repository. Others may be aliases.
	gitLocal = wordSet(`add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout
checkout-index cherry cherry-pick clean clone column commit commit-graph commit-tree config count-objects describe diff diff-files diff-index diff-tree
difftool fast-export fast-import fetch fetch-pack fmt-merge-msg for-each-ref format-patch fsck gc get-tar-commit-id grep hash-object help index-pack init
interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree
multi-pack-index mv name-rev notes pack-objects pack-refs patch-id prune pull range-diff read-tree rebase reflog remote repack replace request-pull rerere
reset restore rev-list rev-parse revert rm shortlog show show-branch show-index show-ref sparse-checkout stage stash status stripspace submodule switch
symbolic-ref tag unpack-file unpack-objects update-index update-ref update-server-info var verify-commit verify-pack verify-tag version whatchanged worktree
write-tree`)
	gitPushing = wordSet(`push send-pack subtree svn p4 lfs http-push cvsexportcommit`)
)

// gitCommand judges one command of a line.
func gitCommand(p parts, plan *shell.Plan, c shell.Command) {
	arguments := c.Words[c.Assigns+1:]
	switch name := c.Program(); {
	case name == "":
		if c.Words[c.Assigns].Static {
			return
		}
		p.doubt("a command is known only when the line runs", gitFacets...)
	case name == "git":
		gitWords(p, plan, arguments)
	case name == "hub":
		p.doubt("hub is not judged", gitFacets...)
	case name == "gh":
		ghWords(p, arguments)
	case strings.HasPrefix(name, "git-"):
		gitVerb(p, plan, strings.TrimPrefix(name, "git-"), arguments)
	}
}

// gitWords judges the words behind git.
func gitWords(p parts, plan *shell.Plan, arguments []shell.Word) {
	options, rest := gitGlobal.read(arguments, true)
	for _, o := range options {
		key, _, _ := strings.Cut(strings.ToLower(o.value), "=")
		switch {
		case !o.known:
			p.doubt("git has an option that is not known before its subcommand", gitFacets...)
		case o.name == "-c" && o.static && plainSetting(key):
		case o.name == "-c", o.name == "--config-env", o.name == "--exec-path", o.name == "--list-cmds":
			p.doubt("git is given a setting by which a subcommand may be another one, or push elsewhere", gitFacets...)
		case o.name == "-C", o.name == "--git-dir", o.name == "--work-tree", o.name == "--namespace":
			if len(rest) > 0 && gitPushing.has(rest[0].Text) {
				p.doubt("git works in another repository, whose settings decide", condition.GitRefs, condition.GitRemote)
			}
		}
	}
	switch {
	case len(rest) == 0:
	case !rest[0].Static:
		p.doubt("the subcommand of git is known only when the line runs", gitFacets...)
	default:
		gitVerb(p, plan, rest[0].Text, rest[1:])
	}
}

// plainSetting reports a setting that has no say in what a push updates.
func plainSetting(key string) bool {
	section, _, _ := strings.Cut(key, ".")
	return section == "user" || section == "color" || section == "advice" || section == "commit" || section == "core" && (key == "core.pager" || key == "core.autocrlf" || key == "core.quotepath")
}

// gitVerb judges a subcommand of git.
func gitVerb(p parts, plan *shell.Plan, verb string, arguments []shell.Word) {
	p.text(condition.GitVerb, verb)
	switch {
	case verb == "push":
		gitPush(p, arguments)
		gitSurroundings(p, plan)
	case gitPushing.has(verb):
		p.doubt("git "+verb+" does not show what it updates", gitFacets[1:]...)
	case !gitLocal.has(verb):
		p.doubt("git "+verb+" may be an alias", gitFacets...)
	}
}

// gitSurroundings finds parts of the line that change where a push goes.
func gitSurroundings(p parts, plan *shell.Plan) {
	for _, c := range plan.Commands {
		for i, w := range c.Words {
			switch {
			case strings.HasPrefix(w.Text, "GIT_") && strings.Contains(w.Text, "="):
				p.doubt("the line sets a variable of git", gitFacets[1:]...)
			case i > c.Assigns && (w.Text == "config" || w.Text == "remote") && c.Program() == "git":
				p.doubt("the line changes settings of git", condition.GitRemote)
			}
		}
	}
}

// gitPush judges the words behind git push.
func gitPush(p parts, arguments []shell.Word) {
	options, _ := gitPushOptions.read(arguments, false)
	var operands []option
	force, deletes := false, false
	remote := option{}
	for _, o := range options {
		switch {
		case !o.known:
			p.doubt("git push has an option that is not known", gitFacets[1:]...)
		case o.name == "":
			operands = append(operands, o)
			if !o.static {
				p.doubt("git push has a word that is known only when the line runs", gitFacets[1:]...)
			}
		case o.name == "--repo":
			remote = o
		case o.name == "-f", o.name == "--force", o.name == "--force-with-lease":
			force = true
		case o.name == "-d", o.name == "--delete":
			deletes = true
		case o.name == "--all", o.name == "--branches", o.name == "--tags", o.name == "--follow-tags", o.name == "--recurse-submodules":
			p.doubt("git push "+o.name+" updates refs that the line does not name", condition.GitRefs)
		case o.name == "--mirror", o.name == "--prune":
			force, deletes = force || o.name == "--mirror", true
			p.doubt("git push "+o.name+" updates refs that the line does not name", condition.GitRefs)
		case o.name == "--receive-pack", o.name == "--exec":
			p.doubt("git push has an option that runs another program there", gitFacets[1:]...)
		}
	}
	if len(operands) > 0 {
		remote, operands = operands[0], operands[1:]
	}
	if remote.static && remote.value != "" {
		p.text(condition.GitRemote, remote.value)
	} else {
		p.doubt("git push does not name the remote", condition.GitRemote)
	}
	refspecs(p, operands, &force, &deletes)
	p.add(condition.GitForce, condition.Element{Value: boolValue(force)})
	p.add(condition.GitDelete, condition.Element{Value: boolValue(deletes)})
}

// refspecs judges the refspecs of a push.
func refspecs(p parts, operands []option, force, deletes *bool) {
	if len(operands) == 0 {
		p.doubt("git push names no ref; write the destination, as in HEAD:refs/heads/NAME", condition.GitRefs, condition.GitForce, condition.GitDelete)
	}
	for i := 0; i < len(operands); i++ {
		o := operands[i]
		if !o.static {
			p.doubt("a ref is known only when the line runs", condition.GitRefs, condition.GitForce, condition.GitDelete)
			continue
		}
		if o.value == "tag" && i+1 < len(operands) {
			i++
			if operands[i].static {
				destination(p, "refs/tags/"+operands[i].value, "")
			} else {
				p.doubt("a ref is known only when the line runs", condition.GitRefs)
			}
			continue
		}
		text, plus := strings.CutPrefix(o.value, "+")
		*force = *force || plus
		from, to, both := strings.Cut(text, ":")
		switch {
		case both && from == "" && to != "":
			*deletes = true
			destination(p, to, "")
		case both:
			destination(p, to, from)
		default:
			destination(p, from, from)
		}
	}
}

// destination notes a ref that is updated.
func destination(p parts, to, from string) {
	switch {
	case to == "", to == "HEAD", to == "@", strings.ContainsAny(to, "~^*?[\\: \t") || strings.Contains(to, "@{") || strings.Contains(to, ".."):
		p.doubt("the destination of a push is decided by the repository; write it, as in HEAD:refs/heads/NAME", condition.GitRefs)
	case strings.HasPrefix(to, "refs/"):
		p.text(condition.GitRefs, to)
	case strings.HasPrefix(to, "heads/"), strings.HasPrefix(to, "tags/"), strings.HasPrefix(to, "remotes/"):
		p.doubt("the destination of a push can be read in two ways; write it with refs/", condition.GitRefs)
	case strings.HasPrefix(from, "refs/tags/"):
		p.text(condition.GitRefs, "refs/tags/"+to)
	default:
		p.text(condition.GitRefs, "refs/heads/"+to)
		p.add(condition.GitRefs, condition.Element{Value: stringValue("refs/tags/" + to), Unsure: true})
	}
}

// ghReads are commands of gh that update no ref.
var ghReads = wordSet(`auth browse completion search status version help cache gpg-key label org project ruleset secret ssh-key variable gist codespace issue alias config
extension attestation run`)

var ghReadVerbs = wordSet(`list view status checks diff download verify clone`)

// ghWords judges the words behind gh.
func ghWords(p parts, arguments []shell.Word) {
	var verbs []string
	for _, w := range arguments {
		if !w.Static {
			p.doubt("gh has a word that is known only when the line runs", gitFacets...)
			return
		}
		if !strings.HasPrefix(w.Text, "-") {
			verbs = append(verbs, w.Text)
		} else if len(verbs) == 0 && w.Text != "--version" && w.Text != "--help" {
			p.doubt("gh has an option before its subcommand", gitFacets...)
		}
	}
	switch {
	case len(verbs) == 0, ghReads.has(verbs[0]) && verbs[0] != "alias" && verbs[0] != "extension":
	case len(verbs) > 1 && ghReadVerbs.has(verbs[1]):
	case len(verbs) > 1 && verbs[0] == "pr" && verbs[1] == "merge":
		p.text(condition.GitVerb, "merge")
		p.doubt("gh pr merge updates the branch that the request is for", gitFacets[1:]...)
	default:
		p.doubt("gh "+verbs[0]+" does not show what it updates", gitFacets...)
	}
}
