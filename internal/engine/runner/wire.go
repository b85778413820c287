package runner

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/engine"
)

// This file has the messages of docs/runner-protocol.md. runners/foldrun/wire.py is the other side; runners/vectors has
// messages that both sides must read alike.

const (
	// The version of the protocol and the bounds of its messages. A line that exceeds its bound breaks the protocol;
	// texts are truncated.
	wireProtocol  = 1
	maxToRunner   = 16 << 20 // bytes of a line to a runner
	maxFromRunner = 1 << 20  // bytes of a line from a runner
	maxWireLog    = 2000     // bytes of a log line
	maxWireText   = 1000     // bytes of an error message
	maxWireDetail = 16_000   // bytes of an error's details
	maxWireFiles  = 1000     // files of a result
	maxNotes      = 50       // notes of a result
)

// wireHello starts the protocol. The runner answers with a pong that states its protocol version.
type wireHello struct {
	Type      string  `json:"type"`
	Protocol  int     `json:"protocol"`              // version
	Service   string  `json:"service,omitempty"`     // name and version, for logs
	Heartbeat float64 `json:"heartbeat_s,omitempty"` // seconds between two pongs of the runner
	Grease    uint64  `json:"grease,omitempty"`      // not 0: the service sends unknown fields and types
}

// wireLoad loads a model. The runner answers with ready or error.
type wireLoad struct {
	Type    string `json:"type"`
	Model   string `json:"model"`
	Weights string `json:"weights_dir,omitempty"` // folder
	Device  string `json:"device"`                // cpu or cuda:0
	Threads int    `json:"threads,omitempty"`     // 0: the runner's own choice
}

// wirePredict is a request. The runner answers with result or error; progress, log and checkpoint may precede it.
type wirePredict struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"` // of the request; unique in the process
	Attempt  int             `json:"attempt"`
	Workdir  string          `json:"workdir"` // absolute; the runner writes into it alone
	Kind     pleat.TaskKind  `json:"kind"`
	Input    json.RawMessage `json:"input"` // foldInput, qnaInput or mdInput
	Files    []wireInput     `json:"files,omitempty"`
	Params   map[string]any  `json:"params,omitempty"` // effective values, without the seed
	Seed     uint64          `json:"seed,omitempty"`
	Parallel int             `json:"parallel,omitempty"`    // samples at a time; 0: the runner's own choice
	Resume   *wireResume     `json:"resume,omitempty"`      // nil: start from the beginning
	Trace    string          `json:"traceparent,omitempty"` // of the job, as in W3C Trace Context
}

// wireInput is an input file.
type wireInput struct {
	Kind     string `json:"kind"`               // structure, pae, msa, msa_paired, template or component
	Path     string `json:"path"`               // below the workdir
	Sequence *int   `json:"sequence,omitempty"` // index of the sequence that it belongs to; nil: none
	// For a template: the chain of the job, and whether the chain is held within MaxDistance Å of the template.
	Chain       string  `json:"chain,omitempty"`
	Force       bool    `json:"force,omitempty"`
	MaxDistance float64 `json:"max_distance,omitempty"`
	Code        string  `json:"code,omitempty"` // of a component
}

// wireResume is the checkpoint of an earlier attempt.
type wireResume struct {
	Path string `json:"path"` // below the workdir
	Step int64  `json:"step"`
}

// wireCall is every other message to a runner: cancel, ping, shutdown.
type wireCall struct {
	Type string `json:"type"`
	ID   string `json:"id,omitempty"`
	N    int    `json:"n,omitempty"`
}

// wirePong is the heartbeat of a runner, its answer to ping, and, with a protocol version, to hello.
type wirePong struct {
	Type     string   `json:"type"`
	N        int      `json:"n,omitempty"`        // of the ping
	Protocol int      `json:"protocol,omitempty"` // version, in the answer to hello; else 0
	Engine   string   `json:"engine,omitempty"`
	Mem      *wireMem `json:"mem,omitempty"`
}

// wireMem is the memory of a runner, in bytes; 0: not known.
type wireMem struct {
	RSS         int64 `json:"rss,omitempty"`
	DeviceUsed  int64 `json:"device_used,omitempty"`
	DeviceTotal int64 `json:"device_total,omitempty"`
}

// wireReady reports that a model is loaded.
type wireReady struct {
	Type    string          `json:"type"`
	Version string          `json:"engine_version"`           // of the engine's package
	Weights string          `json:"weights_sha256,omitempty"` // SHA-256
	Device  string          `json:"device,omitempty"`         // its name
	Mem     *wireMem        `json:"mem,omitempty"`
	Detail  json.RawMessage `json:"detail,omitempty"` // for the run configuration
}

