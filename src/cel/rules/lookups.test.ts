import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { BOOL } from '../check/types.ts'
import { compile } from '../compile.ts'
import { STAGES } from '../stages.ts'
import { parseIp } from '../values/ip.ts'
import type { Value } from '../values/value.ts'
import { compileRules, type Rule } from './rule-set.ts'

// Sets of dozens of rules of one form, with keys that share beginnings and have many lengths. Plain
// JavaScript decides which rules a request matches.

interface Request {
  readonly sub: Value | undefined
  readonly groups: Value | undefined
  readonly path: string
  readonly method: string
  readonly ip: Address
}

interface Address {
  readonly bits: 32 | 128
  readonly number: bigint
}

interface Condition {
  readonly text: string
  readonly holds: (request: Request) => boolean
}

const part = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 45 })
/** Grown from each other, so that one is often the beginning of another. */
const keys = fc
  .array(fc.tuple(fc.nat(), fc.nat(45), part), { minLength: 30, maxLength: 60 })
  .map((grown) => {
    const all = ['a/a/b/a']
    for (const [from, kept, more] of grown) {
      all.push(`${all[from % all.length]?.slice(0, kept)}${more}`)
    }
    return [...new Set(all)].filter((key) => key.length > 5)
  })

const TEXT_FORMS: Readonly<Record<string, (key: string) => Condition>> = {
  'a value': (key) => ({ text: `jwt.sub == '${key}'`, holds: ({ sub }) => sub === key }),
  'two values': (key) => ({
    text: `jwt.sub in ['${key}', '${key}b']`,
    holds: ({ sub }) => sub === key || sub === `${key}b`,
  }),
  'a beginning': (key) => ({
    text: `request.path.startsWith('${key}')`,
    holds: ({ path }) => path.startsWith(key),
  }),
  'an element': (key) => ({
    text: `'${key}' in jwt.groups`,
    holds: ({ groups }) => Array.isArray(groups) && groups.includes(key),
  }),
}

/** What each rule tests besides. */
const MORE: readonly ((own: Condition, at: number) => Condition)[] = [
  (own) => own,
  ({ text, holds }, at) => {
    if (at % 3 === 0) return { text, holds }
    const method = `M${at % 3}`
    return {
      text: `${text} && request.method == '${method}'`,
      holds: (request) => holds(request) && request.method === method,
    }
  },
  ({ text, holds }, at) => {
    const prefix = 'a/b'.slice(0, at % 4)
    return {
      text: `request.path.startsWith('${prefix}') && ${text}`,
      holds: (request) => holds(request) && request.path.startsWith(prefix),
    }
  },
  ({ text, holds }, at) => ({
    text: `${text} && size(request.path) > ${at}`,
    holds: (request) => holds(request) && request.path.length > at,
  }),
]

const method = fc.constantFrom('M0', 'M1', 'M2')
/** Which key, how much of it, and what follows. */
const near = fc.tuple(
  fc.nat(),
  fc.constantFrom(90, 90, 20, 6, 4),
  fc.constantFrom('', '', 'b', '/a'),
)
const odd = fc.constantFrom<Value | undefined>(undefined, null, 7, true)
const ip: fc.Arbitrary<Address> = fc
  .tuple(fc.constantFrom<32 | 128>(32, 128), fc.nat(3), fc.nat(255), fc.nat(3))
  .map(([bits, high, low, middle]) => ({
    bits,
    number: [
      BigInt(high) << BigInt(bits - 2),
      BigInt(middle) << BigInt(bits / 2),
      BigInt(low),
    ].reduce((sum, one) => sum + one),
  }))

describe('dozens of rules of one form decide as each does by itself', () => {
  for (const [what, form] of Object.entries(TEXT_FORMS)) {
    it(`if they test ${what}`, () => {
      const drawn = fc.record({
        sub: near,
        path: near,
        groups: near,
        method,
        ip,
        odd,
        isOdd: fc.nat(5),
      })
      const cases = fc
        .tuple(keys, fc.array(drawn, { minLength: 30, maxLength: 30 }))
        .map(([all, asked]) => {
          const textOf = ([at, kept, more]: [number, number, string]) =>
            `${all[at % all.length]?.slice(0, kept)}${more}`
          const requests = asked.map(
            ({ sub, path, groups, method: own, ip: from, odd: other, isOdd }) => ({
              sub: isOdd === 1 ? other : textOf(sub),
              groups: isOdd === 2 ? other : [other ?? 8, textOf(groups)],
              path: textOf(path),
              method: own,
              ip: from,
            }),
          )
          return [all.map(form), requests] as const
        })
      compare(cases)
    })
  }

  it('if they test a network', () => {
    const network = fc.tuple(ip, fc.nat(128)).map(([{ bits, number }, length]): Condition => {
      const rest = BigInt(bits - (length % (bits + 1)))
      return {
        text: `cidr('${ipText({ bits, number })}/${bits - Number(rest)}').containsIP(source.address)`,
        holds: ({ ip: from }) => from.bits === bits && from.number >> rest === number >> rest,
      }
    })
    const networks = fc.array(network, { minLength: 30, maxLength: 60 })
    const drawn = fc.record({ ip, path: part, method })
    const asked = fc.array(drawn, { minLength: 30, maxLength: 30 })
    const rest = { sub: undefined, groups: undefined }
    compare(
      fc.tuple(
        networks,
        asked.map((all) => all.map((own) => ({ ...own, ...rest }))),
      ),
    )
  })
})

function compare(cases: fc.Arbitrary<readonly [readonly Condition[], readonly Request[]]>): void {
  const seen = { matched: 0, other: 0 }
  const property = fc.property(cases, fc.constantFrom(...MORE), ([all, requests], more) => {
    const conditions = all.map(more)
    for (const flatFrom of [1, 1_000]) {
      const set = compileRules(conditions.map(rule), { flatFrom })
      assert.equal(set.counts.linear, 0)
      for (const request of requests) {
        const isMatched = conditions.some(({ holds }) => holds(request))
        seen[isMatched ? 'matched' : 'other']++
        const variables = variablesOf(request)
        assert.equal(set.decide(variables), !isMatched, JSON.stringify(variables))
        const { rule: deciding } = set.deciding(variables)
        if (isMatched) assert.equal(conditions[deciding]?.holds(request), true)
      }
    }
  })
  fc.assert(property, fuzz(0.1))
  assert.ok(seen.matched > 50 && seen.other > 50, JSON.stringify(seen))
}

function rule({ text }: Condition): Rule {
  const { expression, diagnostics } = compile(text, STAGES.traffic, { expect: BOOL })
  assert.ok(expression, `${text}: ${diagnostics[0]?.message}`)
  return { action: 'Deny', expression }
}

function variablesOf({ sub, groups, path, method: own, ip: from }: Request) {
  const claims = {
    ...(sub === undefined ? {} : { sub }),
    ...(groups === undefined ? {} : { groups }),
  }
  return {
    jwt: claims,
    request: { path, method: own },
    source: { address: parseIp(ipText(from)) },
  } as unknown as Record<string, Value>
}

function ipText({ bits, number }: Address): string {
  const [count, width] = bits === 32 ? [4, 8n] : [8, 16n]
  const parts = Array.from({ length: count }, (_, at) => {
    return (number >> (width * BigInt(count - 1 - at))) & (2n ** width - 1n)
  })
  return bits === 32 ? parts.join('.') : parts.map((one) => one.toString(16)).join(':')
}
