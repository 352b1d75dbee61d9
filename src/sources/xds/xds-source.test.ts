import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, describe, it } from 'node:test'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { Files, routesOf, startServer } from '../../xds/fixtures/delivery.ts'
import { Publications } from '../../xds/publications.ts'
import type { Outcome, Update } from '../source.ts'
import { XdsSource, type XdsSourceOptions } from './xds-source.ts'

const files = new Files()
after(() => files.remove())
const tokenFile = files.write('token', 'token-of-a')
const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const APPLIED: Outcome = { isApplied: true, diagnostics: [], rejected: [] }
const namesOf = (update: Update | undefined) =>
  update?.result.value?.routes.map(({ name }) => name).join()

/** A source that is read one update at a time. */
function follow(options: Partial<XdsSourceOptions> & { readonly address: string }) {
  const stopping = new AbortController()
  const warnings: Diagnostic[] = []
  const source = new XdsSource({
    node: 'pod',
    tokenFile,
    backoff: { min: 20, max: 100, random: Math.random },
    ...options,
    events: { warned: (problem) => warnings.push(problem), ...options.events },
  })
  const updates = source.watch(stopping.signal)
  const next = async (): Promise<Update> => {
    const { value } = await updates.next()
    return value as Update
  }
  const stop = async () => {
    stopping.abort()
    await updates.next()
  }
  cleanups.push(stop)
  return { next, stop, warnings }
}

async function start(publications?: Publications, port?: number) {
  const started = await startServer({ ...(publications && { publications }), port: port ?? 0 })
  cleanups.push(() => started.server.close())
  return started
}

/** No server listens there. */
const NOWHERE = 'http://127.0.0.1:1'

