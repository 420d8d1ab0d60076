package condition

import (
	"strings"
	"sync"
)

// k8sKinds are resources by their other names.
var k8sKinds = sync.OnceValue(func() map[string]string {
	kinds := map[string]string{}
	for line := range strings.Lines(`pods pod po
services service svc
secrets secret
configmaps configmap cm
deployments deployment deploy
replicasets replicaset rs
replicationcontrollers replicationcontroller rc
statefulsets statefulset sts
daemonsets daemonset ds
jobs job
cronjobs cronjob cj
namespaces namespace ns
nodes node no
ingresses ingress ing
ingressclasses ingressclass
networkpolicies networkpolicy netpol
persistentvolumes persistentvolume pv
persistentvolumeclaims persistentvolumeclaim pvc
serviceaccounts serviceaccount sa
endpoints endpoint ep
endpointslices endpointslice
events event ev
horizontalpodautoscalers horizontalpodautoscaler hpa
poddisruptionbudgets poddisruptionbudget pdb
resourcequotas resourcequota quota
limitranges limitrange limits
roles role
rolebindings rolebinding
clusterroles clusterrole
clusterrolebindings clusterrolebinding
customresourcedefinitions customresourcedefinition crd crds
certificatesigningrequests certificatesigningrequest csr
storageclasses storageclass sc
priorityclasses priorityclass pc
volumeattachments volumeattachment
leases lease
componentstatuses componentstatus cs
`) {
		names := strings.Fields(line)
		for _, name := range names {
			kinds[name] = names[0]
		}
	}
	return kinds
})

// K8sPlural returns the name by which the facet k8s.resource has a type of resources, which is given by any of its names;
// it is empty for a type that is not known.
func K8sPlural(kind string) string { return k8sKinds()[kind] }

// resourcePattern matches resources: KIND, which is all of the kind, and KIND/NAME.
type resourcePattern struct{ textPattern }

// match compares the whole text. For a restriction, a pattern without a name also has those with one, and a kind may
// be the resource of the pattern.
func (p resourcePattern) match(text string, stance Stance) Truth {
	if t := p.textPattern.match(text, stance); t == True || stance.allows() {
		return t
	}
	wanted, _, one := strings.Cut(p.text, "/")
	kind, _, named := strings.Cut(text, "/")
	return Of(one != named && like(wanted, kind))
}

// kinds returns a pattern of the kinds that a pattern has.
func (p resourcePattern) kinds() string {
	kind, _, _ := strings.Cut(p.text, "/")
	if i := strings.IndexAny(kind, "*?"); i >= 0 {
		kind = kind[:i] + "*"
	}
	return kind
}

// k8sWritten returns how k8s.resource writes a pattern of resources: secrets/db for Secret/db.
func k8sWritten(pattern string) string {
	kind, name, named := strings.Cut(pattern, "/")
	base, _, _ := strings.Cut(strings.ToLower(kind), ".")
	written := K8sPlural(base)
	switch {
	case written == "" && strings.ContainsAny(kind, "*?"):
		return pattern
	case written == "":
		written = strings.ToLower(kind)
	}
	if named {
		written += "/" + name
	}
	return written
}
