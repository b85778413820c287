package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// restartAfter is the pause before a process that has ended starts again.
const restartAfter = time.Second

// pod is one pod of the node.
type pod struct {
	node   *node
	object *core.Pod
	dir    string             // of its volumes; the log is next to it
	end    chan time.Duration // the grace period, when the pod is to be deleted
	ending bool               // guarded by the node
}

// run runs the pod until its process has ended for good or the pod is deleted. When the context ends, it kills.
func (p *pod) run(ctx context.Context) {
	argv, env, err := p.container(ctx)
	for ; err != nil; argv, env, err = p.container(ctx) { // until what it names is there
		p.report(ctx, waiting(p.object, err.Error()))
		if p.ends(ctx, restartAfter) {
			return
		}
	}
	for restarts := int32(0); ; restarts++ {
		began := meta.Now()
		code, deleted := p.process(ctx, argv, env, func() { p.report(ctx, running(p.object, began, restarts)) })
		if ctx.Err() != nil {
			return
		}
		again := p.object.Spec.RestartPolicy == core.RestartPolicyAlways ||
			p.object.Spec.RestartPolicy == core.RestartPolicyOnFailure && code != 0
		if deleted || !again {
			p.report(ctx, ended(p.object, began, code)) // before the object goes: the controller of Jobs counts it
		}
		switch {
		case deleted:
			p.remove(ctx)
			return
		case !again:
			p.awaitDeletion(ctx)
			return
		}
		if p.ends(ctx, restartAfter) {
			return
		}
	}
}

// ends waits, and reports whether the context or the pod ended meanwhile.
func (p *pod) ends(ctx context.Context, wait time.Duration) bool {
	select {
	case <-ctx.Done():
		return true
	case <-p.end:
		p.remove(ctx)
		return true
	case <-time.After(wait):
		return false
	}
}

// process runs a process to its end, which a deletion of the pod brings: SIGTERM, and SIGKILL after the grace period.
func (p *pod) process(ctx context.Context, argv, env []string, started func()) (code int, deleted bool) {
	out, err := os.OpenFile(p.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = env, out, out, p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(out, err)
		return 127, false
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	started()
	var kill <-chan time.Time
	stop, end := ctx.Done(), p.end
	for {
		select {
		case err := <-done:
			return exitCode(err), deleted
		case grace := <-end:
			deleted, end, kill = true, nil, time.After(grace)
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		case <-kill:
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		case <-stop:
			stop = nil
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}
}

// exitCode is that of a process, and 128 and the signal that has ended it.
func exitCode(err error) int {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0
	}
	if w := exit.Sys().(syscall.WaitStatus); w.Signaled() {
		return 128 + int(w.Signal())
	}
	return exit.ExitCode()
}

// container makes the volumes and returns the command line and the environment of the container.
func (p *pod) container(ctx context.Context) (argv, env []string, err error) {
	c := p.object.Spec.Containers[0]
	if err := p.volumes(ctx); err != nil {
		return nil, nil, err
	}
	argv = append(append(argv, c.Command...), c.Args...)
	if len(c.Command) == 0 {
		argv = append([]string{p.node.program}, c.Args...)
	}
	for i := range argv {
		argv[i] = p.path(argv[i])
	}
	env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOSTNAME=" + p.object.Name,
		"TMPDIR=" + filepath.Join(p.dir, "tmp"),
		"KUBERNETES_SERVICE_HOST=10.0.0.1",
	}
	for _, e := range c.Env {
		value, found, err := p.variable(ctx, e)
		if err != nil {
			return nil, nil, err
		}
		if found {
			env = append(env, e.Name+"="+p.path(value))
		}
	}
	return argv, env, nil
}

// variable returns the value of an environment variable; found is false for an optional one that is not there.
func (p *pod) variable(ctx context.Context, e core.EnvVar) (value string, found bool, err error) {
	switch from := e.ValueFrom; {
	case from == nil:
		return e.Value, true, nil
	case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.name":
		return p.object.Name, true, nil
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		optional := ref.Optional != nil && *ref.Optional
		secret, err := p.node.api.CoreV1().Secrets(p.object.Namespace).Get(ctx, ref.Name, meta.GetOptions{})
		if err != nil {
			return "", false, err
		}
		text, ok := secret.Data[ref.Key]
		if !ok && !optional {
			return "", false, fmt.Errorf("the Secret %s has no %s", ref.Name, ref.Key)
		}
		return string(text), ok, nil
	}
	return "", false, fmt.Errorf("%s comes from a source that procnode does not know", e.Name)
}

// volumes makes a folder for each volume, with the files of a ConfigMap or a Secret.
func (p *pod) volumes(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(p.dir, "tmp"), 0o700); err != nil {
		return err
	}
	for _, v := range p.object.Spec.Volumes {
		dir := filepath.Join(p.dir, v.Name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		files, err := p.files(ctx, v)
		if err != nil {
			return err
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// files returns the files of a volume by their names. In those of a ConfigMap, paths in volumes are those of this
// machine.
func (p *pod) files(ctx context.Context, v core.Volume) (map[string]string, error) {
	api, out := p.node.api.CoreV1(), map[string]string{}
	var items []core.KeyToPath
	switch {
	case v.ConfigMap != nil:
		from, err := api.ConfigMaps(p.object.Namespace).Get(ctx, v.ConfigMap.Name, meta.GetOptions{})
		if err != nil {
			return nil, err
		}
		items = v.ConfigMap.Items
		for key, text := range from.Data {
			for _, m := range p.object.Spec.Containers[0].VolumeMounts {
				if m.MountPath != "/tmp" { // as in path
					text = strings.ReplaceAll(text, m.MountPath+"/", filepath.Join(p.dir, m.Name)+"/")
				}
			}
			out[key] = text
		}
	case v.Secret != nil:
		from, err := api.Secrets(p.object.Namespace).Get(ctx, v.Secret.SecretName, meta.GetOptions{})
		if err != nil {
			return nil, err
		}
		items = v.Secret.Items
		for key, text := range from.Data {
			out[key] = string(text)
		}
	}
	if len(items) == 0 {
		return out, nil
	}
	named := map[string]string{}
	for _, item := range items {
		text, ok := out[item.Key]
		if !ok {
			return nil, fmt.Errorf("the volume %s has no %s", v.Name, item.Key)
		}
		named[item.Path] = text
	}
	return named, nil
}

// path returns a text, or where a path in a volume is on this machine. Paths below /tmp may be the machine's own, such
// as that of the program; TMPDIR leads to the volume.
func (p *pod) path(text string) string {
	for _, m := range p.object.Spec.Containers[0].VolumeMounts {
		if rest, ok := strings.CutPrefix(text, m.MountPath); ok && m.SubPath == "" && m.MountPath != "/tmp" &&
			(rest == "" || rest[0] == '/') {
			return filepath.Join(p.dir, m.Name) + rest
		}
	}
	return text
}

// awaitDeletion removes the pod's object when it is to be deleted.
func (p *pod) awaitDeletion(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-p.end:
		p.remove(ctx)
	}
}

// remove tells the API server that nothing of the pod runs any more.
func (p *pod) remove(ctx context.Context) {
	now := int64(0)
	err := p.node.api.CoreV1().Pods(p.object.Namespace).Delete(ctx, p.object.Name, meta.DeleteOptions{
		GracePeriodSeconds: &now,
		Preconditions:      &meta.Preconditions{UID: &p.object.UID},
	})
	if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
		log.Print(err)
	}
}
