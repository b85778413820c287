package engine

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
)

// The runner protocol's messages, docs/runner-protocol.md. runners/foldrun/wire.py is the other side; runners/vectors holds
// what both must read alike.

const (
	wireProtocol  = 1
	maxToRunner   = 16 << 20 // bytes of a line to a runner
	maxFromRunner = 1 << 20  // of a line from one
	maxWireLog    = 2000     // bytes of a log line
	maxWireText   = 1000     // of an error's sentence
	maxWireDetail = 16_000
	maxWireFiles  = 1000
	maxNotes      = 50
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

// codes of the protocol are the kinds of failure of the same name.
var wireCodes = []pleat.FailureKind{pleat.FailInvalidInput, pleat.FailUnsupported, pleat.FailTooLarge, pleat.FailMSAUnavailable, pleat.FailWeightsMissing,
	pleat.FailLoad, pleat.FailOOM, pleat.FailDeviceLost, pleat.FailTimeout, pleat.FailCancelled, pleat.FailCrashed, pleat.FailOutputInvalid, pleat.FailInternal}

// failure is the error as the service keeps it. A code that this version does not know is an internal one.
func (e *wireError) failure() *pleat.Failure {
	kind := pleat.FailureKind(e.Code)
	if !slices.Contains(wireCodes, kind) {
		kind = pleat.FailInternal
	}
	f := pleat.Failed(kind, cmp.Or(oneLine(e.Message, maxWireText), "the engine gave no reason"))
	if e.Retry != nil {
		f.Retry = *e.Retry
	}
	return f
}

// errWire is the error of a line that breaks the protocol.
var errWire = errors.New("the runner broke the protocol")

// decodeWire reads one line from a runner; nil for a type that is not known. Both directions, for the vectors.
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
	if field := lacks(m); field != "" {
		return nil, fmt.Errorf("%w: %s has no %s", errWire, *head.Type, field)
	}
	return m, nil
}

var wireTypes = map[string]func() any{
	"hello": func() any { return new(wireHello) }, "load": func() any { return new(wireLoad) }, "predict": func() any { return new(wirePredict) },
	"cancel": func() any { return new(wireCall) }, "ping": func() any { return new(wireCall) }, "shutdown": func() any { return new(wireCall) },
	"pong": func() any { return new(wirePong) }, "ready": func() any { return new(wireReady) }, "progress": func() any { return new(wireProgress) },
	"log": func() any { return new(wireLog) }, "checkpoint": func() any { return new(wireCheckpoint) }, "result": func() any { return new(wireResult) },
	"error": func() any { return new(wireError) },
}

// lacks names a field that a message needs and has not.
func lacks(m any) string {
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

// local reports whether a path of a message stays in the folder of the work.
func local(path string) bool {
	return filepath.IsLocal(path) && path != "." && !strings.ContainsRune(path, 0)
}

// encodeWire writes a message as a line; grease, if not nil, puts a field into it that nobody knows.
func encodeWire(m any, grease *rand.Rand) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return nil, err
	}
	line := b.Bytes()
	if grease != nil {
		line = fmt.Appendf(nil, `{"x_%d":%s,%s`, grease.IntN(1000), []string{"null", "1", `"?"`, `[{}]`}[grease.IntN(4)], line[1:])
	}
	if len(line) > maxToRunner {
		return nil, fmt.Errorf("the message has %d bytes; the protocol takes %d", len(line), maxToRunner)
	}
	return line, nil
}

// readLine reads a line of at most most bytes. io.EOF where there is none left; a last line without its end is none.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case len(long)+len(part) > most:
			return nil, fmt.Errorf("%w: a line has more than %d bytes", errWire, most)
		case err == nil && long == nil:
			return part, nil
		case err == nil:
			return append(long, part...), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, io.EOF // a pipe that broke is one that ended
		}
		long = append(long, part...)
	}
}

// oneLine makes a runner's text fit to be shown: one line, printable, bounded.
func oneLine(s string, most int) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' }), " ")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
