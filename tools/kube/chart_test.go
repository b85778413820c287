package kube

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// TestChart renders the chart with each set of values, decodes every object strictly and checks what would fail in a
// cluster only when it runs.
func TestChart(t *testing.T) {
	for _, c := range chartCases {
		t.Run(c.name, func(t *testing.T) {
			o := rendered(t, c)
			if len(o.component("server")) != 1 || len(o.component("migration")) != 1 || len(o.component("worker")) == 0 {
				t.Fatalf("not every part has pods: %v", o.pods())
			}
			for _, p := range o.pods() {
				checkSecurity(t, p)
				checkReferences(t, o, p)
				checkProgram(t, o, p)
				checkLife(t, p)
			}
			for _, p := range o.component("worker") {
				checkWorker(t, o, p)
			}
			checkSelectors(t, o)
			checkPolicies(t, o)
			checkMonitors(t, o)
			checkIngress(t, o)
		})
	}
}

// checkSecurity: every container is restricted, and no pod has a token of the API or variables of services.
func checkSecurity(t *testing.T, p pod) {
	t.Helper()
	s := p.spec
	if s.AutomountServiceAccountToken == nil || *s.AutomountServiceAccountToken {
		t.Errorf("%s: has a token of the API", p.owner)
	}
	if s.EnableServiceLinks == nil || *s.EnableServiceLinks {
		t.Errorf("%s: has variables of services", p.owner)
	}
	if c := s.SecurityContext; c == nil || *c.RunAsUser != 65532 || *c.FSGroup != 65532 {
		t.Errorf("%s: does not run as the user of the images: %v", p.owner, c)
	}
	for _, c := range append(slices.Clone(s.InitContainers), s.Containers...) {
		x := c.SecurityContext
		if x == nil || x.RunAsNonRoot == nil || !*x.RunAsNonRoot || !*x.ReadOnlyRootFilesystem ||
			*x.AllowPrivilegeEscalation || x.Privileged != nil || len(x.Capabilities.Add) > 0 ||
			!slices.Equal(x.Capabilities.Drop, []core.Capability{"ALL"}) ||
			x.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: the container %s is not restricted: %v", p.owner, c.Name, x)
		}
		if !slices.ContainsFunc(c.VolumeMounts, func(m core.VolumeMount) bool { return m.MountPath == "/tmp" }) {
			t.Errorf("%s: the container %s cannot write to /tmp", p.owner, c.Name)
		}
	}
}

// checkReferences: whatever a pod names exists when it starts.
func checkReferences(t *testing.T, o *objects, p pod) {
	t.Helper()
	if n := p.spec.ServiceAccountName; n != "" && n != "default" && !o.exists(p, "ServiceAccount/"+n) {
		t.Errorf("%s: there is no service account %s", p.owner, n)
	}
	volumes := map[string]bool{}
	for _, v := range p.spec.Volumes {
		volumes[v.Name] = true
		if v.ConfigMap != nil && !o.exists(p, "ConfigMap/"+v.ConfigMap.Name) {
			t.Errorf("%s: there is no ConfigMap %s", p.owner, v.ConfigMap.Name)
		}
		if v.Secret != nil && !o.exists(p, "Secret/"+v.Secret.SecretName) {
			t.Errorf("%s: there is no Secret %s", p.owner, v.Secret.SecretName)
		}
		if c := v.PersistentVolumeClaim; c != nil && !o.exists(p, "PersistentVolumeClaim/"+c.ClaimName) {
			t.Errorf("%s: there is no claim %s", p.owner, c.ClaimName)
		}
	}
	for _, c := range p.spec.Containers {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s: there is no volume %s", p.owner, m.Name)
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				checkSecret(t, o, p, e.ValueFrom.SecretKeyRef)
			}
		}
	}
}

func checkSecret(t *testing.T, o *objects, p pod, ref *core.SecretKeySelector) {
	t.Helper()
	if !o.exists(p, "Secret/"+ref.Name) {
		t.Errorf("%s: there is no Secret %s", p.owner, ref.Name)
		return
	}
	s, _ := o.find("Secret/" + ref.Name).(*core.Secret)
	if s == nil || ref.Optional != nil && *ref.Optional {
		return
	}
	if s.StringData[ref.Key] == "" {
		t.Errorf("%s: the Secret %s has no %s", p.owner, ref.Name, ref.Key)
	}
}

