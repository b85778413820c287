// Structures that no embedded engine gives: complexes with ligands, every class of confidence, 1,500 residues,
// failures. A test runner invents them (see runners/made), and they pass through the whole program.
import { resolve } from 'node:path'
import type { CreateJob } from '../src/api'
import { test as base, Server } from './server'

/** The flags that add the runner. */
export const engines = [
  '--engines',
  'mini,calvados,analyst,made',
  '--runners',
  resolve(import.meta.dirname ?? __dirname, 'runners'),
]

export const test = base.extend<object, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = new Server(engines)
      await server.start()
      await use(server)
      await server.remove()
    },
    { scope: 'worker' },
  ],
})

const letters = 'ALEKVQRISTDF'

export const protein = (length: number) => ({
  proteinChain: { sequence: letters.repeat(Math.ceil(length / letters.length)).slice(0, length) },
})

/** Two proteins, and a ligand with an affinity prediction. */
export const complex: Partial<CreateJob> = {
  name: 'Made-up complex',
  params: { modelName: 'made-up' },
  sequences: [protein(70), protein(40), { ligandSequence: { sequence: 'c1ccccc1', property_type: 'affinity' } }],
}

/** Console warnings of machines that draw in software. */
export const driver = /GL Driver Message|Automatic fallback to software WebGL/
