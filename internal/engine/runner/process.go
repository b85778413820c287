package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/sandbox"
)

const (
	heartbeatInterval = 5 * time.Second
	killGrace         = 2 * time.Second // from SIGTERM to SIGKILL
	drainTime         = 2 * time.Second // for pipes that the children of a dead process keep open
	maxEarlyLines     = 1000            // lines before the first message of the protocol
	maxTail           = 64 << 10        // bytes of stderr that are kept
)

// launchSpec is how a runner's process is started: the command and environment, with the placeholders of the manifest
// replaced, and the device that it may use.
type launchSpec struct {
	manifest *Manifest
	argv     []string
	env      []string
	scratch  string // folder in which the process gets a folder of its own
	policy   sandbox.Policy
	links    []string // folders whose links it may follow: weights may be on another disk
	private  []string // paths that it must not reach
	device   string   // of the message load: cpu, cuda:0
	weights  string   // folder
	threads  int      // 0: the process's own choice
	hidden   []string // paths of this machine that no owner may read
	grease   uint64   // for tests, not 0: messages carry unknown fields
	log      *slog.Logger
	stderr   io.Writer // receives a copy of the process's stderr; nil: nothing does
}

// process is a started runner, alive or dead. One goroutine reads its messages, one its stderr, and one waits for its
// end. All of them have returned once gone is closed; kill and close wait for that.
//
// Nothing that it sends is trusted: lines are bounded, paths are checked, and a message that breaks the protocol ends
// the process.
type process struct {
	launchSpec
	dir   string // its scratch folder
	cmd   *exec.Cmd
	stdin *os.File
	rng   *rand.Rand    // for grease; nil: none
	dead  chan struct{} // closed once the process has ended
	gone  chan struct{} // closed once its pipes are closed as well

	writing sync.Mutex // held while a message is written

	mu       sync.Mutex
	listener *listener       // of the current load or request; nil: none
	quiet    clock.Stopwatch // since the last message
	mem      wireMem         // as last reported
	broken   error           // why the protocol has ended; nil: it has not
	ended    error           // how the process ended
	reaped   bool            // its process id may belong to another process by now
	tail     engine.Tail     // of stderr

	// The holder of the slot lease uses these fields alone.
	model string // that is loaded; empty: none
	ready wireReady
	jobs  int
	idle  clock.Stopwatch // since the last request
}

// start starts a process and exchanges hello and pong with it, within the manifest's load timeout. If it returns both a
// process and a failure, the caller must end the process.
func start(ctx context.Context, l launchSpec) (*process, *pleat.Failure) {
	p := &process{
		launchSpec: l,
		quiet:      clock.Start(),
		dead:       make(chan struct{}),
		gone:       make(chan struct{}),
		tail:       engine.Tail{Max: maxTail},
	}
	if l.grease != 0 {
		p.rng = rand.New(rand.NewPCG(l.grease, 0))
	}
	if err := p.spawn(); err != nil {
		l.log.Error("a runner cannot be started", "engine", l.manifest.Engine, "error", err)
		return nil, pleat.Failed(pleat.FailLoad, fmt.Sprintf(
			"the engine %s cannot be started; pleat engines check %s says why", l.manifest.Engine, l.manifest.Engine))
	}
	from := p.listen()
	defer p.unlisten()
	ctx, done := context.WithTimeoutCause(ctx, pleat.Seconds(l.manifest.LoadTimeout), errLoadTime)
	defer done()
	hello := wireHello{
		Type:      "hello",
		Protocol:  wireProtocol,
		Service:   "pleat " + pleat.Version,
		Heartbeat: heartbeatInterval.Seconds(),
		Grease:    l.grease,
	}
	if f := p.send(hello); f != nil {
		return p, p.fail(f)
	}
	for {
		select {
		case m := <-from.messages:
			pong, ok := m.(*wirePong)
			if !ok || pong.Protocol == 0 {
				continue
			}
			if pong.Protocol != wireProtocol {
				return p, p.fail(pleat.Failed(pleat.FailLoad, fmt.Sprintf(
					"the runner of %s speaks version %d of the protocol, and the service %d",
					l.manifest.Engine, pong.Protocol, wireProtocol)))
			}
			return p, nil
		case <-p.gone:
			return p, p.crashed("while it started")
		case <-ctx.Done():
			return p, p.fail(p.loadInterrupted(ctx))
		}
	}
}

// errLoadTime is the cause of a context that ended because a load took too long.
var errLoadTime = errors.New("the model took too long to load")

// loadInterrupted returns the failure of a context that ended while the model loaded: a timeout, or how the job was
// interrupted.
func (p *process) loadInterrupted(ctx context.Context) *pleat.Failure {
	if errors.Is(context.Cause(ctx), errLoadTime) {
		return pleat.Failed(pleat.FailTimeout,
			fmt.Sprintf("the model did not load within %v s", p.manifest.LoadTimeout))
	}
	return engine.Interrupted(ctx)
}

