import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { patternMachine } from './pattern-machine.ts'
import { domainOf, isInDomain, type TextDomain } from './text-domains.ts'
import { textsFor } from './texts.ts'

// For every string of an attribute, the engine has one that no rule tells apart from it. All short
// strings are tried.

/** Characters that mean something to a domain, to the tests below, or to neither. */
const CHARACTERS = ['a', 'b', '/', '.', 'A', ' ', '%']
const LONGEST = 4

function allTexts(domain: TextDomain): readonly string[] {
  const all = ['']
  for (let from = 0, length = 1; length <= LONGEST; length++) {
    const to = all.length
    for (; from < to; from++) for (const one of CHARACTERS) all.push(`${all[from]}${one}`)
  }
  return all.filter((text) => isInDomain(text, domain))
}

const DOMAINS = new Map(
  [
    ['jwt', 'sub'],
    ['request', 'path'],
    ['request', 'method'],
    ['request', 'host'],
    ['request', 'query'],
    ['request', 'headers', 'x'],
    ['request', 'scheme'],
    ['destination', 'hostname'],
    ['source', 'subjectCn'],
  ].map((steps) => {
    const domain = domainOf(steps)
    return [steps.join('.'), { domain, texts: allTexts(domain) }] as const
  }),
)

const PATTERNS = [
  ...['^a', 'b$', '^(a|ab)$', 'a.b', '^[^a]*$', '^/a(/|$)', 'a{2,3}', '^$'],
  ...['^[b/]', '[A-Z]b', '^.[/.]', '[^b]$', '[/-9]', '^[A-Z]+$'],
]
const text = fc
  .array(fc.constantFrom('a', 'b', '/', '.', 'A'), { maxLength: 3 })
  .map((all) => all.join(''))
const texts = fc.uniqueArray(text, { maxLength: 3 }).map((all) => new Set(all))
const questions = fc.record({
  equal: texts,
  prefixes: texts,
  suffixes: texts,
  infixes: texts,
  patterns: fc
    .subarray(PATTERNS.filter((pattern) => patternMachine(pattern) !== undefined))
    .map((all) => new Set(all.slice(0, 3))),
  longest: fc.constantFrom(-1, -1, 0, 1, 3),
  hints: texts,
})

describe('the strings of an attribute', () => {
  for (const [name, { domain, texts: all }] of DOMAINS) {
    it(`have one for each that rules tell apart: ${name}`, () => {
      let whole = 0
      const property = fc.property(questions, (asked) => {
        const { values, isWhole } = textsFor(asked, domain)
        assert.equal(new Set(values).size, values.length)
        for (const value of values) assert.ok(isInDomain(value, domain), JSON.stringify(value))
        if (!isWhole) return
        whole++
        const outcomes = (own: string) =>
          JSON.stringify([
            [...asked.equal].map((one) => own === one),
            [...asked.prefixes].map((one) => own.startsWith(one)),
            [...asked.suffixes].map((one) => own.endsWith(one)),
            [...asked.infixes].map((one) => own.includes(one)),
            [...asked.patterns].map((one) => new RegExp(one, 'u').test(own)),
            Math.min([...own].length, asked.longest + 1),
          ])
        const found = new Set(values.map(outcomes))
        const lacking = all.find((own) => !found.has(outcomes(own)))
        assert.equal(lacking, undefined)
      })
      fc.assert(property, fuzz(0.2))
      assert.ok(whole > 10, `${whole}`)
    })
  }
})
