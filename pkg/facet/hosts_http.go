package facet

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/shell"
)

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
