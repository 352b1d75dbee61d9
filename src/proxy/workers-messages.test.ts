import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { MemoryUserTokens } from '../exchange/user-token-store.ts'
import type { Model } from '../model/model.ts'
import type { Settings } from '../model/settings.ts'
import { createLogger } from '../telemetry/log.ts'
import { type WorkerEnd, Workers } from './workers.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-worker-messages-'))
after(() => rmSync(folder, { recursive: true }))

/**
 * A worker that serves nothing: it passes every order on to the parent's `decided`, and sends what
 * the routes of a configuration say.
 */
const ENTRY = join(folder, 'worker.mjs')
writeFileSync(
  ENTRY,
  `const own = process.env.PORTCULLIS_WORKER
process.on('message', (order) => {
  const { kind, id } = order
  const { logLevel, settings, revoked } = order
  process.send({ kind: 'decided', own, order: { kind, logLevel, catalog: settings?.modelCatalog, revoked, message: order.message, value: order.value, granted: order.granted?.length, isOwn: order.isOwn } })
  if (kind === 'drain') process.disconnect()
  if (kind === 'snapshot') process.send({ kind, id, snapshot: { own }, connections: 0 })
  if (kind === 'decisions') process.send({ kind, id, records: [{ time: '2026-01-0' + (own === '0' ? 1 : 2), verdict: 'denied', id: own }] })
  if (kind === 'sign-in-revoked') process.send({ kind: 'sign-in-known', id })
  if (kind !== 'apply') return
  const routes = order.patch.lists.flatMap(([, list]) => list.flatMap(({ things = [] }) => things))
  const isApplied = !routes.some(({ only }) => only !== undefined && only !== own)
  const diagnostics = isApplied ? [] : [{ severity: 'warning', message: 'a warning' }, { severity: 'error', message: 'not here' }]
  process.send({ kind: 'applied', id, applied: { isApplied, diagnostics }, quotas: [] })
  for (const { sends, exits, by } of routes) {
    if (by !== own) continue
    if (sends !== undefined) process.send(sends)
    if (exits !== undefined) process.exit(exits)
  }
})`,
)

interface Passed {
  readonly own: string
  readonly order: Readonly<Record<string, unknown>>
}

const EMPTY: Model = { gateways: [], routes: [], tcpRoutes: [], backends: [], frontend: [] }
const withRoute = (more: object): Model => ({ ...EMPTY, routes: [{ name: 'r', ...more }] as never })
const SETTINGS = { modelCatalog: ['first'] } as unknown as Settings

/** Two workers, the orders that they got, and how they ended. */
async function begin(userTokens = new MemoryUserTokens()) {
  const passed: Passed[] = []
  const ends: WorkerEnd[] = []
  const logged: string[] = []
  const log = createLogger({
    format: 'json',
    level: 'info',
    write: (line) => void logged.push(line),
  })
  // A worker is an ordinary process, not one of the test runner.
  const options = process.execArgv.splice(0)
  const decided = (batch: unknown) => void passed.push(batch as Passed)
  const ended = (end: WorkerEnd) => void ends.push(end)
  const workers = new Workers([ENTRY], SETTINGS, 2, log, { decided, ended, userTokens })
  await workers.apply(EMPTY)
  const end = async () => {
    await workers.drain()
    process.execArgv.push(...options)
  }
  /** The orders of a kind, as soon as there are so many. */
  const orders = async (kind: string, count = 1) => {
    const all = () => passed.filter(({ order }) => order['kind'] === kind)
    for (let turns = 0; all().length < count && turns < 1_000; turns++) await wait(5)
    return all().map(({ own, order }): Record<string, unknown> => ({ own, ...order }))
  }
  return { workers, end, orders, passed, ends, logged }
}

