import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BACKEND, FRONTEND, TRAFFIC } from '../../../tools/crds/policies.ts'
import { CONVERTERS, isAsInFile } from './policy-values.ts'

describe('fields of a ProxyPolicy', () => {
  for (const [section, fields] of [
    ['frontend', FRONTEND],
    ['traffic', TRAFFIC],
    ['backend', { ...BACKEND, mcp: {} }],
  ] as const) {
    it(`${section}: what the definition has is read, and nothing else`, () => {
      const unread = Object.keys(fields).filter(
        (key) => CONVERTERS[section][key] === undefined && !isAsInFile(key, section),
      )
      assert.deepEqual(unread, [])
      const undefinedKeys = Object.keys(CONVERTERS[section]).filter((key) => !(key in fields))
      assert.deepEqual(undefinedKeys, [])
    })
  }
})
