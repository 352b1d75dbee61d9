import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compileTimeout } from './compile.ts'

const NEVER = Number.POSITIVE_INFINITY

describe('timeout', () => {
  for (const [title, value, request, backendRequest, responseIdle] of [
    ['both', { request: 2_000, backendRequest: 500 }, 2_000, 500, NEVER],
    ['an attempt alone', { backendRequest: 500 }, 0, 500, 0],
    ['the whole alone: its parts need no limit', { request: 300_000 }, 300_000, NEVER, NEVER],
    ['0s for an attempt turns the limit off', { backendRequest: 0 }, 0, NEVER, 0],
    ['0s for the whole turns all off', { request: 0 }, 0, NEVER, NEVER],
    ['0s for the whole, and an attempt', { request: 0, backendRequest: 500 }, 0, 500, NEVER],
    ['pauses alone', { responseIdle: 700 }, 0, 0, 700],
    ['0s for pauses turns the limit off', { responseIdle: 0 }, 0, 0, NEVER],
    ['the whole, and pauses', { request: 2_000, responseIdle: 700 }, 2_000, NEVER, 700],
  ] as const) {
    it(title, () => {
      const part = compileTimeout([{ value }] as unknown as Parameters<typeof compileTimeout>[0])
      assert.deepEqual(part, { timeouts: { request, backendRequest, responseIdle } })
    })
  }
})
