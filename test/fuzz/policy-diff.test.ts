import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compareModels } from '../../src/analysis/diff/compare.ts'
import type { SemanticDiff } from '../../src/analysis/diff/difference.ts'
import { hypotheticalOf } from '../../src/cli/diff.ts'
import { openVerdicts } from '../../src/cli/verdicts.ts'
import type { Model } from '../../src/model/model.ts'
import type { HypotheticalRequest } from '../../src/program/explain.ts'
import { modelOf } from '../program/models.ts'
import { fuzz } from './runs.ts'

/**
 * Conclusions of the semantic diff about all requests hold for random requests, which both programs
 * decide.
 */

const ATOMS = [
  "request.method == 'GET'",
  "request.method in ['GET', 'PUT']",
  "request.path == '/a'",
  "request.path.startsWith('/a')",
  "request.path.startsWith('/a/b')",
  "request.headers['x'] == '1'",
  "request.headers['x'] != '1'",
  "'x' in request.headers",
  "jwt.sub == 'alice'",
  "jwt.sub != 'bob'",
  'has(jwt.sub)',
  "'eng' in jwt.groups",
  "cidr('10.0.0.0/8').containsIP(source.address)",
  "cidr('10.1.0.0/16').containsIP(source.address)",
  'size(request.path) > 2',
  'size(request.path) > 3',
  "request.path.endsWith('b')",
]
/** Conditions that the analysis does not cover. */
const OPAQUE = /size|endsWith/
const atom = fc.constantFrom(...ATOMS)
const expression = fc.oneof(
  atom,
  atom.map((one) => `!(${one})`),
  fc.tuple(atom, atom).map(([a, b]) => `${a} && ${b}`),
  fc.tuple(atom, atom).map(([a, b]) => `${a} || ${b}`),
)
const rules = fc.array(fc.tuple(fc.constantFrom('allow', 'require', 'deny'), expression), {
  maxLength: 3,
})
const route = fc.record({
  rules,
  path: fc.constantFrom('/', '/a', '/a/b', '/b'),
  isExact: fc.boolean(),
  method: fc.constantFrom(undefined, 'GET'),
  token: fc.constantFrom('Strict', 'Optional', undefined),
})
const written = fc.array(route, { minLength: 1, maxLength: 3 })

const TOKEN = { issuer: 'https://issuer.example', jwks: { inline: '{"keys":[]}' } }

function modelFrom(routes: typeof written extends fc.Arbitrary<infer T> ? T : never): Model {
  return modelOf({
    routes: routes.map(({ rules, path, isExact, method, token }) => ({
      matches: [
        {
          path: { kind: isExact ? 'exact' : 'prefix', value: path },
          ...(method === undefined ? {} : { method }),
        },
      ],
      policies: {
        ...(token === undefined ? {} : { jwtAuthentication: { ...TOKEN, mode: token } }),
        ...(rules.length === 0
          ? {}
          : { authorization: { rules: rules.map(([action, text]) => ({ [action]: text })) } }),
      },
    })),
  })
}

const claims = fc.record(
  { sub: fc.constantFrom('alice', 'bob', 'eve'), groups: fc.subarray(['eng', 'ops']) },
  { requiredKeys: [] },
)
const request: fc.Arbitrary<HypotheticalRequest> = fc
  .record({
    method: fc.constantFrom('GET', 'PUT', 'POST'),
    path: fc.constantFrom('/', '/a', '/ab', '/a/b', '/a/bc', '/a/b/c', '/b', '/b/a'),
    headers: fc.constantFrom<[string, string][]>([], [['x', '1']], [['x', '2']]),
    source: fc.constantFrom('10.0.0.7', '10.1.0.7', '192.0.2.1'),
    jwt: fc.option(claims, { nil: undefined }),
  })
  .map(({ jwt, ...rest }) => ({
    ...rest,
    search: '',
    host: 'example.com',
    sourcePort: 1,
    listener: 'default/listener-0',
    identity: jwt === undefined ? {} : { jwt: { iss: TOKEN.issuer, ...jwt } },
  }))

describe('the semantic diff is true', () => {
  it('for random routes, rules and requests', () => {
    let differing = 0
    const property = fc.property(
      written,
      written,
      fc.array(request, { minLength: 12, maxLength: 12 }),
      (before, after, requests) => {
        const [old, now] = [modelFrom(before), modelFrom(after)]
        const [was, is] = [openVerdicts(old), openVerdicts(now)]
        const found: SemanticDiff = compareModels(old, now, {
          old: (one) => was.decide(hypotheticalOf(one)),
          now: (one) => is.decide(hypotheticalOf(one)),
        })
        const isExact = !OPAQUE.test(JSON.stringify([before, after]))
        // A request with an invalid token passes where no policy checks it; these requests have
        // none.
        const byRules = found.untold.filter(({ why }) => !why.includes('jwtAuthentication'))
        if (isExact) assert.deepEqual(byRules, [])
        for (const one of requests) {
          const [a, b] = [was.decide(one).isAdmitted, is.decide(one).isAdmitted]
          if (a === b) continue
          differing++
          const kind = b ? 'admitted' : 'refused'
          const text = JSON.stringify(one)
          const all = [...found.differences, ...found.untold]
          assert.ok(
            all.some((difference) => difference.kind === kind),
            text,
          )
        }
        was.close()
        is.close()
      },
    )
    fc.assert(property, fuzz(0.2))
    assert.ok(differing > 0)
  })

  it('a configuration does not differ from itself', () => {
    const never = () => assert.fail('nothing is to be asked')
    const property = fc.property(written, (routes) => {
      const both = [modelFrom(routes), modelFrom(routes)] as const
      assert.deepEqual(compareModels(...both, { old: never, now: never }), {
        differences: [],
        untold: [],
      })
    })
    fc.assert(property, fuzz(0.1))
  })
})
