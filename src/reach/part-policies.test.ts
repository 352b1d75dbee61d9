import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText } from '../sources/file/load.ts'

const BACKENDS = {
  host: { host: '127.0.0.1:9' },
  ai: { ai: { name: 'p', provider: { openAI: {} } } },
  mcp: { mcp: { targets: [{ name: 't', mcp: { host: '127.0.0.1:9' } }] } },
} as const

const RULES = { rules: ['true'] }
const REGEX = { request: [{ regex: { rules: [{ pattern: 'x' }] } }] }

const POLICIES: Readonly<Record<string, readonly [value: object, on: readonly string[]]>> = {
  mcpAuthorization: [RULES, ['mcp']],
  ai: [{ defaults: { seed: 1 } }, ['ai']],
  guardrails: [REGEX, ['ai', 'mcp']],
  backendAuth: [{ aws: {} }, ['ai']],
  a2a: [{}, ['host']],
}

describe('policies that only some backends enforce', () => {
  for (const [kind, [value, on]] of Object.entries(POLICIES)) {
    for (const [backend, own] of Object.entries(BACKENDS)) {
      const isEnforced = on.includes(backend)
      it(`${kind} on ${backend} is ${isEnforced ? 'accepted' : 'an error'}`, () => {
        const policies = { [kind]: value }
        const inRoute = { name: 'a', policies, backends: [own] }
        const onBackend = { name: 'a', backends: [{ ...own, policies }] }
        for (const route of [inRoute, onBackend]) {
          const file = { gateways: { default: { port: 8080 } }, routes: [route] }
          const { result } = loadText(JSON.stringify(file), 'a.yaml', { environment: {} })
          const codes = result.diagnostics.map(({ code, message }) => `${code} ${message}`)
          const found = codes.filter((one) => /^PC0219 .* supported on /.test(one))
          assert.equal(found.length, isEnforced ? 0 : 1, codes.join('\n'))
        }
      })
    }
  }
})
