import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compareModels } from '../../src/analysis/diff/compare.ts'
import type { SemanticDiff } from '../../src/analysis/diff/difference.ts'
import { hypotheticalOf } from '../../src/cli/diff.ts'
import { openVerdicts } from '../../src/cli/verdicts.ts'
import type { Model } from '../../src/model/model.ts'
import type { HypotheticalRequest } from '../../src/program/explain.ts'
import { loadText } from '../../src/sources/file/load.ts'
import { assertProperty } from './assert-property.ts'
import { claimValues } from './claim-values.ts'
import {
  anyChanges,
  changed,
  textOf,
  usualChanges,
  type WrittenFile,
  writtenFile,
} from './configurations.ts'
import { fuzz } from './runs.ts'
import { narrowedTests, nearTested } from './string-tests.ts'

/**
 * If the semantic diff reports no difference and no doubt, no request is decided differently.
 * Compares two files that differ by typical changes, for requests close to the contents of the
 * files. The listener is not passed to the program: the host selects it, as on the wire.
 */

function modelFrom(text: string): Model | undefined {
  const { value, diagnostics } = loadText(text, 'a.yaml', { environment: {} }).result
  return diagnostics.some(({ severity }) => severity === 'error') ? undefined : value
}

function requestsFor(texts: readonly string[]): fc.Arbitrary<HypotheticalRequest> {
  const value = claimValues(["'a' 'ab' 'b' 'x' 1 2 2.5 0.5 0.9 10"])
  const hosts = ['a.test', 'b.test', 'c.b.test', 'd.test', 'other', '', '.test']
  const paths = ['/', '/a', '/ab', '/a/', '/a/b', '/a/bc', '/b', '/admin', '/admin/x', '*', '//a']
  const claims = fc.record(
    {
      sub: value,
      groups: fc.oneof(value, fc.subarray(['a', 'ab', 'x'])),
      o: fc.oneof(
        value,
        fc.dictionary(fc.constantFrom('x', 'a'), value, { noNullPrototype: true }),
      ),
    },
    { requiredKeys: [] },
  )
  return fc
    .record({
      method: fc.constantFrom('GET', 'PUT', 'POST', 'get'),
      path: fc.oneof(
        fc.constantFrom(...paths),
        nearTested.map((text) => `/${text}`),
      ),
      host: fc.constantFrom(...hosts),
      search: fc.constantFrom('', '?q=a', '?q=b&r=a', '?%71=a', '?r=a&q=a'),
      x: fc.oneof(fc.constantFrom(undefined, 'a', 'b', '', 'ab'), nearTested),
      y: fc.constantFrom(undefined, 'a'),
      source: fc.constantFrom('10.0.0.7', '10.1.0.7', '192.0.2.1', '2001:db8::1'),
      jwt: fc.option(claims, { nil: undefined, freq: 4 }),
      apiKey: fc.constantFrom(undefined, {}),
    })
    .map(({ jwt, apiKey, x, y, ...rest }) => ({
      ...rest,
      headers: Object.entries({ x, y }).flatMap(([name, own]) =>
        own === undefined ? [] : [[name, own]],
      ),
      sourcePort: texts.length,
      identity: {
        ...(jwt === undefined ? {} : { jwt: { iss: 'https://issuer.example', ...jwt } }),
        ...(apiKey === undefined ? {} : { apiKey }),
      },
    })) as fc.Arbitrary<HypotheticalRequest>
}

const fileWith = (allow: string): WrittenFile => ({
  listeners: undefined,
  gateway: {},
  frontend: {},
  routes: [{ name: 'r', policies: { authorization: { rules: [{ allow }] } } }],
})

function compare(old: Model, now: Model) {
  const [was, is] = [openVerdicts(old), openVerdicts(now)]
  const found: SemanticDiff = compareModels(old, now, {
    old: (one) => was.decide(hypotheticalOf(one), one.isConnection),
    now: (one) => is.decide(hypotheticalOf(one), one.isConnection),
  })
  return { was, is, found }
}

describe('two configurations', () => {
  it('no request is decided differently if no difference and no doubt is reported', () => {
    const seen = { differing: 0, silent: 0 }
    const check = (texts: readonly [string, string], requests: readonly HypotheticalRequest[]) => {
      const [old, now] = texts.map(modelFrom)
      if (old === undefined || now === undefined) return
      const { was, is, found } = compare(old, now)
      const said = new Set([...found.differences, ...found.untold].map(({ kind }) => kind))
      if (said.size === 0) seen.silent++
      for (const one of requests) {
        const [before, after] = [was.decide(one), is.decide(one)]
        if (before.isAdmitted === after.isAdmitted) continue
        seen.differing++
        const kind = after.isAdmitted ? 'admitted' : 'refused'
        assert.ok(said.has(kind), fc.stringify([...texts, one, before, after]))
      }
      was.close()
      is.close()
    }
    const property = fc.property(
      writtenFile,
      anyChanges,
      fc.array(requestsFor([]), { minLength: 80, maxLength: 80 }),
      (file, changes, requests) => check([textOf(file), textOf(changed(file, changes))], requests),
    )
    assertProperty('diff-truth', property, fuzz(0.02, 20))
    // A single rule with several tests of one string.
    const few = fc.array(requestsFor([]), { minLength: 40, maxLength: 40 })
    const ofOne = fc.property(narrowedTests, fc.boolean(), few, (conditions, isWider, requests) => {
      const [wide, narrow] = conditions.map((one) => textOf(fileWith(one))) as [string, string]
      check(isWider ? [narrow, wide] : [wide, narrow], requests)
    })
    assertProperty('diff-truth-one-string', ofOne, fuzz(0.3))
    assert.ok(seen.differing > 0 && seen.silent > 0)
  })

  it('the effect of a common change is rarely unknown', () => {
    const seen = { pairs: 0, doubted: 0 }
    const property = fc.property(writtenFile, usualChanges, (file, changes) => {
      const after = changed(file, changes)
      const [old, now] = [modelFrom(textOf(file)), modelFrom(textOf(after))]
      if (old === undefined || now === undefined || textOf(file) === textOf(after)) return
      const { was, is, found } = compare(old, now)
      seen.pairs++
      if (found.untold.length > 0) seen.doubted++
      was.close()
      is.close()
    })
    assertProperty('diff-truth-usual', property, fuzz(0.02))
    if (process.env['FUZZ_SHOW'] !== undefined) console.log(seen)
    // A few pairs only show that it runs.
    if (seen.pairs > 100) assert.ok(seen.doubted < seen.pairs / 4, JSON.stringify(seen))
  })
})
