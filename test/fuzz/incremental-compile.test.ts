// A Program that reuses unchanged parts behaves like one compiled from scratch.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { hashOf } from '../../src/model/hash.ts'
import type { Model } from '../../src/model/model.ts'
import { reconcile } from '../../src/model/reconcile.ts'
import { runToCompletion } from '../../src/model/steps.ts'
import { compileProgram, retiredClusters } from '../../src/program/compile.ts'
import type { CompileDeps } from '../../src/program/compile-deps.ts'
import { explainRequest, type HypotheticalRequest } from '../../src/program/explain.ts'
import { closeKept, retiredKept } from '../../src/program/kept.ts'
import {
  clusterOf,
  isReply,
  type ListenerProgram,
  type Program,
} from '../../src/program/program.ts'
import { KnownItems } from '../../src/sources/file/known-items.ts'
import { loadText } from '../../src/sources/file/load.ts'
import { Credentials } from '../truth/credentials.ts'
import { Random } from '../truth/random.ts'
import { assertSeeds } from './assert-property.ts'
import { BROKEN, editedConfigurations } from './edited-configurations.ts'
import { exchangeOf } from './exchanges.ts'
import { fuzz } from './runs.ts'

/** Records which clusters are open and which were called, by name and content. */
class Watching implements CompileDeps {
  readonly open = new Set<string>()
  readonly asked: string[] = []
  readonly dice = { value: 0 }
  compiled = 0
  readonly policyDeps = { fetch: async () => ({ kind: 'refused', detail: '' }) as const }
  now = () => 0
  random = () => this.dice.value
  watchStep = () => {
    this.compiled++
    return undefined
  }

  openCluster: CompileDeps['openCluster'] = (backend, policies) => {
    const kinds = policies.map(({ kind, value }) => ({ kind, value }))
    const id = `${backend.name} ${hashOf([{ ...backend, origin: undefined }, kinds])}`
    assert.ok(!this.open.has(id), `${id} is open already`)
    this.open.add(id)
    return {
      name: backend.name,
      isHealthy: true,
      active: 0,
      choose: () => {
        assert.ok(this.open.has(id), `${id} is closed`)
        this.asked.push(id)
        return 'no-endpoint'
      },
      close: () => void this.open.delete(id),
    }
  }
}

describe('a Program after many small changes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'incremental-'))
  new Credentials().writeFiles(folder)
  after(() => rmSync(folder, { recursive: true }))
  // In a file, only invalid policies contain expressions with errors; other sources may have them
  // elsewhere.
  const read = (text: string, known?: KnownItems) =>
    loadText(text, join(folder, 'x.yaml'), { environment: {}, known }).result.value as Model
  const load = (text: string) =>
    JSON.parse(JSON.stringify(read(text)).replaceAll(BROKEN, 'request.nothing')) as Model
  const runs = fuzz(0.03, 8)

  it('behaves like one compiled from scratch', async ({ mock }) => {
    // Requests record when they began.
    mock.timers.enable({ apis: ['Date'] })
    const seen = { taken: 0, routes: 0, diagnostics: 0, compiledFresh: 0, compiled: 0 }
    await assertSeeds('incremental-compile', runs, async (seed) => {
      const random = new Random(seed)
      const texts = editedConfigurations(random)
      const services = new Watching()
      // Covers both a file that is read again and a Model from another source.
      const known = seed % 2 === 0 ? undefined : new KnownItems()
      const loadAnew = known === undefined ? load : (text: string) => read(text)
      let program: Program | undefined
      let served = ''
      for (let step = 0; step < 12; step++) {
        const text = texts.next().value
        const what = `seed ${seed}, step ${step}`
        const again = known === undefined ? load(text) : read(text, known)
        const model = runToCompletion(reconcile(program?.model, again))
        assert.deepEqual(model, loadAnew(text), what)
        const next = compileProgram(model, program, services)
        const isRejected = program !== undefined && random.chance(0.15)
        if (program !== undefined && isRejected) {
          for (const cluster of retiredClusters(next, program)) cluster.close()
          closeKept(retiredKept(next, program))
          assert.deepEqual(program.model, loadAnew(served), what)
        } else if (program !== undefined) {
          for (const cluster of retiredClusters(program, next)) cluster.close()
          closeKept(retiredKept(program, next))
          seen.taken += taken(program, next)
        }
        if (program === undefined || !isRejected) {
          program = next
          served = text
        }
        const fresh = new Watching()
        await compare(
          { program, services },
          { program: compileProgram(loadAnew(served), undefined, fresh), services: fresh },
          random,
          what,
        )
        seen.routes += model.routes.length
        seen.diagnostics += next.diagnostics.length
        seen.compiled += services.compiled
        seen.compiledFresh += fresh.compiled
        services.compiled = 0
      }
    })
    // Otherwise the test proves nothing.
    assert.ok(seen.taken > seen.routes * 0.1, JSON.stringify(seen))
    assert.ok(seen.diagnostics > runs.numRuns, JSON.stringify(seen))
    assert.ok(seen.compiled < seen.compiledFresh * 0.8, JSON.stringify(seen))
  })
})

