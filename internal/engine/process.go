package engine

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
	"strings"
	"sync"
	"syscall"
	"time"

	"pleat"
)

const (
	heartbeatEvery = 5 * time.Second
	killAfter      = 2 * time.Second // from SIGTERM to SIGKILL
	drainFor       = 2 * time.Second // what a dead process's children may still hold open
	maxEarlyLines  = 1000            // lines of a process that has not spoken the protocol yet
	maxTail        = 64 << 10        // bytes of stderr that are kept
)

// launch says how a runner's process is started.
type launch struct {
	manifest *Manifest
	argv     []string
	env      []string
	device   string // as load says it: cpu, cuda:0
	weights  string
	threads  int
	roots    []string // paths of the host, which no owner should read
	grease   uint64   // not 0: messages carry what nobody knows, in tests
	log      *slog.Logger
	stderr   io.Writer // gets what the process writes there too; nil: nobody
}

// process is a runner that is alive, or was. One goroutine reads what it sends, one what it writes to stderr, one waits for its
// end; kill awaits them all.
type process struct {
	launch
	cmd   *exec.Cmd
	stdin *os.File
	rng   *rand.Rand    // of the grease; nil: none
	dead  chan struct{} // closed once the process has ended
	gone  chan struct{} // closed once its pipes are done with too

	writing sync.Mutex

	mu       sync.Mutex
	listener *listener // of the job or load that is going on; nil: none
	heard    time.Time
	mem      wireMem // as last told
	broken   error   // what ended the protocol
	ended    error   // how the process ended
	reaped   bool    // its id may be another's by now
	tail     tail

	// Of the owner, who has the process to himself.
	loaded string // model
	ready  wireReady
	jobs   int
	used   time.Time
}

// start starts a process and says hello to it. A process that comes with a failure is to be ended.
func start(ctx context.Context, l launch) (*process, *pleat.Failure) {
	p := &process{launch: l, heard: time.Now(), dead: make(chan struct{}), gone: make(chan struct{})}
	if l.grease != 0 {
		p.rng = rand.New(rand.NewPCG(l.grease, 0))
	}
	if err := p.spawn(); err != nil {
		l.log.Error("a runner cannot be started", "engine", l.manifest.Engine, "error", err)
		return nil, pleat.Failed(pleat.FailLoad, fmt.Sprintf("the engine %s cannot be started; pleat engines check %s says why", l.manifest.Engine, l.manifest.Engine))
	}
	from := p.listen()
	defer p.unlisten()
	ctx, done := context.WithTimeoutCause(ctx, seconds(l.manifest.LoadTimeout), errLoadTime)
	defer done()
	if f := p.send(wireHello{Type: "hello", Protocol: wireProtocol, Service: "pleat " + pleat.Version, Heartbeat: heartbeatEvery.Seconds(), Grease: l.grease}); f != nil {
		return p, p.giveUp(f)
	}
	for {
		select {
		case m := <-from.messages:
			pong, ok := m.(*wirePong)
			if !ok || pong.Protocol == 0 {
				continue
			}
			if pong.Protocol != wireProtocol {
				return p, p.giveUp(pleat.Failed(pleat.FailLoad, fmt.Sprintf("the runner of %s speaks version %d of the protocol, and the service %d", l.manifest.Engine, pong.Protocol, wireProtocol)))
			}
			return p, nil
		case <-p.gone:
			return p, p.crashed("while it started")
		case <-ctx.Done():
			return p, p.giveUp(p.late(ctx))
		}
	}
}

var errLoadTime = errors.New("the model took too long to load")

// late is the failure of a context that ended while the model loaded.
func (p *process) late(ctx context.Context) *pleat.Failure {
	if errors.Is(context.Cause(ctx), errLoadTime) {
		return pleat.Failed(pleat.FailTimeout, fmt.Sprintf("the model did not load within %v s", p.manifest.LoadTimeout))
	}
	return Interrupted(ctx)
}

// giveUp makes a process one that nobody uses again, and asks it to end; whoever leaves its seat sees to it that it does.
func (p *process) giveUp(f *pleat.Failure) *pleat.Failure {
	p.mu.Lock()
	if p.broken == nil {
		p.broken = errors.New(f.Message)
	}
	p.mu.Unlock()
	p.signal(syscall.SIGTERM)
	return f
}

// spawn starts the process in a group of its own, with pipes that do not outlive it.
func (p *process) spawn() error {
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
	p.cmd = exec.Command(p.argv[0], p.argv[1:]...)
	p.cmd.Dir, p.cmd.Env = p.manifest.Dir, p.env
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inR, outW, errW
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = p.cmd.Start()
	err = errors.Join(err, inR.Close(), outW.Close(), errW.Close())
	if err != nil {
		return errors.Join(err, inW.Close(), outR.Close(), errR.Close())
	}
	p.stdin = inW
	p.offer()
	g, err := protect(p.cmd.Process.Pid)
	if err != nil { // the end of its input still ends a runner that looks at it
		p.log.Warn("a runner may outlive the service where that is killed", "engine", p.manifest.Engine, "error", err)
	}
	var readers sync.WaitGroup
	readers.Go(func() { p.read(outR) })
	readers.Go(func() { p.readStderr(errR) })
	go func() {
		err := p.cmd.Wait()
		p.signal(syscall.SIGKILL) // what it left behind
		g.end()
		p.mu.Lock()
		p.ended, p.reaped = err, true
		p.mu.Unlock()
		close(p.dead)
		late := time.Now().Add(drainFor)
		_, _ = outR.SetReadDeadline(late), errR.SetReadDeadline(late) // pipes can
		readers.Wait()
		_, _, _ = outR.Close(), errR.Close(), p.stdin.Close()
		close(p.gone)
	}()
	return nil
}

