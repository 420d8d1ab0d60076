package chart

import (
	"bufio"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	sigsyaml "sigs.k8s.io/yaml"
)

// objects are what the chart renders, by type.
type objects struct {
	t *testing.T

	deployments  map[string]*appsv1.Deployment
	statefulSets map[string]*appsv1.StatefulSet
	jobs         map[string]*batchv1.Job
	pods         map[string]*corev1.Pod
	services     map[string]*corev1.Service
	secrets      map[string]*corev1.Secret
	configMaps   map[string]*corev1.ConfigMap
	accounts     map[string]*corev1.ServiceAccount
	budgets      map[string]*policyv1.PodDisruptionBudget
	scalers      map[string]*autoscalingv2.HorizontalPodAutoscaler
	policies     map[string]*networkingv1.NetworkPolicy
	ingresses    map[string]*networkingv1.Ingress
	roles        map[string]*rbacv1.Role
	bindings     map[string]*rbacv1.RoleBinding
	// others are objects of extensions, which no type here knows.
	others map[string]string
}

// take decodes strictly: a field that Kubernetes does not know is an error.
func take[T any](o *objects, into *map[string]*T, name string, document []byte) {
	o.t.Helper()
	object := new(T)
	if err := sigsyaml.UnmarshalStrict(document, object); err != nil {
		o.t.Errorf("%s: %v", name, err)
	}
	if *into == nil {
		*into = map[string]*T{}
	}
	if _, twice := (*into)[name]; twice {
		o.t.Errorf("two objects %T %s", object, name)
	}
	(*into)[name] = object
}

func decode(t *testing.T, manifests map[string]string) *objects {
	t.Helper()
	o := &objects{t: t, others: map[string]string{}}
	for template, text := range manifests {
		if strings.HasSuffix(template, "NOTES.txt") {
			continue
		}
		reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
		for {
			document, err := reader.Read()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", template, err)
			}
			o.add(template, document)
		}
	}
	return o
}

func (o *objects) add(template string, document []byte) {
	o.t.Helper()
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ObjectMeta `json:"metadata"`
	}
	if err := sigsyaml.Unmarshal(document, &head); err != nil {
		o.t.Fatalf("%s: %v\n%s", template, err, document)
	}
	if head.Kind == "" {
		return // only comments
	}
	name := head.Metadata.Name
	if name == "" || len(name) > 63 {
		o.t.Errorf("%s: %s has the name %q", template, head.Kind, name)
	}
	for _, label := range []string{"app.kubernetes.io/name", "app.kubernetes.io/instance", "helm.sh/chart"} {
		if head.Metadata.Labels[label] == "" && !strings.Contains(template, "extra") {
			o.t.Errorf("%s %s has no label %s", head.Kind, name, label)
		}
	}
	switch head.APIVersion + " " + head.Kind {
	case "apps/v1 Deployment":
		take(o, &o.deployments, name, document)
	case "apps/v1 StatefulSet":
		take(o, &o.statefulSets, name, document)
	case "batch/v1 Job":
		take(o, &o.jobs, name, document)
	case "v1 Pod":
		take(o, &o.pods, name, document)
	case "v1 Service":
		take(o, &o.services, name, document)
	case "v1 Secret":
		take(o, &o.secrets, name, document)
	case "v1 ConfigMap":
		take(o, &o.configMaps, name, document)
	case "v1 ServiceAccount":
		take(o, &o.accounts, name, document)
	case "policy/v1 PodDisruptionBudget":
		take(o, &o.budgets, name, document)
	case "autoscaling/v2 HorizontalPodAutoscaler":
		take(o, &o.scalers, name, document)
	case "networking.k8s.io/v1 NetworkPolicy":
		take(o, &o.policies, name, document)
	case "networking.k8s.io/v1 Ingress":
		take(o, &o.ingresses, name, document)
	case "rbac.authorization.k8s.io/v1 Role":
		take(o, &o.roles, name, document)
	case "rbac.authorization.k8s.io/v1 RoleBinding":
		take(o, &o.bindings, name, document)
	default:
		o.others[head.Kind+" "+name] = head.APIVersion
	}
}

// template is one pod template, by what it belongs to.
type template struct {
	name string
	meta metav1.ObjectMeta
	spec corev1.PodSpec
	// claims are the names of volumes that a StatefulSet makes.
	claims []string
}

func (o *objects) templates() []template {
	var all []template
	for name, d := range o.deployments {
		all = append(all, template{name, d.Spec.Template.ObjectMeta, d.Spec.Template.Spec, nil})
	}
	for name, s := range o.statefulSets {
		t := template{name: name, meta: s.Spec.Template.ObjectMeta, spec: s.Spec.Template.Spec}
		for _, claim := range s.Spec.VolumeClaimTemplates {
			t.claims = append(t.claims, claim.Name)
		}
		all = append(all, t)
	}
	for name, j := range o.jobs {
		all = append(all, template{name, j.Spec.Template.ObjectMeta, j.Spec.Template.Spec, nil})
	}
	for name, p := range o.pods {
		all = append(all, template{name, p.ObjectMeta, p.Spec, nil})
	}
	return all
}

