import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { readValues } from '../../tools/charts/read-values.ts'
import { type Chart, chartFolder, options, render, tryRender } from './helm.ts'
import { at, find, type LandingCase, merge, setAt } from './values.ts'

interface Table {
  /** Key → default, as the specification lists them. */
  readonly defaults: Readonly<Record<string, unknown>>
  readonly cases: readonly LandingCase[]
  /** Keys with a test of their own. */
  readonly elsewhere: readonly string[]
}

/** Tests the defaults, and the field that every value sets. */
export function describeValues(chart: Chart, { defaults, cases, elsewhere }: Table): void {
  const text = readFileSync(join(chartFolder(chart), 'values.yaml'), 'utf8')
  const values: unknown = parse(text)

  describe(`${chart}: defaults`, () => {
    for (const [key, value] of Object.entries(defaults)) {
      it(key, () => assert.deepEqual(at(values, key), value))
    }

    it('there is no key that the specification does not list', () => {
      const known = (key: string) => {
        return Object.keys(defaults).some((one) => key === one || key.startsWith(`${one}.`))
      }
      assert.deepEqual(
        leavesOf(values, '').filter((key) => !known(key)),
        [],
      )
    })

    it('every key has a comment, and with it a line in the README', () => {
      const documented = new Set(readValues(text).map(({ key }) => key))
      const parts = Object.keys(defaults).filter((key) => !documented.has(key))
      // A mapping needs no comment if all its keys have one.
      assert.deepEqual(
        parts.filter((key) => !Object.keys(defaults).some((one) => one.startsWith(`${key}.`))),
        [],
      )
    })

    it('every key has a case', () => {
      const proven = new Set([...cases.map(([key]) => key), ...elsewhere])
      const composite = (key: string) => [...proven].some((one) => one.startsWith(`${key}.`))
      assert.deepEqual(
        Object.keys(defaults).filter((key) => !proven.has(key) && !composite(key)),
        [],
      )
    })
  })

  describe(`${chart}: null takes a default away`, options, () => {
    for (const key of Object.keys(defaults)) {
      it(`${key} is rendered without it, or refused in words`, () => {
        const { status, stderr } = tryRender(chart, setAt(key, null))
        if (status !== 0)
          assert.match(stderr, /must be|is required|is empty|missing property|got null/)
      })
    }
  })

  describe(`${chart}: values`, options, () => {
    for (const [key, value, object, path, rest = {}] of cases) {
      const expected = 'expect' in rest ? rest.expect : value
      const reported = expected === undefined ? 'nothing' : JSON.stringify(expected)
      it(`${key} ${JSON.stringify(value)}: ${reported} at ${path} of the ${object}`, () => {
        const objects = render(chart, merge(rest.with ?? {}, setAt(key, value)))
        assert.deepEqual(at(find(objects, object), path), expected)
      })
    }
  })
}

/** Keys of values that are not mappings, or of empty mappings. */
function leavesOf(value: unknown, key: string): readonly string[] {
  const isMapping = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isMapping || Object.keys(value).length === 0) return [key]
  return Object.entries(value).flatMap(([name, inner]) => {
    return leavesOf(inner, key === '' ? name : `${key}.${name}`)
  })
}
