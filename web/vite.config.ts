import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { defaultClientConditions, defineConfig, type Plugin } from 'vite'

// Compresses what was built, once and as small as it gets. The plain files go: the program keeps the compressed ones
// alone.
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    closeBundle() {
      for (const entry of readdirSync('dist', { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !['.html', '.js', '.css', '.svg', '.txt', '.json'].includes(extname(entry.name)))
          continue
        const name = join(entry.parentPath, entry.name)
        const bytes = readFileSync(name)
        writeFileSync(name + '.gz', gzipSync(bytes, { level: 9 }))
        writeFileSync(
          name + '.br',
          brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
        )
        rmSync(name)
      }
    },
  }
}

// Where the service is while the page is developed. It must see the Host that the browser sees: a cookie may write only
// from the page's own origin.
const service = { target: process.env.PLEAT_URL || 'http://127.0.0.1:8080', changeOrigin: false }

// The modules that are loaded with every page, below src.
const firstPage = [
  '(?:main|shell|router|session|signin|events|streamPort|api|http|format|components|controls)\\.tsx?$',
  'submit[\\\\/]',
  'dynamics[\\\\/]methods\\.',
  'compare[\\\\/]address\\.',
].join('|')

export default defineConfig({
  base: '/ui/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [compressed()],
  server: { proxy: { '/v1': service, '/docs': service, '/openapi.json': service } },
  // The client is built from its sources.
  resolve: { conditions: ['source', ...defaultClientConditions] },
  worker: { format: 'es' },
  build: {
    target: 'es2023',
    modulePreload: { polyfill: false }, // every browser of the target has it
    assetsInlineLimit: 0, // the policy allows no inline code, and a file is kept by its hash
    chunkSizeWarningLimit: 4000,
    license: { fileName: 'licences.txt' },
    rolldownOptions: {
      output: {
        // The viewer is a file of its own, whose name changes only with the viewer.
        codeSplitting: {
          groups: [
            {
              // The code of the first page is one file, also where later pages share parts of it: each file is a
              // request.
              name: 'index',
              test: new RegExp(`[\\\\/](?:src[\\\\/](?:${firstPage})|node_modules[\\\\/]@?preact[\\\\/])`),
            },
            {
              name: 'molstar',
              test: /node_modules[\\/](molstar|rxjs|immutable|mutative|io-ts|fp-ts|h264-mp4-encoder)[\\/]/,
            },
          ],
        },
      },
    },
  },
})
