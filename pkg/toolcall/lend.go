package toolcall

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/shell"
)

// Credentials are lent to a command that uses them for its own work on another machine, and that reads no file which its line names
// and runs nothing that files of the workspace say. Any doubt lends nothing.

// lends reports that a line's commands may have the credentials of its clients.
func (o *objections) lends() bool {
	folder := o.jail.folder
	for _, c := range o.plan.Commands {
		switch to, goes := folderOf(c); {
		case goes && path.IsAbs(to):
			folder = path.Clean(to)
		case goes:
			folder = path.Join(folder, to)
		}
		if client, _ := jail.Client(c.Program()); !client {
			continue
		}
		// Only the workspace's own .git is protected: git of a folder in it obeys settings that commands write.
		if folder != path.Clean(o.jail.workspace) || !ownWords(c) || !acts(c) && !asks(c) {
			return false
		}
	}
	return len(o.plan.Sets) == 0
}

// folderOf returns the folder that a command has the shell go to; "\x00" for one that is not known.
func folderOf(c shell.Command) (to string, goes bool) {
	switch c.Program() {
	case "cd", "pushd":
		if args := c.Words[c.Assigns+1:]; len(args) == 1 && args[0].Static && args[0].Text != "" && !strings.HasPrefix(args[0].Text, "-") {
			return args[0].Text, true
		}
		return "\x00", true
	case "popd":
		return "\x00", true
	default:
		return "", false
	}
}

// Words of a command that lead to files.
var (
	leadsOut   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[/~]|(^|[/=:,@])\.\.(/|$)|[=:,@](~|/($|[^/]))`) })
	readsNamed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@|=@|fileb?://`) })
)

// ownWords reports a command whose words are all known, name no file outside of the workspace and none to read, and whose input
// is not the line's.
func ownWords(c shell.Command) bool {
	if c.Assigns > 0 || c.Fed {
		return false
	}
	files := jail.Credentials(c.Program())
	for _, w := range c.Words[1:] {
		if !w.Static || strings.ContainsAny(w.Text, "\\\x00") || readsNamed().MatchString(w.Text) {
			return false
		}
		if text := strings.ContainsAny(w.Text, " \n\t"); leadsOut().MatchString(w.Text) && (!text || strings.ContainsAny(w.Text[:1], "/~.")) {
			return false
		}
		if slices.ContainsFunc(files, func(file string) bool { return strings.Contains(w.Text, strings.TrimPrefix(file, "~/")) }) {
			return false
		}
	}
	return true
}

// acts reports a command of a client that acts on another machine by subcommands and options that are known.
func acts(c shell.Command) bool {
	args := texts(c.Words[1:])
	program := c.Program()
	if program == "ssh" {
		args = ownOfSSH(args)
	}
	if _, builds := jail.Client(program); builds {
		k, known := builders()[program]
		return known && k.meets(args)
	}
	if k, known := clients()[program]; known {
		return k.meets(args)
	}
	return !slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		return revealing()[name] || readsFile(arg)
	})
}

// asks reports a command of git that only looks into the repository itself, and into no repository in its folders.
func asks(c shell.Command) bool {
	return c.Program() == "git" && len(c.Words) > 1 && (c.Words[1].Text == "rev-parse" || c.Words[1].Text == "branch")
}

// ownOfSSH returns the arguments of ssh without the command for the other machine.
func ownOfSSH(args []string) []string {
	operands := 0
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-p" || args[i] == "-l":
			i++
		case !strings.HasPrefix(args[i], "-"):
			if operands++; operands > 1 {
				return args[:i]
			}
		}
	}
	return args
}

func texts(words []shell.Word) []string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.Text
	}
	return all
}

// readsFile reports an option that names a file, as most programs spell it.
func readsFile(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return strings.HasPrefix(arg, "-f") && !strings.HasPrefix(arg, "--") || strings.HasPrefix(arg, "-F") ||
		strings.HasPrefix(name, "--") && strings.Contains(name, "file") || name == "--input" || name == "--template" || name == "--recover"
}