describe('Workers', () => {
  it('report to their parent, and get what it tells all of them', async () => {
    const { workers, end, orders, ends } = await begin()
    try {
      assert.deepEqual(await workers.snapshots(), [{ own: '0' }, { own: '1' }])
      const ids = async (limit: number) =>
        (await workers.decisions({ limit })).records.map(({ id }) => id)
      assert.deepEqual(await ids(9), ['1', '0'], 'the newest first')
      assert.deepEqual(await ids(1), ['1'])
      workers.setLogLevel('debug')
      const levels = await orders('log-level', 2)
      assert.deepEqual(levels.map(({ own }) => own).sort(), ['0', '1'])
      assert.ok((await orders('apply', 2)).every((order) => order['logLevel'] === undefined))
      await workers.signIn.learn([{ keys: ['a'], before: 1, until: 2 }])
      assert.equal((await orders('sign-in-revoked')).length, 2)
      await workers.apply(withRoute({}), true, { modelCatalog: ['second'] } as unknown as Settings)
      const later = (await orders('apply', 4)).slice(2)
      for (const { logLevel, catalog, revoked } of later) {
        assert.deepEqual([logLevel, catalog], ['debug', ['second']])
        assert.deepEqual(revoked, [{ keys: ['a'], before: 1, until: 2 }])
      }
    } finally {
      await end()
    }
    assert.equal((await orders('drain')).length, 2)
    assert.deepEqual(ends, ['stopped', 'stopped'])
    assert.equal(workers.serving, 0)
  })

  it('that do not respond in time are left out', async (context) => {
    const { workers, end } = await begin()
    context.mock.timers.enable({ apis: ['setTimeout'] })
    try {
      const all = [workers.snapshots(), workers.decisions({ limit: 9 })]
      context.mock.timers.tick(1_000)
      const missing = { records: [], incomplete: '2 workers did not respond' }
      assert.deepEqual(await Promise.all(all), [[], missing])
    } finally {
      context.mock.timers.reset()
      await end()
    }
  })

  it('get messages for streams from each other, and what their parent owns from it', async () => {
    const store = new MemoryUserTokens()
    await store.write('key', { version: 'v1', sealed: 'sealed' })
    const { workers, end, orders } = await begin(store)
    const limit = { capacity: 1, refill: 1, interval: 60_000, maxKeys: 9 }
    const asks = [{ id: 1, asked: [{ quota: 'q', key: 'k', limit }] }]
    try {
      for (const [by, sends] of [
        ['0', { kind: 'streamed', message: 'for a stream' }],
        ['1', { kind: 'user-token', id: 1, asks: { does: 'read', key: 'key' } }],
        ['0', { kind: 'sign-in', does: 'claim', id: 1, key: 'k' }],
        ['1', { kind: 'quota', asks, returns: [], charges: [], recalled: [] }],
      ] as const) {
        await workers.apply(withRoute({ by, sends }))
      }
      const only = async (kind: string, field: string) =>
        (await orders(kind)).map(({ own, [field]: value }) => [own, value])
      assert.deepEqual(await only('streamed', 'message'), [['1', 'for a stream']])
      const token = { version: 'v1', sealed: 'sealed' }
      assert.deepEqual(await only('user-token-response', 'value'), [['1', token]])
      assert.deepEqual(await only('sign-in-claimed', 'isOwn'), [['0', true]])
      assert.deepEqual(await only('quota-granted', 'granted'), [['1', 1]])
    } finally {
      await end()
    }
  })

  for (const [sentence, more, expected, message] of [
    [
      'cannot apply what the first one applied',
      { only: '0' },
      'not-applied',
      /"worker":1.*could not apply the configuration.*"detail":"not here"/,
    ],
    ['exit', { by: '1', exits: 7 }, 'crashed', /"worker":1.*the worker exited.*"reason":"7"/],
  ] as const) {
    it(`that ${sentence} serve no longer, and are reported`, async () => {
      const { workers, end, ends, logged } = await begin()
      try {
        assert.equal((await workers.apply(withRoute({ only: '1' }))).isApplied, false)
        assert.deepEqual([workers.serving, ends, logged], [2, [], []])
        assert.equal((await workers.apply(withRoute(more))).isApplied, true)
        for (let turns = 0; ends.length === 0 && turns < 1_000; turns++) await wait(5)
        assert.deepEqual([workers.serving, ends[0]], [1, expected])
        // The record of an exit waits for the end of stderr.
        for (let turns = 0; logged.length === 0 && turns < 1_000; turns++) await wait(5)
        assert.match(logged.join(), message)
      } finally {
        await end()
      }
    })
  }
})
