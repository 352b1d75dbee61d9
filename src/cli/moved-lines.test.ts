// Things that move within their file stay the same, and are reported at their new place.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, describe, it } from 'node:test'
import { TestServices } from '../../test/program/models.ts'
import type { Origin } from '../diagnostics/diagnostic.ts'
import { locate, locateAll } from '../diagnostics/places.ts'
import { renderOrigin } from '../diagnostics/render.ts'
import type { Model } from '../model/model.ts'
import { runToCompletion } from '../model/steps.ts'
import { compileProgram } from '../program/compile.ts'
import { effectivePolicies } from '../program/effective.ts'
import { explainRequest } from '../program/explain.ts'
import type { Program } from '../program/program.ts'
import { KnownItems } from '../sources/file/known-items.ts'
import type { Loaded } from '../sources/file/load.ts'
import { loadServable } from './check-model.ts'
import { reportExplained } from './explanation.ts'

const HEAD = `# a comment
gateways:
  default:
    port: 4001
    policies:
      authorization:
        rules:
        - deny: request.path == '/gateway'
backends:
- name: up
  host: 127.0.0.1:4002
`
const POLICIES = `policies:
- name: attached
  target: {route: last}
  traffic:
    timeout: {request: 1s}
`

const route = (name: string, more = '') => `- name: ${name}
  matches:
  - path: {pathPrefix: /${name}}
  policies:
    authorization:
      rules:
      - deny: request.path == '/${name}/secret'
    localRateLimit: [{maxTokens: 10, tokensPerFill: 1, fillInterval: 1s}]
${more}  backends:
  - backend: up
`

/** It has no name, so it is named by its index. */
const unnamed = `- matches:
  - path: {pathPrefix: /unnamed}
  backends:
  - host: 127.0.0.1:4003
`
/** Read again each time, since it expands a variable. */
const filledIn = route('filled', '    requestHeaders: {set: {x-a: $WORD}}\n')
/** Its timeouts are in the wrong order, which is a warning. */
const warned = route('warned', '    timeout: {request: 1s, backendRequest: 2s}\n')

const ROUTES = [route('first'), filledIn, warned, unnamed, route('last')]
const textOf = (routes: readonly string[], head = HEAD, tail = POLICIES) =>
  `${head}routes:\n${routes.join('')}${tail}`

