package facet

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/shell"
)

// k8sFacets are the parts of a command of kubectl.
var k8sFacets = []condition.Facet{condition.K8sVerb, condition.K8sResource, condition.K8sNamespace, condition.K8sName, condition.K8sContext}

// k8sFacet returns a facet of Kubernetes: what the commands of the line reach.
func (f *Facts) k8sFacet(name condition.Facet) condition.Set {
	d, _ := f.described()
	all := f.overCommands(d.K8s != nil, k8sFacets, k8sCommand)
	f.partsDescribed(all, k8sFacets, d.K8s)
	return all.set(name)
}

var (
	k8sOptions = commandOptions{
		flags: wordSet(`-A --all-namespaces -w --watch --watch-only --all --force --now --wait -R --recursive --show-labels --show-kind --no-headers --ignore-not-found
-i --stdin -t --tty --rm --previous --timestamps --all-containers --prefix --follow -it -h --help --overwrite --local --dry-run --server-side
--insecure-skip-tls-verify --warnings-as-errors --match-server-version --disable-compression --ignore-daemonsets --delete-emptydir-data --client --list --quiet -q`),
		values: wordSet(`-n --namespace --context --cluster --kubeconfig -s --server --token --user --as --as-group --as-uid --as-user-extra --username --password
--certificate-authority --client-certificate --client-key --tls-server-name --request-timeout --cache-dir -v --v --profile --profile-output
-o --output -l --selector --field-selector -L --label-columns --sort-by -c --container --since --since-time --tail --limit-bytes --replicas --image --type
-p --patch --patch-file --grace-period --timeout --cascade --for --to-revision --revision --from-literal --from-file --from-env-file --port --target-port
--template --field-manager --subresource --chunk-size --max-log-requests --api-group --verbs --current-replicas --resource-version
-f --filename -k --kustomize --raw`),
	}
	// k8sTakesNoResource are verbs whose operands name no resource of a namespace.
	k8sTakesNoResource = wordSet(`api-resources api-versions version options completion help cluster-info explain config plugin kustomize`)
	// k8sOfPods are verbs whose operand is a pod unless it says TYPE/NAME.
	k8sOfPods = wordSet(`logs exec attach port-forward cp debug`)
	k8sVerbs  = wordSet(`get describe logs exec attach port-forward cp debug delete apply create replace patch edit scale autoscale annotate label set expose run rollout
drain cordon uncordon taint top auth certificate diff wait events proxy`)
)

// k8sCommand judges one command of a line.
func k8sCommand(p parts, _ *shell.Plan, c shell.Command) {
	arguments := c.Words[c.Assigns+1:]
	switch name := c.Program(); {
	case name == "kubectl", name == "oc", name == "kubecolor", name == "k3s" || name == "minikube" || name == "microk8s":
		if name == "kubectl" {
			kubectl(p, c, arguments)
			return
		}
		p.doubt(name+" is not judged", k8sFacets...)
	case name == "helm", name == "helmfile", name == "kustomize", name == "k9s", name == "flux", name == "argocd", name == "istioctl", strings.HasPrefix(name, "kubectl-"):
		p.doubt(name+" does not show which resources it changes", k8sFacets...)
	case name == "" && !c.Words[c.Assigns].Static:
		p.doubt("a command is known only when the line runs", k8sFacets...)
	}
}

// kubectl judges the words behind kubectl.
func kubectl(p parts, c shell.Command, arguments []shell.Word) {
	options, _ := k8sOptions.read(arguments, false)
	r := request{parts: p}
	for _, w := range c.Words[:c.Assigns] {
		if strings.HasPrefix(w.Text, "KUBE") {
			p.doubt("the line sets a variable of kubectl", condition.K8sContext, condition.K8sNamespace)
		}
	}
	for _, o := range options {
		r.option(o)
	}
	r.judge()
}

// request is one command of kubectl.
type request struct {
	parts      parts
	operands   []string
	namespaces []string
	contexts   []string
	all        bool // namespaces
	files      bool // resources come from files or an address
}

// option notes an option or operand.
func (r *request) option(o option) {
	p := r.parts
	switch {
	case !o.known && len(r.operands) == 0:
		p.doubt("kubectl has an option before its verb that is not known", k8sFacets...)
	case !o.known:
		p.doubt("kubectl has an option that is not known, or is known only when the line runs", k8sFacets[1:]...)
	case o.name == "" && !o.static:
		p.doubt("kubectl has a word that is known only when the line runs", k8sFacets...)
		r.operands = append(r.operands, "")
	case o.name == "":
		r.operands = append(r.operands, o.value)
	}
	switch o.name {
	case "-n", "--namespace":
		if !o.static || o.value == "" {
			p.doubt("the namespace is known only when the line runs", condition.K8sNamespace)
			return
		}
		r.namespaces = append(r.namespaces, o.value)
	case "-A", "--all-namespaces":
		r.all = true
	case "--context":
		if !o.static || o.value == "" {
			p.doubt("the context is known only when the line runs", condition.K8sContext)
		}
		r.contexts = append(r.contexts, o.value)
	case "--kubeconfig", "-s", "--server", "--cluster", "--token", "--user", "--username", "--client-certificate", "--certificate-authority", "--tls-server-name":
		p.doubt("kubectl "+o.name+" chooses the cluster or the account", condition.K8sContext, condition.K8sNamespace)
	case "--as", "--as-group", "--as-uid", "--as-user-extra":
		p.doubt("kubectl "+o.name+" acts as another account", condition.K8sContext)
	case "-f", "--filename", "-k", "--kustomize", "--raw":
		r.files = true
	}
}

