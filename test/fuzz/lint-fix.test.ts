import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { fixFile } from '../../src/cli/lint-fix.ts'
import { openVerdicts } from '../../src/cli/verdicts.ts'
import type { HypotheticalRequest } from '../../src/program/explain.ts'
import { loadText } from '../../src/sources/file/load.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'lint-fix-'))
after(() => rmSync(FOLDER, { recursive: true }))

const expression = fc.constantFrom(
  "request.method == 'GET'",
  "request.method in ['GET', 'PUT']",
  "request.headers['X-A'] == '1'",
  "request.headers['x-a'] in ['1', '2']",
  "request.headers['X-A'] == '1' && request.method == 'GET'",
  "request.path.startsWith('/a/')",
  "request.path.startsWith('/a/b/')",
  "request.path == '/a/b'",
  'jwt.admin',
  'jwt.admin == true',
)
const rule = fc.tuple(fc.constantFrom('allow', 'require', 'deny'), expression)
const level = fc.array(rule, { minLength: 1, maxLength: 4 })

type Rules = readonly (readonly [action: string, text: string])[]

function config(gateway: Rules, route: Rules): string {
  const list = (rules: Rules, indent: string) =>
    rules.map(([action, text], index) => `${indent}- ${action}: "${text}" # ${index}\n`).join('')
  return `gateways:
  default:
    port: 8080
    jwtAuthentication: { mode: Optional, issuer: 'https://i.example', jwks: { inline: '{"keys":[]}' } }
    authorization:
      rules: # of the gateway
${list(gateway, '      ')}routes:
- name: api
  policies:
    authorization:
      rules:
${list(route, '      ')}  backends: [{ host: 'a:80' }]
`
}

const REQUESTS: readonly HypotheticalRequest[] = ['GET', 'PUT'].flatMap((method) =>
  ['/', '/a/b', '/a/b/c', '/a/c'].flatMap((path) =>
    [[], [['x-a', '1'] as const], [['x-a', '2'] as const]].flatMap((headers) =>
      [undefined, {}, { admin: true }, { admin: 'yes' }].map((jwt) => ({
        method,
        path,
        headers,
        search: '',
        host: 'a',
        source: '10.0.0.1',
        sourcePort: 1,
        identity: jwt === undefined ? {} : { jwt: { iss: 'https://i.example', ...jwt } },
      })),
    ),
  ),
)

describe('configurations fixed by lint', () => {
  it('decide every request as before', () => {
    let fixed = 0
    const property = fc.property(level, level, (gateway, route) => {
      const text = config(gateway, route)
      const file = join(FOLDER, 'gateway.yaml')
      writeFileSync(file, text)
      fixFile(file, {}, {})
      const after = readFileSync(file, 'utf8')
      if (after === text) return
      fixed++
      const [old, now] = [text, after].map((own) => {
        const { value } = loadText(own, file, { environment: {} }).result
        assert.ok(value)
        return openVerdicts(value)
      }) as [ReturnType<typeof openVerdicts>, ReturnType<typeof openVerdicts>]
      for (const request of REQUESTS) {
        const [was, is] = [old.decide(request), now.decide(request)]
        assert.equal(is.isAdmitted, was.isAdmitted, JSON.stringify(request))
      }
      old.close()
      now.close()
    })
    assertProperty('lint-fix', property, fuzz(0.04))
    assert.ok(fixed > 0)
  })
})
