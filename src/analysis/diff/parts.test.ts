import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { modelOf } from '../../../test/program/models.ts'
import type { Model } from '../../model/model.ts'
import { POLICY_SCHEMAS } from '../../policies/schema.ts'
import { ACCOUNTS } from './accounts.ts'
import { compareModels } from './compare.ts'
import { unaccountedParts } from './parts.ts'

/** Every Model that the configuration tests create: together they contain nearly all parts. */
const MODELS = globSync('test/config/*.model.json').map(
  (file) => JSON.parse(readFileSync(file, 'utf8')) as Model,
)

type Part = Record<string, unknown>

/** Every object in the value, with its path. */
function* objectsIn(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield path
  for (const [key, member] of Object.entries(value)) {
    if (key !== 'origin' && key !== 'diagnostics') yield* objectsIn(member, [...path, key])
  }
}

function planted(model: Model, path: readonly string[]): Model {
  const copy = structuredClone(model)
  let at = copy as unknown as Part
  for (const key of path) at = at[key] as Part
  at['planted'] = 'new'
  return copy
}

/** `routes.0.rules.1` in the notation of the list of accounts. */
function patternOf(model: Model, path: readonly string[]): string {
  let pattern = ''
  let at = model as unknown as Part
  for (const key of path) {
    const isItem = Array.isArray(at)
    at = at[key] as Part
    const isPolicy = 'kind' in at && 'section' in at && 'policy' in at
    if (isPolicy) pattern = `policy(${at['kind']})`
    else if (isItem) pattern += '[]'
    else pattern += pattern === '' ? key : `.${key}`
  }
  return pattern
}

/** The account of the part itself, or of the nearest enclosing part accounted for as a whole. */
function accountOf(pattern: string): string {
  for (let end = pattern.length; end > 0; end--) {
    if (end !== pattern.length && !'.['.includes(pattern[end] as string)) continue
    const account = ACCOUNTS.get(pattern.slice(0, end))
    if (account !== undefined && account.opens !== true && account.under === undefined) {
      return account.by
    }
  }
  return ''
}

describe('parts of two Models that differ', () => {
  it('reports an added part unless it belongs to a whole that is accounted for', () => {
    const wholes = new Set<string>()
    let count = 0
    for (const model of MODELS) {
      for (const path of objectsIn(model)) {
        const found = unaccountedParts(model, planted(model, path))
        const pattern = patternOf(model, path)
        count++
        if (found.length > 0) {
          assert.ok(
            found.some(({ part }) => part.endsWith('planted')),
            pattern,
          )
          continue
        }
        wholes.add(pattern)
        assert.notEqual(accountOf(pattern), '', pattern)
      }
    }
    assert.ok(count > 500, String(count))
    assert.deepEqual([...wholes].filter((one) => !/^settings|^policy|^backends/.test(one)).sort(), [
      'gateways[].listeners[].tls.certificates[]',
      'gateways[].listeners[].tls.certificates[].cert',
      'gateways[].listeners[].tls.certificates[].key',
      'tcpRoutes[].action.backends[]',
    ])
  })

  it('finds no difference between a Model and itself', () => {
    for (const model of MODELS)
      assert.deepEqual(unaccountedParts(model, structuredClone(model)), [])
  })

  it('ignores where things are written', () => {
    for (const model of MODELS) {
      const moved = JSON.parse(
        JSON.stringify(model).replaceAll(/"line":\d+/g, '"line":77'),
      ) as Model
      assert.deepEqual(unaccountedParts(model, moved), [])
    }
  })

  it('accounts only for policies and settings that exist', () => {
    const kinds = new Set(POLICY_SCHEMAS.map(({ kind }) => kind))
    for (const pattern of ACCOUNTS.keys()) {
      const [, kind, key] = /^policy\((\w+)\)(?:\.value\.(\w+))?/.exec(pattern) ?? []
      if (kind === undefined) continue
      assert.ok(kinds.has(kind), pattern)
      // Derived from several keys of the file.
      if (key === undefined || key === 'target' || key === 'variants') continue
      const schema = POLICY_SCHEMAS.find((one) => one.kind === kind)?.schema
      assert.ok(JSON.stringify(keysOf(schema)).includes(`"${key}"`), pattern)
    }
  })

  const AUTHENTICATIONS = {
    jwtAuthentication: { issuer: 'https://i.example', jwks: { inline: '{"keys":[]}' } },
    apiKey: { keys: [{ keyHash: `sha256:${'0'.repeat(64)}` }] },
    basicAuth: { htpasswd: 'alice:{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE=' },
    authentication: { anyOf: [{ apiKey: { keys: [{ keyHash: `sha256:${'0'.repeat(64)}` }] } }] },
    extAuthz: { host: 'a:1' },
  }
  for (const [kind, value] of Object.entries(AUTHENTICATIONS)) {
    it(`whatever is new in ${kind} is compared as what it accepts`, () => {
      const model = modelOf({ routes: [{ policies: { [kind]: value } }] })
      const path = [...objectsIn(model)].filter(
        (one) => one.includes('policies') && one.includes('value'),
      )
      assert.ok(path.length > 0)
      for (const one of path) {
        const { untold } = compareModels(model, planted(model, one), {
          old: () => undefined,
          now: () => undefined,
        })
        assert.match(untold.map(({ why }) => why).join('\n'), new RegExp(`\`${kind}\` accepts`))
      }
    })
  }
})

/** The names of all members in a schema, however it is composed. */
function keysOf(schema: unknown, depth = 0): readonly string[] {
  if (typeof schema !== 'object' || schema === null || depth > 12) return []
  const { def, shape } = schema as { readonly def?: Part; readonly shape?: Part }
  const own = shape === undefined ? [] : Object.keys(shape)
  const inner = Object.values(def ?? {}).flatMap((one) =>
    Array.isArray(one) ? one.flatMap((part) => keysOf(part, depth + 1)) : keysOf(one, depth + 1),
  )
  return [...own, ...inner]
}
