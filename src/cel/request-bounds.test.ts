import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exchangeOf } from '../../test/fuzz/exchanges.ts'
import { type Action, compile, compileRules, type Rule, type Variables } from './index.ts'
import { STAGES } from './stages.ts'
import { LEDGER, Ledger, REQUEST_FUEL } from './values/ledger.ts'
import type { Value } from './values/value.ts'

const MIB = 1 << 20

/** The variables of a request with this body, as rules receive them. */
function requestOf(body: string | Uint8Array, claims: Record<string, Value> = {}) {
  const exchange = exchangeOf({ method: 'POST' })
  exchange.request.body = typeof body === 'string' ? Buffer.from(body) : body
  exchange.jwt = claims
  return exchange
}

function rulesOf(action: Action, ...texts: readonly string[]) {
  const all = texts.map((text): Rule => {
    const { expression } = compile(text, STAGES.traffic)
    assert.ok(expression !== undefined, text)
    return { action, expression }
  })
  return compileRules(all)
}

const variablesOf = (exchange: ReturnType<typeof requestOf>) => exchange as unknown as Variables

describe('a body is read once for all rules of a request', () => {
  it('and is not read if no rule uses it', () => {
    const exchange = requestOf('{}')
    rulesOf('Deny', "request.path == '/x'").decide(variablesOf(exchange))
    assert.equal(exchange.ledger, undefined)
  })

  for (const [what, texts] of [
    ['as JSON', Array.from({ length: 8 }, (_, n) => `json(request.body).model == 'evil-${n}'`)],
    ['as text', Array.from({ length: 8 }, (_, n) => `string(request.body) == 'evil-${n}'`)],
    ['as both', ['json(request.body).a == 1', 'json(string(request.body)).b == 1']],
  ] as const) {
    it(what, () => {
      const costs = [texts.slice(0, 1), texts].map((own) => {
        const exchange = requestOf(`{"model": "x", "text": "${'a'.repeat(100_000)}"}`)
        const before = new Ledger().reading.left
        assert.equal(rulesOf('Deny', ...own).decide(variablesOf(exchange)), true)
        return before - exchange[LEDGER].reading.left
      })
      const [once = 0, all = 0] = costs
      assert.ok(once > 5_000, `${once} units were charged`)
      assert.ok(all <= 2 * once, `${all} units for all, ${once} for one`)
    })
  }

  it('including for the explanation', () => {
    const exchange = requestOf('{"model": "x"}')
    const rules = rulesOf('Require', "json(request.body).model == 'y'")
    assert.equal(rules.decide(variablesOf(exchange)), false)
    const { left } = exchange[LEDGER].reading
    const { expression } = compile("json(request.body).model == 'y'", STAGES.traffic)
    assert.equal(expression?.explain(variablesOf(exchange)).value, false)
    assert.equal(exchange[LEDGER].reading.left, left)
  })
})

describe('how much rules read of a body of 2 MiB', () => {
  const model = "json(request.body).model == 'evil'"
  for (const [what, body, denied] of [
    ['a vision prompt', `{"model": "evil", "image": "${'QUJD'.repeat(MIB / 2 - 20)}"}`, true],
    ['one of another model', `{"model": "good", "image": "${'QUJD'.repeat(MIB / 2 - 20)}"}`, false],
    [
      'one that escapes its slashes',
      `{"model": "good", "image": "${`${'QUJD'.repeat(16)}\\/`.repeat(30_000)}"}`,
      false,
    ],
    ['one with an escaped name', `{"\\u006dodel": "evil", "a": "${'a'.repeat(MIB)}"}`, true],
    ['a wide object', `{"model": "good"${manyNames(100_000)}}`, true],
    ['a list of lists', `[${'[],'.repeat(600_000)}1]`, true],
    ['brackets', '['.repeat(2 * MIB), true],
    ['a text and colons behind it', `{"${'a'.repeat(MIB)}"${':'.repeat(MIB)}}`, true],
    ['a number', `[${'1'.repeat(2 * MIB - 10)}]`, true],
    ['what is no JSON', `{"model": "evil", ${'a'.repeat(MIB)}}`, true],
  ] as const) {
    it(`${what}: ${denied ? 'denied' : 'not denied'}, in bounded time`, () => {
      const rules = rulesOf('Deny', ...Array.from({ length: 8 }, () => model))
      const exchange = requestOf(body)
      const before = process.cpuUsage()
      assert.equal(rules.decide(variablesOf(exchange)), !denied)
      const { user, system } = process.cpuUsage(before)
      // Takes a few ms instead of seconds; the limit allows for a busy machine and no optimizing
      // compiler.
      assert.ok((user + system) / 1000 < 500, `${(user + system) / 1000} ms`)
    })
  }

  it('is the configured limit', () => {
    const body = `{"model": "evil", "text": "${'a'.repeat(1000)}"}`
    const exchange = requestOf(body)
    exchange.readingLimits = { body: 2 * MIB, json: 500 }
    const rules = rulesOf('Require', "json(request.body).model == 'evil'")
    assert.equal(rules.decide(variablesOf(exchange)), false)
    assert.equal(rules.decide(variablesOf(requestOf(body))), true)
  })
})

