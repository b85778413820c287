package work

import "pleat"

// fold runs one attempt at a fold: components, templates and alignments first, then an earlier result of the same input
// if there is one, else the engine. A file that is gone fails the run before a search for alignments.
func (p *Pool) fold(t *runningTask, dir string) pleat.Output {
	w := p.work(t, dir)
	w.Fold = t.Fold
	s := &sink{p: p, t: t, dir: dir}
	if f := p.components(t, &w); f != nil {
		return pleat.Output{Failure: f}
	}
	if f := p.templates(t, &w, s); f != nil {
		return pleat.Output{Failure: f}
	}
	a := alignmentStage{p: p, t: t, work: &w, sink: s}
	if f := a.run(t.ctx); f != nil {
		return pleat.Output{Failure: f, MSA: a.state}
	}
	p.hashInput(t, &w)
	out, cached := p.useCachedResult(t, &w)
	if !cached {
		if f := p.awaitTurn(t, s); f != nil {
			return pleat.Output{Failure: f, MSA: a.state}
		}
		out = p.predict(t, w, s)
	}
	out.MSA = a.state
	return out
}
