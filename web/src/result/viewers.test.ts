import { expect, test } from 'vitest'
import { molstarAddress } from './viewers'

test('the address at molstar.org names the state of the job and nothing that is signed', () => {
  const url = new URL(molstarAddress('0198-job', 'A b-model.cif', 'https://fold.example.org'))
  expect(url.origin + url.pathname).toBe('https://molstar.org/viewer/')
  expect(url.searchParams.get('mvs-format')).toBe('mvsj')
  expect(url.searchParams.get('mvs-url')).toBe(
    'https://fold.example.org/v1/jobs/0198-job/view.mvsj?sample=A+b-model.cif',
  )
})