// offer makes the kernel end the runner before the service where the machine's memory runs out. Where it cannot be offered the
// kernel chooses by itself.
func (p *process) offer() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", p.cmd.Process.Pid), []byte("500"), 0)
}

// signal sends to the whole group, where there is one.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.cmd.Process.Pid, s) // it may just have ended
	}
}

// kill ends the process: after some time by SIGTERM, then by SIGKILL. It returns once the process is gone.
func (p *process) kill(after time.Duration) {
	if after > 0 && p.wait(after) {
		return
	}
	p.signal(syscall.SIGTERM)
	if p.wait(killAfter) {
		return
	}
	p.signal(syscall.SIGKILL)
	<-p.gone
}

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

// close asks the process to end, and sees to it that it does.
func (p *process) close(patience time.Duration) {
	if !p.alive() || p.send(wireCall{Type: "shutdown"}) != nil {
		patience = 0
	}
	p.kill(patience)
}

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

// send writes one message. A runner that does not read is one that hangs: the write is given up when the process is killed.
func (p *process) send(m any) *pleat.Failure {
	p.writing.Lock()
	defer p.writing.Unlock()
	line, err := encodeWire(m, p.rng)
	if err != nil {
		return pleat.Failed(pleat.FailTooLarge, "the job cannot be told to the engine: "+err.Error())
	}
	if p.rng != nil && p.rng.IntN(3) == 0 {
		line = append([]byte(`{"type":"x-grease","id":null,"any":[1,{}]}`+"\n"), line...)
	}
	_ = p.stdin.SetWriteDeadline(time.Now().Add(seconds(p.manifest.Silence))) // pipes can
	if _, err := p.stdin.Write(line); err != nil {
		return p.crashed("while it was told what to do")
	}
	return nil
}

// listener is who waits for messages. It need not take them once it has left.
type listener struct {
	messages chan any
	left     chan struct{}
}

// listen gives the messages from now on; one listener at a time.
func (p *process) listen() *listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener = &listener{make(chan any, 64), make(chan struct{})}
	return p.listener
}

func (p *process) unlisten() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.listener.left)
	p.listener = nil
}

// read takes messages until the pipe ends or the protocol is broken; then it kills the process.
func (p *process) read(out io.Reader) {
	r := bufio.NewReaderSize(out, 64<<10)
	early := 0
	for spoken := false; ; {
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
			spoken = true
			p.take(m)
		case !spoken && len(line) > 0 && line[0] != '{' && early < maxEarlyLines:
			early++ // what packages print as they are imported
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

// take acts on a message, or hands it to the listener. What nobody waits for is late, and dropped.
func (p *process) take(m any) {
	p.mu.Lock()
	p.heard = time.Now()
	to := p.listener
	switch m := m.(type) {
	case nil:
		to = nil
	case *wirePong:
		p.remember(m.Mem)
		if m.Protocol == 0 && m.N == 0 {
			to = nil
		}
	case *wireReady:
		p.remember(m.Mem)
	case *wireResult:
		p.remember(m.Mem)
	case *wireLog:
		if m.ID == "" {
			p.log.Info("runner", "engine", p.manifest.Engine, "line", oneLine(m.Line, maxWireLog))
			to = nil
		}
	}
	p.mu.Unlock()
	if to == nil {
		return
	}
	select {
	case to.messages <- m: // whatever else has happened: it may be a result
		return
	default:
	}
	select {
	case to.messages <- m:
	case <-to.left:
	case <-p.dead:
	}
}

func (p *process) remember(m *wireMem) {
	if m == nil {
		return
	}
	p.mem.RSS = max(m.RSS, 0)
	if m.DeviceUsed > 0 {
		p.mem.DeviceUsed = m.DeviceUsed
	}
}

// memory is what the process last told of its memory.
func (p *process) memory() wireMem {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mem
}

// silent is how long nothing was heard of the process.
func (p *process) silent() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.heard)
}

func (p *process) readStderr(in io.Reader) {
	b := make([]byte, 16<<10)
	for {
		n, err := in.Read(b)
		p.keepTail(b[:n])
		if p.stderr != nil && n > 0 {
			_, _ = p.stderr.Write(b[:n]) // a terminal, which may be gone
		}
		if err != nil {
			return
		}
	}
}

func (p *process) keepTail(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tail.write(b)
}

// tail keeps the last bytes of a stream.
type tail struct{ b []byte }

func (t *tail) write(b []byte) {
	t.b = append(t.b, b...)
	if len(t.b) > 2*maxTail {
		t.b = append(t.b[:0], t.b[len(t.b)-maxTail:]...)
	}
}

func (t *tail) String() string {
	b := t.b
	if len(b) > maxTail {
		b = b[len(b)-maxTail:]
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}

// crashed is the failure of a process that died, or broke the protocol; the operator's log gets what it said last.
func (p *process) crashed(when string) *pleat.Failure {
	p.kill(0)
	p.mu.Lock()
	defer p.mu.Unlock()
	said := p.tail.String()
	if broken := p.broken; broken != nil {
		p.log.Warn("a runner broke the protocol", "engine", p.manifest.Engine, "when", when, "error", oneLine(broken.Error(), maxWireText), "stderr", said)
		return pleat.Failed(pleat.FailCrashed, fmt.Sprintf("the engine %s wrote what is not the protocol, and was ended", p.manifest.Engine))
	}
	how := "it ended by itself"
	if p.ended != nil {
		how = p.ended.Error()
	}
	p.log.Warn("a runner died", "engine", p.manifest.Engine, "when", when, "how", how, "stderr", said)
	return pleat.Failed(pleat.FailCrashed, fmt.Sprintf("the engine %s died %s: %s", p.manifest.Engine, when, how))
}