var (
	// The flags of each command, a row for each setting, and the keys of a class.
	commandsDoc   = document("commands.md")
	settingsDoc   = document("configuration.md")
	operationsDoc = document("operations.md")
	settingRow    = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|[^|]*\\| `(PLEAT_[A-Z_]+)`")
)

func document(name string) string {
	text, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// checkProgram: the command, its flags, its variables and the keys of its file of settings are those of pleat.
func checkProgram(t *testing.T, o *objects, p pod) {
	t.Helper()
	keys, variables := map[string]bool{}, map[string]bool{"PLEAT_CONFIG": true}
	for _, m := range settingRow.FindAllStringSubmatch(settingsDoc, -1) {
		keys[m[1]], variables[m[2]] = true, true
	}
	for _, c := range p.spec.Containers {
		if err := checkArguments(c.Args); err != nil {
			t.Errorf("%s: %v", p.owner, err)
		}
		for _, e := range c.Env {
			if strings.HasPrefix(e.Name, "PLEAT_") && !variables[e.Name] {
				t.Errorf("%s: no setting has the variable %s", p.owner, e.Name)
			}
		}
		for _, name := range []string{"PLEAT_CONFIG", "PLEAT_CLASSES"} {
			path := variable(c, name)
			file, ok := o.config(t)[strings.TrimPrefix(path, "/etc/pleat/")]
			if path != "" && !ok {
				t.Errorf("%s: there is no file %s", p.owner, path)
			}
			if name != "PLEAT_CONFIG" || path == "" {
				continue
			}
			settings := map[string]any{}
			if err := yaml.UnmarshalStrict([]byte(file), &settings); err != nil {
				t.Errorf("%s: %s: %v", p.owner, path, err)
			}
			for key := range settings {
				if !keys[key] {
					t.Errorf("%s: %s has %s, which is no setting", p.owner, path, key)
				}
			}
			if p.labels["pleat/reaches"] == "server" {
				checkCaller(t, o, p, settings)
			} else if settings["migrate"] != false || settings["blobs"] == nil {
				t.Errorf("%s: %s migrates, or has no artifact store", p.owner, path)
			}
		}
	}
}

// checkCaller: a worker that calls a server has an address and a token, and no secret of the database, the bucket or the
// service.
func checkCaller(t *testing.T, o *objects, p pod, settings map[string]any) {
	t.Helper()
	for _, key := range []string{"blobs", "database", "database-direct", "secret-key-file"} {
		if settings[key] != nil {
			t.Errorf("%s: a worker that calls a server has the setting %s", p.owner, key)
		}
	}
	allowed := []string{"POD_NAME", "PLEAT_CONFIG", "PLEAT_ENGINES", "PLEAT_DATA", "PLEAT_METRICS_TOKEN",
		"PLEAT_CHAT_KEY", "PLEAT_NIM_KEY", "PLEAT_MSA_KEY"}
	c := p.spec.Containers[0]
	for _, e := range c.Env {
		if !slices.Contains(allowed, e.Name) {
			t.Errorf("%s: a worker that calls a server has the variable %s", p.owner, e.Name)
		}
	}
	at := slices.IndexFunc(p.spec.Volumes, func(v core.Volume) bool { return v.Secret != nil })
	if at < 0 {
		t.Errorf("%s: a worker that calls a server has no token", p.owner)
		return
	}
	volume := p.spec.Volumes[at]
	path := ""
	for _, m := range c.VolumeMounts {
		if m.Name == volume.Name {
			path = m.MountPath + "/" + volume.Secret.Items[0].Path
		}
	}
	if settings["token-file"] != path || volume.Secret.DefaultMode == nil || *volume.Secret.DefaultMode != 0o440 {
		t.Errorf("%s: the token is in %s, not in %v, or others may read it", p.owner, path, settings["token-file"])
	}
	u, err := url.Parse(fmt.Sprint(settings["server"]))
	service, _ := o.find("Service/" + strings.TrimSuffix(u.Hostname(), "."+namespace+".svc")).(*core.Service)
	inside := service != nil && fmt.Sprint(service.Spec.Ports[0].Port) == u.Port()
	if err != nil || !inside && u.Scheme != "https" || (u.Scheme == "http") != (settings["server-plaintext"] == true) {
		t.Errorf("%s: no server has the address %v: %v", p.owner, settings["server"], err)
	}
}

// checkArguments compares a command line with docs/commands.md.
func checkArguments(args []string) error {
	words := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") })
	if words < 0 {
		words = len(args)
	}
	section := ""
	for n := words; n > 0 && section == ""; n-- { // the last words are arguments
		_, section, _ = strings.Cut(commandsDoc, "\n## pleat "+strings.Join(args[:n], " ")+"\n")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	if section == "" {
		return fmt.Errorf("pleat has no command %v", args)
	}
	for _, a := range args[words:] {
		flag, _, _ := strings.Cut(a, "=")
		if !strings.Contains(section, " "+flag+" ") {
			return fmt.Errorf("pleat %s has no flag %s", strings.Join(args[:words], " "), flag)
		}
	}
	return nil
}

// checkLife: what runs on is probed, and everything has time to end.
func checkLife(t *testing.T, p pod) {
	t.Helper()
	if g := p.spec.TerminationGracePeriodSeconds; g == nil || *g < 120 {
		t.Errorf("%s: has less than two minutes to end", p.owner)
	}
	for _, c := range p.spec.Containers {
		if len(c.Ports) == 0 {
			if p.labels["app.kubernetes.io/component"] == "server" {
				t.Errorf("%s: the server has no port", p.owner)
			}
			continue
		}
		for want, probe := range map[string]*core.Probe{
			"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe, " /healthz": c.StartupProbe,
		} {
			if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != strings.TrimSpace(want) ||
				!hasPort(p, probe.HTTPGet.Port) {
				t.Errorf("%s: no probe asks for%s: %v", p.owner, want, probe)
			}
		}
	}
}

// hasPort reports whether a pod has a port, by name.
func hasPort(p pod, port intstr.IntOrString) bool {
	return slices.ContainsFunc(p.spec.Containers, func(c core.Container) bool {
		return slices.ContainsFunc(c.Ports, func(have core.ContainerPort) bool { return have.Name == port.StrVal })
	})
}

// checkWorker: a worker knows its name and its class, and ends by itself only where KEDA starts another.
func checkWorker(t *testing.T, o *objects, p pod) {
	t.Helper()
	c := p.spec.Containers[0]
	named := slices.ContainsFunc(c.Env, func(e core.EnvVar) bool {
		return e.Name == "POD_NAME" && e.ValueFrom != nil && e.ValueFrom.FieldRef.FieldPath == "metadata.name"
	})
	class := p.labels["pleat/class"]
	if !named || !slices.Contains(c.Args, "--class="+class) {
		t.Errorf("%s: the worker does not know its name or its class %s: %v", p.owner, class, c.Args)
	}
	var file struct {
		Classes []struct {
			Name    string
			Engines []string
		}
	}
	if err := yaml.Unmarshal([]byte(o.config(t)["classes.yaml"]), &file); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, entry := range file.Classes {
		found = found || entry.Name == class && strings.Join(entry.Engines, ",") == variable(c, "PLEAT_ENGINES")
	}
	if !found {
		t.Errorf("%s: the file of classes has no %s with the engines of the worker: %v", p.owner, class, file)
	}
	ends := slices.ContainsFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, "--idle-exit=") })
	_, scaled := o.find(p.owner).(*scaledJob)
	if ends != scaled || (p.spec.RestartPolicy == core.RestartPolicyNever) != scaled {
		t.Errorf("%s: with KEDA %v, the worker ends by itself %v, and is restarted: %s", p.owner, scaled, ends,
			p.spec.RestartPolicy)
	}
	if scaled {
		checkScaledJob(t, o, o.find(p.owner).(*scaledJob), class)
	}
}

