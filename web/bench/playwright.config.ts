// The benches of the page: no test. `make bench-page` runs them.
import { defineConfig } from '@playwright/test'
import tests from '../playwright.config'

export default defineConfig({
  ...tests,
  testDir: '.',
  testMatch: '*.bench.ts',
  outputDir: '../test-results',
  retries: 0,
  timeout: 300_000,
})
