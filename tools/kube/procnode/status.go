package main

import (
	"context"
	"log"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// report sets the status of a pod, and keeps the conditions of others, such as the scheduler's.
func (p *pod) report(ctx context.Context, status core.PodStatus) {
	pods := p.node.api.CoreV1().Pods(p.object.Namespace)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now, err := pods.Get(ctx, p.object.Name, meta.GetOptions{})
		if err != nil {
			return err
		}
		next := status
		for _, c := range now.Status.Conditions {
			if c.Type != core.PodReady && c.Type != core.ContainersReady {
				next.Conditions = append(next.Conditions, c)
			}
		}
		now.Status = next
		_, err = pods.UpdateStatus(ctx, now, meta.UpdateOptions{})
		return err
	})
	if err != nil && ctx.Err() == nil {
		log.Printf("%s: %v", p.object.Name, err)
	}
}

func waiting(p *core.Pod, message string) core.PodStatus {
	return status(p, core.PodPending, core.ContainerStatus{State: core.ContainerState{
		Waiting: &core.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: message},
	}})
}

func running(p *core.Pod, began meta.Time, restarts int32) core.PodStatus {
	return status(p, core.PodRunning, core.ContainerStatus{
		Ready:        true,
		RestartCount: restarts,
		State:        core.ContainerState{Running: &core.ContainerStateRunning{StartedAt: began}},
	})
}

func ended(p *core.Pod, began meta.Time, code int) core.PodStatus {
	phase := core.PodSucceeded
	if code != 0 {
		phase = core.PodFailed
	}
	return status(p, phase, core.ContainerStatus{State: core.ContainerState{
		Terminated: &core.ContainerStateTerminated{ExitCode: int32(code), StartedAt: began, FinishedAt: meta.Now()},
	}})
}

// status is that of a pod with one container.
func status(p *core.Pod, phase core.PodPhase, c core.ContainerStatus) core.PodStatus {
	c.Name, c.Image = p.Spec.Containers[0].Name, p.Spec.Containers[0].Image
	ready := core.ConditionFalse
	if c.Ready {
		ready = core.ConditionTrue
	}
	now := meta.Now()
	return core.PodStatus{
		Phase:             phase,
		HostIP:            "127.0.0.1",
		PodIP:             "127.0.0.1",
		ContainerStatuses: []core.ContainerStatus{c},
		Conditions: []core.PodCondition{
			{Type: core.PodReady, Status: ready, LastTransitionTime: now},
			{Type: core.ContainersReady, Status: ready, LastTransitionTime: now},
		},
	}
}