// wireProgress reports how far a stage of a request is.
type wireProgress struct {
	Type  string `json:"type"`
	ID    string `json:"id"`
	Stage string `json:"stage"`
	Done  int    `json:"done,omitempty"`  // 0 to Total
	Total int    `json:"total,omitempty"` // 0: not known
}

// wireLog is a line of a log: the job's if it has an id, else the service's.
type wireLog struct {
	Type  string `json:"type"`
	ID    string `json:"id,omitempty"`
	Level string `json:"level,omitempty"` // info, warn or error; empty: info
	Line  string `json:"line"`
}

// wireCheckpoint offers a checkpoint for the next attempt.
type wireCheckpoint struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Path string `json:"path"` // below the workdir
	Step int64  `json:"step"`
}

// wireResult ends a request. Which fields it needs depends on the kind of the request: a fold has a structure among its
// files, a question an answer, a simulation a topology and a trajectory.
type wireResult struct {
	Type     string             `json:"type"`
	ID       string             `json:"id"`
	Files    []wireFile         `json:"files,omitempty"`
	Scores   *wireScores        `json:"scores,omitempty"`
	ChainMap map[string]string  `json:"chain_map,omitempty"` // chain of the structure → chain of the job
	Tokens   []int              `json:"tokens,omitempty"`    // number of tokens of each residue
	Timings  map[string]float64 `json:"timings,omitempty"`   // seconds by stage
	Metrics  map[string]any     `json:"metrics,omitempty"`   // for metrics.json
	Params   json.RawMessage    `json:"params,omitempty"`    // of a design, as they took effect
	Notes    []string           `json:"notes,omitempty"`
	Answer   string             `json:"answer,omitempty"` // to a question
	Mem      *wireMem           `json:"mem,omitempty"`
}

// wireFile is a file of a result.
type wireFile struct {
	Kind   string `json:"kind"`
	Path   string `json:"path"` // below the workdir
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Rank   int    `json:"rank,omitempty"` // of the sample; 0: the best
	// For a design: its id, and its chains, where they have other names than those of the whole result.
	ID       string            `json:"id,omitempty"`
	ChainMap map[string]string `json:"chain_map,omitempty"`
	Shape    []int             `json:"shape,omitempty"` // of an array of float32
}

// wireScores are what the model says of its prediction.
type wireScores struct {
	PTM      *float64        `json:"ptm,omitempty"`     // 0 to 1
	IPTM     *float64        `json:"iptm,omitempty"`    // 0 to 1
	MaxPAE   *float64        `json:"pae_max,omitempty"` // Å
	Affinity *pleat.Affinity `json:"affinity,omitempty"`
	Pairs    []wirePair      `json:"pairs,omitempty"`
}

// wirePair is the ipTM of two chains, 0 to 1.
type wirePair struct {
	A    string   `json:"chain_a"`
	B    string   `json:"chain_b"`
	IPTM *float64 `json:"iptm"`
}

// wireError ends a request or a load with a failure. Without an id it is about the process.
type wireError struct {
	Type    string `json:"type"`
	ID      string `json:"id,omitempty"`
	Code    string `json:"code"`                // one of wireCodes
	Message string `json:"message"`             // for the owner
	Retry   *bool  `json:"retryable,omitempty"` // nil: as is usual for the code
	Detail  string `json:"detail,omitempty"`    // for the operator, such as a traceback
}

// wireCodes are the error codes of the protocol. They are the failure kinds of the same name.
var wireCodes = []pleat.FailureKind{
	pleat.FailInvalidInput, pleat.FailUnsupported, pleat.FailTooLarge, pleat.FailMSAUnavailable,
	pleat.FailWeightsMissing, pleat.FailLoad, pleat.FailOOM, pleat.FailDeviceLost, pleat.FailTimeout,
	pleat.FailCancelled, pleat.FailCrashed, pleat.FailOutputInvalid, pleat.FailInternal,
}

// failure returns the error as a failure of the run. An unknown code becomes an internal failure.
func (e *wireError) failure() *pleat.Failure {
	kind := pleat.FailureKind(e.Code)
	if !slices.Contains(wireCodes, kind) {
		kind = pleat.FailInternal
	}
	f := pleat.Failed(kind, cmp.Or(engine.OneLine(e.Message, maxWireText), "the engine gave no reason"))
	if e.Retry != nil {
		f.Retry = *e.Retry
	}
	return f
}