describe('a part that moves within its file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'moved-'))
  after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gateway.yaml')
  const environment = { WORD: 'word' }
  let known: KnownItems
  let services: TestServices
  let text: string
  let loaded: Loaded
  let model: Model
  let program: Program

  const read = async (written: string, before?: Model) => {
    text = written
    writeFileSync(file, written)
    return loadServable(file, environment, { before, isStrict: true, known })
  }
  const apply = async (written: string) => {
    loaded = await read(written, model)
    model = loaded.result.value as Model
    program = compileProgram(model, program, services)
  }
  beforeEach(async () => {
    known = new KnownItems()
    services = new TestServices()
    model = undefined as never
    program = undefined as never
    await apply(textOf(ROUTES))
  })

  const placed = (origin: Origin | undefined) => origin && locate(loaded.places, origin)
  const lineAt = (origin: Origin | undefined) => {
    const place = placed(origin)
    return place?.kind === 'file' ? place.line : undefined
  }

  /** The number of the line that contains this, and its form in origins. */
  const lineOf = (part: string, of = text) => of.slice(0, of.indexOf(part)).split('\n').length
  const placeOf = (part: string) => `${file}:${lineOf(part)}:`

  const explained = (path: string) => {
    const hypothetical = { method: 'GET', path, search: '', host: 'x', headers: [] }
    const from = { source: '10.0.0.1', sourcePort: 1, identity: {} }
    const result = explainRequest(program, { ...hypothetical, ...from }, { value: 0 })
    assert.ok(typeof result !== 'string')
    return runToCompletion(reportExplained(result, { places: loaded.places }))
  }

  /** Compares every reported position with the text itself. */
  const checkPlaces = () => {
    for (const name of ['first', 'filled', 'warned', 'last']) {
      if (!text.includes(`name: ${name}\n`)) continue
      const rule = `deny: request.path == '/${name}/secret'`
      const { stages } = explained(`/${name}/secret`)
      const [denial = ''] = stages.flatMap(({ rules, deciding }) => rules[deciding]?.origin ?? [])
      assert.ok(denial.startsWith(placeOf(rule)), `explain ${name}: ${denial}`)
      const own = model.routes.find((one) => one.name === name) as Model['routes'][number]
      assert.ok(
        renderOrigin(placed(own.origin) as never).startsWith(placeOf(`name: ${name}\n`)),
        name,
      )
      const [policy] = own.policies
      assert.ok(renderOrigin(placed(policy?.origin) as never).startsWith(file))
      const unknown = Object.assign(() => 'unknown' as const, {
        messages: () => 'unknown' as const,
      })
      const guards = effectivePolicies(model, unknown, loaded.places).listeners[0]?.routes
      const guarded = guards?.find((one) => one.route === name)?.guards.map(({ origin }) => origin)
      const at = lineOf(rule) - 2
      assert.ok(
        guarded?.some((one) => one.startsWith(`${file}:${at}:`)),
        `${guarded} ${at}`,
      )
    }
    const gateway = model.gateways[0]?.policies[0]
    const line = lineOf("deny: request.path == '/gateway'") - 2
    assert.equal(lineAt(gateway?.origin), line)
    const attached = model.routes.find(({ name }) => name === 'last')?.policies.at(-1)
    assert.equal(lineAt(attached?.origin), lineOf('timeout: {request: 1s}\n'))
  }

  const partsOf = ({ parts }: Program) =>
    [...(parts?.listeners.values() ?? [])].flatMap(({ routes }) => routes)

  const edits: Readonly<Record<string, () => string>> = {
    'a line at the top': () => `# more\n${text}`,
    'a line less at the top': () => text.replace('# a comment\n', ''),
    'a rule more in the first route': () =>
      text.replace(
        "      - deny: request.path == '/first/secret'\n",
        "      - deny: request.path == '/first/secret'\n      - deny: request.path == '/x'\n",
      ),
    'a route more at the top': () => text.replace('routes:\n', `routes:\n${route('new')}`),
    'a route less at the top': () => text.replace(ROUTES[0] as string, ''),
    'a route that changes its place': () =>
      textOf([...ROUTES.slice(1, 3), ROUTES[0] as string, ...ROUTES.slice(3)]),
    'a backend more': () =>
      text.replace('backends:\n', 'backends:\n- name: other\n  host: 127.0.0.1:9\n'),
  }

  for (const [name, edit] of Object.entries(edits)) {
    it(`is the same object, on its new line: ${name}`, async () => {
      checkPlaces()
      const before = new Map(model.routes.map((one) => [one.name, one]))
      const [gateway] = model.gateways
      const backend = model.backends.find((one) => one.name === 'up')
      const parts = new Set(partsOf(program))
      const [state, clusters] = [new Map(program.state), new Map(program.clusters)]
      await apply(edit())
      checkPlaces()
      assert.equal(model.gateways[0], gateway)
      assert.equal(
        model.backends.find((one) => one.name === 'up'),
        backend,
      )
      for (const one of ['filled', 'warned', 'last']) {
        const own = model.routes.find((found) => found.name === one)
        assert.equal(own, before.get(one), one)
        const part = partsOf(program).find(({ route: of }) => of === own)
        assert.ok(part !== undefined && parts.has(part), `the part of ${one}`)
      }
      for (const [key, kept] of program.state) {
        if (state.has(key)) assert.equal(kept, state.get(key), key)
      }
      assert.ok([...state.keys()].filter((key) => program.state.has(key)).length >= 3)
      for (const [key, cluster] of clusters) {
        if (program.clusters.has(key)) assert.equal(program.clusters.get(key), cluster, key)
      }
    })
  }

  it('is reported at its new line', async () => {
    const places = () =>
      locateAll(loaded.places, [...loaded.result.diagnostics, ...program.diagnostics]).map(
        ({ origin }) => (origin.kind === 'file' ? origin.line : 0),
      )
    const at = lineOf('timeout: {request: 1s, backendRequest')
    assert.ok(places().includes(at), JSON.stringify(loaded.result.diagnostics))
    await apply(`# one\n# two\n${text}`)
    assert.ok(places().includes(at + 2))
    assert.ok(!places().includes(at))
  })

  it('keeps its place if the file is rejected, and the error names the new line', async () => {
    const before = text
    const broken = `# one\n# two\n${text.replace('pathPrefix: /last', 'pathPrefix: 7')}`
    const rejected = await read(broken, model)
    const [said] = rejected.result.diagnostics.filter(({ severity }) => severity === 'error')
    assert.equal(said?.origin.kind === 'file' && said.origin.line, lineOf('pathPrefix: 7'))
    text = before
    checkPlaces()
    await apply(`# one\n${before}`)
    checkPlaces()
    const unreadable = await read(`# one\n# two\n${before}\n  - {`, model)
    assert.equal(unreadable.result.value, undefined)
    text = `# one\n${before}`
    checkPlaces()
    await apply(before)
    checkPlaces()
  })

  it('is named by its new index if it has no name', async () => {
    assert.ok(model.routes.some(({ name }) => name === 'route-3'))
    await apply(text.replace('routes:\n', `routes:\n${route('new')}`))
    const own = model.routes.find(({ name }) => name === 'route-4')
    assert.ok(own !== undefined && !model.routes.some(({ name }) => name === 'route-3'))
    assert.equal(lineAt(own.origin), lineOf('- matches:\n  - path: {pathPrefix: /unn'))
  })
})
