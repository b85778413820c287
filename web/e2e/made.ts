// Structures that no embedded engine gives: complexes with ligands, every class of confidence, fifteen hundred residues, failures.
// They come through the whole program from a runner that makes them up, see runners/made: shapes and scores say nothing of any
// protein.
import { resolve } from 'node:path'
import type { CreateJob } from '../src/api'
import { test as base, Server } from './server'

/** The flags that bring the runner in. */
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

/** Two proteins and a ligand whose affinity is asked for. */
export const complex: Partial<CreateJob> = {
  name: 'Made-up complex',
  params: { modelName: 'made-up' },
  sequences: [protein(70), protein(40), { ligandSequence: { sequence: 'c1ccccc1', property_type: 'affinity' } }],
}

/** What the graphics driver of a machine without a graphics card remarks. */
export const driver = /GL Driver Message|Automatic fallback to software WebGL/
