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
	"pleat/internal/engine"
)

// This file has the messages of docs/runner-protocol.md. runners/foldrun/wire.py is the other side; runners/vectors has
// messages that both sides must read alike.

const (
	wireProtocol  = 1
	maxToRunner   = 16 << 20 // bytes of a line to a runner
	maxFromRunner = 1 << 20  // bytes of a line from a runner
	maxWireLog    = 2000     // bytes of a log line
	maxWireText   = 1000     // bytes of an error message
	maxWireDetail = 16_000   // bytes of an error's details
	maxWireFiles  = 1000     // files of a result
	maxNotes      = 50       // notes of a result
)

type wireHello struct {
	Type      string  `json:"type"`
	Protocol  int     `json:"protocol"`
	Service   string  `json:"service,omitempty"`
	Heartbeat float64 `json:"heartbeat_s,omitempty"`
	Grease    uint64  `json:"grease,omitempty"`
}

type wireLoad struct {
	Type    string `json:"type"`
	Model   string `json:"model"`
	Weights string `json:"weights_dir,omitempty"`
	Device  string `json:"device"`
	Threads int    `json:"threads,omitempty"`
}

type wirePredict struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Attempt  int             `json:"attempt"`
	Workdir  string          `json:"workdir"`
	Kind     pleat.TaskKind  `json:"kind"`
	Input    json.RawMessage `json:"input"`
	Files    []wireInput     `json:"files,omitempty"`
	Params   map[string]any  `json:"params,omitempty"`
	Seed     uint64          `json:"seed,omitempty"`
	Parallel int             `json:"parallel,omitempty"`
	Resume   *wireResume     `json:"resume,omitempty"`
}

type wireInput struct {
	Kind     string `json:"kind"`
	Path     string `json:"path"`
	Sequence *int   `json:"sequence,omitempty"`
}

type wireResume struct {
	Path string `json:"path"`
	Step int64  `json:"step"`
}

// wireCall is every other message to a runner: cancel, ping, shutdown.
type wireCall struct {
	Type string `json:"type"`
	ID   string `json:"id,omitempty"`
	N    int    `json:"n,omitempty"`
}

type wirePong struct {
	Type     string   `json:"type"`
	N        int      `json:"n,omitempty"`
	Protocol int      `json:"protocol,omitempty"`
	Engine   string   `json:"engine,omitempty"`
	Mem      *wireMem `json:"mem,omitempty"`
}

type wireMem struct {
	RSS         int64 `json:"rss,omitempty"`
	DeviceUsed  int64 `json:"device_used,omitempty"`
	DeviceTotal int64 `json:"device_total,omitempty"`
}

type wireReady struct {
	Type    string          `json:"type"`
	Version string          `json:"engine_version"`
	Weights string          `json:"weights_sha256,omitempty"`
	Device  string          `json:"device,omitempty"`
	Mem     *wireMem        `json:"mem,omitempty"`
	Detail  json.RawMessage `json:"detail,omitempty"`
}

type wireProgress struct {
	Type  string `json:"type"`
	ID    string `json:"id"`
	Stage string `json:"stage"`
	Done  int    `json:"done,omitempty"`
	Total int    `json:"total,omitempty"`
}

type wireLog struct {
	Type  string `json:"type"`
	ID    string `json:"id,omitempty"`
	Level string `json:"level,omitempty"`
	Line  string `json:"line"`
}

type wireCheckpoint struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Path string `json:"path"`
	Step int64  `json:"step"`
}

type wireResult struct {
	Type     string             `json:"type"`
	ID       string             `json:"id"`
	Files    []wireFile         `json:"files,omitempty"`
	Scores   *wireScores        `json:"scores,omitempty"`
	ChainMap map[string]string  `json:"chain_map,omitempty"`
	Tokens   []int              `json:"tokens,omitempty"`
	Timings  map[string]float64 `json:"timings,omitempty"`
	Metrics  map[string]any     `json:"metrics,omitempty"`
	Notes    []string           `json:"notes,omitempty"`
	Answer   string             `json:"answer,omitempty"`
	Mem      *wireMem           `json:"mem,omitempty"`
}

type wireFile struct {
	Kind   string `json:"kind"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Rank   int    `json:"rank,omitempty"`
	Shape  []int  `json:"shape,omitempty"`
}

type wireScores struct {
	PTM      *float64        `json:"ptm,omitempty"`
	IPTM     *float64        `json:"iptm,omitempty"`
	MaxPAE   *float64        `json:"pae_max,omitempty"`
	Affinity *pleat.Affinity `json:"affinity,omitempty"`
	Pairs    []wirePair      `json:"pairs,omitempty"`
}

type wirePair struct {
	A    string   `json:"chain_a"`
	B    string   `json:"chain_b"`
	IPTM *float64 `json:"iptm"`
}

type wireError struct {
	Type    string `json:"type"`
	ID      string `json:"id,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Retry   *bool  `json:"retryable,omitempty"`
	Detail  string `json:"detail,omitempty"`
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

// decodeWire decodes one line; nil: its type is unknown. It knows the messages of both directions, for the test
// vectors.
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

// missingField returns the name of a required field that a message does not have; empty: none.
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

// local reports whether a path of a message is inside the folder of the request.
func local(path string) bool {
	return filepath.IsLocal(path) && path != "." && !strings.ContainsRune(path, 0)
}

// encodeWire encodes a message as a line. If grease is not nil, the message gets an unknown field.
func encodeWire(m any, grease *rand.Rand) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return nil, err
	}
	line := b.Bytes()
	if grease != nil {
		value := []string{"null", "1", `"?"`, `[{}]`}
		line = fmt.Appendf(nil, `{"x_%d":%s,%s`, grease.IntN(1000), value[grease.IntN(len(value))], line[1:])
	}
	if len(line) > maxToRunner {
		return nil, fmt.Errorf("the message has %d bytes; the protocol takes %d", len(line), maxToRunner)
	}
	return line, nil
}

// readLine reads a line of at most max bytes. It returns io.EOF at the end; a last line without line end is ignored.
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
