package work

import "pleat"

// fold runs one attempt at a fold: alignments first, then an earlier result of the same input if there is one, else
// the engine. The timings of a result get «queue» and «msa», in seconds.
func (p *Pool) fold(t *runningTask, dir string) pleat.Output {
	w := p.work(t, dir)
	w.Fold = t.Fold
	s := &sink{p: p, t: t, dir: dir}
	a := alignmentStage{p: p, t: t, work: &w, sink: s}
	if f := a.run(t.ctx); f != nil {
		return pleat.Output{Failure: f, MSA: a.state}
	}
	p.hashInput(t, &w)
	out, cached := p.useCachedResult(t, &w)
	if !cached {
		out = p.predict(t, w, s)
	}
	out.MSA = a.state
	if out.Result != nil && out.Result.Timings != nil {
		out.Result.Timings["queue"] = t.waited().Seconds()
		if a.state != pleat.StatePending {
			out.Result.Timings["msa"] = a.took.Seconds()
		}
	}
	return out
}
