import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { DecisionRecord } from '../../src/telemetry/decision-record.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import {
  aiConfig,
  allow,
  deny,
  NOBODY,
  type Provider,
  renew,
  require,
  startProvider,
  type WrittenProvider,
} from './providers.ts'
import { until } from './whole-gateway.ts'

let one: Provider
let two: Provider
let three: Provider
let port = 0
const opened: Deciding[] = []
const all = () => [one, two, three]

const TEAM = "request.headers['x-team'] == 'blue'"

function provider(name: string, { port }: Pick<Provider, 'port'>, policies = {}): WrittenProvider {
  return { name, port, policies }
}

async function gatewayOf(text: string): Promise<Deciding> {
  const [known] = opened
  if (known !== undefined) {
    await known.apply(text)
    return known
  }
  const gateway = await startDeciding(text, 'json')
  opened.push(gateway)
  return gateway
}

type Asked = Readonly<Record<string, string>>

async function ask(headers: Asked = {}, body?: string) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions?x=%20y`, {
    headers,
    ...(body === undefined ? {} : { method: 'POST', body }),
  })
  const text = await response.text()
  return { status: response.status, text, id: response.headers.get('x-request-id') ?? '' }
}

/** Waits for the record, which may be written after the client has its response. */
async function newest(gateway: Deciding, name: string): Promise<DecisionRecord> {
  const found = () => gateway.decisions().find((record) => record.provider === name)
  await until(`a record of ${name}`, () => found() !== undefined)
  return found() as DecisionRecord
}

const arrivals = () => all().map(({ arrived }) => arrived.length)

describe('AI providers', () => {
  // As late as possible: another test may take a port that is free now.
  before(async () => {
    ;[one, two, three] = await Promise.all([
      startProvider('one'),
      startProvider('two'),
      startProvider('three'),
    ])
    port = await freePort()
  })

  after(async () => {
    for (const gateway of opened) await gateway.stop()
    for (const provider of all()) await provider.close()
  })

  beforeEach(() => renew(all()))

  describe('a request to an AI backend', () => {
    it('passes unchanged except for the headers of clients, with the name of the provider', async () => {
      await gatewayOf(aiConfig(port, [[provider('main', one)]]))
      const { status, text } = await ask({ 'x-api-key': 'k', 'x-odd': 'a' }, '{"model" : "m"}\n')
      assert.deepEqual([status, text], [200, 'one'])
      const [got] = one.arrived
      assert.equal(got?.url, '/v1/chat/completions?x=%20y')
      assert.equal(got?.host, `127.0.0.1:${one.port}`)
      assert.equal(got?.body, '{"model" : "m"}\n')
      assert.deepEqual([got?.headers['x-api-key'], got?.headers['x-odd']], [undefined, undefined])
    })

    it('is distributed over the providers of a group, and the next group waits', async () => {
      const groups = [[provider('a', one), provider('b', two)], [provider('c', three)]]
      await gatewayOf(
        aiConfig(port, groups, { backend: { loadBalancer: { algorithm: 'RoundRobin' } } }),
      )
      for (let i = 0; i < 6; i++) await ask()
      assert.deepEqual(arrivals(), [3, 3, 0])
    })

    it('gets the headers of the provider that responds, and of no other', async () => {
      const add = (value: string) => ({ requestHeaders: { set: { 'x-key': value } } })
      const groups = [[provider('a', NOBODY, add('secret-of-a'))], [provider('b', two, add('b'))]]
      await gatewayOf(
        aiConfig(port, groups, { backend: { requestHeaders: { set: { 'x-all': '1' } } } }),
      )
      assert.equal((await ask()).text, 'two')
      assert.equal(two.arrived[0]?.headers['x-key'], 'b')
      // For settings that do not compose, the most specific one applies, as elsewhere.
      assert.equal(two.arrived[0]?.headers['x-all'], undefined)
    })
  })

  describe('the rules of a provider', () => {
    it('decide after those of the route, and send others to the next one', async () => {
      const groups = [[provider('a', one, allow(TEAM))], [provider('b', two)]]
      const gateway = await gatewayOf(aiConfig(port, groups))
      assert.equal((await ask({ 'x-team': 'blue' })).text, 'one')
      const { status, text } = await ask({ 'x-team': 'red' })
      assert.deepEqual([status, text], [200, 'two'])
      const record = await newest(gateway, 'a')
      assert.deepEqual(
        [record.verdict, record.enforced, record.skipped, record.provider, record.status],
        ['denied', true, true, 'a', 200],
      )
      assert.equal(record.nearest?.policy, 'provider:models/a')
      assert.equal(record.nearest?.expression, TEAM)
    })

    it('respond with 403 if none is left, with a record for each', async () => {
      const groups = [
        [provider('a', one, deny("request.path.startsWith('/v1')"))],
        [provider('b', two, require(TEAM)), provider('c', three, require(TEAM))],
      ]
      const gateway = await gatewayOf(aiConfig(port, groups))
      const { status, id } = await ask()
      assert.equal(status, 403)
      assert.deepEqual(arrivals(), [0, 0, 0])
      const records = gateway.decisions({ id })
      assert.equal(records.length, 3)
      assert.deepEqual(records.map(({ skipped }) => skipped === true).toSorted(), [
        false,
        true,
        true,
      ])
      const first = records.find((record) => record.provider === 'a')
      assert.deepEqual(
        [first?.rule?.policy, first?.rule?.section, first?.rule?.level, first?.rule?.action],
        ['provider:models/a', 'backend', 'provider', 'Deny'],
      )
      assert.deepEqual([first?.rule?.index, first?.stage, first?.backend], [0, 'backend', 'models'])
      const final = records.find((record) => record.skipped !== true)
      assert.equal(final?.rule?.expression, TEAM)
      assert.deepEqual([final?.cause, final?.status, final?.verdict], ['unset', 403, 'denied'])
    })

    it('form one set with those of the backend: any Allow of both admits', async () => {
      const groups = [[provider('a', one, allow(TEAM)), provider('b', two)]]
      await gatewayOf(aiConfig(port, groups, { backend: allow("'x-all' in request.headers") }))
      for (const [headers, texts] of [
        [{ 'x-team': 'blue' }, ['one']],
        [{ 'x-all': '1' }, ['one', 'two']],
        [{}, ['403']],
      ] as const) {
        for (let i = 0; i < 4; i++) {
          const { status, text } = await ask(headers)
          const seen: string = status === 403 ? '403' : text
          assert.ok(
            (texts as readonly string[]).includes(seen),
            `${JSON.stringify(headers)} ${seen}`,
          )
        }
      }
    })

    it('are not evaluated if the backend denies, and no other provider is considered', async () => {
      const groups = [[provider('a', one, allow('true'))], [provider('b', two)]]
      const gateway = await gatewayOf(aiConfig(port, groups, { backend: require(TEAM) }))
      const { status, id } = await ask()
      assert.equal(status, 403)
      const [record, ...more] = gateway.decisions({ id })
      assert.deepEqual(more, [])
      assert.deepEqual([record?.rule?.policy, record?.skipped], ['backend:models', undefined])
      assert.deepEqual(arrivals(), [0, 0, 0])
    })

    it('of the backend may read the provider, and then other providers are considered', async () => {
      const groups = [[provider('a', one)], [provider('b', two)]]
      for (const rule of ["backend.provider == 'a'", "llm.provider == 'a'"]) {
        await gatewayOf(aiConfig(port, groups, { backend: deny(rule) }))
        assert.equal((await ask()).text, 'two')
      }
    })

    it('in audit mode are recorded and counted, and exclude no provider', async () => {
      const { authorization } = deny('true')
      const audit = { authorization: { ...authorization, mode: 'Audit' } }
      const gateway = await gatewayOf(
        aiConfig(port, [[provider('audited', one, audit)], [provider('b', two)]]),
      )
      const series =
        'portcullis_authorization_audit_denials_total{policy="provider:models/audited",rule="authorization[0]",action="Deny",cause="matched"}'
      const before = gateway.metric(series) ?? 0
      assert.equal((await ask()).text, 'one')
      const record = await newest(gateway, 'audited')
      assert.deepEqual(
        [record.verdict, record.enforced, record.skipped],
        ['denied', false, undefined],
      )
      await until('the count', () => gateway.metric(series) === before + 1)
    })

    it('that skip are counted as such', async () => {
      const groups = [[provider('a', one, deny('true'))], [provider('b', two)]]
      const text = JSON.parse(aiConfig(port, groups))
      const accessLog = { add: { asked: 'llm.provider' } }
      const gateway = await gatewayOf(JSON.stringify({ ...text, frontendPolicies: { accessLog } }))
      const labels = 'policy="provider:models/a",rule="authorization[0]"'
      const count = (verdict: string) =>
        gateway.metric(
          `portcullis_authorization_decisions_total{${labels},verdict="${verdict}",action="Deny",cause="matched"}`,
        ) ?? 0
      const sent = () =>
        gateway.metric(
          'portcullis_upstream_requests_total{backend="models/b",outcome="2xx",purpose="proxy"}',
        ) ?? 0
      const before = [count('skipped'), count('denied'), sent()] as const
      await ask()
      await until(
        'the counts',
        () => count('skipped') === before[0] + 1 && sent() === before[2] + 1,
      )
      assert.equal(count('denied'), before[1])
      const line = gateway.lines
        .map((own) => JSON.parse(own))
        .findLast((own) => own.scope === 'request')
      assert.deepEqual([line.backend, line.provider, line.asked], ['models', 'b', 'b'])
    })
  })
})
