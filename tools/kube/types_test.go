package kube

import (
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// The part of the types of KEDA 2.21 and of the Prometheus operator 0.95 that the chart uses. Their own packages would
// bring hundreds of modules. A field that is not here is refused, so a new one must be compared with theirs.

type scaledJob struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		JobTargetRef               batch.JobSpec `json:"jobTargetRef"`
		PollingInterval            int32         `json:"pollingInterval"`
		SuccessfulJobsHistoryLimit int32         `json:"successfulJobsHistoryLimit"`
		FailedJobsHistoryLimit     int32         `json:"failedJobsHistoryLimit"`
		MinReplicaCount            int32         `json:"minReplicaCount"`
		MaxReplicaCount            int32         `json:"maxReplicaCount"`
		Rollout                    struct {
			Strategy string `json:"strategy"` // gradual, immediate
		} `json:"rollout"`
		ScalingStrategy struct {
			Strategy             string   `json:"strategy"` // default, custom, accurate, eager
			PendingPodConditions []string `json:"pendingPodConditions"`
		} `json:"scalingStrategy"`
		Triggers []struct {
			Type              string            `json:"type"`
			Metadata          map[string]string `json:"metadata"`
			AuthenticationRef struct {
				Name string `json:"name"`
			} `json:"authenticationRef"`
		} `json:"triggers"`
	} `json:"spec"`
}

type triggerAuthentication struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		SecretTargetRef []struct {
			Parameter string `json:"parameter"`
			Name      string `json:"name"`
			Key       string `json:"key"`
		} `json:"secretTargetRef"`
	} `json:"spec"`
}

type serviceMonitor struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		Selector  meta.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port          string `json:"port"`
			Interval      string `json:"interval"`
			Authorization *struct {
				Credentials core.SecretKeySelector `json:"credentials"`
			} `json:"authorization"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// The tests copy no objects; the decoder wants the method.
func (o *scaledJob) DeepCopyObject() runtime.Object             { return o }
func (o *triggerAuthentication) DeepCopyObject() runtime.Object { return o }
func (o *serviceMonitor) DeepCopyObject() runtime.Object        { return o }

func init() {
	keda := schema.GroupVersion{Group: "keda.sh", Version: "v1alpha1"}
	scheme.Scheme.AddKnownTypeWithName(keda.WithKind("ScaledJob"), &scaledJob{})
	scheme.Scheme.AddKnownTypeWithName(keda.WithKind("TriggerAuthentication"), &triggerAuthentication{})
	monitoring := schema.GroupVersion{Group: "monitoring.coreos.com", Version: "v1"}
	scheme.Scheme.AddKnownTypeWithName(monitoring.WithKind("ServiceMonitor"), &serviceMonitor{})
}
