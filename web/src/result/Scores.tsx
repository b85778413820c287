// The scores of a prediction and what they mean. Scores that the engine does not give are listed as missing.
import type { ScoredChains, Template } from '../api'
import { Table } from '../table'
import type { Prediction } from './load'

/** A score with its explanation. */
interface ScoreRow {
  name: string
  value: number | null | undefined
  digits: number
  unit: string
  explanation: string
  /** Whether to list the score as missing when it has no value. */
  expected: boolean
}

/** The scores of a prediction, also those that are missing. */
function scoreRows(p: Prediction): ScoreRow[] {
  const s = p.scores
  return [
    {
      name: 'Mean predicted RMSD',
      value: s?.predictedRmsd,
      digits: 2,
      unit: 'Å',
      expected: false,
      explanation:
        'The error that the model expects of the main chain, after each chain is fitted on its own. Low is good. ' +
        'It does not rate how the chains lie to each other.',
    },
    {
      name: 'Mean pLDDT',
      value: s?.meanPLLDT,
      digits: 1,
      unit: 'of 100',
      expected: (s?.predictedRmsd ?? null) === null,
      explanation:
        'Expected agreement of each residue’s surroundings with the true structure. ' +
        'It does not rate the distance between parts.',
    },
    {
      name: 'pTM',
      value: s?.ptm_score,
      digits: 2,
      unit: 'of 1',
      expected: true,
      explanation:
        'Expected agreement of the overall shape. Above 0.5 the fold is probably right. ' +
        'Short chains score low even if the fold is right.',
    },
    {
      name: 'ipTM',
      value: s?.iptm_score,
      digits: 2,
      unit: 'of 1',
      expected: (s?.chains.length ?? 1) > 1,
      explanation: 'The same for the arrangement of the chains. Above 0.8 it is usually right, below 0.6 usually not.',
    },
    {
      name: 'Largest PAE',
      value: s?.max_pae_score,
      digits: 1,
      unit: 'Å',
      expected: true,
      explanation:
        'The largest predicted aligned error: the pair of residues whose relative position is least certain.',
    },
    {
      name: 'Radius of gyration',
      value: p.radius,
      digits: 2,
      unit: 'Å',
      expected: false,
      explanation: 'How compact the structure is. It is measured on the model and is not a score.',
    },
  ]
}

/** templates: those of the job, to which the scores refer by their place. */
interface Props {
  p: Prediction
  model: string
  templates: Template[]
}

/** The scores of one structure. */
export function Scores({ p, model, templates }: Props) {
  const rows = scoreRows(p)
  const missing = rows.filter((r) => r.expected && (r.value ?? null) === null).map((r) => r.name)
  return (
    <section class="card" aria-labelledby="scores-title">
      <h2 id="scores-title">Scores</h2>
      <dl class="scores">
        {rows.map(
          ({ name, value, digits, unit, explanation }) =>
            (value ?? null) !== null && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <strong class="num">{value!.toFixed(digits)}</strong> <span class="dim">{unit}</span>
                </dd>
                <dd class="explanation">{explanation}</dd>
              </div>
            ),
        )}
      </dl>
      {missing.length > 0 && <p class="dim not-given">Not provided by this engine: {missing.join(', ')}.</p>}
      {p.scores?.confidence && (
        <p class="hint">
          What the confidence means, as stated by the engine: {p.scores.confidence}. It is an estimate, not a
          measurement.
        </p>
      )}
      {!!p.scores?.templates?.length && <TemplateScores scores={p.scores.templates} templates={templates} />}
      {p.scores?.affinity_result_raw_json && (
        <AffinityScores affinity={p.scores.affinity_result_raw_json} isBoltz={model === 'boltz-2'} />
      )}
    </section>
  )
}

interface TemplateProps {
  scores: NonNullable<ScoredChains['templates']>
  templates: Template[]
}

/** How near the structure is to its templates. */
function TemplateScores({ scores, templates }: TemplateProps) {
  return (
    <div data-templates={scores.length}>
      <h3>Templates</h3>
      <Table
        columns={['Template', 'Chain', { title: 'Residues', class: 'right' }, { title: 'RMSD in Å', class: 'right' }]}
      >
        {scores.map((s, i) => (
          <tr key={i}>
            <td>
              {s.template + 1}
              <TemplateSource of={templates[s.template]} />
            </td>
            <td>{s.chain}</td>
            <td class="right num">{s.residues}</td>
            <td class="right num">{s.rmsd === null ? <span class="dim">none</span> : s.rmsd.toFixed(2)}</td>
          </tr>
        ))}
      </Table>
      <p class="dim small-text">
        Of the CA atoms of the residues that the template has, after superposition. A low value means that the model
        followed the template, not that the structure is right.
      </p>
    </div>
  )
}

/** Where a template comes from; nothing if the reader may not know. */
function TemplateSource({ of: t }: { of: Template | undefined }) {
  if (t?.jobId)
    return (
      <>
        {' · '}
        <a href={`/ui/jobs/${t.jobId}`}>an earlier job</a>
      </>
    )
  const text = t?.pdbId ?? (t?.libraryItemId && (t.fileName || 'library'))
  return text ? <span class="dim"> · {text}</span> : null
}

interface AffinityProps {
  affinity: NonNullable<ScoredChains['affinity_result_raw_json']>
  isBoltz: boolean
}

/** The predicted affinity of a ligand. */
function AffinityScores({ affinity, isBoltz }: AffinityProps) {
  return (
    <div class="affinity" data-affinity="">
      <h3>Ligand affinity</h3>
      <dl class="scores">
        <div>
          <dt>Binding probability</dt>
          <dd>
            <strong class="num">{affinity.affinity_probability_binary.toFixed(2)}</strong> <span class="dim">of 1</span>
          </dd>
          <dd class="explanation">The model’s estimate, for separating binders from non-binders.</dd>
        </div>
        <div>
          <dt>Affinity value</dt>
          <dd>
            <strong class="num">{affinity.affinity_pred_value.toFixed(2)}</strong>
          </dd>
          <dd class="explanation">
            {isBoltz
              ? `log₁₀ of the predicted IC₅₀ in µM, about ${concentration(10 ** affinity.affinity_pred_value)}. ` +
                'Lower values mean stronger binding; for ranking similar molecules.'
              : 'On the model’s own scale; see its documentation.'}
          </dd>
        </div>
      </dl>
    </div>
  )
}

/** Formats a concentration given in µM. */
function concentration(micromolar: number): string {
  if (micromolar >= 1000) return `${(micromolar / 1000).toPrecision(2)} mM`
  if (micromolar >= 1) return `${micromolar.toPrecision(2)} µM`
  if (micromolar >= 1e-3) return `${(micromolar * 1e3).toPrecision(2)} nM`
  return `${(micromolar * 1e6).toPrecision(2)} pM`
}
