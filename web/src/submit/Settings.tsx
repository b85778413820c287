// What a fold runs with: the model and its parameters, constraints, and what its end sets off.
import type { Model, ParamSpec } from '../api'
import { boundsOf } from '../say'
import { nextKey, type Rule } from './draft'
import { draft, edit, model, models, saidOf, webhook } from './state'

const Said = ({ of }: { of: string[] }) => (
  <>
    {of.map((s) => (
      <p class="wrong">{s}</p>
    ))}
  </>
)

export function ModelChoice() {
  const list = models.value
  if (list === null) return <p class="dim">Loading the models…</p>
  if (list instanceof Error) return <p class="refused">The models could not be listed: {list.message}</p>
  if (list.length === 0)
    return (
      <p class="caution">
        No folding engine is running here at the moment. The operator starts one with <code>pleat worker</code>.
      </p>
    )
  const m = model.value
  const choices =
    m?.params.filter((p) => p.values.length !== 1 || p.default !== p.values[0] || !!draft.value.params[p.name]) ?? [] // of one value there is nothing to choose
  return (
    <>
      <label class="field">
        <span>Model</span>
        <select
          value={draft.value.model}
          onChange={(e) =>
            edit((d) => {
              d.model = e.currentTarget.value
            })
          }
        >
          {list.map((one) => (
            <option value={one.name}>
              {one.name} · {one.title}
            </option>
          ))}
        </select>
      </label>
      <Said of={saidOf((p) => p.part === 'param' && p.name === 'modelName')} />
      {m && <Facts model={m} />}
      {m && choices.length > 0 && (
        <details class="more" open={Object.values(draft.value.params).some((v) => v !== '')}>
          <summary>Parameters</summary>
          {choices.map((p) => (
            <Param spec={p} />
          ))}
        </details>
      )}
    </>
  )
}

const entities: Record<string, string> = { protein: 'protein', rna: 'RNA', dna: 'DNA', ligand: 'ligands' }

// What the words of a licence have that does not allow every use, or that is to be read first.
const bound = /non-?commercial|\bNC\b|research|academic|evaluation|restrict|\bown\b|\bread (its|their) page/i

function Facts({ model: m }: { model: Model }) {
  const search = m.params.find((p) => p.name === 'msaAlgorithm'),
    how = draft.value.params.msaAlgorithm || search?.default
  const searches =
    search && how && how !== 'none'
      ? 'Proteins without an alignment of your own are searched for relatives, where the operator has chosen. msaAlgorithm none keeps their sequences here.'
      : ''
  return (
    <>
      <p class="dim small-text">
        Folds {m.entities.map((e) => entities[e] ?? e).join(', ')}
        {m.minTokens > 1 && `, from ${m.minTokens}`}
        {m.maxTokens > 0 && `${m.minTokens > 1 ? '' : ','} up to ${m.maxTokens.toLocaleString('en')} tokens`}
        {m.features.includes('complex') ? ', several chains together' : ', each chain on its own'}.
      </p>
      {bound.test(m.licence) ? (
        <p class="caution" data-licence="bound">
          Mind the licence of {m.name}: {m.licence.replace(/\.?$/, '.')}
        </p>
      ) : (
        <p class="dim small-text" data-licence="">
          Licence: {m.licence || 'not stated'}
        </p>
      )}
      {searches && <p class="dim small-text">{searches}</p>}
      {m.notice && (
        <details class="more">
          <summary>What to know of {m.name}</summary>
          <p class="small-text">{m.notice}</p>
        </details>
      )}
    </>
  )
}

function Param({ spec }: { spec: ParamSpec }) {
  const v = draft.value.params[spec.name]
  const set = (to: string | boolean) =>
    edit((d) => {
      d.params[spec.name] = to
    })
  const said = saidOf((p) => p.part === 'param' && p.name === spec.name)
  const usual =
    spec.default === null || spec.default === undefined || spec.default === ''
      ? 'chosen by the service'
      : String(spec.default)
  if (spec.type === 'boolean') {
    return (
      <div class="field">
        <label class="check">
          <input
            type="checkbox"
            checked={typeof v === 'boolean' ? v : spec.default === true}
            onChange={(e) => set(e.currentTarget.checked)}
          />
          <span class="mono">
            {spec.name}
            <small>{spec.doc}</small>
          </span>
        </label>
        <Said of={said} />
      </div>
    )
  }
  return (
    <label class="field">
      <span class="mono">{spec.name}</span>
      {spec.values.length > 0 ? (
        <select value={String(v ?? '')} onChange={(e) => set(e.currentTarget.value)}>
          <option value="">{usual}</option>
          {spec.values
            .filter((o) => o !== usual || o === v)
            .map((o) => (
              <option value={o}>{o}</option>
            ))}
        </select>
      ) : (
        <input
          type="text"
          inputMode={spec.type === 'string' ? 'text' : 'decimal'}
          placeholder={usual}
          aria-invalid={said.length > 0}
          value={String(v ?? '')}
          onInput={(e) => set(e.currentTarget.value)}
        />
      )}
      <small>
        {spec.doc} {spec.values.length === 0 && boundsOf(spec)}
      </small>
      <Said of={said} />
    </label>
  )
}

const ruleWords: Record<Rule['kind'], { name: string; a: string; b: string; hint: string }> = {
  contact: { name: 'Contact', a: 'A:12', b: 'B:40', hint: 'two residues near each other' },
  pocket: { name: 'Pocket', a: 'B', b: 'A:12 A:40', hint: 'a binder chain near residues' },
  bond: { name: 'Bond', a: 'A:12:SG', b: 'B:1:C1', hint: 'a covalent bond between two atoms' },
}

