import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { placesIn } from './places.ts'
import { writeSwitches } from './switches.ts'

const CODE = `
let calls = ''
const note = (text) => { calls += text }
const list = [a, b]
note('x')
if (a < b && b > 1) note('then')
else note('else')
a || note('or')
result = [calls, ...list.filter((n) => n > 1)].join(' ')
`

type Run = (a: number, b: number) => string

async function loaded(code: string): Promise<Run> {
  const module = `export function run(a, b) { let result\n${code}\nreturn result }`
  const { run } = await import(`data:text/javascript,${encodeURIComponent(module)}`)
  return run as Run
}

/** The result with one mutant active; 0 is none. */
function resultOf(run: Run, mutant: number): string {
  globalThis.__mutant = (id) => id === mutant
  return run(1, 2)
}

describe('switches of mutants', () => {
  afterEach(() => {
    globalThis.__mutant = undefined
  })

  const mutants = placesIn({ path: 'src/cel/a.ts', text: CODE }).map((place, index) => ({
    ...place,
    id: index + 1,
  }))
  const code = writeSwitches(CODE, mutants)

  it('leave the code as it is while no mutant is active', async () => {
    assert.equal(resultOf(await loaded(CODE), 0), 'xthen 2')
    assert.equal(resultOf(await loaded(code), 0), 'xthen 2')
  })

  it('work without a function that chooses a mutant', async () => {
    globalThis.__mutant = undefined
    const run = await loaded(code)
    assert.equal(run(1, 2), 'xthen 2')
  })

  for (const [original, replacement, expected] of [
    ['a < b', 'a <= b', 'xthen 2'],
    ['a < b && b > 1', 'false', 'xelse 2'],
    ["note('x')", 'undefined', 'then 2'],
    ["note('else')", 'undefined', 'xthen 2'],
    ['list.filter((n) => n > 1)', 'list', 'xthen 1 2'],
    ['n > 1', 'n >= 1', 'xthen 1 2'],
  ] as const) {
    it(`activate ${original} → ${replacement} alone, inside of others or around them`, async () => {
      const mutant = mutants.find(
        (place) => place.original === original && place.replacement === replacement,
      )
      assert.equal(resultOf(await loaded(code), mutant?.id ?? -1), expected)
    })
  }

  it('never let a line begin with a parenthesis, which would belong to the line before', () => {
    assert.doesNotMatch(code, /^\s*\(/m)
  })
})
