import { expect, test } from 'vitest'
import type { Model } from '../api'
import { methodsOf, settingName } from './methods'

test('the methods are those whose engines run here', () => {
  const model = (name: string, kind: string) => ({ name, kind }) as Model
  const presets = (...models: Model[]) => methodsOf(models).map((m) => m.preset)
  expect(presets(model('openmm', 'md'), model('mini', 'fold'), model('calvados', 'md'))).toEqual([
    'single_af_go',
    'all_atom',
  ])
  expect(presets(model('openmm', 'md'))).toEqual(['all_atom'])
  expect(presets(model('calvados', 'fold'))).toEqual([])
})

test('settings have names with units', () => {
  expect(settingName('sim_length_ns')).toBe('Length (ns)')
  expect(settingName('ionic')).toBe('Salt (mol/L)')
  expect(settingName('new_field')).toBe('new field')
})
