import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { lint } from '../../src/analysis/lint/lint.ts'
import type { Diagnostic } from '../../src/diagnostics/diagnostic.ts'
import { compileProgram } from '../../src/program/compile.ts'
import type { Program } from '../../src/program/program.ts'
import { RequestHead, readRequestHead } from '../../src/wire/http1/head.ts'
import { HEAD_LIMITS } from '../../src/wire/http1/message.ts'
import { normalisePath } from '../../src/wire/http1/path.ts'
import { modelOf, outcome, programOf, TestServices } from '../program/models.ts'
import { assertProperty } from './assert-property.ts'
import type { Asked } from './exchanges.ts'
import { fuzz } from './runs.ts'
import { narrowedTests, nearTested } from './string-tests.ts'

/**
 * Lint errors are true for every request: the program that would serve the requests decides them.
 */

const ATOMS = [
  "request.method == 'GET'",
  "request.method != 'GET'",
  "request.path == '/a'",
  "request.path.startsWith('/a')",
  "request.path.startsWith('/a/../')",
  "request.headers['x'] == '1'",
  "request.headers['x'] != '1'",
  "'x' in request.headers",
  "jwt.sub == 'alice'",
  "destination.hostname == 'a'",
  "destination.hostname != 'a'",
  "cidr('10.0.0.0/8').containsIP(source.address)",
  "request.path.endsWith('a')",
  "source.subject == 'x'",
  "request.scheme == 'https'",
  "request.method == 'get'",
  "request.path in ['a', 'b']",
]
const atom = fc.constantFrom(...ATOMS)
const expression = fc.oneof(
  atom,
  atom.map((one) => `!(${one})`),
  fc.tuple(atom, atom).map(([a, b]) => `${a} && ${b}`),
  fc.tuple(atom, atom).map(([a, b]) => `!(${a}) || ${b}`),
)
type Written = [action: string, text: string]
const rule: fc.Arbitrary<Written> = fc.tuple(
  fc.constantFrom('allow', 'require', 'deny'),
  expression,
)
const request: fc.Arbitrary<Asked> = fc.record({
  method: fc.constantFrom('GET', 'POST'),
  url: fc.oneof(
    fc.constantFrom('/', '/a', '/a/b', '/b'),
    nearTested.map((text) => `/${text}`),
  ),
  headers: fc.oneof(
    fc.constantFrom<Record<string, string>>({}, { x: '1' }, { x: '2' }),
    nearTested.map((x): Record<string, string> => (x === '' ? {} : { x })),
  ),
  address: fc.constantFrom('10.0.0.7', '192.0.2.1'),
})

async function admits(written: Record<string, string>, asked: Asked): Promise<boolean> {
  const program = programOf({ routes: [{ policies: { authorization: { rules: [written] } } }] })
  return (await outcome(program, asked)) === 'up'
}

/** Whether the rule alone is definitely true: a Deny rule then denies the request. */
const matches = async (text: string, asked: Asked) => !(await admits({ deny: text }, asked))

