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
whoami uname arch nproc uptime free ps kill tty stty env printenv timeout time nice nohup stdbuf setsid xargs exec command builtin eval less more clear tput
gofmt gofumpt shellcheck shfmt sqlite3 sed awk gawk mawk nawk tar sh bash dash trap sudo doas ionice chrt flock watch`)

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

var (
	curlOptions = commandOptions{
		flags: wordSet(`-s --silent -S --show-error -L --location --location-trusted -k --insecure -i --include --show-headers -v --verbose -f --fail --fail-with-body
--fail-early -I --head -G --get -N --no-buffer -n --netrc --compressed -# --progress-bar --no-progress-meter --no-keepalive -g --globoff -4 --ipv4 -6
--ipv6 -0 --http1.0 --http1.1 --http2 --http2-prior-knowledge --http3 -1 --tlsv1 --tlsv1.0 --tlsv1.1 --tlsv1.2 --tlsv1.3 --ssl --ssl-reqd -j
--junk-session-cookies -q --disable -V --version -h --help --path-as-is --raw --retry-connrefused --retry-all-errors --post301 --post302 --post303 --basic
--digest --ntlm --negotiate --anyauth -O --remote-name --remote-name-all -J --remote-header-name --create-dirs -R --remote-time --tr-encoding -Z --parallel
--parallel-immediate --styled-output --no-styled-output --tcp-nodelay --tcp-fastopen --no-alpn --no-npn --trace-time --trace-ids --no-sessionid`),
		values: wordSet(`-o --output --output-dir -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr -w --write-out -A --user-agent -b --cookie -C
--continue-at -d --data --data-raw --data-binary --data-urlencode --data-ascii --json --url-query -e --referer -E --cert --cert-type --key --key-type --pass
--cacert --capath --ciphers --tls-max -F --form --form-string -H --header -m --max-time --connect-timeout --retry --retry-delay --retry-max-time -T --upload-file
-u --user --oauth2-bearer --aws-sigv4 -X --request --url -r --range --limit-rate --max-redirs --max-filesize --noproxy -y --speed-time -Y --speed-limit -z
--time-cond --rate --parallel-max --expect100-timeout --etag-save --etag-compare --keepalive-time`),
	}
	// curlData are options that send data, by POST.
	curlData = wordSet(`-d --data --data-raw --data-binary --data-urlencode --data-ascii --json -F --form --form-string`)
)

// curl notes the URLs of a command of curl.
func curl(p parts, arguments []shell.Word) {
	options, _ := curlOptions.readTo(arguments)
	method, sends, asks, globs, found := "", "", false, true, false
	for _, o := range options {
		switch {
		case !o.judged():
			p.doubt("curl has an option that is not judged, or is known only when the line runs: "+shown(o.name), hostFacets...)
		case o.name == "", o.name == "--url":
			found = true
			p.operandURL(o)
		case o.name == "-g", o.name == "--globoff":
			globs = false
		case o.name == "-X", o.name == "--request":
			if method = o.value; !o.static || method == "" {
				p.doubt("the method of curl is known only when the line runs", condition.Method)
			}
		case curlData.has(o.name):
			sends = "POST"
		case o.name == "-T", o.name == "--upload-file":
			sends = "PUT"
		case o.name == "-I", o.name == "--head":
			sends = "HEAD"
		case o.name == "-G", o.name == "--get":
			asks = true
		case (o.name == "-H" || o.name == "--header") && headerRoutes(o):
			p.doubt("curl sends a header by which a server may take the request for another host or method", hostFacets...)
		}
	}
	switch {
	case !found:
		p.doubt("curl is given no URL", hostFacets...)
	case method != "":
		p.method(method)
	case sends != "" && asks:
		p.doubt("curl has an option that sends data and -G, which asks", condition.Method)
		p.text(condition.Method, sends)
	case sends != "":
		p.text(condition.Method, sends)
	default:
		p.text(condition.Method, "GET")
	}
	if globs && slices.ContainsFunc(p.of(condition.URLPath).values, func(e condition.Element) bool { return strings.ContainsAny(e.Value.Str(), "{}[]") }) {
		p.doubt("curl makes several URLs of one with braces or brackets", condition.URLPath)
	}
}

// judged reports an option that is known, and a value that is one word.
func (o option) judged() bool { return o.known && (o.static || o.single || o.name == "") }

// headerRoutes reports a header that names another host or method.
func headerRoutes(o option) bool {
	name, _, _ := strings.Cut(strings.ToLower(o.value), ":")
	return strings.ContainsRune(name, shell.Unknown) || strings.HasPrefix(o.value, "@") ||
		slices.Contains([]string{"host", "x-http-method-override", "x-http-method", "x-method-override"}, strings.TrimSpace(name))
}

// operandURL notes a URL that may lack its scheme. Of one that is not certain, the host is when it is.
func (p parts) operandURL(o option) {
	text := o.value
	if !strings.Contains(text, "://") {
		switch host, _, _ := strings.Cut(text, "."); strings.ToLower(host) {
		case "ftp", "dict", "ldap", "imap", "smtp", "pop3":
			p.doubt("the scheme of the URL is guessed by its host; write it", hostFacets...)
		}
		text = "http://" + text
	}
	if o.static {
		p.url(text)
		return
	}
	before, _, _ := strings.Cut(text, string(shell.Unknown))
	_, rest, _ := strings.Cut(before, "://")
	if end := strings.IndexAny(rest, "/?#"); end < 0 || !o.single {
		p.doubt("a URL is known only when the line runs", hostFacets...)
		if end < 0 {
			return
		}
	}
	p.doubt("the path of the URL is known only when the line runs", condition.URLPath)
	if u, ok, why := condition.ReadURL(before); ok {
		p.authority(u)
	} else {
		p.doubt(why, hostFacets...)
	}
}

var wgetOptions = commandOptions{
	flags: wordSet(`-q --quiet -v --verbose -nv --no-verbose -S --server-response --spider -c --continue -N --timestamping -nc --no-clobber -nd --no-directories -x
