package facet

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// hostFacets are the parts of URLs, the host first.
var hostFacets = []condition.Facet{
	condition.Host, condition.IP, condition.Port, condition.Scheme, condition.URLPath, condition.Method,
}

// withoutHosts are tools of clients that reach no host of the agent's choice.
var withoutHosts = wordSet(`read write edit multiedit notebookedit notebookread glob grep ls lsp delete applypatch createfile deletefile editfile
movefile readfile replaceinfile strreplacebasededittool strreplaceeditor viewimage writefile writetofile listdirectory readbackgroundoutput
listbackgroundprocesses listbash bashoutput killbash killshell taskstop websearch listagents listmcpresourcestool sql sessionstoresql
agent askuserquestion enterplanmode exitplanmode enterworktree exitworktree endconversation reportfindings task taskcreate taskget tasklist taskoutput
taskupdate todoread todowrite toolsearch waitformcpservers requestuserinput getgoal creategoal updategoal setgoal proposegoal updatetopic readagent writeagent`)

// hostFacet returns a facet of the URLs and hosts of a call (S21.12). Redirects and names of hosts are not followed.
func (f *Facts) hostFacet(name condition.Facet) condition.Set {
	if f.urls == nil {
		f.urls = f.hosts()
	}
	return f.urls.set(name)
}

// hosts returns the hosts that a call shows.
func (f *Facts) hosts() parts {
	p := parts{}
	d, described := f.described()
	switch {
	case f.runsLine():
		p = f.hostsOfLine()
	case described && (d.URLs != nil || d.Hosts != nil):
	case described:
		if why := f.silent(false, "which hosts it reaches"); why != "" {
			p.doubt(why, hostFacets...)
		}
	default:
		f.hostsOfTool(p)
	}
	if described {
		f.hostsDescribed(p, &d)
		if len(d.URLs)+len(d.Hosts) > 0 && len(p.of(condition.Host).values) == 0 {
			p.doubt("the call names none of the hosts that its description points to", hostFacets...)
		}
	}
	return p
}

// hostsOfTool notes the hosts of a tool of a client, and those that the arguments of any other tool show.
func (f *Facts) hostsOfTool(p parts) {
	var room [toolname.LongestFolded]byte
	known := toolname.Known(f.of.Tool)
	plain := string(toolname.Folded(&room, f.of.Tool))
	switch {
	case known && withoutHosts.has(plain):
		return
	case known && plain == "webfetch":
		f.texts(p, []string{"/url"}, hostFacets, p.url)
		if len(p.of(condition.Host).values) == 0 {
			p.doubt("it has no \"url\"", hostFacets...)
		}
		p.text(condition.Method, "GET")
		return
	case known:
		p.doubt("the hosts that it reaches are not known", hostFacets...)
	default:
		p.doubt(notDescribed, hostFacets...)
	}
	input, _ := f.Input()
	for name, v := range input.Members() {
		if v.Kind() == document.String && urlNames.has(strings.ToLower(name)) {
			p.url(v.Str())
		}
	}
}

// urlNames are arguments of tools that are not described, in which a URL is certain to be one.
var urlNames = wordSet(`url uri href link endpoint website`)

// hostsDescribed notes the hosts that the description of the tool points to.
func (f *Facts) hostsDescribed(p parts, d *Description) {
	urls := false
	f.texts(p, d.URLs, hostFacets, func(text string) { urls = true; p.url(text) })
	f.texts(p, d.Hosts, hostFacets, func(text string) {
		p.host(text)
		p.doubt("a host without a URL does not show it", condition.Port, condition.Scheme, condition.URLPath, condition.Method)
	})
	if d.Method == "" {
		if urls && !d.Closed {
			p.doubt("the description of the tool does not say the method", condition.Method)
		}
		return
	}
	v, why := f.valueOf(d.Method)
	switch {
	case why != "":
		p.doubt(why, condition.Method)
	case v.IsZero():
	case v.Kind() != document.String || v.Str() == "":
		p.doubt("the method must be a text", condition.Method)
	default:
		p.method(v.Str())
	}
}

// url notes the parts of a URL, and doubts them when programs read it differently.
func (p parts) url(text string) {
	u, ok, why := condition.ReadURL(text)
	if !ok {
		p.doubt(why, hostFacets...)
		return
	}
	p.authority(u)
	if u.Scheme != "ssh" && u.Scheme != "git" {
		p.route(u.Path)
	}
}

// authority notes the parts of a URL before its path.
func (p parts) authority(u condition.URL) {
	p.plainHost(u.Host)
	p.add(condition.Port, numberElement(u.Port))
	p.text(condition.Scheme, u.Scheme)
}

// route notes the path of a URL. One that a server may read as another path is in doubt.
func (p parts) route(path string) {
	p.text(condition.URLPath, path)
	odd := func(segment string) bool {
		plain, _, _ := strings.Cut(segment, ";")
		return plain == "." || plain == ".."
	}
	if strings.ContainsAny(path, "%\\") || strings.Contains(path, "//") || slices.ContainsFunc(strings.Split(path, "/"), odd) {
		p.doubt("the path of the URL can be read in more than one way; write it without %, // and ..", condition.URLPath)
	}
}

// host notes a host that is written without a URL.
func (p parts) host(text string) {
	if inner, bracketed := strings.CutPrefix(text, "["); bracketed && strings.HasSuffix(inner, "]") {
		text = strings.TrimSuffix(inner, "]")
	}
	host, ok := condition.ReadHost(text)
	if !ok {
		p.doubt("the host is not in its plain form", hostFacets...)
		return
	}
	p.plainHost(host)
}

func (p parts) plainHost(host string) {
	p.add(condition.Host, condition.HostElement(host))
	if e, ok := condition.AddressElement(host); ok {
		p.add(condition.IP, e)
	}
}

// method notes the method of a request. Some servers read small letters as capitals.
func (p parts) method(text string) {
	e := condition.Element{Value: stringValue(text)}
	if upper := strings.ToUpper(text); upper != text {
		e.Also = []document.Value{stringValue(upper)}
	}
	p.add(condition.Method, e)
}

// hostsOfLine notes the hosts that the commands of a line reach.
func (f *Facts) hostsOfLine() parts {
	p := f.overCommands(true, hostFacets, hostCommand)
	plan, err := f.plan()
	if err != nil || plan == nil {
		return p
	}
	if plan.Connects() {
		p.doubt("a redirection may reach a host", hostFacets...)
	}
	for _, name := range plan.Sets {
		p.variable(name)
	}
	for _, finding := range plan.Findings {
		switch finding.Kind {
		case shell.Opaque, shell.Stranger, shell.Variable:
			p.doubt("the command line "+finding.What+", so it does not show which hosts it reaches", hostFacets...)
		default:
		}
	}
	return p
}

// variable doubts the hosts where a variable is set that programs may read: in capitals, or of a proxy.
func (p parts) variable(name string) {
	if strings.ToLower(name) != name || strings.HasSuffix(name, "_proxy") {
		p.doubt("the line sets the variable "+name+", which may decide where requests go", hostFacets...)
	}
}
