import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { governBy } from './governed.ts'

describe('the Host header that a backend gets', () => {
  for (const [host, policies, expected] of [
    ['localhost', '', 'client'],
    ['localhost', 'urlRewrite: { authority: auto }', 'localhost:PORT'],
    ['localhost', 'urlRewrite: { authority: none }', 'client'],
    ['127.0.0.1', 'urlRewrite: { authority: auto }', 'client'],
    ['http://localhost', '', 'localhost:PORT'],
    ['http://localhost', 'urlRewrite: { authority: none }', 'client'],
  ] as const) {
    it(`host: ${host}, ${policies || 'nothing else'}: ${expected}`, async () => {
      let backend = 0
      const gateway = await governBy('', (_, port, own) => {
        backend = own
        return `config: { dns: { lookupFamily: V4Only } }
gateways: { default: { port: ${port} } }
routes:
- name: all
  policies: { ${policies} }
  backends: [{ host: '${host}:${own}' }]
`
      })
      const { got } = await gateway.get('/', { host: 'client.test' })
      await gateway.close()
      const wanted = expected === 'client' ? `127.0.0.1:${gateway.port}` : `localhost:${backend}`
      assert.ok([wanted, 'client.test'].includes(String(got?.headers.host)))
      assert.equal(got?.headers.host?.startsWith('localhost'), expected !== 'client')
    })
  }
})
