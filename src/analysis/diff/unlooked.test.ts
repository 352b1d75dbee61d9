import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'

/** Code that reads the path from an exchange, which policies may have changed by then. */
const READING =
  /\bexchange\.path\b(?! =)|\{[^}]*\bpath\b[^}]*\} = (?:this\.#)?exchange\b(?!\??\.)|\{[^}]*\bpath\b[^}]*\}: Exchange\b/

/** These send the path on, or save it to restore it. */
const SENDING: readonly string[] = [
  'src/policies/sent-headers.ts',
  'src/program/mcp-call.ts',
  'src/program/provider-selection.ts',
  'src/program/request-signer.ts',
  'src/proxy/forward.ts',
  'src/proxy/mirror.ts',
]

/** These distinguish requests by the path, and `readsPaths` covers them. */
const DECIDING: readonly string[] = ['src/program/a2a.ts', 'src/program/ai-upstream.ts']

describe('paths that policies change', () => {
  it('are read only by modules that diff covers', () => {
    const files = globSync('src/**/*.ts', { exclude: ['**/*.test.ts'] })
    const found = files.filter((file) => READING.test(readFileSync(file, 'utf8')))
    assert.deepEqual(found.sort(), [...SENDING, ...DECIDING].sort())
  })
})
