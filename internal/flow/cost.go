package flow

import (
	"fmt"
	"math"
	"time"

	"pleat"
	"pleat/internal/calvados"
)

// residues returns how many residues a simulation has; 0: it is not known before the source is fetched.
func (p *Plan) residues() int {
	switch {
	case p.MD.Sequence != "":
		return len(p.MD.Sequence)
	case p.MD.Preset == PresetIDR:
		return p.Size.Chain
	}
	return p.Size.Residues
}

// CheckCost refuses a simulation by a model if it is not expected to end within a time, or if its trajectory would be
// too large. A size that is not known, such as that of a file of the library, is not refused here; the run ends where
// it takes too long. A time of 0 is no limit. An error has CodeInvalid and names the field.
func (p *Plan) CheckCost(m *pleat.Model, most time.Duration) error {
	if p.Design != nil {
		return p.checkDesignCost(m, most)
	}
	if p.MD == nil {
		return nil
	}
	n := p.residues()
	if n == 0 {
		return nil
	}
	if p.MD.Preset != PresetAllAtom { // the number of atoms is not known here
		c := calvados.Defaults()
		c.SaveNs, c.LengthNs = p.MD.StepNs, p.MD.LengthNs
		if err := c.CheckTrajectory(n); err != nil {
			return err
		}
	}
	perNs := m.Speed.Seconds(n)
	if expected := perNs * p.MD.LengthNs; most > 0 && expected > most.Seconds() {
		fits := most.Seconds() / perNs
		digits := math.Pow(10, math.Floor(math.Log10(fits))-1) // two are enough for an estimate
		return pleat.InvalidField(inputPath+".sim_length_ns",
			" is %v ns, for which %s needs about %s with %d residues; "+
				"a run may take %s, which is enough for about %.4g ns",
			p.MD.LengthNs, m.Name, inWords(expected), n, inWords(most.Seconds()), math.Floor(fits/digits)*digits)
	}
	return nil
}

// checkDesignCost refuses a design that is too large for a model, or that is not expected to end within a time.
func (p *Plan) checkDesignCost(m *pleat.Model, most time.Duration) error {
	if n := p.Size.Residues; m.MaxTokens > 0 && n > m.MaxTokens {
		return pleat.Invalidf("the design has up to %d tokens; the engine %s takes at most %d", n, m.Name, m.MaxTokens).
			At(inputPath)
	}
	if expected := p.expected(m); most > 0 && expected > most {
		return pleat.InvalidField(inputPath+".numDesigns", " is %d, for which %s needs about %s; a run may take %s",
			p.Design.Params.Designs, m.Name, inWords(expected.Seconds()), inWords(most.Seconds()))
	}
	return nil
}

// inWords writes a time in seconds for a message, in the unit that suits it.
func inWords(seconds float64) string {
	switch {
	case seconds >= 2*3600:
		return fmt.Sprintf("%.0f hours", seconds/3600)
	case seconds >= 2*60:
		return fmt.Sprintf("%.0f minutes", seconds/60)
	}
	return fmt.Sprintf("%.0f seconds", seconds)
}
