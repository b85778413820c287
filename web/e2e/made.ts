// Structures that no embedded engine gives: complexes with ligands, every class of confidence, 1,500 residues,
// failures. A test runner invents them (see runners/made), and they pass through the whole program.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { CreateJob } from '../src/api'
import { test as base, Server } from './server'

const here = import.meta.dirname ?? __dirname

// The folder of runners has the runner and, beside it, the package that runners share: its process sees nothing else.
const runners = mkdtempSync(join(tmpdir(), 'pleat-runners-'))
process.on('exit', () => rmSync(runners, { recursive: true, force: true }))
for (const folder of ['runners/made', '../../runners/foldrun'])
  cpSync(resolve(here, folder), join(runners, folder.split('/').at(-1)!), { recursive: true })

/** The flags that add the runner. */
export const engines = ['--engines', 'mini,calvados,analyst,compare,made', '--runners', runners]

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