--force-directories -nH --no-host-directories --random-wait --retry-connrefused --no-check-certificate --content-disposition --content-on-error
--no-cookies --no-cache --no-dns-cache -4 --inet4-only -6 --inet6-only --no-hsts --show-progress --https-only --auth-no-challenge --ignore-length
--no-http-keep-alive --trust-server-names -V --version -h --help`),
	values: wordSet(`-O --output-document -o --output-file -a --append-output -P --directory-prefix -t --tries -T --timeout --connect-timeout --read-timeout
--dns-timeout -w --wait --waitretry -U --user-agent --header --post-data --post-file --method --body-data --body-file --user --password --http-user
--http-password --max-redirect --referer --save-cookies --load-cookies --progress --ca-certificate --certificate --private-key --secure-protocol --limit-rate
-Q --quota --compression`),
}

// wget notes the URLs of a command of wget.
func wget(p parts, arguments []shell.Word) {
	options, _ := wgetOptions.readTo(arguments)
	method, found := "GET", false
	for _, o := range options {
		switch {
		case !o.judged():
			p.doubt("wget has an option that is not judged, or is known only when the line runs: "+shown(o.name), hostFacets...)
		case o.name == "":
			found = true
			p.operandURL(o)
		case o.name == "--method":
			if method = o.value; !o.static || method == "" {
				p.doubt("the method of wget is known only when the line runs", condition.Method)
			}
		case o.name == "--post-data", o.name == "--post-file":
			method = "POST"
		case o.name == "--spider":
			method = "HEAD"
		case o.name == "--header" && headerRoutes(o):
			p.doubt("wget sends a header by which a server may take the request for another host or method", hostFacets...)
		}
	}
	if !found {
		p.doubt("wget is given no URL", hostFacets...)
	}
	if method != "" {
		p.method(method)
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
	case gitQuiet.has(verb):
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

// account notes the host of name@host or host, for ssh.
func (p parts) account(text string) {
	user, host, ok := strings.Cut(text, "@")
	if !ok {
		user, host = "", text
	}
	if strings.Trim(strings.ToLower(user), "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || strings.HasPrefix(text, "-") {
		p.doubt("the host is not in its plain form", hostFacets...)
		return
	}
	p.host(host)
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

var sshOptions = map[string]commandOptions{
	"ssh":   {flags: wordSet(`-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y`), values: wordSet(`-b -c -e -i -l -m -p`)},
	"scp":   {flags: wordSet(`-3 -4 -6 -A -B -C -O -p -q -R -r -s -T -v`), values: wordSet(`-c -i -l -P`)},
	"sftp":  {flags: wordSet(`-4 -6 -A -a -C -f -N -p -q -r -v`), values: wordSet(`-B -c -i -l -P -R -s`)},
	"rsync": {flags: wordSet(`-a -v -q -r -l -t -p -o -g -D -z -n -h -P -u -c -H -A -X -x -S -W -i --archive --verbose --quiet --recursive --compress --dry-run --delete --progress --partial --stats --checksum --update --human-readable --links --perms --times`), values: wordSet(`--exclude --include --exclude-from --include-from --bwlimit --timeout --max-size --min-size --chmod`)},
}

// sshHosts notes the hosts of ssh and of the programs that go by it. What a host runs there is not a host of the call.
func sshHosts(p parts, program string, arguments []shell.Word) {
	options, rest := sshOptions[program].read(arguments, program == "ssh")
	operands := 0
	for _, o := range options {
		switch {
		case !o.judged():
			p.doubt(program+" has an option that is not judged: "+shown(o.name), hostFacets...)
		case o.name == "-p" && program == "ssh", o.name == "-P" && program != "rsync" && program != "ssh":
			p.port(o)
		case o.name == "":
			operands++
			p.remoteFile(program, o)
		}
	}
	if program == "ssh" {
		if len(rest) == 0 {
			p.doubt("ssh is given no host", hostFacets...)
			return
		}
		if len(rest) > 1 && strings.HasPrefix(rest[1].Text, "-") {
			p.doubt("ssh has an option behind its host", hostFacets...)
		}
		p.remoteFile("sftp", option{value: rest[0].Text, static: rest[0].Static})
	} else if operands == 0 {
		p.doubt(program+" is given no host", hostFacets...)
	}
	if len(p.of(condition.Host).values) > 0 {
		p.text(condition.Scheme, "ssh")
	}
	if len(p.of(condition.Port).values) == 0 {
		p.doubt("the port of "+program+" is in its settings", condition.Port)
	}
}

func (p parts) port(o option) {
	if n, err := strconv.ParseUint(o.value, 10, 16); err == nil && o.static && n > 0 {
		p.add(condition.Port, numberElement(int(n)))
		return
	}
	p.doubt("the port is not in its plain form", condition.Port)
}

// remoteFile notes the host of host:path, or of a URL. For sftp the word may be a host alone.
func (p parts) remoteFile(program string, o option) {
	before, _, colon := strings.Cut(o.value, ":")
	switch {
	case !o.static:
		p.doubt(program+" has a word that is known only when the line runs", hostFacets...)
	case strings.Contains(o.value, "://"):
		scheme, rest, _ := strings.Cut(o.value, "://")
		if scheme = strings.ToLower(scheme); scheme == "scp" || scheme == "sftp" || scheme == "ssh" {
			p.url("ssh://" + rest)
			return
		}
		p.doubt(program+" is given a URL that is not judged", hostFacets...)
	case strings.HasPrefix(o.value, "["), strings.Contains(before, "["):
		p.doubt("the host is not in its plain form", hostFacets...)
	case colon && !strings.Contains(before, "/"):
		p.account(before)
	case program == "sftp":
		p.account(o.value)
	}
}

var connectionOptions = map[string]commandOptions{
	"nc":     {flags: wordSet(`-4 -6 -v -z -n -u -t -N -C -k -d -h`), values: wordSet(`-w -i -q -p -s`)},
	"telnet": {flags: wordSet(`-4 -6 -8 -E -K -a -c -d -r`), values: wordSet(`-e -l`)},
	"ping":   {flags: wordSet(`-4 -6 -a -n -q -v -D -O`), values: wordSet(`-c -i -w -W -t -s`)},
}

// connection notes the host and port of nc, telnet and ping.
func connection(p parts, program string, arguments []shell.Word) {
	name := map[string]string{"ncat": "nc", "netcat": "nc", "ping6": "ping"}[program]
	if name == "" {
		name = program
	}
	options, _ := connectionOptions[name].read(arguments, false)
	var operands []option
	for _, o := range options {
		switch {
		case !o.known || !o.static:
			p.doubt(program+" has an option or word that is not judged: "+shown(o.name), hostFacets...)
		case o.name == "":
			operands = append(operands, o)
		}
	}
	if len(operands) == 0 || len(operands) > 2 || name == "ping" && len(operands) != 1 {
		p.doubt(program+" is not given one host", hostFacets...)
		return
	}
	p.host(operands[0].value)
	p.doubt("its port and its scheme are not shown by a URL", condition.Scheme)
	if len(operands) == 2 {
		p.port(operands[1])
	} else if name != "ping" {
		p.doubt("its port is not shown", condition.Port)
	}
}

// databaseHost notes the host that a client of a database is given.
func databaseHost(p parts, program string, c shell.Command) {
	arguments, given := c.Words[c.Assigns+1:], false
	if program == "mariadb" {
		program = "mysql"
	}
	options, _ := sqlClients()[program].options.read(arguments, false)
	found := false
	for _, o := range options {
		switch {
		case !o.judged():
			p.doubt(program+" has an option that is not judged: "+shown(o.name), hostFacets...)
		case o.name == "-h", o.name == "--host":
			found = true
			switch {
			case !o.static || o.value == "":
				p.doubt("a host is known only when the line runs", hostFacets...)
			case strings.HasPrefix(o.value, "/"): // the folder of a socket
			default:
				p.host(o.value)
			}
		case o.name == "-p" && program == "psql", o.name == "--port", o.name == "-P" && program == "mysql":
			p.port(o)
		case (o.name == "" || o.name == "-d" || o.name == "--dbname") && (!o.static || strings.ContainsAny(o.value, "=:/")):
			p.doubt("the database may name another host", hostFacets...)
		case sqlClients()[program].statements.has(o.name):
			given = true
			text := strings.ToLower(o.value)
			if !o.static || strings.Contains(text, `\`) || program == "mysql" && slices.ContainsFunc([]string{"connect", "source", "system"}, func(word string) bool { return strings.Contains(text, word) }) {
				p.doubt(program+" runs commands of its own, which may reach another host", hostFacets...)
			}
		}
	}
	if !given || c.Fed {
		p.doubt(program+" reads statements that the line does not show", hostFacets...)
	}
	if !found {
		p.doubt(program+" reaches the host of its settings; write -h HOST", hostFacets...)
	}
	p.doubt("its scheme is not shown by a URL", condition.Scheme)
	p.doubt("its port may be in its settings", condition.Port)
}

func numberElement(n int) condition.Element {
	return condition.Element{Value: document.NumberValue(strconv.Itoa(n))}
}
