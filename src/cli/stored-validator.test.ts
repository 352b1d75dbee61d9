import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../test/fuzz/runs.ts'
import { success } from '../diagnostics/result.ts'
import type { JsonValue } from '../model/json.ts'
import type { Model } from '../model/model.ts'
import { reconcile } from '../model/reconcile.ts'
import { runToCompletion } from '../model/steps.ts'
import { KnownResources } from '../sources/database/known-resources.ts'
import { loadMerged, loadOver, readBaseline } from '../sources/database/load.ts'
import { mergeResources, type StoredResource } from '../sources/database/merge.ts'
import type { ResourceKind } from '../sources/database/resource-kinds.ts'
import { checkModel, servable } from './check-model.ts'
import { StoredValidator } from './stored-validator.ts'

const BASELINE = `gateways:
  default: { port: 8080 }
  other: { port: 8081, listeners: [{ name: a, hostname: a.test }, { name: b, hostname: b.test }] }
routes:
- name: home
  policies: { basicAuth: { htpasswd: { file: users } } }
  backends: [{ backend: listed }]
- matches: [{ path: { exact: /unnamed } }]
  backends: [{ host: "up:80" }]
backends:
- name: listed
  host: "up:80"
`

const OTHER_BASELINE = `${BASELINE}- name: more
  host: "more:80"
policies:
- name: all
  target: { route: home }
  traffic: { timeout: { request: 1s, backendRequest: 2s } }
`

const USERS = 'alice:$2y$08$rh1hZBCzkqMW16BP.UKMrOIWcNocd.4KM1kVVDX0E3rz0hvAzlqmO'

/** Most input of users is valid. */
function mostly<T>(good: readonly T[], bad: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { arbitrary: fc.constantFrom(...good), weight: 5 },
    { arbitrary: fc.constantFrom(...bad), weight: 1 },
  )
}

const NAMES = ['home', 'listed', 'a', 'b', 'more'] as const
const name = fc.constantFrom(...NAMES)

const rule = mostly<JsonValue>(
  [{ allow: 'request.headers["x-team"] == "1"' }, { deny: 'jwt.sub == "eve"' }],
  [{ require: 'request.method == "get"' }, { allow: 'request.headers[' }],
)
const rules = fc.array(rule, { minLength: 1, maxLength: 2 }).map((all) => ({ rules: all }))
const policies = fc.oneof(
  rules.map((authorization): JsonValue => ({ authorization })),
  mostly<JsonValue>(
    [
      {},
      { directResponse: { status: 204 } },
      { basicAuth: { htpasswd: USERS } },
      // The compiler checks its lines.
      { basicAuth: { htpasswd: 'alice:plain' } },
      { basicAuth: { htpasswd: { file: 'users' } } },
      { timeout: { request: '1s', backendRequest: '2s' } },
      { extAuthz: { backend: 'listed', protocol: { http: {} } } },
    ],
    [
      null,
      { directResponse: { status: 204 }, requestRedirect: { hostname: 'x.test' } },
      { backendTLS: { root: { inline: 'none' } } },
      { mcpAuthorization: { rules: [{ allow: 'mcp.tool.name == "x"' }] } },
      { unknown: {} },
    ],
  ),
)
const refs = fc.oneof(
  name.map((backend): JsonValue => [{ backend }]),
  fc.constantFrom<JsonValue>([{ routeGroup: 'a' }], [{ routeGroup: 'b' }]),
  mostly<JsonValue>(
    [[{ host: 'in-place:80' }], [{ host: 'in-place:80' }, { host: 'other:80', weight: 0 }]],
    [[], [{ host: 'nonsense' }], [{ service: { name: 'svc', port: 80 } }], [{ dynamic: {} }]],
  ),
)
const child = fc.record(
  {
    matches: mostly<JsonValue>([[{ path: { pathPrefix: '/a' } }]], [[{ path: 7 }]]),
    policies,
    backends: refs,
  },
  { requiredKeys: [] },
)
const route = fc
  .record(
    {
      gateways: mostly<JsonValue>(['default', 'other', 'other/a'], [['default', 'gone'], 'a']),
      hostnames: mostly<JsonValue>([['a.test'], ['*']], [['z.test']]),
    },
    { requiredKeys: [] },
  )
  .chain((head) => child.map((own) => ({ ...head, ...own })))

const VALUES: Readonly<Partial<Record<ResourceKind, fc.Arbitrary<unknown>>>> = {
  routes: route,
  tcpRoutes: fc.record(
    { gateways: fc.constantFrom('default', 'other/b'), backends: refs },
    { requiredKeys: [] },
  ),
  routeGroups: fc.record({ routes: fc.array(child, { minLength: 1, maxLength: 2 }) }),
  backends: fc.oneof(
    fc.record({ host: mostly<JsonValue>(['x:80', 'y:80'], ['x', 7]), policies: fc.constant({}) }),
    fc.constantFrom<JsonValue>(
      { dynamic: {} },
      { mcp: { targets: [{ name: 'one', mcp: { host: 'tools:80' } }] } },
    ),
  ),
  policies: fc.record({
    target: fc.oneof(
      name.map((one) => ({ route: one })),
      fc.constantFrom({ gateway: 'default' }, { gateway: 'gone' }, { backend: 'listed' }),
    ),
    traffic: policies,
  }),
  gateways: fc.record(
    { port: fc.constantFrom(8080, 8082, 8083), policies },
    { requiredKeys: ['port'] },
  ),
}

