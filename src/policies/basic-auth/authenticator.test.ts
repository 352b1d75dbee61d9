import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exchangeOf } from '../../../test/fuzz/exchanges.ts'
import {
  decide,
  headersOf,
  modelOf,
  outcome,
  programOf,
  TestServices,
} from '../../../test/program/models.ts'
import { compileProgram } from '../../program/compile.ts'

const BCRYPT = '$2b$04$1aSQi0zeoGLPNdWUFwboX.0ESVMy4jb5EmGeapCM4ZY3xP48c.uGW'
const SHA = '{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ='
const users = [`alice:${BCRYPT}`, `bob:${SHA}`]
const basic = (text: string) => ({
  headers: { authorization: `Basic ${Buffer.from(text).toString('base64')}` },
})
const open = (basicAuth: object, rules: readonly unknown[] = []) =>
  programOf({
    routes: [
      { policies: { basicAuth, ...(rules.length === 0 ? {} : { authorization: { rules } }) } },
    ],
  })

describe('basic authentication', () => {
  const program = open({ users })
  for (const [what, asked, expected] of [
    ['a user and her password', basic('alice:secret'), 'up'],
    ['another hash', basic('bob:secret'), 'up'],
    [
      'the scheme in other letters',
      { headers: { authorization: `bAsIc ${btoa('alice:secret')}` } },
      'up',
    ],
    ['no credentials', {}, '401 missing'],
    ['a wrong password', basic('alice:Secret'), '401 wrong-secret'],
    ['an empty password', basic('alice:'), '401 wrong-secret'],
    ['an unknown user with the password of the first', basic('eve:secret'), '401 wrong-secret'],
    ['the hash as the password', basic(`alice:${BCRYPT}`), '401 wrong-secret'],
    ['a NUL behind the password', basic('alice:secret\0'), '401 malformed'],
    ['no colon', basic('alice'), '401 malformed'],
    ['no name', basic(':secret'), '401 malformed'],
    ['no base64', { headers: { authorization: 'Basic alice:secret' } }, '401 malformed'],
    ['no UTF-8', { headers: { authorization: 'Basic /////w==' } }, '401 malformed'],
    ['two', { headers: { authorization: 'Basic YTpi, Basic YTpi' } }, '401 repeated'],
    ['far too much', basic(`alice:${'x'.repeat(2000)}`), '401 malformed'],
  ] as const) {
    it(`${what}: ${expected}`, async () => {
      const { reply, backend, exchange } = await decide(program, asked)
      const { fault } = exchange.rejection ?? {}
      assert.equal(reply === undefined ? backend?.name : `${reply.status} ${fault}`, expected)
      assert.equal(exchange.requestEdit.removed.length, 'headers' in asked ? 1 : 0)
    })
  }

  it('caches verified credentials, also across a reload', async () => {
    const services = new TestServices()
    const model = modelOf({ routes: [{ policies: { basicAuth: { users } } }] })
    const first = compileProgram(model, undefined, services)
    const step = (own: typeof first) => {
      const { exchange, route } = ask(own)
      return route.run(exchange)
    }
    const ask = (own: typeof first) => {
      const listener = own.listeners[0] ?? assert.fail()
      const exchange = exchangeOf(basic('alice:secret'))
      return { exchange, route: listener.match(exchange) }
    }
    assert.ok(step(first) instanceof Promise)
    await step(first)
    assert.equal(step(first), undefined)
    assert.equal(step(compileProgram(model, first, services)), undefined)
  })

  it('rules read its user name', async () => {
    const own = open({ users, mode: 'Optional' }, ["basicAuth.username == 'alice'"])
    assert.equal(await outcome(own, basic('alice:secret')), 'up')
    assert.equal(await outcome(own, basic('bob:secret')), '403 authorization')
    assert.equal(await outcome(own), '403 authorization')
    assert.equal(await outcome(own, basic('bob:wrong')), '401 authentication')
  })

  it('sends a challenge, as a proxy for proxy credentials', async () => {
    const { reply } = await decide(open({ users, realm: 'staff' }))
    assert.equal(headersOf(reply)['www-authenticate'], 'Basic realm="staff", charset="UTF-8"')
    const location = { header: { name: 'Proxy-Authorization', prefix: 'Basic ' } }
    const proxy = await decide(open({ users, location }))
    assert.equal(proxy.reply?.status, 407)
    assert.ok('proxy-authenticate' in headersOf(proxy.reply))
  })

  it('rejects concurrent wrong passwords beyond the queue with 503', async () => {
    const wrong = Array.from({ length: 100 }, (_, i) => decide(program, basic(`alice:${i}`)))
    const statuses = (await Promise.all(wrong)).map(({ reply }) => reply?.status)
    assert.equal(statuses.filter((status) => status === 401).length, 64)
    assert.equal(statuses.filter((status) => status === 503).length, 36)
  })

  it('reports lines that are unusable', () => {
    const { diagnostics } = open({ htpasswd: `alice:${BCRYPT}\nbob:plain` })
    assert.deepEqual(
      diagnostics.map(({ code, message }) => `${code} ${message.slice(0, 15)}`),
      ['PC0502 htpasswd line 2'],
    )
  })
})
