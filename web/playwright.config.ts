import { defineConfig } from '@playwright/test'

export default defineConfig({
  testDir: 'e2e',
  testIgnore: process.env.PLEAT_TEST_SITE ? [] : ['docs.spec.ts'], // make test-site builds what it needs
  workers: 2, // each has a browser and a server; while one waits, the other folds or draws on the machine's few cores
  retries: 1, // what passes at the second try is reported as flaky
  timeout: 120_000,
  expect: { timeout: 45_000 },
  reporter: [['list']],
  forbidOnly: !!process.env.CI,
  use: {
    viewport: { width: 1280, height: 860 },
    launchOptions: {
      executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    },
    trace: 'off',
    video: 'off',
  },
})