describe('lint errors are true', () => {
  it('for random rules and requests', async () => {
    const seen = new Set<string>()
    const check = async (rules: readonly Written[], requests: readonly Asked[]) => {
      const written = rules.map(([action, text]) => ({ [action]: text }))
      const model = modelOf({ routes: [{ policies: { authorization: { rules: written } } }] })
      const program = compileProgram(model, undefined, new TestServices())
      const errors = lint(model)
        .map(({ diagnostic }) => diagnostic)
        .filter(({ severity, code }) => severity === 'error' || code === 'AZ010')
      for (const error of errors) {
        seen.add(error.severity === 'error' ? error.code : `${error.code} ${error.severity}`)
        if (isNoEffect(error)) await makesNoDifference(error, rules, requests)
        else for (const asked of requests) await holds(error, asked, () => outcome(program, asked))
      }
    }
    const some = fc.array(request, { minLength: 5, maxLength: 5 })
    const rules = fc.array(rule, { minLength: 1, maxLength: 4 })
    // One for each code, so that all are tested whatever is drawn.
    const reported: Record<string, Written[]> = {
      AZ001: [['allow', "jwt.sub == 'alice'"]],
      AZ002: [['deny', "request.headers['x'] != '1'"]],
      AZ004: [['allow', "destination.hostname != 'a'"]],
      AZ010: [
        ['require', "request.method == 'GET'"],
        ['require', "request.method == 'POST'"],
      ],
      'AZ010 warning': [['allow', "source.subject == 'x'"]],
      AZ022: [['allow', "request.method == 'get'"]],
    }
    const examples = Object.values(reported).map((rules): [Written[], Asked[]] => [rules, []])
    await assertProperty('lint-truth', fc.asyncProperty(rules, some, check), {
      ...fuzz(0.3),
      examples,
    })
    // A rule that alone decides whether any request is admitted.
    const only = fc
      .tuple(fc.constantFrom('allow', 'require'), narrowedTests)
      .map(([action, [, narrow]]): Written[] => [[action, narrow]])
    const many = fc.array(request, { minLength: 40, maxLength: 40 })
    await assertProperty('lint-truth-one-string', fc.asyncProperty(only, many, check), fuzz(0.5))
    assert.deepEqual([...seen].sort(), Object.keys(reported))
  })

  it('no value that can arrive over the wire is reported as impossible', () => {
    const piece = fc.constantFrom(
      '/',
      'a',
      'B',
      '.',
      '..',
      '*',
      '?',
      '%2e',
      ':',
      '80',
      ';',
      '[',
      ']',
    )
    const text = fc.array(piece, { minLength: 1, maxLength: 5 }).map((all) => all.join(''))
    const written = fc.record({ method: text, path: text, host: text })
    const property = fc.property(written, ({ method, path, host }) => {
      const head = new RequestHead()
      const usual = { method: 'GET', path: '/', host: 'a' }
      for (const own of [{ method }, { path }, { path: `/${path}` }, { host }]) {
        const one = { ...usual, ...own }
        const bytes = Buffer.from(`${one.method} ${one.path} HTTP/1.1\r\nHost: ${one.host}\r\n\r\n`)
        if (readRequestHead(bytes, 0, bytes.length, HEAD_LIMITS, head) < 0) continue
        const seen = normalisePath(head.path, true)
        if (typeof seen === 'number') continue
        for (const [name, value] of Object.entries({ ...head, path: seen })) {
          if (name !== 'method' && name !== 'path' && name !== 'host') continue
          const allow = `request.${name} == ${JSON.stringify(value)}`
          const model = modelOf({
            routes: [{ policies: { authorization: { rules: [{ allow }] } } }],
          })
          const codes = lint(model).map(({ diagnostic }) => diagnostic.code)
          assert.ok(!codes.includes('AZ022'), allow)
        }
      }
    })
    assertProperty('lint-possible', property, fuzz(1))
  })
})

/** Other warnings with this code say that no request satisfies the rule. */
function isNoEffect({ severity, message }: Diagnostic): boolean {
  return severity === 'warning' && /has no effect$|^this rule admits no requests/.test(message)
}

/** A rule without effect may as well be one that never matches, or always if it is required. */
async function makesNoDifference(
  { excerpt, message }: Diagnostic,
  rules: readonly Written[],
  requests: readonly Asked[],
) {
  const actions = new Set(rules.filter(([, text]) => text === excerpt?.text).map(([own]) => own))
  // Which of them it is about is not known.
  if (actions.size !== 1) return
  const at = rules.findLastIndex(([, text]) => text === excerpt?.text)
  const without = rules.map(([action, text], index): Written => {
    return index === at ? [action, String(action === 'require')] : [action, text]
  })
  const [before, after] = [rules, without].map((all) =>
    programOf({
      routes: [
        { policies: { authorization: { rules: all.map(([own, text]) => ({ [own]: text })) } } },
      ],
    }),
  ) as [Program, Program]
  for (const asked of requests) {
    assert.equal(await outcome(before, asked), await outcome(after, asked), message)
  }
}

async function holds(error: Diagnostic, asked: Asked, decide: () => Promise<string>) {
  const text = error.excerpt?.text ?? ''
  switch (error.code) {
    case 'AZ001':
    case 'AZ004':
    case 'AZ022':
      assert.equal(await matches(text, asked), false, `${error.message}: ${text}`)
      break
    case 'AZ002': {
      const [, name = ''] = /without `request\.headers\.(\w+)`/.exec(error.message) ?? []
      const { [name]: _, ...headers } = asked.headers ?? {}
      assert.notEqual(name, '', error.message)
      assert.equal(await matches(text, { ...asked, headers }), false, error.message)
      break
    }
    case 'AZ010':
      if (error.severity === 'warning') {
        assert.match(error.message, /^(?:no request can satisfy|every request satisfies) this rule/)
        const isAlways = error.message.startsWith('every')
        assert.equal(await matches(text, asked), isAlways, `${error.message}: ${text}`)
        break
      }
      assert.match(error.message, /^no request is admitted at/)
      assert.equal(await decide(), '403 authorization')
      break
    default:
      assert.fail(`what does ${error.code} promise?`)
  }
}