// errWire is the error of a line that breaks the protocol.
var errWire = errors.New("the runner broke the protocol")

// decodeWire decodes one line into a pointer to its message; nil: its type is unknown. Unknown fields are ignored. An
// error wraps errWire. It knows the messages of both directions, for the test vectors.
func decodeWire(line []byte) (any, error) {
	var head struct {
		Type *string `json:"type"`
	}
	if trimmed := bytes.TrimLeft(line, " \t\r"); len(trimmed) > 0 && trimmed[0] != '{' && json.Valid(trimmed) {
		return nil, fmt.Errorf("%w: not a JSON object", errWire)
	}
	if err := json.Unmarshal(line, &head); err != nil && head.Type == nil {
		return nil, fmt.Errorf("%w: not JSON: %s", errWire, pleat.Clip(string(line)))
	}
	if head.Type == nil {
		return nil, fmt.Errorf("%w: no type", errWire)
	}
	v := wireTypes[*head.Type]
	if v == nil {
		return nil, nil
	}
	m := v()
	if err := json.Unmarshal(line, m); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errWire, *head.Type, err)
	}
	if field := missingField(m); field != "" {
		return nil, fmt.Errorf("%w: %s has no %s", errWire, *head.Type, field)
	}
	return m, nil
}

// wireTypes makes an empty message of each type. Messages of other types are ignored, so that the protocol can grow.
var wireTypes = map[string]func() any{
	"hello":      func() any { return new(wireHello) },
	"load":       func() any { return new(wireLoad) },
	"predict":    func() any { return new(wirePredict) },
	"cancel":     func() any { return new(wireCall) },
	"ping":       func() any { return new(wireCall) },
	"shutdown":   func() any { return new(wireCall) },
	"pong":       func() any { return new(wirePong) },
	"ready":      func() any { return new(wireReady) },
	"progress":   func() any { return new(wireProgress) },
	"log":        func() any { return new(wireLog) },
	"checkpoint": func() any { return new(wireCheckpoint) },
	"result":     func() any { return new(wireResult) },
	"error":      func() any { return new(wireError) },
}

// missingField returns the name of a required field that a message does not have; empty: none. Fields that are required
// for some kinds of request only are checked where they are used.
func missingField(m any) string {
	need := func(pairs ...string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i+1] == "" {
				return pairs[i]
			}
		}
		return ""
	}
	switch m := m.(type) {
	case *wirePredict:
		return need("id", m.ID, "workdir", m.Workdir, "kind", string(m.Kind))
	case *wireCall:
		if m.Type == "cancel" {
			return need("id", m.ID)
		}
	case *wireReady:
		return need("engine_version", m.Version)
	case *wireProgress:
		return need("id", m.ID, "stage", m.Stage)
	case *wireCheckpoint:
		return need("id", m.ID, "path", m.Path)
	case *wireResult:
		return need("id", m.ID)
	case *wireError:
		return need("code", m.Code, "message", m.Message)
	}
	return ""
}

// local reports whether a path of a message is inside the folder of the request, by its text alone. Links are followed
// inside the folder only, see check.
func local(path string) bool {
	return filepath.IsLocal(path) && path != "." && !strings.ContainsRune(path, 0)
}

// encodeWire encodes a message as a line that ends with a newline. If grease is not nil, the message gets an unknown
// field, which a runner must ignore: what is never exercised stops working (RFC 8701 has the same idea for TLS).
func encodeWire(m any, grease *rand.Rand) ([]byte, error) {
	line, err := api.Encode(m)
	if err != nil {
		return nil, err
	}
	if grease != nil {
		value := []string{"null", "1", `"?"`, `[{}]`}
		line = fmt.Appendf(nil, `{"x_%d":%s,%s`, grease.IntN(1000), value[grease.IntN(len(value))], line[1:])
	}
	if len(line) > maxToRunner {
		return nil, fmt.Errorf("the message has %d bytes; the protocol takes %d", len(line), maxToRunner)
	}
	return line, nil
}

// readLine reads a line of at most max bytes. It returns io.EOF at the end; a last line without line end is ignored,
// because the process died while it wrote it. The line is valid until the next call.
func readLine(r *bufio.Reader, max int) ([]byte, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case len(long)+len(part) > max:
			return nil, fmt.Errorf("%w: a line has more than %d bytes", errWire, max)
		case err == nil && long == nil:
			return part, nil
		case err == nil:
			return append(long, part...), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, io.EOF // a broken pipe has ended
		}
		long = append(long, part...)
	}
}
