import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Asked, exchangeOf } from '../../test/fuzz/exchanges.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { headerEdit } from '../exchange/header-edit.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { Step } from '../exchange/step.ts'
import type { PreparedCall } from '../protocols/mcp/http-server.ts'
import type { RequestId } from '../telemetry/request-id.ts'
import { type CallPolicies, prepareCall } from './mcp-call.ts'

const NO_POLICIES: CallPolicies = { run: () => undefined, path: '/mcp', keepsCredentials: false }

type Prepared = PreparedCall & { readonly names: readonly string[] }

async function prepared(policies: Partial<CallPolicies>, exchange: Exchange): Promise<Prepared> {
  const call = await prepareCall({ ...NO_POLICIES, ...policies })(exchange)
  if ('status' in call) assert.fail(`rejected: ${call.status}`)
  return { ...call, names: call.headers.map(([name]) => name).sort() }
}

const from = (headers: Asked['headers'] = {}, id = '') => {
  const exchange = exchangeOf({ headers })
  exchange.request.id = id as RequestId
  return exchange
}

describe('the call of a target', () => {
  it('has headers of the client, but not those of its connection, session or body', async () => {
    const dropped = [
      ...['accept', 'accept-encoding', 'connection', 'content-encoding', 'content-length'],
      ...['content-type', 'expect', 'host', 'keep-alive', 'last-event-id', 'mcp-method'],
      ...['mcp-name', 'mcp-protocol-version', 'mcp-session-id', 'origin', 'proxy-authorization'],
      ...['proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
    ]
    const headers = Object.fromEntries(
      [...dropped, 'x-own', 'user-agent'].map((name) => [name, 'v']),
    )
    const { names, setHeaders } = await prepared({}, from(headers))
    assert.deepEqual([names, setHeaders], [['user-agent', 'x-own'], []])
  })

  for (const [what, headers, id, edit, expected] of [
    ['the request has one', {}, 'r1', {}, ['r1']],
    ['the request has none', {}, '', {}, []],
    ['the client sent another', { 'X-Request-Id': 'c' }, 'r1', {}, ['r1']],
    ['only the client has one', { 'X-Request-Id': 'c' }, '', {}, ['c']],
    ['a policy removed it', { 'X-Request-Id': 'c' }, 'r1', { remove: ['X-Request-Id'] }, []],
    ['a policy set it', {}, 'r1', { set: [{ name: 'X-Request-Id', value: 'p' }] }, ['p']],
    ['a policy added one', {}, 'r1', { add: [{ name: 'X-Request-Id', value: 'p' }] }, ['r1']],
  ] as const) {
    it(`has the request ID ${expected[0] ?? 'of nobody'} if ${what}`, async () => {
      const run: Step = (exchange) => {
        exchange.requestEdit = exchange.requestEdit.with(headerEdit(edit))
        return undefined
      }
      const call = await prepared({ run }, from({ ...headers, 'x-own': 'v' }, id))
      const ids = call.headers.filter(([name]) => name === 'x-request-id').map(([, value]) => value)
      assert.deepEqual(ids, expected)
      assert.ok(call.names.includes('x-own'))
    })
  }

  it('has no credentials of the client, unless they are forwarded', async () => {
    const headers = { authorization: 'Bearer x', cookie: 'a=b', 'x-own': 'v' }
    assert.deepEqual((await prepared({}, from(headers))).names, ['x-own'])
    const kept = await prepared({ keepsCredentials: true }, from(headers))
    assert.deepEqual(kept.names, ['authorization', 'cookie', 'x-own'])
  })

  it('has what policies set and add, and not what they remove', async () => {
    const run: Step = (exchange) => {
      const set = [{ name: 'X-Set', value: 'p' }]
      const add = [{ name: 'X-Own', value: 'w' }]
      exchange.requestEdit = exchange.requestEdit.with(headerEdit({ set, add, remove: ['x-gone'] }))
      exchange.credentialEdit = headerEdit({ set: [{ name: 'Authorization', value: 'key' }] })
      exchange.host = 'other.example'
      return undefined
    }
    const headers = { 'x-set': 'c', 'x-own': 'v', 'x-gone': 'c', authorization: 'Bearer x' }
    const { headers: sent, setHeaders, authority } = await prepared({ run }, from(headers))
    assert.deepEqual([...sent].sort(), [
      ['authorization', 'key'],
      ['x-own', 'v'],
      ['x-own', 'w'],
      ['x-set', 'p'],
    ])
    assert.deepEqual([...setHeaders].sort(), ['authorization', 'x-own', 'x-set'])
    assert.equal(authority, 'other.example')
  })

  for (const [path, credential, expected] of [
    ['/mcp', '', '/mcp'],
    ['/mcp?a=b', '', '/mcp?a=b'],
    ['/mcp', 'key=k', '/mcp?key=k'],
    ['/mcp?a=b', 'key=k', '/mcp?a=b&key=k'],
  ] as const) {
    it(`has the path ${expected}`, async () => {
      const run: Step = (exchange) => {
        exchange.credentialQuery = credential
        return undefined
      }
      const call = await prepared({ run, path }, from())
      assert.deepEqual([call.path, call.credentialQuery], [expected, credential])
    })
  }
})

describe('the policies of several targets', () => {
  const mark =
    (name: string, isSlow = false): Step =>
    (exchange) => {
      const seen = exchange.requestEdit.added.map(([own]) => own)
      exchange.requestEdit = exchange.requestEdit.with(
        headerEdit({ set: [{ name: `x-${name}`, value: String(seen) }] }),
      )
      exchange.path = `/${name}`
      exchange.search = `?${name}`
      exchange.host = name
      exchange.responseEdit = headerEdit({ set: [{ name, value: 'v' }] })
      exchange.credentialEdit = headerEdit({ set: [{ name: `key-${name}`, value: 'v' }] })
      exchange.credentialQuery = `key=${name}`
      exchange.credentialRejected = async () => reply(401, 'authentication')
      exchange.metadata = { name } as never
      exchange.identify({}, 'jwt', { sub: name } as never)
      return isSlow ? new Promise((done) => setImmediate(done, undefined)) : undefined
    }
  const stateOf = (exchange: Exchange) => {
    const { path, search, host, requestEdit, responseEdit, identity, jwt } = exchange
    const { credentialEdit, credentialQuery, credentialRejected, metadata } = exchange
    const edits = [requestEdit, responseEdit, credentialEdit].map(({ added, removed }) => [
      added,
      removed,
    ])
    return {
      path,
      search,
      host,
      edits,
      identity,
      jwt,
      credentialQuery,
      credentialRejected,
      metadata,
    }
  }

  for (const slow of [[], ['a'], ['b'], ['a', 'b'], ['a', 'b', 'c']]) {
    it(`do not see each other's changes${slow.length > 0 ? `, if ${slow} take a while` : ''}`, async () => {
      const exchange = from({ 'x-own': 'v' }, 'r1')
      exchange.identify({}, 'jwt', { sub: 'client' } as never)
      const before = stateOf(exchange)
      const all = await Promise.all(
        ['a', 'b', 'c'].map((name) => prepared({ run: mark(name, slow.includes(name)) }, exchange)),
      )
      assert.deepEqual(
        all.map(({ headers, authority, path, rejected }) => [
          Object.fromEntries(headers),
          authority,
          path,
          typeof rejected,
        ]),
        ['a', 'b', 'c'].map((name) => [
          { 'x-own': 'v', [`x-${name}`]: '', [`key-${name}`]: 'v', 'x-request-id': 'r1' },
          name,
          `/mcp?key=${name}`,
          'function',
        ]),
      )
      assert.deepEqual(stateOf(exchange), before)
    })
  }

  it('that fail or reject leave nothing behind, and do not hold up the others', async () => {
    const exchange = from({}, 'r1')
    const before = stateOf(exchange)
    const failing = prepareCall({
      ...NO_POLICIES,
      run: async (own) => {
        await mark('a')(own)
        throw new Error('of the policy')
      },
    })(exchange)
    const rejecting = prepareCall({
      ...NO_POLICIES,
      run: (own) => {
        mark('b')(own)
        return reply(403, 'authorization')
      },
    })(exchange)
    const good = prepared({ run: mark('c') }, exchange)
    await assert.rejects(Promise.resolve(failing), /of the policy/)
    assert.equal(((await rejecting) as Reply).status, 403)
    assert.equal((await good).authority, 'c')
    assert.deepEqual(stateOf(exchange), before)
  })
})
