// How a predicted structure can be simulated here, and the settings of a simulation. No page, no network.
import type { Model } from '../api'

/** A way to simulate: its preset on the wire and the model that runs it. */
export interface Method {
  preset: string
  model: Model
  /** Whether it has a choice of parameters for its residues. */
  hasProfiles: boolean
}

// The presets that start from a predicted structure, by the name of the model that runs each.
const presets = [
  { model: 'calvados', preset: 'single_af_go', hasProfiles: true },
  { model: 'openmm', preset: 'all_atom', hasProfiles: false },
]

/** The preset for residues as beads, which the service chooses if none is given. */
export const defaultPreset = presets[0]!.preset

/** Reports whether a preset has a choice of parameters for its residues. */
export const hasProfiles = (preset: string) => presets.some((p) => p.preset === preset && p.hasProfiles)

/** The methods that run here, the default one first. */
export const methodsOf = (models: Model[]): Method[] =>
  presets.flatMap(({ model: name, preset, hasProfiles }) => {
    const model = models.find((m) => m.kind === 'md' && m.name === name)
    return model ? [{ preset, model, hasProfiles }] : []
  })

/** The names and units of the settings of a simulation, by their key in workflow_input. */
export const settingNames: Record<string, string> = {
  preset: 'Preset',
  residue_profile: 'Force field',
  sim_length_ns: 'Length (ns)',
  step_size_ns: 'Frame interval (ns)',
  temp: 'Temperature (K)',
  ionic: 'Salt (mol/L)',
  pH: 'pH',
  box_length: 'Box edge (nm)',
  seed: 'Seed',
  sequence: 'Sequence',
  charge_termini: 'Charged ends',
  force_field_family: 'Force field family',
  topol: 'Placement',
}

/** The name of a setting. One that is not known here keeps its key as words. */
export const settingName = (key: string) => settingNames[key] ?? key.replaceAll('_', ' ')