// fail marks a process as unusable because of f, asks it to end, and returns f. The release of the slot lease waits for
// its end.
func (p *process) fail(f *pleat.Failure) *pleat.Failure {
	p.mu.Lock()
	if p.broken == nil {
		p.broken = errors.New(f.Message)
	}
	p.mu.Unlock()
	p.signal(syscall.SIGTERM)
	return f
}

// spawn starts the process in a process group of its own, with pipes that do not outlive it and a guard that ends the
// group with the service. An error means that nothing is left running or open.
func (p *process) spawn() (err error) {
	defer func() {
		if err != nil {
			_ = sandbox.RemoveAll(p.dir)
		}
	}()
	if err := p.prepare(); err != nil {
		return err
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return errors.Join(err, inR.Close(), inW.Close())
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return errors.Join(err, inR.Close(), inW.Close(), outR.Close(), outW.Close())
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inR, outW, errW
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = p.cmd.Start()
	err = errors.Join(err, inR.Close(), outW.Close(), errW.Close())
	if err != nil {
		return errors.Join(err, inW.Close(), outR.Close(), errR.Close())
	}
	p.stdin = inW
	p.raiseOOMScore()
	g, err := startGuard(p.cmd.Process.Pid)
	if err != nil { // a runner that reads its input still ends with the service
		p.log.Warn("a runner may outlive a service that is killed", "engine", p.manifest.Engine, "error", err)
	}
	var readers sync.WaitGroup
	readers.Go(func() { p.read(outR) })
	readers.Go(func() { p.readStderr(errR) })
	go func() {
		err := p.cmd.Wait()
		p.signal(syscall.SIGKILL) // its children
		g.end()
		p.mu.Lock()
		p.ended, p.reaped = err, true
		p.mu.Unlock()
		close(p.dead)
		deadline := clock.Deadline(drainTime)
		_, _ = outR.SetReadDeadline(deadline), errR.SetReadDeadline(deadline) // pipes support it
		readers.Wait()
		_, _, _ = outR.Close(), errR.Close(), p.stdin.Close()
		close(p.gone)
	}()
	return nil
}

// prepare makes the process's scratch folder and its command.
func (p *process) prepare() (err error) {
	if p.dir, err = makeScratch(p.scratch); err != nil {
		return err
	}
	if err := p.manifest.unpackWeights(p.weights); err != nil { // the runner says which files it lacks
		p.log.Error("an archive of weights cannot be unpacked", "engine", p.manifest.Engine, "error", err)
	}
	if err := p.confine(p.dir); err != nil {
		return err
	}
	if p.cmd, err = sandbox.Command(p.policy, p.argv); err != nil {
		return err
	}
	p.cmd.Dir = p.manifest.Dir
	p.cmd.Env = append(slices.Clone(p.env), "TMPDIR="+filepath.Join(p.dir, "tmp"))
	return nil
}

// raiseOOMScore makes the kernel end the runner before the service if the machine runs out of memory. It is best
// effort.
func (p *process) raiseOOMScore() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", p.cmd.Process.Pid), []byte("500"), 0)
}

// signal sends a signal to the whole process group, unless the group may have ended and its id belong to another.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.cmd.Process.Pid, s) // it may have ended
	}
}

// kill ends the process: after a grace period with SIGTERM, then with SIGKILL. It returns once the process is gone.
func (p *process) kill(grace time.Duration) {
	if grace > 0 && p.wait(grace) {
		return
	}
	p.signal(syscall.SIGTERM)
	if p.wait(killGrace) {
		return
	}
	p.signal(syscall.SIGKILL)
	<-p.gone
}

// wait waits at most d for the process to be gone. It returns false if the process is not.
func (p *process) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.gone:
		return true
	case <-t.C:
		return false
	}
}

// terminated reports whether the process died of a SIGTERM that the worker did not send. Slurm and systemd send one to
// every process of a job or service that is to end, so that the worker has got it too, or soon will.
func (p *process) terminated() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	var exit *exec.ExitError
	if p.broken != nil || !errors.As(p.ended, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGTERM
}

// close asks the process to end, kills it if it has not ended after a grace period, and returns once it is gone and its
// scratch folder is deleted. No request may be in that folder any more.
func (p *process) close(grace time.Duration) {
	if !p.alive() || p.send(wireCall{Type: "shutdown"}) != nil {
		grace = 0
	}
	p.kill(grace)
	_ = sandbox.RemoveAll(p.dir) // the worker empties its folder at the next start
}

// alive reports whether the process can be used: it has not ended and has kept to the protocol.
func (p *process) alive() bool {
	select {
	case <-p.gone:
		return false
	default:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.broken == nil
	}
}

// send writes one message. A runner that does not read its input hangs: the write fails after the manifest's heartbeat
// timeout, or when the process is killed.
func (p *process) send(m any) *pleat.Failure {
	p.writing.Lock()
	defer p.writing.Unlock()
	line, err := encodeWire(m, p.rng)
	if err != nil {
		return pleat.Failed(pleat.FailTooLarge, "the job cannot be sent to the engine: "+err.Error())
	}
	if p.rng != nil && p.rng.IntN(3) == 0 {
		line = append([]byte(`{"type":"x-grease","id":null,"any":[1,{}]}`+"\n"), line...)
	}
	_ = p.stdin.SetWriteDeadline(clock.Deadline(pleat.Seconds(p.manifest.Silence))) // pipes support it
	if _, err := p.stdin.Write(line); err != nil {
		return p.crashed("while the job was sent to it")
	}
	return nil
}