// checkScaledJob: KEDA asks the server for the class, with a token, and never repeats or ends a worker.
func checkScaledJob(t *testing.T, o *objects, s *scaledJob, class string) {
	t.Helper()
	x := s.Spec
	if *x.JobTargetRef.BackoffLimit != 0 || x.Rollout.Strategy != "gradual" || x.ScalingStrategy.Strategy != "default" ||
		len(x.ScalingStrategy.PendingPodConditions) == 0 || x.MaxReplicaCount < max(1, x.MinReplicaCount) {
		t.Errorf("%s: %+v", s.Name, x)
	}
	queued := s.Labels["kueue.x-k8s.io/queue-name"] != ""
	if suspended := x.JobTargetRef.Suspend; queued != (suspended != nil && *suspended) {
		t.Errorf("%s: with a queue %v, the Job waits for Kueue: %v", s.Name, queued, suspended)
	}
	trigger := x.Triggers[0]
	want := map[string]string{
		"format":        "json",
		"valueLocation": "wanted",
		"targetValue":   "1",
		"authMode":      "bearer",
		"url":           trigger.Metadata["url"],
	}
	if trigger.Type != "metrics-api" || !maps.Equal(trigger.Metadata, want) {
		t.Errorf("%s: %+v", s.Name, trigger)
	}
	u, err := url.Parse(trigger.Metadata["url"])
	if err != nil || u.Path != "/fleet/v1/classes/"+class {
		t.Errorf("%s: %s: %v", s.Name, trigger.Metadata["url"], err)
		return
	}
	service, _ := o.find("Service/" + strings.TrimSuffix(u.Hostname(), "."+namespace+".svc")).(*core.Service)
	if service == nil || fmt.Sprint(service.Spec.Ports[0].Port) != u.Port() {
		t.Errorf("%s: no service has the address %s", s.Name, u)
	}
	login, _ := o.find("TriggerAuthentication/" + trigger.AuthenticationRef.Name).(*triggerAuthentication)
	if login == nil || login.Spec.SecretTargetRef[0].Parameter != "token" ||
		!o.exists(pod{}, "Secret/"+login.Spec.SecretTargetRef[0].Name) {
		t.Errorf("%s: there is no token: %v", s.Name, login)
	}
}

