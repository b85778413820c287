package kube

import (
	"fmt"
	"slices"
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// objects are what the chart renders of one set of values.
type objects struct {
	all     []runtime.Object
	outside []string // KIND/NAME of what the cluster has already
}

// pod is the template of the pods of an object.
type pod struct {
	owner  string // KIND/NAME
	hook   bool   // runs before the objects of the chart exist
	labels labels.Set
	spec   core.PodSpec
}

func (o *objects) pods() []pod {
	var out []pod
	for _, x := range o.all {
		var template core.PodTemplateSpec
		switch x := x.(type) {
		case *apps.Deployment:
			template = x.Spec.Template
		case *batch.Job:
			template = x.Spec.Template
		case *scaledJob:
			template = x.Spec.JobTargetRef.Template
		default:
			continue
		}
		out = append(out, pod{name(x), isHook(x), template.Labels, template.Spec})
	}
	return out
}

// component returns the pods of a part of Pleat: server, worker, weights, migration.
func (o *objects) component(name string) []pod {
	return slices.DeleteFunc(o.pods(), func(p pod) bool { return p.labels["app.kubernetes.io/component"] != name })
}

// name returns KIND/NAME.
func name(o runtime.Object) string {
	return o.GetObjectKind().GroupVersionKind().Kind + "/" + o.(meta.Object).GetName()
}

func isHook(o runtime.Object) bool { return o.(meta.Object).GetAnnotations()["helm.sh/hook"] != "" }

// find returns the object KIND/NAME; nil: the chart does not make it.
func (o *objects) find(what string) runtime.Object {
	i := slices.IndexFunc(o.all, func(x runtime.Object) bool { return name(x) == what })
	if i < 0 {
		return nil
	}
	return o.all[i]
}

// exists reports whether a pod finds the object KIND/NAME. A pod of a hook finds only objects of hooks.
func (o *objects) exists(p pod, what string) bool {
	x := o.find(what)
	return slices.Contains(o.outside, what) || x != nil && (!p.hook || isHook(x))
}

// ofType returns the objects of a type.
func ofType[T runtime.Object](o *objects) []T {
	var out []T
	for _, x := range o.all {
		if x, ok := x.(T); ok {
			out = append(out, x)
		}
	}
	return out
}

// deployment returns that of a component.
func (o *objects) deployment(t *testing.T, component string) *apps.Deployment {
	t.Helper()
	for _, d := range ofType[*apps.Deployment](o) {
		if d.Labels["app.kubernetes.io/component"] == component {
			return d
		}
	}
	t.Fatalf("there is no Deployment of a %s", component)
	return nil
}

// config returns the files of settings.
func (o *objects) config(t *testing.T) map[string]string {
	t.Helper()
	maps := ofType[*core.ConfigMap](o)
	if len(maps) != 1 {
		t.Fatalf("there are %d ConfigMaps", len(maps))
	}
	return maps[0].Data
}

// variable returns an environment variable of a container; empty: it has none.
func variable(c core.Container, name string) string {
	for _, e := range c.Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// selected returns the pods that a selector matches.
func (o *objects) selected(s *meta.LabelSelector) ([]pod, error) {
	selector, err := meta.LabelSelectorAsSelector(s)
	if err != nil {
		return nil, err
	}
	if selector.Empty() {
		return nil, fmt.Errorf("the selector is empty and matches everything")
	}
	return slices.DeleteFunc(o.pods(), func(p pod) bool { return !selector.Matches(p.labels) }), nil
}
