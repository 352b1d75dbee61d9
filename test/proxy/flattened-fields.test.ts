import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type Governed, governBy } from './governed.ts'

const open: Governed[] = []
after(async () => {
  for (const one of open) await one.close()
})

async function fieldsOf(add: string, settings = ''): Promise<Readonly<Record<string, unknown>>> {
  const gateway = await governBy(
    add,
    (own, port, backend) =>
      `config: { logging: { format: json }${settings} }\ngateways: { default: { port: ${port} } }\n` +
      `frontendPolicies: { accessLog: { add: ${own} } }\n` +
      `routes: [{ name: all, backends: [{ host: "127.0.0.1:${backend}" }] }]\n`,
  )
  open.push(gateway)
  await gateway.get('/told', { 'x-a': '1', authorization: 'Bearer secret' })
  const line = gateway.lines.find((one) => one['http.path'] === '/told')
  return line ?? assert.fail('nothing was logged')
}

describe('fields that one expression splits into several', () => {
  it('each member becomes a field, or each member at every level', async () => {
    const fields = await fieldsOf(
      `{ one: 'flatten({"a": 1, "b": {"c": [true, "x"]}})',` +
        ` all: 'flattenRecursive({"a": 1, "b": {"c": [true, "x"]}})', list: 'flatten([1, "two"])',` +
        ` plain: 'flatten("text")', none: 'flatten(request.headers["x-none"])' }`,
    )
    const own = Object.entries(fields).filter(([name]) =>
      /^(one|all|list|plain|none)(\.|$)/.test(name),
    )
    assert.deepEqual(Object.fromEntries(own), {
      'one.a': 1,
      'one.b': { c: [true, 'x'] },
      'all.a': 1,
      'all.b.c.0': true,
      'all.b.c.1': 'x',
      'list.0': 1,
      'list.1': 'two',
      plain: 'text',
    })
  })

  it('headers, without credentials if they are redacted', async () => {
    const fields = await fieldsOf(`{ h: 'flatten(request.headers.redacted())' }`)
    assert.equal(fields['h.x-a'], '1')
    assert.equal(fields['h.authorization'], '<redacted>')
    assert.ok(!JSON.stringify(fields).includes('secret'))
  })

  it('a sensitive value stays one field', async () => {
    const fields = await fieldsOf(`{ h: 'flatten(request.headers)' }`, ', sensitiveHeaders: [x-a]')
    assert.equal(fields['h'], '(secret)')
    assert.equal(fields['h.x-a'], undefined)
  })
})