// listener receives the messages of a process during one load or request.
type listener struct {
	messages chan any
	left     chan struct{} // closed when it no longer receives
}

// listen returns a listener that receives all messages from now on. A process has one listener at a time.
func (p *process) listen() *listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener = &listener{make(chan any, 64), make(chan struct{})}
	return p.listener
}

// unlisten ends the current listener.
func (p *process) unlisten() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.listener.left)
	p.listener = nil
}

// read dispatches messages until the pipe ends. A process that breaks the protocol is killed. Lines that are not JSON
// objects are allowed before the first message only, up to maxEarlyLines.
func (p *process) read(out io.Reader) {
	r := bufio.NewReaderSize(out, 64<<10)
	earlyLines := 0
	for started := false; ; {
		line, err := readLine(r, maxFromRunner)
		if errors.Is(err, io.EOF) {
			return
		}
		var m any
		if err == nil {
			m, err = decodeWire(line)
		}
		switch {
		case err == nil:
			started = true
			p.dispatch(m)
		case !started && len(line) > 0 && line[0] != '{' && earlyLines < maxEarlyLines:
			earlyLines++ // Python packages print while they are imported
			p.keepTail(line)
		default:
			p.mu.Lock()
			p.broken = err
			p.mu.Unlock()
			p.signal(syscall.SIGKILL)
			_, _ = io.Copy(io.Discard, r)
			return
		}
	}
}

// dispatch handles a message of the process as a whole, and passes any other to the listener. Without a listener the
// message is late and dropped. It blocks while the listener's buffer is full, so that a process that sends too much
// waits.
func (p *process) dispatch(m any) {
	p.mu.Lock()
	p.quiet = clock.Start()
	to := p.listener
	switch m := m.(type) {
	case nil:
		to = nil
	case *wirePong:
		p.setMemory(m.Mem)
		if m.Protocol == 0 && m.N == 0 {
			to = nil
		}
	case *wireReady:
		p.setMemory(m.Mem)
	case *wireResult:
		p.setMemory(m.Mem)
	case *wireLog:
		if m.ID == "" {
			p.log.Info("runner", "engine", p.manifest.Engine, "line", engine.OneLine(m.Line, maxWireLog))
			to = nil
		}
	}
	p.mu.Unlock()
	if to == nil {
		return
	}
	select {
	case to.messages <- m: // even if the process is dead: it may be a result
		return
	default:
	}
	select {
	case to.messages <- m:
	case <-to.left:
	case <-p.dead:
	}
}

// setMemory stores a report of memory; nil and negative numbers count as not reported. The caller holds mu.
func (p *process) setMemory(m *wireMem) {
	if m == nil {
		return
	}
	p.mem.RSS = max(m.RSS, 0)
	if m.DeviceUsed > 0 {
		p.mem.DeviceUsed = m.DeviceUsed
	}
}

// memory returns the memory in bytes that the process has last reported; 0: it has not.
func (p *process) memory() wireMem {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mem
}

// silence returns the time since the last message.
func (p *process) silence() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.quiet.Elapsed()
}

// readStderr keeps the end of the process's stderr, and copies all of it if that is asked for.
func (p *process) readStderr(in io.Reader) {
	b := make([]byte, 16<<10)
	for {
		n, err := in.Read(b)
		p.keepTail(b[:n])
		if p.stderr != nil && n > 0 {
			_, _ = p.stderr.Write(b[:n]) // it may be a terminal that was closed
		}
		if err != nil {
			return
		}
	}
}

// keepTail appends output of the process to the tail that crashed logs.
func (p *process) keepTail(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.tail.Write(b)
}

// crashed ends a process that died or broke the protocol, logs its last output for the operator and returns the
// failure, which the owner reads. when completes a sentence such as "died while it worked".
func (p *process) crashed(when string) *pleat.Failure {
	p.kill(0)
	p.mu.Lock()
	defer p.mu.Unlock()
	stderr := p.tail.String()
	if broken := p.broken; broken != nil {
		p.log.Warn("a runner broke the protocol", "engine", p.manifest.Engine, "when", when,
			"error", engine.OneLine(broken.Error(), maxWireText), "stderr", stderr)
		return pleat.Failed(pleat.FailCrashed,
			fmt.Sprintf("the engine %s broke the protocol and was ended", p.manifest.Engine))
	}
	how := "it ended by itself"
	if p.ended != nil {
		how = p.ended.Error()
	}
	p.log.Warn("a runner died", "engine", p.manifest.Engine, "when", when, "error", how, "stderr", stderr)
	return pleat.Failed(pleat.FailCrashed, fmt.Sprintf("the engine %s died %s: %s", p.manifest.Engine, when, how))
}
