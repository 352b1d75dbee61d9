// Blank lines and comments change nothing but the places that are shown.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { locateFindings } from '../../src/analysis/lint/finding.ts'
import { lint } from '../../src/analysis/lint/lint.ts'
import { reportExplained } from '../../src/cli/explanation.ts'
import { locateAll } from '../../src/diagnostics/places.ts'
import { renderTerminal } from '../../src/diagnostics/render.ts'
import type { Model } from '../../src/model/model.ts'
import { patchBetween } from '../../src/model/model-patch.ts'
import { reconcile } from '../../src/model/reconcile.ts'
import { runToCompletion } from '../../src/model/steps.ts'
import { compileProgram } from '../../src/program/compile.ts'
import { effectivePolicies } from '../../src/program/effective.ts'
import { explainRequest } from '../../src/program/explain.ts'
import type { Program } from '../../src/program/program.ts'
import { KnownItems } from '../../src/sources/file/known-items.ts'
import { type Loaded, loadText } from '../../src/sources/file/load.ts'
import { TestServices } from '../program/models.ts'
import { Random } from '../truth/random.ts'
import { assertSeeds } from './assert-property.ts'
import { fuzz } from './runs.ts'

const HEAD = `config:
  adminAddr: off
gateways:
  default:
    port: 4001
    policies:
      authorization:
        rules:
        - deny: request.path == '/gateway'
  "a.b":
    listeners:
    - name: web
      port: 4002
      policies: {cors: {allowOrigins: ['*']}}
`
/** Whatever a user calls \`origin\` is the user's. */
const ORIGIN = '{kind: part, file: gateway.yaml, part: routes/a, field: x, line: 3}'
const POLICIES = [
  "    authorization: {rules: [{deny: request.path == '/r/secret'}, \"request.path == '/r/ok'\"]}",
  "    authorization:\n      rules:\n      - require: jwt.sub == 'a'\n      - allow: request.method == 'GET' && request.method == 'PUT'",
  "    authorization:\n      action: Deny\n      policy:\n        matchExpressions:\n        - request.path == '/r/secret'",
  '    timeout: {request: 1s, backendRequest: 2s}',
  '    requestHeaders:\n      set:\n        origin: here\n        diagnostics: none',
  `    apiKey:\n      keys:\n      - key: k-1234567890\n        metadata:\n          origin: ${ORIGIN}`,
  '    authorization: {rules: [{allow: nothing}]}',
  '    transformations:\n      request:\n        set:\n          origin: "\'x\'"',
]
const TAILS = [
  'policies:\n- name: attached\n  target: {route: r-0}\n  traffic:\n    authorization:\n      rules:\n      - deny: request.path == "/r/attached"\n',
  'frontendPolicies:\n  networkAuthorization:\n    rules:\n    - deny: source.port == 1\n',
  'ui: {}\n',
]

function route(random: Random, index: number): string {
  const names = [`- name: r-${index}\n`, `- name: r-${index}\n  ruleName: x\n`, '- ']
  const name = random.pick(names)
  const match = `${name === '- ' ? '' : '  '}matches: [{path: {pathPrefix: /r}}]\n`
  const policies = random.some(POLICIES, random.int(4))
  // Two of a kind would be a mistake of the whole mapping.
  const kinds = new Map(policies.map((policy) => [/\w+/.exec(policy)?.[0], policy]))
  const section = kinds.size === 0 ? '' : `  policies:\n${[...kinds.values()].join('\n')}\n`
  const backend = random.pick([
    '  backends: [{backend: up}]\n',
    '  backends:\n  - host: 127.0.0.1:4\n',
  ])
  return `${name}${match}${section}${backend}`
}

function configuration(random: Random): string {
  const routes = Array.from({ length: 1 + random.int(6) }, (_, index) => route(random, index))
  const backends = 'backends:\n- name: up\n  host: 127.0.0.1:4003\n'
  const tails = random.some(TAILS, random.int(3)).join('')
  return `${HEAD}${backends}routes:\n${routes.join('')}${tails}`
}