// checkSelectors: whatever selects pods selects those that it is meant for, and none of another part.
func checkSelectors(t *testing.T, o *objects) {
	t.Helper()
	one := func(what string, s *meta.LabelSelector) []pod {
		pods, err := o.selected(s)
		if err != nil || len(pods) == 0 {
			t.Errorf("%s selects no pods: %v", what, err)
		}
		return pods
	}
	for _, d := range ofType[*apps.Deployment](o) {
		if pods := one(name(d), d.Spec.Selector); len(pods) != 1 || pods[0].owner != name(d) {
			t.Errorf("%s selects %v", d.Name, pods)
		}
	}
	for _, b := range ofType[*policy.PodDisruptionBudget](o) {
		if pods := one(name(b), b.Spec.Selector); len(pods) != 1 || !strings.HasSuffix(pods[0].owner, "/"+b.Name) {
			t.Errorf("%s selects %v", b.Name, pods)
		}
	}
	for _, s := range ofType[*core.Service](o) {
		for _, p := range one(name(s), &meta.LabelSelector{MatchLabels: s.Spec.Selector}) {
			if !hasPort(p, s.Spec.Ports[0].TargetPort) {
				t.Errorf("%s selects %s, which has no port %v", s.Name, p.owner, s.Spec.Ports[0].TargetPort)
			}
		}
	}
}

