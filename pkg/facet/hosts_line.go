package facet

import (
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
)

// quiet are programs that reach no host. Others may, unless hostCommand judges them.
var quiet = wordSet(`: [ [[ ]] test true false echo printf cd pwd pushd popd dirs export declare typeset local readonly unset set shift return exit break
continue wait read let umask type times jobs getopts ls cat head tail wc tac nl rev fold fmt expand unexpand column paste join cut tr sort uniq shuf comm
cmp diff diff3 colordiff grep egrep fgrep rg ag ack find fd fdfind tree du stat file basename dirname realpath readlink which whereis tee touch mkdir rmdir rm
mv cp ln chmod install mktemp truncate split csplit dd sync seq yes sleep date cal expr bc dc factor numfmt md5sum sha1sum sha224sum sha256sum sha384sum
sha512sum cksum sum base32 base64 basenc xxd od hexdump strings gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz xzcat zstd unzstd zstdcat lz4 jq id
whoami uname arch nproc uptime free df ps kill tty stty env printenv timeout time nice nohup stdbuf setsid xargs exec command builtin eval less more clear tput
gofmt gofumpt shellcheck shfmt unzip zipinfo pgrep pidof sqlite3 sed awk gawk mawk nawk tar sh bash dash trap sudo doas ionice chrt flock watch`)

// systemFolders are those of the programs of the system.
var systemFolders = []string{"/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/"}

// hostCommand notes the hosts that one command of a line reaches.
func hostCommand(p parts, plan *shell.Plan, c shell.Command) {
	for _, w := range c.Words[:c.Assigns] {
		name, _, _ := strings.Cut(w.Text, "=")
		p.variable(strings.TrimSuffix(name, "+"))
	}
	program, arguments := c.Program(), c.Words[c.Assigns+1:]
	word := c.Words[c.Assigns]
	if folder := word.Text[:len(word.Text)-len(program)]; word.Static && folder != "" && !slices.Contains(systemFolders, folder) {
		p.doubt(word.Text+" is a program of another folder, which may reach any host", hostFacets...)
		return
	}
	if len(arguments) == 1 && arguments[0].Static && asksOfItself.has(arguments[0].Text) {
		return // a program that is not known is found as a stranger
	}
	switch program {
	case "":
		if !word.Static || word.Text != "" {
			p.doubt("a command is known only when the line runs", hostFacets...)
		}
	case "curl":
		curl(p, arguments)
	case "wget":
		wget(p, arguments)
	case "git":
		gitHosts(p, plan, arguments)
	case "gh":
		ghHosts(p, arguments)
	case "ssh", "scp", "sftp", "rsync":
		sshHosts(p, program, arguments)
	case "nc", "ncat", "netcat", "telnet", "ping", "ping6":
		connection(p, program, arguments)
	case "psql", "mysql", "mariadb":
		databaseHost(p, program, c)
	default:
		if !quiet.has(program) && !strings.HasSuffix(program, "()") {
			p.doubt(program+" may reach hosts that the line does not show", hostFacets...)
			return
		}
		quietArguments(p, program, c)
	}
}

// quietArguments doubts arguments by which a program that reaches no host may do so.
func quietArguments(p parts, program string, c shell.Command) {
	arguments := c.Words[c.Assigns+1:]
	switch program {
	case "export", "declare", "typeset", "local", "readonly", "env", "command", "read", "exec", "sudo", "doas":
		for _, w := range arguments {
			if name, _, ok := strings.Cut(w.Text, "="); (ok || program == "read" || program == "export") && !strings.HasPrefix(name, "-") {
				p.variable(name)
			}
		}
	case "printf":
		if len(arguments) > 1 && arguments[0].Text == "-v" {
			p.variable(arguments[1].Text)
		}
	case "awk", "gawk", "mawk", "nawk":
		for _, w := range arguments {
			if !w.Static || strings.ContainsAny(w.Text, "|>@") || strings.Contains(w.Text, "getline") || strings.Contains(w.Text, "/inet") || strings.HasPrefix(w.Text, "-") && w.Text != "-F" && !strings.HasPrefix(w.Text, "-F") && w.Text != "-v" {
				p.doubt("awk can reach hosts by its files and commands", hostFacets...)
			}
		}
	case "sed":
		for _, w := range arguments {
			if strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "f") && !strings.HasPrefix(w.Text, "-i") {
				p.doubt("sed runs a script that the line does not show", hostFacets...)
			}
		}
	case "tar":
		if slices.ContainsFunc(arguments, func(w shell.Word) bool { return strings.Contains(w.Text, ":") || !w.Static }) {
			p.doubt("tar can reach a host by the name of an archive", hostFacets...)
		}
	case "sqlite3":
		commands := func(w shell.Word) bool {
			text := strings.TrimSpace(w.Text)
			return !w.Static || strings.HasPrefix(text, ".") || strings.ContainsAny(text, "\n") || strings.HasPrefix(text, "-cmd") || strings.HasPrefix(text, "-init")
		}
		if c.Fed || len(arguments) < 2 || slices.ContainsFunc(arguments, commands) {
			p.doubt("sqlite3 may run commands of its own, which may reach a host", hostFacets...)
		}
	case "sh", "bash", "dash": // their lines are judged on their own
		if len(arguments) < 2 || !arguments[0].Static || !strings.HasPrefix(arguments[0].Text, "-") || !strings.HasSuffix(arguments[0].Text, "c") {
			p.doubt(program+" runs commands that the line does not show", hostFacets...)
		}
	}
}

// shown returns an option as a message has it.
func shown(text string) string {
	return strings.ReplaceAll(document.Quote(strings.ReplaceAll(text, string(shell.Unknown), "…")), "\n", " ")
}

// readTo does the work of read for all words.
func (o commandOptions) readTo(words []shell.Word) ([]option, []shell.Word) {
	return o.read(words, false)
}

func numberElement(n int) condition.Element {
	return condition.Element{Value: document.NumberValue(strconv.Itoa(n))}
}
