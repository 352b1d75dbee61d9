import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { missingHint } from './missing.ts'

describe('missing files', () => {
  for (const [path, present, expected] of [
    ["request.headers['x-team']", [], 'header x-team is missing'],
    ['request.headers["x-team"]', ['host'], 'header x-team is missing; present: host'],
    ['request.headers.team', [], 'header team is missing'],
    ["request.headers['a'].b", [], "request.headers['a'].b is missing"],
    ['jwt.group', ['sub', 'iss'], 'jwt.group is missing; present: sub, iss'],
    ['jwt', [], 'jwt is missing'],
  ] as const) {
    it(path, () => assert.equal(missingHint(path, present), expected))
  }
})