// checkPolicies: every pod has a policy for both directions, and only the server is reachable without naming a peer.
func checkPolicies(t *testing.T, o *objects) {
	t.Helper()
	policies := ofType[*networking.NetworkPolicy](o)
	covered := map[string]bool{}
	for _, n := range policies {
		pods, err := o.selected(&n.Spec.PodSelector)
		if err != nil || len(pods) == 0 || len(n.Spec.PolicyTypes) != 2 || len(n.Spec.Egress) == 0 {
			t.Errorf("%s: %v, %+v", n.Name, err, n.Spec)
			continue
		}
		for _, p := range pods {
			covered[p.owner] = true
			for _, rule := range n.Spec.Ingress {
				if !hasPort(p, *rule.Ports[0].Port) || len(rule.From) == 0 && rule.Ports[0].Port.StrVal != "http" {
					t.Errorf("%s lets everybody reach %s, or a port that it does not have: %+v", n.Name, p.owner, rule)
				}
			}
		}
		for _, rule := range n.Spec.Egress {
			if len(rule.Ports) == 0 && len(rule.To) == 0 {
				t.Errorf("%s allows everything", n.Name)
			}
		}
	}
	for _, p := range o.pods() {
		if len(policies) > 0 && !covered[p.owner] {
			t.Errorf("%s has no policy", p.owner)
		}
	}
}