// each renders all values that must work.
func each(t *testing.T, check func(t *testing.T, name string, o *objects)) {
	t.Helper()
	for name, values := range matrix(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			manifests, err := render(t, values)
			if err != nil {
				t.Fatal(err)
			}
			check(t, name, decode(t, manifests))
		})
	}
}

// Every pod fits Pod Security "restricted", and asks for no more than it needs.
func TestPodSecurity(t *testing.T) {
	t.Parallel()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	each(t, func(t *testing.T, _ string, o *objects) {
		for _, p := range o.templates() {
			result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &p.meta, &p.spec))
			if !result.Allowed {
				t.Errorf("%s: %s", p.name, result.ForbiddenDetail())
			}
			if mount := p.spec.AutomountServiceAccountToken; mount == nil || *mount && !strings.HasSuffix(p.name, "bootstrap") {
				t.Errorf("%s: the token of the service account is mounted", p.name)
			}
			for _, c := range p.spec.Containers {
				if read := c.SecurityContext.ReadOnlyRootFilesystem; read == nil || !*read {
					t.Errorf("%s: %s can write its root", p.name, c.Name)
				}
				if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
					t.Errorf("%s: %s has no limit of memory, or no request of CPU", p.name, c.Name)
				}
			}
		}
	})
}

// Everything that is referred to is there: accounts, Secrets, volumes, ports, pods.
func TestReferences(t *testing.T) {
	t.Parallel()
	// Secrets that values name, and what others make.
	given := map[string]bool{
		"given-tokens": true, "given-redis": true, "given-redis-tls": true, "given-nats": true, "given-nats-tls": true,
		"given-oidc": true, "given-console": true, "given-webhook": true, "given-notify": true, "given-person": true, "given-receipt": true, "given-gateway": true, "il-interlock-tokens": true, // which the Job makes
		"given-engine": true, "given-policy": true, "given-state": true, "given-approval": true,
	}
	each(t, func(t *testing.T, name string, o *objects) {
		for kind := range o.others {
			if certificate, found := strings.CutPrefix(kind, "Certificate "); found {
				given[certificate+"-tls"] = true
			}
		}
		for _, p := range o.templates() {
			if account := p.spec.ServiceAccountName; account != "" && o.accounts[account] == nil && account != "given-account" {
				t.Errorf("%s: no service account %s", p.name, account)
			}
			volumes := map[string]bool{}
			for _, v := range p.spec.Volumes {
				volumes[v.Name] = true
				if s := v.Secret; s != nil && o.secrets[s.SecretName] == nil && !given[s.SecretName] {
					t.Errorf("%s: no Secret %s", p.name, s.SecretName)
				}
				if s := v.Secret; s != nil && s.DefaultMode != nil && *s.DefaultMode != 0o440 {
					t.Errorf("%s: Secret %s has mode %o, which Interlock refuses", p.name, s.SecretName, *s.DefaultMode)
				}
			}
			for _, claim := range p.claims {
				volumes[claim] = true
			}
			for _, c := range p.spec.Containers {
				used := map[string]bool{}
				for _, m := range c.VolumeMounts {
					used[m.Name] = true
					if !volumes[m.Name] {
						t.Errorf("%s: no volume %s", p.name, m.Name)
					}
				}
				for volume := range volumes {
					if !used[volume] {
						t.Errorf("%s: nobody mounts the volume %s", p.name, volume)
					}
				}
				for _, arg := range c.Args {
					if _, path, found := strings.Cut(arg, "=/etc/interlock/"); found {
						if folder, _, _ := strings.Cut(path, "/"); !used[folder] {
							t.Errorf("%s: %s, and nothing is mounted there", p.name, arg)
						}
					}
				}
				for _, probe := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
					if probe == nil {
						continue
					}
					port := intstr.IntOrString{}
					if probe.HTTPGet != nil {
						port = probe.HTTPGet.Port
					} else {
						port = probe.TCPSocket.Port
					}
					if !hasPort(c, port) {
						t.Errorf("%s: no port %s, which a probe asks", p.name, port.String())
					}
				}
			}
		}
		for service, s := range o.services {
			pod := o.podsOf(s.Spec.Selector)
			if len(pod) != 1 {
				t.Errorf("service %s selects %d pod templates", service, len(pod))
				continue
			}
			for _, port := range s.Spec.Ports {
				if !hasPort(pod[0].spec.Containers[0], port.TargetPort) {
					t.Errorf("service %s: its pods have no port %s", service, port.TargetPort.String())
				}
			}
		}
		for name, b := range o.budgets {
			if len(o.podsOf(b.Spec.Selector.MatchLabels)) != 1 {
				t.Errorf("PodDisruptionBudget %s: not one kind of pods", name)
			}
		}
		for name, s := range o.scalers {
			d := o.deployments[s.Spec.ScaleTargetRef.Name]
			if d == nil || d.Spec.Replicas != nil {
				t.Errorf("HorizontalPodAutoscaler %s: no such Deployment, or one with a number of replicas", name)
			}
		}
		for name, d := range o.deployments {
			if !selects(d.Spec.Selector.MatchLabels, d.Spec.Template.Labels) {
				t.Errorf("Deployment %s does not select its own pods", name)
			}
		}
		for name, b := range o.bindings {
			if o.roles[b.RoleRef.Name] == nil || o.accounts[b.Subjects[0].Name] == nil {
				t.Errorf("RoleBinding %s refers to nothing", name)
			}
		}
		for name, i := range o.ingresses {
			for _, rule := range i.Spec.Rules {
				backend := rule.HTTP.Paths[0].Backend.Service
				s := o.services[backend.Name]
				if s == nil || !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == backend.Port.Name }) {
					t.Errorf("Ingress %s: no port %s of service %s", name, backend.Port.Name, backend.Name)
				}
			}
		}
	})
}

