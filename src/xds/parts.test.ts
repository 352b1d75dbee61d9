import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { editedConfigurations } from '../../test/fuzz/edited-configurations.ts'
import { fuzz } from '../../test/fuzz/runs.ts'
import { Credentials } from '../../test/truth/credentials.ts'
import { makeDocument } from '../../test/truth/generate.ts'
import { Random } from '../../test/truth/random.ts'
import type { Model } from '../model/model.ts'
import { bindSecret } from '../model/secret.ts'
import { loadText } from '../sources/file/load.ts'
import { assemble, type Part, partsOf, type ReceivedPart, readPart } from './parts.ts'
import { deltaBetween, deltaFrom, snapshotOf, versionOfSet } from './snapshot.ts'

const folder = mkdtempSync(join(tmpdir(), 'parts-'))
new Credentials().writeFiles(folder)
after(() => rmSync(folder, { recursive: true }))

function load(text: string): Model {
  const { value } = loadText(text, join(folder, 'x.yaml'), { environment: {} }).result
  return value as Model
}

function received(parts: Iterable<Part>): ReceivedPart[] {
  return [...parts].map(({ name, version, bytes }) => {
    const part = readPart(name, version, bytes)
    assert.ok(part, name)
    return part
  })
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const PLACE = { ports: [4101, 4102, 4103, 4104], backends: [4201, 4202, 4203] }
const { numRuns, seed } = fuzz(0.5)

describe('the parts of a Model', () => {
  it('assemble to their Model, in any order', () => {
    const sections = new Set<string>()
    for (let run = 0; run < numRuns; run++) {
      const random = new Random(seed + run)
      const model = load(JSON.stringify(makeDocument(random, PLACE)))
      const parts = received(partsOf(model).values())
      for (const { section } of parts) sections.add(section)
      const shuffled = parts
        .map((part) => ({ part, at: random.int(1e9) }))
        .sort((a, b) => a.at - b.at)
        .map(({ part }) => part)
      assert.deepEqual(assemble(shuffled)?.model, plain(model), `seed ${seed + run}`)
    }
    assert.ok(['gateways', 'routes', 'tcpRoutes', 'frontend'].every((name) => sections.has(name)))
  })

  it('are accepted only if complete', () => {
    const texts = editedConfigurations(new Random(seed))
    for (let step = 0; step < 20; step++) {
      const parts = received(partsOf(load(texts.next().value)).values())
      for (const [index, { section, name }] of parts.entries()) {
        const rest = parts.toSpliced(index, 1)
        // If the last thing of a section is missing, only the version of the set shows it.
        const isLast = section !== 'frontend' && !rest.some(({ after }) => after === name)
        if (!isLast) assert.equal(assemble(rest), undefined, name)
        assert.notEqual(versionOfSet(rest), versionOfSet(parts))
      }
    }
  })

  it('change only as much as the Model does', () => {
    const texts = editedConfigurations(new Random(seed))
    let model = load(texts.next().value)
    let snapshot = snapshotOf(model)
    for (let step = 0; step < 60; step++) {
      const next = load(texts.next().value)
      const after = snapshotOf(next, snapshot)
      const { changed, removed } = deltaBetween(snapshot, after)
      const known = new Map([...snapshot.parts.values()].map((part) => [part.name, part.version]))
      const expected = deltaFrom(known, after)
      assert.deepEqual(new Set(changed), new Set(expected.changed))
      assert.deepEqual(new Set(removed), new Set(expected.removed))
      const same = [...after.parts.values()].filter((part) => !changed.includes(part))
      for (const part of same) assert.equal(snapshot.parts.get(part.name), part)
      assert.equal(after.version, snapshotOf(plain(next) as Model).version)
      assert.equal(after.version === snapshot.version, changed.length + removed.length === 0)
      ;[model, snapshot] = [next, after]
    }
    assert.ok(model.routes.length > 0)
  })

  it('differ by two for one route that is added or removed among thousands', () => {
    const route = (name: string) => ({ name, rules: [], parents: [], hostnames: [], policies: [] })
    const routes = Array.from({ length: 5_000 }, (_, n) => route(`default/r${n}`))
    const origin = { kind: 'object', object: 'x', field: '' } as const
    const base = { gateways: [], tcpRoutes: [], backends: [], frontend: [] }
    const model = (list: ReturnType<typeof route>[]): Model => ({
      ...base,
      routes: list.map((one) => ({ ...one, origin })),
    })
    const before = snapshotOf(model(routes))
    const inserted = snapshotOf(model(routes.toSpliced(2_000, 0, route('default/new'))), before)
    assert.deepEqual(
      deltaBetween(before, inserted).changed.map(({ name }) => name),
      ['routes/default/new', 'routes/default/r2000'],
    )
    const removed = deltaBetween(inserted, before)
    assert.deepEqual(removed.removed, ['routes/default/new'])
    assert.equal(removed.changed.length, 1)
    const moved = routes.toSpliced(10, 1).toSpliced(4_000, 0, routes[10] as (typeof routes)[0])
    assert.equal(deltaBetween(before, snapshotOf(model(moved), before)).changed.length, 3)
  })

  it('remain distinct if they share a name', () => {
    const origin = { kind: 'object', object: 'x', field: '' } as const
    const backend = (name: string, path: string) =>
      ({ kind: 'unix', name, path, origin, policies: [] }) as const
    const backends = [backend('a', '1'), backend('a#2', '2'), backend('a', '3'), backend('a', '4')]
    const model = { gateways: [], routes: [], tcpRoutes: [], backends, frontend: [] }
    assert.deepEqual(assemble(received(partsOf(model).values()))?.model, plain(model))
  })

  it('equal those built from scratch after any edit of lists that share unchanged items', () => {
    const random = new Random(seed)
    const origin = { kind: 'object', object: 'x', field: '' } as const
    // Few secrets, so that things share them.
    const secrets = ['a', 'b', 'c'].map((version) =>
      bindSecret({ secretRef: version, version }, `text of ${version}`),
    )
    const thing = (name: string, path: string) => {
      const secret = random.chance(0.2) ? { secret: secrets[random.int(3)] } : {}
      return { kind: 'unix', name, path, origin, policies: [], ...secret } as const
    }
    const base = { gateways: [], routes: [], tcpRoutes: [], frontend: [] }
    let backends = Array.from({ length: 12 }, (_, n) => thing(`b${n}`, '0'))
    let snapshot = snapshotOf({ ...base, backends })
    for (let step = 0; step < 400; step++) {
      const next = [...backends]
      for (let count = random.int(3); count >= 0; count--) {
        const at = random.int(next.length + 1)
        // Sometimes two have the same name.
        const name = `b${random.chance(0.9) ? 100 + step * 4 + count : random.int(12)}`
        if (random.chance(0.3)) next.splice(at, 1)
        else if (random.chance(0.4)) next.splice(at, 0, thing(name, `${step}`))
        else if (random.chance(0.35)) next.push(...next.splice(at, 2))
        else if (next[at] !== undefined) next[at] = thing(next[at].name, `${step}`)
      }
      while (next.length > 20) next.shift()
      const after = snapshotOf({ ...base, backends: next }, snapshot)
      const scratch = snapshotOf({ ...base, backends: next })
      assert.equal(after.version, scratch.version)
      assert.deepEqual(new Map(after.parts), new Map(scratch.parts))
      const { changed, removed } = deltaBetween(snapshot, after)
      const known = new Map([...snapshot.parts.values()].map((part) => [part.name, part.version]))
      const expected = deltaFrom(known, after)
      assert.deepEqual(new Set(changed), new Set(expected.changed))
      assert.deepEqual(new Set(removed), new Set(expected.removed))
      ;[backends, snapshot] = [next, after]
    }
  })

  for (const [what, name, bytes] of [
    ['bytes that are no message', 'routes/a', Buffer.from('hello')],
    ['an unknown section', 'other/a', Buffer.from('\x0a\x05other\x1a\x02{}', 'latin1')],
    ['a name of another section', 'routes/a', Buffer.from('\x0a\x08backends\x1a\x02{}', 'latin1')],
    ['no JSON', 'routes/a', Buffer.from('\x0a\x06routes\x1a\x01{', 'latin1')],
    ['a value that is no object', 'routes/a', Buffer.from('\x0a\x06routes\x1a\x011', 'latin1')],
  ] as const) {
    it(`are not read from ${what}`, () => assert.equal(readPart(name, '1', bytes), undefined))
  }
})
