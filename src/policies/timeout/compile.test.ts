import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compileTimeout } from './compile.ts'

const NEVER = Number.POSITIVE_INFINITY

describe('timeout', () => {
  for (const [title, value, request, backendRequest] of [
    ['both', { request: 2_000, backendRequest: 500 }, 2_000, 500],
    ['an attempt alone', { backendRequest: 500 }, 0, 500],
    ['the whole alone: its parts need no limit', { request: 300_000 }, 300_000, NEVER],
    ['0s for an attempt turns the limit off', { backendRequest: 0 }, 0, NEVER],
    ['0s for the whole turns both off', { request: 0 }, 0, NEVER],
    ['0s for the whole, and an attempt', { request: 0, backendRequest: 500 }, 0, 500],
  ] as const) {
    it(title, () => {
      const part = compileTimeout([{ value }] as unknown as Parameters<typeof compileTimeout>[0])
      assert.deepEqual(part, { timeouts: { request, backendRequest } })
    })
  }
})