func hasPort(c corev1.Container, port intstr.IntOrString) bool {
	return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool {
		return port.Type == intstr.String && p.Name == port.StrVal || port.Type == intstr.Int && p.ContainerPort == port.IntVal
	})
}

func selects(selector, of map[string]string) bool {
	return labels.SelectorFromSet(selector).Matches(labels.Set(of))
}

func (o *objects) podsOf(selector map[string]string) []template {
	var found []template
	for _, p := range o.templates() {
		if selects(selector, p.meta.Labels) {
			found = append(found, p)
		}
	}
	return found
}

// graph is who calls whom: docs/architecture.md. The services' flags and the policies of
// the network must both be exactly this.
var graph = map[string][]string{
	"engine":          {"approval", "state-store", "redis", "nats"},
	"policy-enforcer": {"engine", "approval", "state-store", "redis", "nats"},
	"state-store":     {"redis", "nats"},
	"approval":        {"engine", "redis", "nats"},
	"gateway":         {"engine", "policy-enforcer", "state-store", "approval", "nats"},
}

// What the flags make services call, and what NetworkPolicies let through in both directions,
// is the call graph.
func TestNetworkPoliciesAreTheCallGraph(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, name string, o *objects) {
		if len(o.deployments) == 0 || len(o.policies) == 0 {
			return
		}
		byFlags, byEgress, byIngress := edges{}, edges{}, edges{}
		for _, d := range o.deployments {
			byFlags.add(component(d.Spec.Template.Labels), called(d.Spec.Template.Spec.Containers[0].Args)...)
		}
		for policy, p := range o.policies {
			self := component(p.Spec.PodSelector.MatchLabels)
			if len(o.podsOf(p.Spec.PodSelector.MatchLabels)) != 1 {
				t.Errorf("NetworkPolicy %s selects no pods, or several kinds", policy)
			}
			if !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) || !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
				t.Errorf("NetworkPolicy %s does not hold in both directions", policy)
			}
			for _, rule := range p.Spec.Egress {
				byEgress.add(self, peers(t, rule.To, rule.Ports)...)
			}
			for _, rule := range p.Spec.Ingress {
				for _, caller := range callers(rule.From) {
					byIngress.add(caller, renamed(self))
				}
			}
		}
		for from, to := range graph {
			want := slices.Sorted(slices.Values(to))
			if got := byFlags.of(from); !slices.Equal(got, want) {
				t.Errorf("the flags make %s call %v, not %v", from, got, want)
			}
			if got := byEgress.of(from); !slices.Equal(got, want) {
				t.Errorf("%s may call %v, not %v", from, got, want)
			}
			inside := slices.DeleteFunc(slices.Clone(want), func(to string) bool {
				return to == "redis" && o.statefulSets["il-interlock-valkey"] == nil || to == "nats" && o.statefulSets["il-interlock-nats"] == nil
			})
			if got := byIngress.of(from); !slices.Equal(got, inside) {
				t.Errorf("%s is let in by %v, not %v", from, got, inside)
			}
		}
	})
}

type edges map[string]map[string]bool

func (e edges) add(from string, to ...string) {
	if e[from] == nil {
		e[from] = map[string]bool{}
	}
	for _, other := range to {
		e[from][other] = true
	}
}

func (e edges) of(from string) []string { return slices.Sorted(maps.Keys(e[from])) }