/** Counts the routes at listeners that were reused from before. */
function taken(before: Program, now: Program): number {
  let count = 0
  for (const [key, { routes }] of now.parts?.listeners ?? []) {
    const known = new Set(before.parts?.listeners.get(key)?.routes)
    for (const part of routes) if (known.has(part)) count++
  }
  return count
}

interface Side {
  readonly program: Program
  readonly services: Watching
}

async function compare(now: Side, fresh: Side, random: Random, what: string): Promise<void> {
  assert.deepEqual(now.program.diagnostics, fresh.program.diagnostics, what)
  assert.deepEqual(outline(now.program), outline(fresh.program), what)
  assert.deepEqual([...now.services.open].sort(), [...fresh.services.open].sort(), what)
  for (let left = 12; left > 0; left--) {
    const hypothetical = request(random)
    assert.deepEqual(
      explainRequest(now.program, hypothetical, now.services.dice),
      explainRequest(fresh.program, hypothetical, fresh.services.dice),
      what,
    )
    const at = random.int(now.program.listeners.length)
    const dice = random.next()
    assert.deepEqual(
      await observed(now, at, hypothetical, dice),
      await observed(fresh, at, hypothetical, dice),
      what,
    )
  }
}

function outline({ clusters, state, headersRead, listeners }: Program) {
  return {
    clusters: [...clusters.keys()].sort(),
    state: [...state.keys()].sort(),
    headers: [...(headersRead?.names ?? [])].sort(),
    all: headersRead?.all,
    listeners: listeners.map(({ gateway, listener, frontend, needs }) => ({
      gateway,
      listener,
      frontend,
      needs,
    })),
  }
}

/** The effects on a request: its route, and the steps that neither count nor read a token. */
async function observed(
  { program, services }: Side,
  at: number,
  hypothetical: HypotheticalRequest,
  dice: number,
) {
  services.dice.value = dice
  services.asked.length = 0
  const { method, host, path, headers } = hypothetical
  const exchange = exchangeOf({ method, host, url: path, headers: Object.fromEntries(headers) })
  const { match } = program.listeners[at] as ListenerProgram
  const route = match(exchange)
  const { name, rule, kinds = [], readsBody, readsBeginning, decodesBody, timeouts, retry } = route
  for (const [index, kind] of kinds.entries()) {
    if (kind === 'extAuthz' || kind === 'requestHeaders') await route.steps[index]?.(exchange)
  }
  const chosen = route.choose(exchange)
  if (!isReply(chosen)) {
    clusterOf(chosen)?.choose(exchange, [])
    for (const step of chosen.steps) await step(exchange)
  }
  for (const { cluster } of route.mirrors) cluster.choose(exchange, [])
  return {
    ...{ name, rule, kinds, readsBody, readsBeginning, decodesBody, timeouts, retry },
    proxy: exchange.proxy,
    backend: exchange.backend,
    prefix: exchange.matchedPrefix,
    added: exchange.requestEdit.added,
    steps: route.steps.length,
    mirrors: route.mirrors.map(({ fraction }) => fraction),
    authentications: route.authentications,
    chosen: isReply(chosen)
      ? chosen.reason
      : [chosen.name, chosen.requestTimeout, chosen.readsBody],
    asked: [...services.asked],
  }
}

function request(random: Random): HypotheticalRequest {
  return {
    method: random.pick(['GET', 'POST']),
    path: random.pick(['/', '/a', '/a/b', '/a/b/c', '/x', '/x/y']),
    search: '',
    host: random.pick(['a.test', 'x.b.test', 'y.b.test', 'c.test', 'other']),
    headers: random.some(
      [
        ['x-a', '1'],
        ['x-b', '1'],
      ] as const,
      random.int(3),
    ),
    source: '10.0.0.7',
    sourcePort: random.int(3),
    identity: random.chance(0.5) ? {} : { jwt: { sub: 'alice' } },
  }
}
