// A running gateway names the lines of its current file, whichever process serves a request.

import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { type Running, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'

const RULE = "deny: request.path == '/secret'"

for (const workers of [1, 2]) {
  describe(`lines of a file that is edited, with ${workers} processes`, () => {
    let running: Running
    let port: number
    const taken = createServer()
    const textOf = (above: string, below = '', gateways = '') => `${above}gateways:
  default: { port: ${port} }
${gateways}routes:
- name: first
  matches: [{ path: { pathPrefix: /first } }]
  policies: { directResponse: { status: 204 } }
- name: limited
  policies:
    localRateLimit: [{ maxTokens: 4, tokensPerFill: 1, fillInterval: 1h }]
    authorization:
      rules:
      - ${RULE}
    directResponse: { status: 200 }
${below}`

    before(async () => {
      port = await free()
      await new Promise<void>((resolve) => taken.listen(0, resolve))
      running = await startRunning(textOf(''), { workers })
    })
    after(async () => {
      taken.close()
      await running.stop()
    })

    /** Most likely denied by each process: the place of the rule, as all of them report it. */
    const placesOf = async () => {
      for (let left = 16; left > 0; left--) {
        const { status } = await fetch(`http://127.0.0.1:${port}/secret`, {
          headers: { connection: 'close' },
        })
        assert.equal(status, 403)
      }
      const recorded = async () => {
        const found = await fetch(`http://127.0.0.1:${running.ports.admin}/api/decisions?limit=16`)
        return JSON.stringify(await found.json())
      }
      let records = ''
      await until('records of denials', async () => {
        records = await recorded()
        return (records.match(/gateway\.yaml:\d+:/g)?.length ?? 0) >= 16
      })
      return new Set([...records.matchAll(/gateway\.yaml:(\d+):/g)].map(([, line]) => line))
    }
    /** The line in the file, which begins with the lines of the harness. */
    const lineOf = (text: string) =>
      String(7 + text.slice(0, text.indexOf(RULE)).split('\n').length - 1)

    it('are the new ones after an edit above, and stay if a file is rejected', async () => {
      assert.deepEqual([...(await placesOf())], [lineOf(textOf(''))])
      const moved = textOf('# one\n# two\n# three\n')
      await running.reload(moved)
      assert.deepEqual([...(await placesOf())], [lineOf(moved)])
      const rejections = 'portcullis_config_reloads_total{outcome="rejected"}'
      running.write(textOf('# one\n', '- name: broken\n  nonsense: 1\n'))
      await until('the rejection', async () => (await running.metric(rejections)) === 1)
      assert.deepEqual([...(await placesOf())], [lineOf(moved)])
      // Only the process that listens finds out that the port is taken.
      const { port: other } = taken.address() as AddressInfo
      running.write(textOf('# one\n', '', `  other: { port: ${other} }\n`))
      await until('the rejection', async () => (await running.metric(rejections)) === 2)
      assert.deepEqual([...(await placesOf())], [lineOf(moved)])
      const again = textOf('# one\n# two\n')
      await running.reload(again)
      assert.deepEqual([...(await placesOf())], [lineOf(again)])
    })
  })
}
