import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parsePlainJson } from '../cel/values/json-plain.ts'
import { runToCompletion } from '../model/steps.ts'
import { replaceStrings } from './json-strings.ts'
import { type JsonPath, membersNamed } from './json-text.ts'

/** The same, as a walk over the parsed value. */
function plainly(
  value: unknown,
  path: JsonPath,
  choose: (path: JsonPath) => boolean,
  replace: (text: string, path: JsonPath) => string | undefined,
): unknown {
  if (!choose(path)) return value
  if (typeof value === 'string') return replace(value, path) ?? value
  if (Array.isArray(value)) {
    return value.map((item, at) => plainly(item, [...path, at], choose, replace))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      plainly(member, [...path, name], choose, replace),
    ]),
  )
}

describe('strings in a JSON text', () => {
  const choose = (path: JsonPath) => path.at(-1) !== 'kept' && path.at(-1) !== 2
  const replace = (text: string, path: JsonPath) =>
    text.length % 2 === 0 ? `${path.join('/')}: ${text}` : undefined

  it('are replaced as in the value, at any depth', () => {
    const keys = fc.oneof(fc.constantFrom('kept', 'a', '"', '\\'), fc.string())
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: 'small' },
        fc.string(),
        fc.constantFrom<unknown>(null, true, 1.5, -2, '', '\\"', '}', ']', '{[', {}, []),
        fc.array(tie('any')),
        fc.uniqueArray(fc.tuple(keys, tie('any')), { selector: ([name]) => name }).map((all) => {
          return Object.fromEntries(all)
        }),
      ),
    })).any
    fc.assert(
      fc.property(value, fc.constantFrom(0, 1, '\t'), (own, space) => {
        const text = JSON.stringify(own, null, space)
        const steps = replaceStrings(
          text,
          (path) => (choose(path) ? 'enter' : 'keep'),
          // biome-ignore lint/correctness/useYield: a search may yield, this one does not
          function* (found, path) {
            return replace(found, path)
          },
        )
        const edited = runToCompletion(steps)
        // Not JSON.parse, which can confuse member names: see json-plain.ts.
        const expected = plainly(parsePlainJson(text, Number), [], choose, replace)
        assert.deepEqual(parsePlainJson(edited, Number), expected)
      }),
      { numRuns: 2_000 },
    )
  })

  it('are visited in steps, and nothing else changes', () => {
    const item = ' { "a" : "x" ,"n":1.0e2, "b": [ "yy",null ] }'
    const text = `[${Array.from({ length: 5_000 }, () => item).join(',')}]`
    const steps = replaceStrings(
      text,
      () => 'enter',
      // biome-ignore lint/correctness/useYield: a search may yield, this one does not
      function* (found) {
        return found === 'x' ? 'z"' : undefined
      },
    )
    let count = 0
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) count++
    assert.equal(step.value, text.replaceAll('"x"', '"z\\""'))
    assert.ok(count >= 20, `${count} steps`)
  })
})

describe('members with one name', () => {
  for (const [text, expected] of [
    ['{"name":"a"}', ['"a"']],
    [' { "x" : {"name":1} , "name" : [ "b" ] } ', ['[ "b" ]']],
    ['{"n\\u0061me":1,"name":2,"name2":3,"nam":4}', ['1', '2']],
    ['{}', []],
    ['["name"]', []],
    ['"name"', []],
    ['7', []],
    ['{"a\\"name":1,"b":"\\\\","name":"x\\"y"}', ['"x\\"y"']],
    [`{"a":"${'\\\\'.repeat(40)}","name":0}`, ['0']],
    [`{"a":"${'x'.repeat(23)}\\"","name":0}`, ['0']],
    [`{"a":"${'x'.repeat(22)}\\\\","name":0}`, ['0']],
  ] as const) {
    it(text.slice(0, 60), () => assert.deepEqual(membersNamed(text, 'name'), expected))
  }
})