// judge notes the values of the request.
func (r *request) judge() {
	p := r.parts
	if len(r.operands) == 0 {
		return
	}
	verb, rest := r.operands[0], r.operands[1:]
	if verb != "" {
		p.text(condition.K8sVerb, verb)
	}
	if k8sTakesNoResource.has(verb) {
		if verb == "config" || verb == "plugin" || verb == "kustomize" {
			p.doubt("kubectl "+verb+" changes what later commands reach", condition.K8sContext, condition.K8sNamespace)
		}
		return
	}
	if !k8sVerbs.has(verb) {
		p.doubt("kubectl "+verb+" may be a plugin", k8sFacets...)
	}
	if verb == "rollout" || verb == "set" || verb == "auth" || verb == "certificate" || verb == "top" {
		if len(rest) > 0 {
			rest = rest[1:]
		}
		if verb == "auth" || verb == "certificate" || verb == "set" || verb == "top" {
			p.doubt("kubectl "+verb+" names its resource in a way of its own", condition.K8sResource, condition.K8sName)
		}
	}
	r.where()
	if r.files {
		p.doubt("the resources are in a file or at an address that is not seen", condition.K8sResource, condition.K8sName, condition.K8sNamespace)
	}
	r.resources(verb, rest)
}

// where notes the namespace and the context.
func (r *request) where() {
	p := r.parts
	for _, name := range r.namespaces {
		p.text(condition.K8sNamespace, name)
	}
	switch {
	case r.all:
		p.doubt("kubectl reaches every namespace", condition.K8sNamespace)
	case len(r.namespaces) != 1:
		p.doubt("kubectl is not given one namespace; write -n NAMESPACE", condition.K8sNamespace)
	}
	for _, name := range r.contexts {
		p.text(condition.K8sContext, name)
	}
	if len(r.contexts) != 1 {
		p.doubt("kubectl is not given one context; write --context NAME", condition.K8sContext)
	}
}

// resources notes what the operands name.
func (r *request) resources(verb string, operands []string) {
	p := r.parts
	switch {
	case len(operands) == 0 && r.files:
	case len(operands) == 0:
		p.doubt("kubectl "+verb+" names no resource", condition.K8sResource, condition.K8sName)
	case k8sOfPods.has(verb):
		r.resource(operands[0], "pods")
		if verb == "cp" {
			p.doubt("kubectl cp names its pod in a path", condition.K8sResource, condition.K8sName, condition.K8sNamespace)
		}
	case verb == "drain" || verb == "cordon" || verb == "uncordon":
		for _, name := range operands {
			p.text(condition.K8sResource, "nodes/"+name)
			p.text(condition.K8sName, name)
		}
	case verb == "run":
		r.resource(operands[0], "pods")
	case verb == "events", verb == "proxy":
		p.doubt("kubectl "+verb+" reaches more than it names", k8sFacets[1:]...)
	case verb == "create" && (operands[0] == "secret" || operands[0] == "service" || operands[0] == "token") && len(operands) > 1:
		p.text(condition.K8sResource, folded(operands[0]))
		p.doubt("kubectl create names its resource in a way of its own", condition.K8sName)
	case strings.Contains(operands[0], "/"):
		for _, one := range operands {
			r.resource(one, "")
		}
	default:
		r.named(operands[0], operands[1:])
	}
}

// named notes types, in a list with commas, and the names behind them.
func (r *request) named(types string, names []string) {
	p := r.parts
	for kind := range strings.SplitSeq(types, ",") {
		kind = folded(kind)
		if kind == "" || kind == "all" {
			p.doubt("kubectl reaches resources of many types", condition.K8sResource)
			continue
		}
		if len(names) == 0 {
			p.text(condition.K8sResource, kind)
			p.doubt("kubectl reaches every "+kind, condition.K8sName)
		}
		for _, name := range names {
			if name == "" { // known only when the line runs
				p.text(condition.K8sResource, kind)
				continue
			}
			if isLabel(name) && slices.ContainsFunc(names, func(other string) bool { return !isLabel(other) }) {
				continue
			}
			if isLabel(name) || strings.Contains(name, "/") {
				p.text(condition.K8sResource, kind)
				if strings.Contains(name, "/") {
					p.doubt("kubectl mixes TYPE NAME and TYPE/NAME", condition.K8sResource, condition.K8sName)
				}
				continue
			}
			p.text(condition.K8sResource, kind+"/"+name)
			p.text(condition.K8sName, name)
		}
	}
}

// isLabel reports a word of kubectl label or annotate: NAME=VALUE, or NAME- to remove it.
func isLabel(word string) bool { return strings.Contains(word, "=") || strings.HasSuffix(word, "-") }

// resource notes TYPE/NAME, or a name of a resource of a type.
func (r *request) resource(text, kind string) {
	p := r.parts
	if before, name, ok := strings.Cut(text, "/"); ok {
		kind, text = folded(before), name
	}
	if kind == "" || text == "" || strings.ContainsAny(text, "/,") || strings.Contains(kind, ",") {
		p.doubt("kubectl names a resource in a way that is not known", condition.K8sResource, condition.K8sName)
		return
	}
	p.text(condition.K8sResource, kind+"/"+text)
	p.text(condition.K8sName, text)
}

// folded returns the plural of a type without its version and group.
func folded(kind string) string {
	kind = strings.ToLower(kind)
	base, _, _ := strings.Cut(kind, ".")
	if plural := condition.K8sPlural(base); plural != "" {
		return plural
	}
	return kind
}