async function untilWritten(path: string, text: string): Promise<void> {
  for (;;) {
    try {
      if (readFileSync(path, 'utf8').includes(text)) return
    } catch {}
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

describe('a controller as source', () => {
  it('yields the Models that the controller publishes', async () => {
    const { publications, address } = await start()
    publications.publish('a', routesOf('one'))
    const { next } = follow({ address })
    const first = await next()
    assert.equal(namesOf(first), 'one')
    first.settled?.(APPLIED)
    publications.publish('a', routesOf('two'))
    assert.equal(namesOf(await next()), 'two')
  })

  it('reports which parts fail closed to the controller', async () => {
    let changed = () => {}
    const publications = new Publications(() => changed())
    const { address } = await start(publications)
    const version = publications.publish('a', routesOf('good', 'bad'))
    const { next } = follow({ address })
    const origin = { kind: 'object', object: 'HTTPRoute x/bad', field: 'spec' } as const
    const wrong = { code: 'PC0107', severity: 'error', message: 'wrong', origin } as const
    const rejected = [{ section: 'routes', name: 'bad', diagnostics: [wrong] }] as const
    const update = await next()
    update.settled?.({ isApplied: true, diagnostics: [wrong], rejected })
    const { promise, resolve } = Promise.withResolvers<void>()
    changed = () => {
      if (publications.proxies('a')[0]?.outcome !== undefined) resolve()
    }
    changed()
    await promise
    const [proxy] = publications.proxies('a')
    assert.equal(proxy?.outcome?.version, version)
    assert.deepEqual(
      proxy?.outcome?.rejections.map(({ resource, diagnostics }) => [resource, diagnostics]),
      [['routes/bad', [wrong]]],
    )
    assert.match(proxy?.outcome?.rejections[0]?.version ?? '', /^[0-9a-f]{32}$/)
  })

  it('serves the stored Model while the controller is away, and receives only changes', async () => {
    const stateFile = join(files.folder, 'state.json')
    const names = Array.from({ length: 500 }, (_, n) => `r${n}`)
    const { publications, address, server } = await start()
    publications.publish('a', routesOf(...names))
    const before = follow({ address, stateFile })
    const first = await before.next()
    first.settled?.(APPLIED)
    await untilWritten(stateFile, first.digest as string)
    assert.equal(statSync(stateFile).mode & 0o777, 0o600)
    await before.stop()
    await server.close()

    const { port } = server
    const after = follow({ address: `http://127.0.0.1:${port}`, stateFile })
    const restored = await after.next()
    assert.deepEqual(restored.result.value, { ...first.result.value })
    restored.settled?.(APPLIED)
    const bytes: number[] = []
    const again = await startServer({ port, events: { sent: (_, count) => bytes.push(count) } })
    cleanups.push(() => again.server.close())
    again.publications.publish('a', routesOf(...names.slice(0, -1)))
    assert.equal(namesOf(await after.next()), names.slice(0, -1).join())
    assert.deepEqual(bytes, [0])
    assert.deepEqual(after.warnings, [])
  })

  it('does not store a configuration that was not applied', async () => {
    const stateFile = join(files.folder, 'rejected.json')
    const { publications, address } = await start()
    publications.publish('a', routesOf('one'))
    const { next } = follow({ address, stateFile })
    const first = await next()
    first.settled?.(APPLIED)
    await untilWritten(stateFile, first.digest as string)
    publications.publish('a', routesOf('two'))
    const second = await next()
    second.settled?.({ ...APPLIED, isApplied: false })
    publications.publish('a', routesOf('three'))
    const third = await next()
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.ok(readFileSync(stateFile, 'utf8').includes(first.digest as string))
    third.settled?.(APPLIED)
    await untilWritten(stateFile, third.digest as string)
  })

  const damage: readonly (readonly [string, (text: string) => string])[] = [
    ['cut off', (text) => text.slice(0, -20)],
    ['of another format', (text) => text.replace('"format":3', '"format":2')],
    ['changed in a resource', (text) => text.replace('routes/one', 'routes/two')],
    [
      'changed in a value',
      (text) => {
        const lines = text.split('\n').map((line) => {
          const [name, version, base64] = line.startsWith('[') ? JSON.parse(line) : []
          if (base64 === undefined) return line
          const bytes = Buffer.from(base64, 'base64').toString('latin1')
          const changed = Buffer.from(bytes.replace('["one"]', '["two"]'), 'latin1')
          return JSON.stringify([name, version, changed.toString('base64')])
        })
        return lines.join('\n')
      },
    ],
    ['empty', () => ''],
    ['no object', () => 'null'],
  ]
  for (const [what, break_] of damage) {
    it(`a stored configuration that is ${what} is not served`, async () => {
      const stateFile = join(files.folder, 'damaged.json')
      const { publications, address } = await start()
      publications.publish('a', routesOf('one'))
      const before = follow({ address, stateFile })
      const first = await before.next()
      first.settled?.(APPLIED)
      await untilWritten(stateFile, first.digest as string)
      await before.stop()
      files.write('damaged.json', break_(readFileSync(stateFile, 'utf8')))
      const after = follow({ address, stateFile })
      publications.publish('a', routesOf('new'))
      assert.equal(namesOf(await after.next()), 'new')
      assert.deepEqual(
        after.warnings.map(({ code }) => code),
        ['PC0803'],
      )
      await after.stop()
      files.write('damaged.json', '{}')
    })
  }

  it('yields nothing until the controller is reachable', async () => {
    const lost = Promise.withResolvers<void>()
    let count = 0
    const events = { lost: () => void (++count === 3 && lost.resolve()) }
    const { next } = follow({ address: NOWHERE, events })
    const first = next().then(() => 'an update')
    assert.equal(await Promise.race([first, lost.promise.then(() => 'nothing')]), 'nothing')
  })

  it('reports that it cannot store, and continues', async () => {
    const { publications, address } = await start()
    publications.publish('a', routesOf('one'))
    const warned = Promise.withResolvers<Diagnostic>()
    const events = { warned: warned.resolve }
    const { next } = follow({ address, stateFile: '/no/such/folder/state.json', events })
    ;(await next()).settled?.(APPLIED)
    publications.publish('a', routesOf('two'))
    assert.equal(namesOf(await next()), 'two')
    assert.equal((await warned.promise).code, 'PC0803')
  })
})