export function Constraints() {
  const rules = draft.value.rules,
    m = model.value
  const takes = m?.features.includes('constraints')
  const seen: Record<string, number> = {}
  return (
    <details class="card more" open={rules.length > 0}>
      <summary>Constraints</summary>
      {rules.map((r, k) => {
        const index = (seen[r.kind] = (seen[r.kind] ?? -1) + 1),
          w = ruleWords[r.kind]
        const set = (change: (r: Rule) => void) => edit((d) => change(d.rules[k]!))
        return (
          <div class="rule" key={r.key}>
            <div class="row">
              <span class="rule-kind" title={w.hint}>
                {w.name}
              </span>
              <label>
                <span class="hush">{r.kind === 'pocket' ? 'Binder chain' : `First of ${w.name} ${index + 1}`}</span>
                <input
                  type="text"
                  class="mono"
                  placeholder={w.a}
                  value={r.a}
                  onInput={(e) =>
                    set((x) => {
                      x.a = e.currentTarget.value
                    })
                  }
                />
              </label>
              <label class="grow">
                <span class="hush">
                  {r.kind === 'pocket' ? 'Residues of the pocket' : `Second of ${w.name} ${index + 1}`}
                </span>
                <input
                  type="text"
                  class="mono"
                  placeholder={w.b}
                  value={r.b}
                  onInput={(e) =>
                    set((x) => {
                      x.b = e.currentTarget.value
                    })
                  }
                />
              </label>
              {r.kind === 'contact' && (
                <label>
                  <span class="hush">Distance of contact {index + 1} in Å</span>
                  <input
                    type="text"
                    inputMode="decimal"
                    class="narrow"
                    placeholder="Å"
                    value={r.distance}
                    onInput={(e) =>
                      set((x) => {
                        x.distance = e.currentTarget.value
                      })
                    }
                  />
                </label>
              )}
              <button
                type="button"
                class="bare"
                onClick={() =>
                  edit((d) => {
                    d.rules.splice(k, 1)
                  })
                }
                aria-label={`Remove ${w.name} ${index + 1}`}
              >
                Remove
              </button>
            </div>
            <Said of={saidOf((p) => p.part === 'rule' && p.kind === r.kind && p.index === index)} />
          </div>
        )
      })}
      {(takes || rules.length > 0) && (
        <div class="row">
          {(Object.keys(ruleWords) as Rule['kind'][]).map((kind) => (
            <button
              type="button"
              class="quiet small"
              onClick={() =>
                edit((d) => {
                  d.rules.push({ key: nextKey(), kind, a: '', b: '', distance: '' })
                })
              }
            >
              Add a {ruleWords[kind].name.toLowerCase()}
            </button>
          ))}
          <span class="dim small-text">Residues as chain:number, atoms as chain:number:name</span>
        </div>
      )}
    </details>
  )
}

export function FollowUps() {
  const d = draft.value,
    hook = webhook.value
  const said = (...names: string[]) => saidOf((p) => p.part === 'follow' && names.includes(p.name))
  const s = d.simulation
  const sim = (name: keyof typeof s, label: string, unit = '') => (
    <label class="field short">
      <span>
        {label}
        {unit && <span class="dim"> ({unit})</span>}
      </span>
      <input
        type="text"
        inputMode="decimal"
        value={s[name]}
        onInput={(e) =>
          edit((x) => {
            x.simulation[name] = e.currentTarget.value
          })
        }
      />
    </label>
  )
  return (
    <fieldset class="follow">
      <legend>When it is done</legend>
      <label class="check">
        <input
          type="checkbox"
          checked={d.ask}
          onChange={(e) =>
            edit((x) => {
              x.ask = e.currentTarget.checked
            })
          }
        />
        <span>Ask a question about it</span>
      </label>
      {d.ask && (
        <textarea
          rows={2}
          aria-label="The question"
          placeholder="Which residues are least certain?"
          value={d.question}
          onInput={(e) =>
            edit((x) => {
              x.question = e.currentTarget.value
            })
          }
        />
      )}
      {d.ask && <p class="dim small-text">Left empty, a draft waits for your question.</p>}
      <Said of={said('qna', 'evolla')} />
      <label class="check">
        <input
          type="checkbox"
          checked={d.simulate}
          onChange={(e) =>
            edit((x) => {
              x.simulate = e.currentTarget.checked
            })
          }
        />
        <span>Simulate its dynamics</span>
      </label>
      {d.simulate && (
        <div class="grid-2">
          {sim('length', 'Time', 'ns')}
          {sim('every', 'Frame every', 'ns')}
          {sim('temp', 'Temperature', 'K')}
          {sim('ionic', 'Salt', 'mol/L')}
          {sim('pH', 'pH')}
          <label class="field short">
            <span>Residues</span>
            <select
              value={s.profile}
              onChange={(e) =>
                edit((x) => {
                  x.simulation.profile = e.currentTarget.value
                })
              }
            >
              <option>calvados2</option>
              <option>calvados3</option>
            </select>
          </label>
        </div>
      )}
      <Said of={said('md', 'openmm')} />
      {hook?.is_configured ? (
        <label class="check">
          <input
            type="checkbox"
            checked={d.notify ?? hook.enabled_by_default}
            onChange={(e) =>
              edit((x) => {
                x.notify = e.currentTarget.checked
              })
            }
          />
          <span>
            Tell my webhook<small>{hook.target_url}</small>
          </span>
        </label>
      ) : (
        <p class="dim small-text">
          Set up a <a href="/ui/webhooks">webhook</a> to have another program told.
        </p>
      )}
      <Said of={said('custom_http')} />
    </fieldset>
  )
}
