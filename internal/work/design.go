package work

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"pleat"
	"pleat/internal/design"
	"pleat/internal/flow"
	"pleat/internal/submit"
)

// fetchDesign reads the files that the run has pinned, and rewrites the spec for the engine, under names of ours:
// what a user wrote never reaches the engine.
func (b *inputFetcher) fetchDesign(ctx context.Context, p *flow.Plan, seed string) *pleat.Failure {
	n, err := strconv.ParseUint(seed, 10, 32)
	if err != nil {
		return pleat.Failed(pleat.FailInvalidInput, fmt.Sprintf("seed %q is not a whole number from 0 to 4294967295",
			pleat.Clip(seed)))
	}
	files, err := b.p.service.WorkflowSource(ctx, b.flow)
	if err != nil {
		return b.readFailure(err, err.Error())
	}
	in := &pleat.DesignInput{
		Name:   b.flow.Name,
		Params: p.Design.Params.DesignParams,
		Seed:   uint32(n),
		Sent:   pleat.DesignSource{Files: map[string]string{}},
	}
	texts, main := map[string][]byte{}, ""
	for _, f := range files.Design {
		text, err := b.readFile(ctx, f.Key)
		if err != nil {
			return b.readFailure(err, fmt.Sprintf("the file %s of the design is gone", pleat.Clip(f.Name)))
		}
		in.Sent.Files[f.Name] = f.SHA256
		if f.Main {
			main, in.Sent.Spec = f.Name, string(text)
		} else {
			texts[f.Name] = text
		}
	}
	spec, err := design.ReadSpec(main, []byte(in.Sent.Spec), texts)
	if err != nil {
		return b.readFailure(err, err.Error())
	}
	in.Stem = spec.Stem()
	for _, c := range spec.Chains() {
		in.Chains = append(in.Chains, pleat.DesignChain{Name: c.Name, Designed: c.Designed, SMILES: c.SMILES})
	}
	engineFiles, err := spec.EngineFiles(in.Params.Protocol, texts)
	if err != nil {
		return b.readFailure(err, err.Error())
	}
	texts[main] = []byte(in.Sent.Spec)
	if err := b.writeDesign(in, engineFiles, texts); err != nil {
		b.log.Warn("the files of a design cannot be written", "error", err)
		return pleat.Failed(pleat.FailStorage, "the worker has no disk space for its files")
	}
	b.work.Design = in
	return nil
}

// writeDesign writes the files for the engine and those of the owner, and hashes everything that decides what is
// designed.
func (b *inputFetcher) writeDesign(
	in *pleat.DesignInput, files []design.EngineFile, texts map[string][]byte,
) error {
	h := sha256.New()
	params, err := json.Marshal(in.Params)
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%s %d %s\n", params, in.Seed, in.Stem)
	if err := os.MkdirAll(filepath.Join(b.work.Dir, inputDir), 0o700); err != nil {
		return err
	}
	for i, f := range files {
		text, name := f.Text, filepath.Join(inputDir, f.Path)
		if text == nil {
			text = texts[f.Name]
		} else { // the engine gets other text than the owner wrote
			name = filepath.Join(inputDir, fmt.Sprintf("own-%d", i))
			if err := os.WriteFile(filepath.Join(b.work.Dir, name), texts[f.Name], 0o600); err != nil {
				return err
			}
		}
		in.Sent.Own = append(in.Sent.Own, pleat.OwnFile{Name: f.Name, Path: name})
		fmt.Fprintf(h, "%s %x\n", f.Path, sha256.Sum256(text))
		path := filepath.Join(inputDir, f.Path)
		if err := os.WriteFile(filepath.Join(b.work.Dir, path), text, 0o600); err != nil {
			return err
		}
		in.Files = append(in.Files, pleat.DesignFile{Kind: f.Kind, Path: path})
		if f.Kind == design.MainSpec {
			in.Spec = path
		}
	}
	in.Sent.Plan = hex.EncodeToString(h.Sum(nil))
	return nil
}

// readFile reads a stored file of at most submit.MaxFile.
func (b *inputFetcher) readFile(ctx context.Context, key string) ([]byte, error) {
	in, _, err := b.p.files.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, submit.MaxFile+1))
	if err == nil && len(text) > submit.MaxFile {
		err = errTooLarge
	}
	return text, err
}
