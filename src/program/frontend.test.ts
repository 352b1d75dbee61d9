import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { programOf } from '../../test/program/models.ts'

const codesOf = (frontend: Readonly<Record<string, unknown>>) =>
  programOf({ frontend }).diagnostics.map(({ code, severity }) => `${severity} ${code}`)

describe('request logging and tracing of a listener', () => {
  for (const [title, frontend, codes] of [
    [
      'nothing is wrong with variables of the log',
      { accessLog: { filter: 'response.code > 399' } },
      [],
    ],
    ['a filter that is not boolean', { accessLog: { filter: 'request.path' } }, ['error PC0109']],
    ['an unknown variable', { accessLog: { add: { a: 'reqest.path' } } }, ['error PC0103']],
    [
      'sampling runs before there is a response',
      { tracing: { host: 'c:4317', randomSampling: 'response.code > 399' } },
      ['error PC0104'],
    ],
    ['a collector behind a unix socket', { tracing: { host: 'unix:/c' } }, ['error PC0219']],
  ] as const) {
    it(title, () => assert.deepEqual(codesOf(frontend), codes))
  }

  for (const [host, address] of [
    ['collector:4317', 'http://collector:4317'],
    ['https://collector', 'https://collector:443'],
    ['[::1]:4317', 'http://[::1]:4317'],
  ] as const) {
    it(`${host} is called at ${address}`, () => {
      const [listener] = programOf({ frontend: { tracing: { host } } }).listeners
      assert.equal(listener?.tracing?.address, address)
    })
  }

  for (const [expression, needs] of [
    ['request.path', { requestBody: false, responseHeaders: false, completion: false }],
    ['request.body', { requestBody: true, responseHeaders: false, completion: false }],
    ["response.headers['a']", { requestBody: false, responseHeaders: true, completion: false }],
    ['response.code', { requestBody: false, responseHeaders: false, completion: false }],
    ['llm.completion[0]', { requestBody: false, responseHeaders: false, completion: true }],
    ['llm.outputTokens', { requestBody: false, responseHeaders: false, completion: false }],
  ] as const) {
    it(`knows what ${expression} needs`, () => {
      const [listener] = programOf({
        frontend: { accessLog: { add: { a: expression } } },
      }).listeners
      assert.deepEqual(listener?.needs, needs)
    })
  }

  it('is not set without a policy', () => {
    const [listener] = programOf({}).listeners
    assert.equal(listener?.accessLog ?? listener?.tracing, undefined)
  })
})
