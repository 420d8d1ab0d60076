package facet

import (
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/shell"
)

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