/** The same text with empty lines and comments at random places. */
function spread(random: Random, text: string): string {
  const added = ['', '', '# a comment', '    # indented', '# lint: nothing', '# ünïcode 😀']
  const lines = text.split('\n').flatMap((line) => {
    if (random.chance(0.8)) return [line]
    return [...random.some(added, 1 + random.int(3)), line]
  })
  return lines.join('\n')
}

const REQUESTS = ['/r', '/r/secret', '/r/attached', '/gateway']

describe('blank lines and comments at random places', () => {
  const folder = mkdtempSync(join(tmpdir(), 'places-'))
  after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gateway.yaml')
  const load = (text: string, known?: KnownItems) =>
    loadText(text, file, { environment: {}, known })

  it('change neither Model nor Program, and every place is that of a fresh process', async () => {
    const seen = { places: 0, routes: 0 }
    await assertSeeds('incremental-places', fuzz(0.2, 15), (seed) => {
      const random = new Random(seed)
      const known = new KnownItems()
      let text = configuration(random)
      const first = load(text, known).result.value
      if (first === undefined) return
      const services = new TestServices()
      const program = compileProgram(first, undefined, services)
      for (let step = 0; step < 4; step++) {
        const what = `seed ${seed}, step ${step}:\n${text}`
        text = spread(random, text)
        const loaded = load(text, known)
        const { value } = loaded.result
        assert.ok(value !== undefined, what)
        assert.deepEqual(value, first, what)
        const model: Model = runToCompletion(reconcile(first, value))
        assert.equal(model, first, what)
        assert.deepEqual(patchBetween(first, model), { lists: [], wholes: [] })
        assert.deepEqual(partsOf(compileProgram(model, program, services)), partsOf(program), what)
        const fresh = load(text)
        const shown = shownOf(loaded, first, program)
        const anew = fresh.result.value as Model
        assert.equal(shown, shownOf(fresh, anew, compileProgram(anew, undefined, services)), what)
        assert.ok(!shown.includes(`${file}: `), `not located: ${what}\n${shown}`)
        assert.ok(
          JSON.stringify(model).includes('"origin":{"kind":"part","file":"gateway.yaml"') ===
            text.includes(ORIGIN),
        )
        seen.places += shown.match(/gateway\.yaml:\d+:\d+/g)?.length ?? 0
        seen.routes += model.routes.length
      }
    })
    // Otherwise the test proves nothing.
    assert.ok(seen.places > seen.routes * 2, JSON.stringify(seen))
  })
})

/** The same objects, by identity. */
function partsOf({ parts }: Program): readonly unknown[] {
  const numbers = [...(parts?.listeners.values() ?? [])].flatMap(({ routes }) => routes)
  return numbers.map(numberOf)
}

const numbers = new WeakMap<object, number>()
let count = 0

function numberOf(part: object): number {
  const number = numbers.get(part) ?? count++
  numbers.set(part, number)
  return number
}

const GUARDS = Object.assign(() => 'unknown' as const, { messages: () => 'unknown' as const })

/** Everything that names a place, as text. */
function shownOf({ result, places }: Loaded, model: Model, program: Program): string {
  const findings = locateFindings(places, lint(model)).map(({ diagnostic }) => diagnostic)
  const all = [...result.diagnostics, ...locateAll(places, program.diagnostics), ...findings]
  const fixes = locateFindings(places, lint(model)).map(({ fix }) => fix)
  const reports = REQUESTS.map((path) => {
    const hypothetical = { method: 'GET', path, search: '', host: 'x', headers: [] }
    const from = { source: '10.0.0.1', sourcePort: 1, identity: {} }
    const explained = explainRequest(program, { ...hypothetical, ...from }, { value: 0 })
    return typeof explained === 'string'
      ? explained
      : runToCompletion(reportExplained(explained, { places }))
  })
  const effective = effectivePolicies(model, GUARDS, places)
  return `${renderTerminal(all)}\n${JSON.stringify([fixes, reports, effective], undefined, 1)}`
}
