// The scores with what they mean. What an engine does not give is said to be missing, never guessed.
import type { ScoredChains } from '../api'
import type { Prediction } from './load'

interface Row {
  name: string
  value: string | null
  unit?: string
  says: string
}

export function Scores({ p, model }: { p: Prediction; model: string }) {
  const s = p.scores
  const fixed = (v: number | null | undefined, digits: number) =>
    v === null || v === undefined ? null : v.toFixed(digits)
  const rows: Row[] = [
    {
      name: 'Mean pLDDT',
      value: fixed(s?.meanPLLDT, 1),
      unit: 'of 100',
      says: 'How well each residue’s surroundings are expected to agree with the true structure. It says nothing of how far apart parts lie.',
    },
    {
      name: 'pTM',
      value: fixed(s?.ptm_score, 2),
      unit: 'of 1',
      says: 'How well the overall shape is expected to agree. Above 0.5 the fold is probably right. Of short chains it is low even where the fold is right.',
    },
    {
      name: 'ipTM',
      value: fixed(s?.iptm_score, 2),
      unit: 'of 1',
      says: 'The same for how chains lie to each other. Above 0.8 usually right, below 0.6 usually not.',
    },
    {
      name: 'Largest aligned error',
      value: fixed(s?.max_pae_score, 1),
      unit: 'Å',
      says: 'The largest entry of the matrix of errors: the pair of residues whose places say least of each other.',
    },
    {
      name: 'Radius of gyration',
      value: fixed(p.radius, 2),
      unit: 'Å',
      says: 'How compact the shape is. Measured on the model, so no score.',
    },
  ]
  const single = (s?.chains.length ?? 1) === 1
  const missing = rows
    .filter((r) => r.value === null && r.name !== 'Radius of gyration' && !(single && r.name === 'ipTM'))
    .map((r) => r.name.replace(/^[ML]/, (c) => c.toLowerCase()))
  return (
    <section class="card" aria-labelledby="scores-title">
      <h2 id="scores-title">Scores</h2>
      <dl class="scores">
        {rows
          .filter((r) => r.value !== null)
          .map((r) => (
            <div>
              <dt>{r.name}</dt>
              <dd>
                <strong class="num">{r.value}</strong> <span class="dim">{r.unit}</span>
              </dd>
              <dd class="says">{r.says}</dd>
            </div>
          ))}
      </dl>
      {missing.length > 0 && <p class="dim not-given">Not given by this engine: {missing.join(', ')}.</p>}
      {s?.confidence && (
        <p class="hint">
          What the confidence is: {s.confidence}, as the engine states it itself. It is an estimate, not a measurement.
        </p>
      )}
      {s?.affinity_result_raw_json && <AffinityCard s={s} model={model} />}
    </section>
  )
}

function AffinityCard({ s, model }: { s: ScoredChains; model: string }) {
  const a = s.affinity_result_raw_json!
  const boltz = model === 'boltz-2'
  return (
    <div class="affinity" data-affinity="">
      <h3>Affinity of the ligand</h3>
      <dl class="scores">
        <div>
          <dt>Probability that it binds</dt>
          <dd>
            <strong class="num">{a.affinity_probability_binary.toFixed(2)}</strong> <span class="dim">of 1</span>
          </dd>
          <dd class="says">As the model estimates it; for telling binders from non-binders.</dd>
        </div>
        <div>
          <dt>Affinity value</dt>
          <dd>
            <strong class="num">{a.affinity_pred_value.toFixed(2)}</strong>
          </dd>
          <dd class="says">
            {boltz ? (
              <>
                The model’s log₁₀ of an IC₅₀ in µM, so about {concentration(10 ** a.affinity_pred_value)}. Lower binds
                more strongly; for ranking like molecules.
              </>
            ) : (
              'In the model’s own scale; see its documentation.'
            )}
          </dd>
        </div>
      </dl>
    </div>
  )
}

function concentration(micromolar: number): string {
  if (micromolar >= 1000) return (micromolar / 1000).toPrecision(2) + ' mM'
  if (micromolar >= 1) return micromolar.toPrecision(2) + ' µM'
  if (micromolar >= 1e-3) return (micromolar * 1e3).toPrecision(2) + ' nM'
  return (micromolar * 1e6).toPrecision(2) + ' pM'
}