const LISTED: ReadonlySet<string> = new Set([
  'routes',
  'tcpRoutes',
  'routeGroups',
  'backends',
  'policies',
])

interface Edit {
  readonly to: 'set' | 'hide' | 'reset'
  readonly kind: ResourceKind
  readonly id: string
  readonly value: JsonValue
}

type Step = Edit | { readonly to: 'baseline' | 'users'; readonly text: string }

const kinds = Object.keys(VALUES) as ResourceKind[]
const write = (to: 'baseline' | 'users', ...texts: readonly string[]) =>
  fc.constantFrom(...texts).map((text): Step => ({ to, text }))
const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: write('baseline', BASELINE, OTHER_BASELINE), weight: 1 },
  { arbitrary: write('users', USERS, 'bob:plain'), weight: 2 },
  {
    arbitrary: fc
      .tuple(fc.constantFrom(...kinds, 'routes' as const, 'routes' as const), name)
      .chain(([kind, id]) =>
        (VALUES[kind] as fc.Arbitrary<object>).map((value): Step => {
          const named = LISTED.has(kind) ? { ...value, name: id } : value
          return { to: 'set', kind, id, value: named as JsonValue }
        }),
      ),
    weight: 12,
  },
  {
    arbitrary: fc
      .record({
        to: fc.constantFrom('hide' as const, 'reset' as const),
        kind: fc.constantFrom(...kinds, 'routes' as const),
        id: name,
      })
      .map((one): Step => ({ ...one, value: null })),
    weight: 5,
  },
)

/** Behaves like a store: unchanged resources stay the same objects. */
class Edits {
  stored: readonly StoredResource[] = []
  #revision = 0

  take(one: Edit): void {
    this.#revision++
    const { kind, id } = one
    const isIt = (other: StoredResource) => other.kind === kind && other.id === id
    const before = this.stored.find(isIt)
    if (one.to === 'reset') this.stored = this.stored.filter((other) => !isIt(other))
    else {
      const made: StoredResource = {
        kind,
        id,
        state: one.to === 'hide' ? 'hidden' : 'set',
        value: one.value,
        base: null,
        revision: this.#revision,
        created: before?.created ?? this.#revision,
        author: 'somebody',
        time: '',
      }
      const others = this.stored.map((other) => (isIt(other) ? made : other))
      this.stored = before === undefined ? [...this.stored, made] : others
    }
  }

  /** A copy for which no earlier results are cached. */
  anew(): readonly StoredResource[] {
    return structuredClone(this.stored) as StoredResource[]
  }
}

function shown(value: unknown): string {
  return JSON.stringify(value, null, 1)
}

describe('successive edits of stored resources', () => {
  it('produce the same result as reading all of them again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-edits-'))
    const file = join(folder, 'gateway.yaml')
    let runs = 0
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
          // Runs must not share cached results.
          const environment = { RUN: String(runs++) }
          const known = new KnownResources()
          const validator = new StoredValidator(known)
          const edits = new Edits()
          let served: Model | undefined
          writeFileSync(file, BASELINE)
          writeFileSync(join(folder, 'users'), USERS)
          for (const one of steps) {
            if ('text' in one) {
              writeFileSync(one.to === 'users' ? join(folder, 'users') : file, one.text)
            } else edits.take(one)
            const baseline = readBaseline(file, environment)
            assert.ok(baseline)
            const loaded = runToCompletion(loadMerged(file, environment, edits.stored, known))
            const said = await validator.validate(
              baseline,
              mergeResources(baseline.resources, edits.stored),
            )
            const fresh = readBaseline(file, { ...environment })
            assert.ok(fresh)
            const merged = mergeResources(fresh.resources, edits.anew())
            const anew = runToCompletion(loadOver(fresh, merged))
            assert.equal(shown(loaded.result), shown(anew.result))
            const validated = await new StoredValidator(new KnownResources()).validate(
              fresh,
              merged,
            )
            assert.equal(shown(said), shown(validated))
            const { value, diagnostics } = loaded.result
            if (value === undefined) continue
            const model = runToCompletion(reconcile(served, value))
            const { places } = loaded
            const options = { before: served, isStrict: false, places }
            const applied = runToCompletion(servable(file, success(model, diagnostics), options))
            if (applied.value === undefined) continue
            served = applied.value
            validator.served(served, checkModel(places, served))
          }
        }),
        fuzz(0.1, 20),
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
