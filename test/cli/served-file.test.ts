import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, describe, it } from 'node:test'
import { freePort, type Running, start, status, until } from './running.ts'

describe('/healthz/config', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-served-'))
  const running: Running[] = []
  afterEach(() => {
    for (const { child } of running.splice(0)) child.kill('SIGKILL')
  })
  after(() => rmSync(folder, { recursive: true }))

  for (const workers of [1, 2]) {
    it(`is the hash of the file that is served, with ${workers} workers`, async () => {
      const [http, ready] = await Promise.all([freePort(), freePort()])
      const file = join(folder, `${workers}.yaml`)
      const text = (body: string) => `# ${body} äöü
config: {workers: ${workers}, adminAddr: "off", statsAddr: "off", readinessAddr: "127.0.0.1:${ready}"}
gateways: {default: {port: ${http}}}
routes: [{name: a, policies: {directResponse: {status: 200, body: ${body}}}}]
`
      const served = async () => {
        const response = await fetch(`http://127.0.0.1:${ready}/healthz/config`)
        return response.text()
      }
      const hash = (content: string) => `${createHash('sha256').update(content).digest('hex')}\n`

      writeFileSync(file, text('one'))
      const own = start('run', '-f', file)
      running.push(own)
      await until('readiness', async () => (await status(ready, '/healthz/ready')) === 200)
      assert.equal(await served(), hash(text('one')))

      writeFileSync(file, text('two'))
      await until('the change', async () => (await served()) === hash(text('two')))

      // A rejected configuration is not served, whatever the file contains.
      const wrong = text('three').replace('routes', 'routs')
      writeFileSync(file, wrong)
      const both = `${hash(text('two'))}rejected ${hash(wrong)}`
      await until('the rejection', async () => (await served()) === both)

      // Long enough, and with an alias, so that a thread reads it.
      const long = `${text('&x four')}${`# ${'x'.repeat(98)}\n`.repeat(1000)}`
      writeFileSync(file, long)
      await until('the long file', async () => (await served()) === hash(long))
      own.child.kill('SIGTERM')
      assert.equal(await own.exit, 0, own.out())
    })
  }
})
