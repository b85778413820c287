import { type AddressInfo, createServer } from 'node:net'
import { accessible, expect, signIn, test } from './server'

/** A mail server on loopback that accepts everything; mails has the texts as they were sent. */
async function mailServer() {
  const mails: string[] = []
  const net = createServer((socket) => {
    let data: string | undefined
    const say = (line: string) => socket.write(`${line}\r\n`)
    say('220 mail.test')
    let rest = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      const lines = (rest + chunk).split('\r\n')
      rest = lines.pop()!
      for (const line of lines) {
        if (data !== undefined) {
          if (line !== '.') data += `${line}\n`
          else {
            mails.push(data.replaceAll('=\n', '').replaceAll('=3D', '='))
            data = undefined
            say('250 accepted')
          }
        } else if (line === 'DATA') {
          data = ''
          say('354 go on')
        } else if (line === 'QUIT') {
          say('221 bye')
          socket.end()
        } else say('250 ok')
      }
    })
  })
  await new Promise<void>((ok) => net.listen(0, '127.0.0.1', ok))
  return { mails, url: `smtp://127.0.0.1:${(net.address() as AddressInfo).port}`, close: () => net.close() }
}

test('a person sets an address, confirms it, and sees the mails', async ({ page, console, start }) => {
  console.allow(/404 \(Not Found\).*confirm/) // the browser's message for a link that was used
  const mail = await mailServer()
  const server = await start('--mail-url', mail.url, '--mail-from', 'Pleat <pleat@lab.test>')
  try {
    const key = server.newKey('mia')
    await signIn(page, server, key)
    await page.goto(`${server.url}/ui/keys`)
    await expect(page.getByRole('heading', { name: 'Notifications by mail' })).toBeVisible()
    await page.goto(`${server.url}/ui/notifications`)
    await page.getByLabel('Mail address').fill('mia@lab.test')
    await page.getByLabel('A run of mine has completed').check()
    await page.getByRole('button', { name: 'Save notifications' }).click()
    await expect(page.getByText('Not confirmed yet: open the link in the mail to mia@lab.test')).toBeVisible()
    await accessible(page)
    await expect.poll(() => mail.mails.length).toBe(1)
    const link = /http\S+\/ui\/confirm#\S+/.exec(mail.mails[0]!)![0]
    await page.goto(link)
    await accessible(page)
    await page.getByRole('button', { name: 'Confirm as mia' }).click()
    await expect(page.getByRole('heading', { name: 'Your address is confirmed' })).toBeVisible()

    await page.goto('about:blank')
    await page.goto(link)
    await page.getByRole('button', { name: 'Confirm as mia' }).click()
    await expect(page.getByRole('alert')).toContainText('it was used')

    await server.folded({ name: 'mailed' }, key)
    await expect.poll(() => mail.mails.length).toBe(2)
    expect(mail.mails[1]).toContain('has completed.')
    await page.goto(`${server.url}/ui/notifications`)
    await expect(page.getByText('Confirmed: mails go to mia@lab.test.')).toBeVisible()
    await expect(page.getByRole('row').filter({ hasText: 'run completed' })).toContainText('sent')
    const shots = process.env.NOTIFICATION_SHOTS
    for (const width of shots ? [1280, 400] : [])
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize({ width, height: 900 })
        await page.emulateMedia({ colorScheme })
        await page.screenshot({ path: `${shots}/${width}-${colorScheme}.png`, fullPage: true })
      }
  } finally {
    mail.close()
  }
})