describe('ambiguous JSON denies', () => {
  for (const [what, body] of [
    ['a name twice', '{"a": 1, "a": 2}'],
    ['a name twice, once escaped', '{"a": 1, "\\u0061": 2}'],
    ['half a pair', '{"a": "\\ud800"}'],
    ['too deep', '['.repeat(300) + ']'.repeat(300)],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ] as const) {
    it(what, () => {
      const variables = variablesOf(requestOf(body))
      assert.equal(rulesOf('Deny', "json(request.body).model == 'x'").decide(variables), false)
      assert.equal(rulesOf('Allow', "json(request.body).model != 'x'").decide(variables), false)
    })
  }

  it('but invalid JSON is an ordinary error', () => {
    const variables = variablesOf(requestOf('a=b&c=d'))
    assert.equal(rulesOf('Deny', "json(request.body).model == 'x'").decide(variables), true)
  })
})

describe('all rules of a request share one budget', () => {
  const list = Array.from({ length: 300 }, (_, n) => n)
  const heavy = (n: number) => `jwt.list.map(x, jwt.list.filter(y, y < ${n}).size()).size() == ${n}`

  // Each of them scans a long string once, which is cheap by itself.
  for (const call of [
    "contains('ab%')",
    "contains('aaaaaab%')",
    "matches('ab%')",
    "matches('^.*ab%')",
    "indexOf('ab%') > 0",
    "lastIndexOf('aaab%') > 0",
    "lowerAscii() == 'x%'",
    "upperAscii() == 'x%'",
    "reverse() == 'x%'",
    "split('ab%').size() > 2",
    "replace('ab%', '') == ''",
    "lowerAscii().trim() == 'x%'",
  ]) {
    it(`which 2,000 rules spend on a text of 50,000 letters: ${call}`, () => {
      const exchange = requestOf('', { text: 'a'.repeat(50_000) })
      const texts = Array.from({ length: 2_000 }, (_, n) => `jwt.text.${call.replace('%', `${n}`)}`)
      const rules = rulesOf('Deny', ...texts)
      const before = process.cpuUsage()
      assert.equal(rules.decide(variablesOf(exchange)), false, 'no Deny rule is passed by length')
      const { user, system } = process.cpuUsage(before)
      // About 5 ms; without the budget, from 40 ms to 3 s.
      const { left } = exchange[LEDGER]
      assert.ok(left < REQUEST_FUEL / 2, `${left} units are left`)
      assert.ok(user + system < 400_000, `${(user + system) / 1000} ms`)
    })
  }

  it('heavy rules together exhaust it', () => {
    const exchange = requestOf('{}', { list: list.slice(0, 100) })
    const texts = Array.from({ length: 50 }, (_, n) => heavy(n + 1_000))
    assert.equal(rulesOf('Deny', ...texts).decide(variablesOf(exchange)), false)
    assert.ok(exchange[LEDGER].left <= 0)
  })

  it('light rules do not exhaust it', () => {
    const exchange = requestOf('{}', { list: ['a', 'b'] })
    const texts = Array.from(
      { length: 1_000 },
      (_, n) => `jwt.list.exists(x, x.startsWith('c${n}')) || request.path.matches('^/a[0-9]${n}')`,
    )
    assert.equal(rulesOf('Deny', ...texts).decide(variablesOf(exchange)), true)
    assert.ok(exchange[LEDGER].left > REQUEST_FUEL / 2, `${exchange[LEDGER].left} units are left`)
  })

  it('an explanation uses none of it and has its own limit', () => {
    const exchange = requestOf('{}', { list })
    const { expression } = compile(heavy(3), STAGES.traffic)
    const effort = { left: 10_000 }
    const { value, cause } = expression?.explain(variablesOf(exchange), effort) ?? {}
    assert.equal(value, undefined)
    assert.equal(cause?.kind === 'error' && cause.isCut, true)
    assert.equal(exchange[LEDGER].left, REQUEST_FUEL)
    assert.ok(effort.left < 0)
  })
})

function manyNames(count: number): string {
  return Array.from({ length: count }, (_, n) => `,"name-${n}":1`).join('')
}