// checkMonitors: a ServiceMonitor finds a Service with its port, and its token.
func checkMonitors(t *testing.T, o *objects) {
	t.Helper()
	for _, m := range ofType[*serviceMonitor](o) {
		selector, err := meta.LabelSelectorAsSelector(&m.Spec.Selector)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, s := range ofType[*core.Service](o) {
			if selector.Matches(labels.Set(s.Labels)) && s.Spec.Ports[0].Name == m.Spec.Endpoints[0].Port {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s selects %d services", m.Name, found)
		}
		if a := m.Spec.Endpoints[0].Authorization; a != nil {
			checkSecret(t, o, pod{owner: name(m)}, &a.Credentials)
		}
	}
}

// checkIngress: the backend of an ingress exists, and its certificate.
func checkIngress(t *testing.T, o *objects) {
	t.Helper()
	for _, i := range ofType[*networking.Ingress](o) {
		backend := i.Spec.Rules[0].HTTP.Paths[0].Backend.Service
		s, _ := o.find("Service/" + backend.Name).(*core.Service)
		if s == nil || s.Spec.Ports[0].Name != backend.Port.Name {
			t.Errorf("%s: there is no service %s", i.Name, backend.Name)
		}
		if len(i.Spec.TLS) > 0 && !o.exists(pod{}, "Secret/"+i.Spec.TLS[0].SecretName) {
			t.Errorf("%s: there is no certificate", i.Name)
		}
	}
}

// Workers that call a server reach it, S3 and names alone, and the server lets them in. The others reach the database.
func TestWorkersWithTokens(t *testing.T) {
	i := slices.IndexFunc(chartCases, func(c chartCase) bool { return c.name == "tokens" })
	c := chartCases[i]
	o := rendered(t, c)
	server := o.component("server")[0]
	keys := map[string]string{"quick": "pleat-workers/quick", "gpu": "pleat-gpu/token", "near": ""}
	for _, p := range o.component("worker") {
		got := ""
		for _, v := range p.spec.Volumes {
			if v.Secret != nil {
				got = v.Secret.SecretName + "/" + v.Secret.Items[0].Key
			}
		}
		class := p.labels["pleat/class"]
		if got != keys[class] {
			t.Errorf("the workers of %s have the token %q, want %q", class, got, keys[class])
		}
		wants := []string{"53", "5432", "443"}
		if got != "" {
			wants = []string{"53", "8080 of the server", "443"}
		}
		if ports := reached(t, o, p, server); !slices.Equal(ports, wants) {
			t.Errorf("the workers of %s reach %v, want %v", class, ports, wants)
		}
		if enters(t, o, p, server) != (got != "") {
			t.Errorf("the server lets in the workers of %s", class)
		}
	}

	// Files of a folder pass through the server.
	values := loader.MergeMaps(c.values(t), map[string]any{"config": map[string]any{"blobs": "/shared"}})
	texts, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range decode(t, "networkpolicy.yaml", texts["pleat/templates/networkpolicy.yaml"]) {
		if n := x.(*networking.NetworkPolicy); n.Name == "pleat-caller" && len(n.Spec.Egress) != 2 {
			t.Errorf("without S3, a worker that calls a server reaches %v", n.Spec.Egress)
		}
	}
}

// reached lists the ports that the policies let a pod reach.
func reached(t *testing.T, o *objects, p, server pod) []string {
	t.Helper()
	var out []string
	for _, n := range policiesOf(t, o, p) {
		for _, rule := range n.Spec.Egress {
			port := rule.Ports[0].Port.String()
			if len(rule.To) > 0 && matches(t, rule.To[0].PodSelector, server) {
				port += " of the server"
			}
			out = append(out, port)
		}
	}
	return out
}

// enters reports whether the policies of the server let a pod in.
func enters(t *testing.T, o *objects, p, server pod) bool {
	t.Helper()
	for _, n := range policiesOf(t, o, server) {
		for _, rule := range n.Spec.Ingress {
			for _, peer := range rule.From {
				if matches(t, peer.PodSelector, p) {
					return true
				}
			}
		}
	}
	return false
}

func policiesOf(t *testing.T, o *objects, p pod) []*networking.NetworkPolicy {
	t.Helper()
	return slices.DeleteFunc(ofType[*networking.NetworkPolicy](o), func(n *networking.NetworkPolicy) bool {
		return !matches(t, &n.Spec.PodSelector, p)
	})
}

func matches(t *testing.T, s *meta.LabelSelector, p pod) bool {
	t.Helper()
	selector, err := meta.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(p.labels)
}

// The machine of a class becomes the resources of its pods.
func TestWorkerResources(t *testing.T) {
	i := slices.IndexFunc(chartCases, func(c chartCase) bool { return c.name == "gpu" })
	p := rendered(t, chartCases[i]).component("worker")[0]
	r := p.spec.Containers[0].Resources
	gpus, memory, cores := r.Limits["nvidia.com/gpu"], r.Limits["memory"], r.Requests["cpu"]
	if gpus.Value() != 1 || memory.Value() != 64e9 || cores.Value() != 8 {
		t.Errorf("the worker gets %v", r)
	}
	if len(p.spec.Tolerations) != 1 || len(p.spec.NodeSelector) != 1 || *p.spec.RuntimeClassName != "nvidia" {
		t.Errorf("the worker does not reach its nodes: %+v", p.spec)
	}
}

// A class in the values has the keys of the file of classes, but for those that say how its workers start and end.
func TestClassKeys(t *testing.T) {
	var schema struct {
		Defs struct {
			Class struct{ Properties map[string]any }
		} `json:"$defs"`
	}
	text, err := os.ReadFile(chartDir + "/values.schema.json")
	if err == nil {
		err = yaml.Unmarshal(text, &schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(operationsDoc, "\n## Worker classes\n")
	table, _, _ = strings.Cut(table, "\n### ")
	var want []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(table, -1) {
		for _, key := range strings.Split(row[1], ", ") {
			if key = strings.Trim(key, "`"); !slices.Contains([]string{"driver", "options", "idle-exit"}, key) {
				want = append(want, key)
			}
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(schema.Defs.Class.Properties)); !slices.Equal(got, want) {
		t.Errorf("a class has %v in the values and %v in docs/operations.md", got, want)
	}
}

// Every value is in the table of the chart's README, and the table names no other.
func TestReadme(t *testing.T) {
	values := map[string]any{}
	text, err := os.ReadFile(chartDir + "/values.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &values)
	}
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(chartDir + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(readme), "\n## Values\n")
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(table, -1) {
		for _, value := range strings.Split(row[1], ", ") {
			got = append(got, strings.Trim(value, "`"))
		}
	}
	want := append(leaves("", values), "config") // which has any setting
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the table has %v, the values are %v", got, want)
	}
}

// leaves lists the paths of values that are no maps, or empty ones. Resources are one value.
func leaves(path string, value any) []string {
	m, ok := value.(map[string]any)
	if !ok || len(m) == 0 || strings.HasSuffix(path, ".resources") {
		return []string{strings.TrimPrefix(path, ".")}
	}
	var out []string
	for key, below := range m {
		out = append(out, leaves(path+"."+key, below)...)
	}
	return out
}
