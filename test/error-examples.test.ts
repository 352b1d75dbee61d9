import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BOOL, IP, JSON_VALUE, mapOf, STRING, type Type } from '../src/cel/check/types.ts'
import { compile, environment, type Variable } from '../src/cel/index.ts'
import { CATALOGUE } from '../src/diagnostics/catalogue.ts'
import { loadText } from '../src/sources/file/load.ts'

function struct(name: string, fields: Readonly<Record<string, Type>>): Type {
  const entries = Object.entries(fields).map(([field, type]) => {
    return [field, { type, set: 'always', doc: '' }] as const
  })
  return { kind: 'struct', name, fields: new Map(entries) }
}

function variable(name: string, type: Type): Variable {
  return { name, type, set: 'always', doc: '' }
}

const jwt = variable('jwt', mapOf(STRING, JSON_VALUE))
const headers = mapOf(STRING, STRING)
const request = variable('request', struct('request', { method: STRING, path: STRING, headers }))
const source = variable('source', struct('source', { address: IP }))

const STAGES = {
  traffic: environment({ name: 'of a request', variables: [jwt, request, source] }),
  connection: environment({
    name: 'of a connection',
    variables: [source],
    elsewhere: new Map([['request', 'it is known only when a request was read']]),
  }),
}

describe('the examples of the error pages', () => {
  for (const { code, severity, example } of CATALOGUE.flatMap(({ codes }) => codes)) {
    if (example.language !== 'cel') continue
    const stage = STAGES[example.stage ?? 'traffic']
    const said = (text: string) =>
      compile(text, stage, { expect: BOOL, pure: true }).diagnostics.map(
        (d) => `${d.severity} ${d.code}`,
      )

    if (example.sketch === undefined) {
      it(`${code}: what is wrong says so`, () => {
        assert.deepEqual(said(example.wrong), [`${severity} ${code}`])
      })
    }
    it(`${code}: what is right says nothing`, () => assert.deepEqual(said(example.right), []))
  }
})

/** Reported for files that a page names, which do not exist during the test. */
const FILES: ReadonlySet<string> = new Set(['PC0310'])

describe('valid examples of the error pages', () => {
  for (const { title, codes } of CATALOGUE) {
    // Cases of `portcullis test` are not configurations.
    const own = codes.filter(
      ({ code, example }) => example.language === 'yaml' && !code.startsWith('PC06'),
    )
    for (const { code, example } of own) {
      it(`${title}, ${code}: is accepted`, () => {
        const { diagnostics } = loadText(example.right, 'gateway.yaml', { environment: {} }).result
        const errors = diagnostics.filter(({ severity }) => severity === 'error')
        assert.deepEqual(
          errors.filter((one) => !FILES.has(one.code)),
          [],
        )
      })
    }
  }
})