// revealing are words of clients that show or move credentials, read other files, or run other programs.
var revealing = sync.OnceValue(func() map[string]bool {
	return words(`auth authenticate login logout token tokens config configure credential credentials creds alias aliases extension extensions ext plugin plugins
	cp copy mv move sync upload download put get-file exec run sh shell bash edit debug proxy port-forward export import export-credentials print print-access-token
	print-identity-token get-token codespace codespaces system source eval script include build ssh ssh-config stdin input file kubeconfig update-kubeconfig post-renderer
	enable-exec enable-alpha-plugins enable-helm helm-command`)
})

// uses are the subcommands and options by which a program only acts on another machine. Subcommands of more than one word are
// written with a blank.
type uses struct {
	subcommands, options map[string]bool
	// refused are words that it does not have anywhere.
	refused map[string]bool
	// open has the options be any that name no file.
	open bool
}

func (u *uses) meets(args []string) bool {
	if slices.ContainsFunc(args, func(arg string) bool { return u.refused[arg] || u.open && readsFile(arg) }) {
		return false
	}
	if u.subcommands != nil {
		switch {
		case len(args) > 0 && u.subcommands[args[0]]:
			args = args[1:]
		case len(args) > 1 && u.subcommands[args[0]+"_"+args[1]]:
			args = args[2:]
		default:
			return false
		}
	}
	return u.open || !slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return strings.HasPrefix(arg, "-") && !u.options[name]
	})
}

// builders are those programs of many uses that run nothing of the workspace in some of them. npm, cargo, mvn, pip and their
// like obey files of the workspace in all.
var builders = sync.OnceValue(func() map[string]*uses {
	return map[string]*uses{
		"git": {subcommands: words(`push fetch pull ls-remote clone lfs_push lfs_pull lfs_fetch`), options: words(`
		-u --set-upstream -f --force --force-with-lease --force-if-includes --tags -t --follow-tags --no-tags -n --dry-run -v --verbose -q --quiet -d --delete --all
		--branches --mirror -p --prune --atomic --no-verify --porcelain --progress --no-progress --depth --deepen --unshallow --rebase --no-rebase -r --ff-only --no-ff --ff
		--no-edit --autostash --heads --refs --symref --exit-code --branch -b --single-branch --bare --signed --filter --thin --4 -4 -6`)},
		"git-lfs": {subcommands: words(`push pull fetch`), options: words(`--all`)},
		"twine":   {subcommands: words(`upload`), options: words(`--skip-existing --verbose --non-interactive --disable-progress-bar`)},
		"gem":     {subcommands: words(`push yank`), options: words(`-v --version`)},
	}
})

// clients are those of one use, for which revealing does not do. Those that copy files, or run code of the workspace, by their nature have
// no use here.
var clients = sync.OnceValue(func() map[string]*uses {
	never := &uses{subcommands: map[string]bool{}}
	return map[string]*uses{
		"ssh": {options: words(`-q -v -t -tt -T -n -N -4 -6 -C -p -l -x`)},
		"scp": never, "sftp": never, "rsync": never, "rclone": never, "mosh": never, "autossh": never,
		"terraform": never, "tofu": never, "terragrunt": never, "pulumi": never, "cdk": never, "sam": never, "azd": never, "skaffold": never,
		"wrangler": never, "vercel": never, "netlify": never,
		"gpg": {options: words(`-b --detach-sign -s --sign --clearsign --clear-sign -a --armor -u --local-user --batch --yes --verify -k --list-keys -K --list-secret-keys`)},
		"gh": {
			subcommands: words(`pr issue repo release workflow api browse label search cache ruleset project org status run`), open: true,
			refused: words(`clone upload create-file checkout sync download fork`),
		},
		"glab": {subcommands: words(`mr issue repo release ci api label pipeline`), open: true, refused: words(`clone upload checkout download fork`)},
		"hub":  {subcommands: words(`pull-request issue release api ci-status`), open: true, refused: words(`download -a --attach`)},
	}
})

// keepsRemotes reports a command of git that keeps a remote, or the upstream of a branch, in the repository's settings. It writes
// nothing else there: `git config` names programs that git runs.
func keepsRemotes(c shell.Command) bool {
	if c.Assigns > 0 || len(c.Words) < 2 {
		return false
	}
	return slices.Contains(strings.Fields("push fetch pull branch switch checkout remote clone submodule worktree"), c.Words[1].Text) &&
		!slices.ContainsFunc(c.Words, func(w shell.Word) bool { return !w.Static })
}
