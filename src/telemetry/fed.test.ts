import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ALL_METRICS } from './catalogue.ts'
import type { MetricDefinition } from './definition.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Label values that are never set although their metric has data; each with its reason. */
const UNUSED: Readonly<Record<string, string>> = {}

const files = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !file.endsWith('.test.ts'))
const sources = files.map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }))
const isDefinition = (file: string) => file.replaceAll('\\', '/').includes('telemetry/definitions/')

/** The constant that defines each metric. */
const constants = new Map(
  sources
    .filter(({ file }) => isDefinition(file))
    .flatMap(({ text }) => [
      ...text.matchAll(/export const (\w+) = define\w+\(\{\s*name: '(\w+)'/g),
    ])
    .map(([, constant = '', name = '']) => [name, constant] as const),
)
const code = sources
  .filter(({ file }) => !isDefinition(file))
  .map(({ text }) => text)
  .join('\n')

const isFed = (name: string) => new RegExp(`\\b${constants.get(name)}\\b`).test(code)

describe('every metric of the catalogue', () => {
  it('is defined as a constant', () => {
    assert.deepEqual(
      ALL_METRICS.map(({ name }) => name).filter((name) => !constants.has(name)),
      [],
    )
  })

  it('is either updated by code or marked as planned', () => {
    assert.deepEqual(
      ALL_METRICS.filter(({ name }) => !isFed(name)).map(({ name }) => name),
      ALL_METRICS.filter(isPlanned).map(({ name }) => name),
    )
  })

  it('has no unused value in a closed label', () => {
    const fed = ALL_METRICS.filter((metric) => !isPlanned(metric))
    const unused = fed
      .flatMap(({ name, labels }) =>
        labels
          .filter(isOurs)
          .flatMap(({ name: label, values = [] }) =>
            values.filter((value) => !isGiven(value)).map((value) => `${name} ${label} ${value}`),
          ),
      )
      .filter((known) => UNUSED[known] === undefined)
    assert.deepEqual(unused, [])
  })
})

function isPlanned(metric: MetricDefinition): boolean {
  return metric.isPlanned === true
}

/** Methods come from clients. */
function isOurs({ name }: { readonly name: string }): boolean {
  return name !== 'method'
}

/** Whether the code mentions it: as a string, or as a member name. */
function isGiven(value: string): boolean {
  if (code.includes(`'${value}'`)) return true
  return new RegExp(`\\b${value.replaceAll(/[^\w]/g, '\\$&')}:`).test(code)
}
