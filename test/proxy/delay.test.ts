import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { loadText } from '../../src/sources/file/load.ts'
import { type Governed, governBy } from './governed.ts'

const open: Governed[] = []
after(async () => {
  for (const one of open) await one.close()
})

async function delayedBy(delay: string, more = ''): Promise<Governed> {
  const gateway = await governBy(
    delay,
    (own, port, backend) =>
      `gateways: { default: { port: ${port} } }\nroutes:\n- name: all\n  policies:\n` +
      `    delay: ${own}\n${more}  backends: [{ host: "127.0.0.1:${backend}" }]\n`,
  )
  open.push(gateway)
  return gateway
}

describe('delay', () => {
  for (const [name, duration] of [
    ['a duration', '1ms'],
    ['an expression with a number', '"1 + 1"'],
    ['an expression with a duration', `'duration("2ms")'`],
    ['a fraction', '"0.5"'],
    ['nothing', '"0"'],
    ['less than nothing', '"-1000"'],
    ['a text', `'"1h"'`],
    ['what is missing', `'request.headers["x-chaos"]'`],
    ['what is not a number', `'double("NaN")'`],
  ] as const) {
    it(`of ${name} lets the request pass`, async () => {
      const gateway = await delayedBy(`{ duration: ${duration} }`)
      assert.equal((await gateway.get()).status, 200)
    })
  }

  it('delays the requests that it applies to, and no others', async () => {
    const gateway = await delayedBy(
      `{ duration: 'request.headers["x-chaos"] == "1" ? duration("1h") : duration("0s")' }`,
    )
    const leaving = new AbortController()
    const { signal } = leaving
    let isServed = false
    const held = gateway.send('/held', { headers: { 'x-chaos': '1' }, signal }).then(
      () => (isServed = true),
      () => undefined,
    )
    for (let i = 0; i < 20; i++) {
      const { status, got } = await gateway.get(`/free/${i}`, { 'x-chaos': '0' })
      assert.deepEqual([status, got?.url], [200, `/free/${i}`])
    }
    assert.equal(isServed, false)
    leaving.abort()
    await held
  })

  it('does not delay denied requests or responses of the gateway itself', async () => {
    const denied = await delayedBy(
      '{ duration: 1h }',
      `    authorization: { rules: [{ deny: "request.path == '/no'" }] }\n`,
    )
    assert.equal((await denied.get('/no')).status, 403)
    const direct = await delayedBy('{ duration: 1h }', '    directResponse: { status: 204 }\n')
    assert.equal((await direct.get('/')).status, 204)
  })

  it('is rejected if it is invalid', () => {
    for (const wrong of ['{}', '{ duration: 5 }', '{ duration: "1 +" }', '{ duration: nobody }']) {
      const text = `gateways: { default: { port: 8080 } }\nroutes: [{ policies: { delay: ${wrong} }, backends: [{ host: "a:80" }] }]`
      const { diagnostics } = loadText(text, 'a.yaml', { environment: {} }).result
      assert.ok(
        diagnostics.some(({ severity }) => severity === 'error'),
        wrong,
      )
    }
  })
})
