// Command procnode is a node of Kubernetes for tests, whose pods are processes of this machine: it runs the first
// container of each pod that is bound to it. For a container it honours the arguments, the environment, the volumes,
// the restart policy and the grace period. The image is ignored: a container without a command runs the program that
// -program names. There are no probes, a pod is ready when its process runs, and its network is the machine's.
//
//	procnode -program bin/pleat -dir /tmp/pods
//
// Files:
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
)

// nodeName is the name of the node.
const nodeName = "procnode"

// node runs the pods that are bound to it.
type node struct {
	api     kubernetes.Interface
	program string // of containers without a command
	dir     string // has a folder for each pod

	mu   sync.Mutex
	pods map[types.UID]*pod
	runs sync.WaitGroup
}

func main() {
	program := flag.String("program", "", "program of containers without a command")
	dir := flag.String("dir", "", "folder for the pods' files and logs")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		log.Fatal(err)
	}
	config.QPS, config.Burst = 100, 200
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	n := &node{api: api, program: *program, dir: *dir, pods: map[types.UID]*pod{}}
	if err := n.run(ctx); err != nil {
		log.Fatal(err)
	}
}

// run keeps the node ready and runs its pods until the context ends, and then kills what still runs.
func (n *node) run(ctx context.Context) error {
	if err := n.register(ctx); err != nil {
		return err
	}
	mine := informers.WithTweakListOptions(func(o *meta.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", nodeName).String()
	})
	factory := informers.NewSharedInformerFactoryWithOptions(n.api, 0, mine)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { n.see(ctx, o.(*core.Pod)) },
		UpdateFunc: func(_, o any) { n.see(ctx, o.(*core.Pod)) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		if err := n.renew(ctx); err != nil && ctx.Err() == nil {
			log.Print(err)
		}
		select {
		case <-ctx.Done():
			factory.Shutdown()
			n.runs.Wait()
			return n.api.CoreV1().Nodes().Delete(context.WithoutCancel(ctx), nodeName, meta.DeleteOptions{})
		case <-tick.C:
		}
	}
}

// register creates the node, ready for pods.
func (n *node) register(ctx context.Context) error {
	room := core.ResourceList{
		"cpu":            resource.MustParse("64"),
		"memory":         resource.MustParse("256Gi"),
		"pods":           resource.MustParse("100"),
		"nvidia.com/gpu": resource.MustParse("4"),
	}
	nodes := n.api.CoreV1().Nodes()
	_, err := nodes.Create(ctx, &core.Node{ObjectMeta: meta.ObjectMeta{
		Name:   nodeName,
		Labels: map[string]string{"kubernetes.io/hostname": nodeName, "kubernetes.io/os": "linux"},
	}}, meta.CreateOptions{})
	if err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error { // a controller changes new nodes too
		now, err := nodes.Get(ctx, nodeName, meta.GetOptions{})
		if err != nil {
			return err
		}
		now.Status.Capacity, now.Status.Allocatable = room, room
		now.Status.Conditions = []core.NodeCondition{{
			Type:               core.NodeReady,
			Status:             core.ConditionTrue,
			Reason:             "Started",
			LastHeartbeatTime:  meta.Now(),
			LastTransitionTime: meta.Now(),
		}}
		_, err = nodes.UpdateStatus(ctx, now, meta.UpdateOptions{})
		return err
	})
}

// renew renews the lease of the node, without which its pods would be evicted.
func (n *node) renew(ctx context.Context) error {
	leases := n.api.CoordinationV1().Leases(core.NamespaceNodeLease)
	now, holder, seconds := meta.NowMicro(), nodeName, int32(40)
	old, err := leases.Get(ctx, nodeName, meta.GetOptions{})
	if errors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordination.Lease{
			ObjectMeta: meta.ObjectMeta{Name: nodeName},
			Spec: coordination.LeaseSpec{
				HolderIdentity:       &holder,
				LeaseDurationSeconds: &seconds,
				RenewTime:            &now,
			},
		}, meta.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	old.Spec.RenewTime = &now
	_, err = leases.Update(ctx, old, meta.UpdateOptions{})
	return err
}

// see starts a pod that is new, and ends one that is to be deleted.
func (n *node) see(ctx context.Context, seen *core.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.pods[seen.UID]
	if p == nil && seen.DeletionTimestamp == nil && seen.Status.Phase == core.PodPending {
		p = &pod{node: n, object: seen, dir: filepath.Join(n.dir, seen.Name), end: make(chan time.Duration, 1)}
		n.pods[seen.UID] = p
		n.runs.Go(func() { p.run(ctx) })
	}
	if p != nil && seen.DeletionTimestamp != nil && !p.ending {
		p.ending = true
		p.end <- time.Duration(*seen.DeletionGracePeriodSeconds) * time.Second
	}
}
