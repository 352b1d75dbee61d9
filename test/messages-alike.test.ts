// The same mistake in a policy gets the same message in a file, a database row and a Kubernetes
// object.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { servable } from '../src/cli/check-model.ts'
import { loadManifests } from '../src/cli/load-manifests.ts'
import type { Diagnostic } from '../src/diagnostics/diagnostic.ts'
import type { JsonObject, JsonValue } from '../src/model/json.ts'
import { runToCompletion } from '../src/model/steps.ts'
import { loadMerged } from '../src/sources/database/load.ts'
import { type Loaded, loadFile } from '../src/sources/file/load.ts'

const folder = mkdtempSync(join(tmpdir(), 'alike-'))
after(() => rmSync(folder, { recursive: true }))

const rule = (expression: JsonValue, action: JsonValue = 'Allow'): JsonObject => ({
  authorization: { action, policy: { matchExpressions: [expression] } },
})
const jwt = (provider: JsonObject, mode = 'Strict'): JsonObject => ({
  jwtAuthentication: { mode, providers: [provider] },
})

/** `traffic` sections with one mistake each. */
const MISTAKES: Readonly<Record<string, JsonObject>> = {
  'half an expression': rule('jwt.sub =='),
  'an open string': rule("request.method == 'x"),
  'a variable that is not there': rule('nobody == 1'),
  'a field that is not there': rule('request.nothing'),
  'a misspelt field': rule("request.header['a'] == 'b'"),
  'a misspelt function': rule("request.path.startWith('/a')"),
  'a number for a condition': rule('1 + 1'),
  'an address as text': rule("source.address == '10.0.0.0/8'"),
  'types that never are equal': rule("request.headers['a'] == 5"),
  'a range that is none': rule("cidr('300.0.0.0/8').containsIP(source.address)"),
  'a pattern that is none': rule("request.path.matches('(')"),
  'claims without a token': rule("jwt.sub == 'a'"),
  'claims to deny without a token': rule("jwt.sub == 'a'", 'Deny'),
  'a misspelt action': rule('true', 'Alow'),
  'an action that is a number': rule('true', 5),
  'no action': { authorization: { policy: { matchExpressions: ['true'] } } },
  'no expressions': { authorization: { action: 'Allow', policy: { matchExpressions: [] } } },
  'an empty expression': rule(''),
  'an expression that is a number': rule(5),
  'an expression that is nothing': rule(null),
  'a misspelt key': {
    authorization: { action: 'Allow', policys: {}, policy: { matchExpressions: ['true'] } },
  },
  'a misspelt policy': { authorisation: {} },
  'a policy that is a list': { authorization: [] },
  'no providers': { jwtAuthentication: { mode: 'Strict', providers: [] } },
  'a provider without an issuer': jwt({ jwks: { inline: '{"keys": []}' } }),
  'keys that are none': jwt({ issuer: 'a', jwks: { inline: 'none' } }),
  'a misspelt mode': jwt({ issuer: 'a', jwks: { inline: '{"keys": []}' } }, 'Strickt'),
  'origins that are a number': { cors: { allowOrigins: 5 } },
  'a duration that is none': { timeouts: { request: 'soon' } },
  'a size that is none': { buffer: { request: { maxBytes: 'many' } } },
  'a status that is none': { directResponse: { status: 99 } },
}

const TARGET = [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'r' }]

const OBJECTS = [
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'gw', namespace: 'default' },
    spec: {
      gatewayClassName: 'portcullis',
      listeners: [{ name: 'http', port: 8080, protocol: 'HTTP' }],
    },
  },
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'r', namespace: 'default' },
    spec: { parentRefs: [{ name: 'gw' }], rules: [{ backendRefs: [{ name: 'up', port: 80 }] }] },
  },
]

function write(name: string, value: object): string {
  const file = join(folder, name)
  writeFileSync(file, JSON.stringify(value))
  return file
}

const policyOf = (traffic: JsonObject) => ({ name: 'p', target: { route: 'r' }, traffic })
const fileWith = (policies: readonly object[]) => ({
  gateways: { default: { port: 8080 } },
  routes: [{ name: 'r', backends: [{ host: 'up:80' }] }],
  policies,
})

function fromFile(traffic: JsonObject): readonly Diagnostic[] {
  const file = write('gateway.yaml', fileWith([policyOf(traffic)]))
  return errorsOf(file, loadFile(file, { environment: {} }))
}

function fromRow(traffic: JsonObject): readonly Diagnostic[] {
  const file = write('baseline.yaml', fileWith([]))
  const row = {
    kind: 'policies',
    id: 'p',
    state: 'set',
    value: policyOf(traffic),
    base: null,
  } as const
  const stored = { ...row, revision: 1, created: 1, author: '', time: '' }
  return errorsOf(file, runToCompletion(loadMerged(file, {}, [stored])))
}

function fromObject(traffic: JsonObject): readonly Diagnostic[] {
  const policy = {
    apiVersion: 'portcullis.dev/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'p', namespace: 'default' },
    spec: { targetRefs: TARGET, traffic },
  }
  const items = [...OBJECTS, policy]
  const file = write('manifests.yaml', { apiVersion: 'v1', kind: 'List', items })
  return errorsOf(file, loadManifests(file))
}

function errorsOf(file: string, { result, places }: Loaded): readonly Diagnostic[] {
  const { diagnostics } = runToCompletion(servable(file, result, { isStrict: true, places }))
  return diagnostics.filter(({ severity }) => severity === 'error')
}

const words = (all: readonly Diagnostic[]) => all.map(({ message, hint }) => ({ message, hint }))

describe('a mistake in a policy', () => {
  for (const [what, traffic] of Object.entries(MISTAKES)) {
    it(`${what}: alike in a file, a row and an object`, () => {
      const file = fromFile(traffic)
      const [row, object] = [fromRow(traffic), fromObject(traffic)]
      assert.notEqual(file.length, 0)
      assert.deepEqual(words(row), words(file))
      assert.deepEqual(words(object), words(file))
      for (const { origin } of file) assert.equal(origin.kind, 'file')
      const fields = (all: readonly Diagnostic[]) =>
        all.map(({ origin }) => (origin.kind === 'object' ? origin.field : assert.fail()))
      for (const field of fields(row)) assert.match(field, /^traffic\./)
      for (const field of fields(object)) assert.match(field, /^spec\.traffic\./)
    })
  }
})