func component(of map[string]string) string { return of["app.kubernetes.io/component"] }

func renamed(component string) string { return strings.Replace(component, "valkey", "redis", 1) }

// called reads the flags.
func called(args []string) (names []string) {
	flags := map[string]string{
		"--engine": "engine", "--policy": "policy-enforcer", "--state": "state-store", "--approval": "approval",
		"--store": "redis", "--nats-url": "nats",
	}
	for _, arg := range args {
		flag, _, _ := strings.Cut(arg, "=")
		if name, found := flags[flag]; found {
			names = append(names, name)
		}
	}
	return names
}

func peers(t *testing.T, to []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) (names []string) {
	t.Helper()
	if len(ports) == 0 {
		t.Error("a rule has no ports")
	}
	for _, p := range to {
		if p.PodSelector != nil {
			names = append(names, renamed(component(p.PodSelector.MatchLabels)))
		}
	}
	for _, p := range ports {
		// What is outside of the release is known by its port. 53 is for names.
		switch {
		case len(names) > 0:
		case slices.Contains([]string{"6379", "6380", "26379"}, p.Port.String()):
			return []string{"redis"}
		case slices.Contains([]string{"4222", "4223"}, p.Port.String()):
			return []string{"nats"}
		case p.Port.String() == "53", p.Port.String() == "443":
		default:
			t.Errorf("a rule allows port %s to anyone", p.Port.String())
		}
	}
	return names
}

func callers(from []networkingv1.NetworkPolicyPeer) (names []string) {
	for _, p := range from {
		if p.PodSelector != nil && p.NamespaceSelector == nil {
			names = append(names, component(p.PodSelector.MatchLabels))
		}
	}
	return names
}

// Rolling out never takes the last replica away, and a pod has more time to end than it needs.
func TestAvailability(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, name string, o *objects) {
		for name, d := range o.deployments {
			if u := d.Spec.Strategy.RollingUpdate; u == nil || u.MaxUnavailable.String() != "0" {
				t.Errorf("%s: a rollout may leave fewer replicas", name)
			}
			spec := d.Spec.Template.Spec
			if sleep := spec.Containers[0].Lifecycle.PreStop.Sleep.Seconds; *spec.TerminationGracePeriodSeconds < sleep+30 {
				t.Errorf("%s: %d s to end, of which %d s are spent waiting", name, *spec.TerminationGracePeriodSeconds, sleep)
			}
			if d.Spec.Replicas != nil && *d.Spec.Replicas > 1 && o.budgets[name] == nil {
				t.Errorf("%s: no PodDisruptionBudget", name)
			}
			if len(spec.TopologySpreadConstraints) == 0 {
				t.Errorf("%s: its replicas may share a node", name)
			}
		}
		for name, s := range o.services {
			if s.Spec.ClusterIP != "None" && !strings.HasSuffix(name, "gateway") {
				t.Errorf("service %s has a cluster IP, which pins HTTP/2 to one pod", name)
			}
		}
	})
}

// ruleFlags are the flags by which a deployment says what agents and people may do, and the service that has each.
var ruleFlags = map[string]string{
	"--require-sessions": "engine", "--log-attributes": "policy-enforcer", "--breakglass-four-eyes": "policy-enforcer",
	"--webhook-secret-file": "approval", "--relay": "approval", "--relay-max-danger": "approval",
	"--receipt-key": "gateway", "--authzen-human-type": "gateway", "--ext-authz": "gateway",
}

// Flags about agents and people are those of the service that takes them, and of the one pod; so are the receivers of
// messages about approvals.
func TestRulesAreOfTheirServices(t *testing.T) {
	t.Parallel()
	values := matrix(t)
	for name, pods := range map[string]int{"production": 5, "all-in-one-full": 1} {
		manifests, err := render(t, values[name])
		if err != nil {
			t.Fatal(err)
		}
		all := slices.DeleteFunc(decode(t, manifests).templates(), func(p template) bool {
			service := component(p.meta.Labels)
			return graph[service] == nil && service != "all-in-one"
		})
		if len(all) != pods {
			t.Fatalf("%s has %d pods", name, len(all))
		}
		for _, p := range all {
			service, c := component(p.meta.Labels), p.spec.Containers[0]
			for flag, owner := range ruleFlags {
				has := slices.ContainsFunc(c.Args, func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") })
				if want := service == owner || service == "all-in-one"; has != want {
					t.Errorf("%s: %s has %s: %v, want %v", name, service, flag, has, want)
				}
			}
			for _, variable := range []string{"INTERLOCK_WEBHOOKS", "INTERLOCK_NOTIFY"} {
				has := slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == variable })
				if want := service == "approval" || service == "all-in-one"; has != want {
					t.Errorf("%s: %s has %s: %v, want %v", name, service, variable, has, want)
				}
			}
		}
	}
}
