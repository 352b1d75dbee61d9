// `portcullis run --no-strict`, as its own process: invalid parts fail closed, the rest is served.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { startServer } from '../proxy/governed.ts'
import { type Running, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'

const rules = (expression: string) => `{ authorization: { rules: [${expression}] } }`

for (const workers of [1, 2]) {
  describe(`a file that is applied part by part, ${workers} workers`, () => {
    let port: number
    let backend: { readonly port: number; readonly close: () => void }
    let running: Running

    const text = (policies: string, more = '') => `
gateways: { default: { port: ${port} } }
routes:
- name: guarded
  matches: [{ path: { exact: /guarded } }]
  policies: ${policies}
  backends: [{ host: "127.0.0.1:${backend.port}" }]
- { name: other, backends: [{ host: "127.0.0.1:${backend.port}" }] }
${more}`
    const status = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`)
      await response.text()
      return response.status
    }
    /** A process may write its lines with a delay. */
    const said = (line: RegExp) => until(String(line), () => line.test(running.out()))
    const expect = async (guarded: number, parts: number) => {
      assert.equal(await status('/guarded'), guarded)
      assert.equal(await status('/other'), 200)
      assert.equal(await running.metric('portcullis_config_rejected_parts'), parts)
      assert.equal(await running.metric('portcullis_config_synchronized'), parts === 0 ? 1 : 0)
    }

    before(async () => {
      backend = await startServer((_, response) => void response.end('served'))
      port = await free()
      const broken = text(rules('{ deny: "request.nothing" }'))
      running = await startRunning(broken, { workers, args: ['--no-strict'] })
    })
    after(async () => {
      await running?.stop()
      backend.close()
    })

    it('starts with an invalid policy, which denies all requests that it guards', async () => {
      await expect(500, 1)
      await said(/PC0111.*"?outcome"?[=:]"?part-rejected/)
    })

    it('serves everything once it is fixed', async () => {
      await running.reload(text(rules(`{ deny: "request.method == 'POST'" }`)))
      await expect(200, 0)
    })

    it('a Deny rule that can never match denies the requests that its policy guards', async () => {
      await running.reload(text(rules('{ deny: "jwt.sub == \'bob\'" }')))
      await expect(500, 1)
      await said(/AZ001/)
    })

    for (const rule of ['allow', 'require']) {
      it(`a rule ${rule} on a token that nothing verifies decides by itself`, async () => {
        await running.reload(text(rules(`{ ${rule}: "jwt.sub == 'bob'" }`)))
        await expect(403, 0)
        await said(/AZ001/)
      })
    }

    it('an error outside of any part changes nothing', async () => {
      await running.reload(text(rules(`{ deny: "request.method == 'POST'" }`)))
      await expect(200, 0)
      const rejected = 'portcullis_config_reloads_total{outcome="rejected"}'
      running.write(text(rules('{ deny: "true" }'), 'polices: []'))
      await until('the rejection', async () => (await running.metric(rejected)) === 1)
      await said(/PC0406/)
      await said(/"code":"PC0210","at":"[^"]*gateway\.yaml:\d+:1","outcome":"rejected"/)
      assert.equal(await status('/guarded'), 200)
      assert.equal(await status('/other'), 200)
    })
  })
}
