import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { codeOf } from './code-only.ts'
import { readSources } from './read-sources.ts'
import { type Exception, except, isTest, lineAt, type Rule, renderViolation } from './rule.ts'

/*
 * The types require a Permit wherever a request is forwarded (./permit.test.ts). This test finds
 * what the types miss: a backend connection that is used without a permit, a stage that is called
 * with an object built on the spot, and a type assertion to an arbitrary type.
 */
const WAYS_AROUND: readonly (readonly [RegExp, string])[] = [
  [
    /\bpool\s*\.\s*(?:take|request)\s*\(|\.\s*sendReceived\s*\(|\b(?:connection|upstream)\s*\.\s*send\s*\(/g,
    'only what asks for a permit sends to backends',
  ],
  [
    /\bPermit\s*\.\s*(?:connection|traffic|backend|provider|message|general)\s*\(/g,
    'a stage is asked where it takes its turn',
  ],
  [/\bas\s+(?:never|any)\b|\b(?:undefined|null)!/g, 'it would pass as a permit, too'],
]

const ALLOWED: readonly Exception[] = [
  { path: 'src/proxy/forward.ts', reason: 'asks for the permit of a backend or provider' },
  { path: 'src/proxy/mirror.ts', reason: 'asks for the permit of the request that it copies' },
  { path: 'src/proxy/admission.ts', reason: 'the stage of connections' },
  { path: 'src/proxy/request-loop.ts', reason: 'the stages of requests, in their order' },
  { path: 'src/program/mcp.ts', reason: 'the stage of MCP messages' },
]

const sendsWithPermits: Rule = (files) =>
  files
    .filter(({ path }) => /^src\/(?:proxy|program)\//.test(path) && !isTest(path))
    .flatMap((file) => {
      const code = codeOf(file)
      return WAYS_AROUND.flatMap(([way, why]) =>
        [...code.matchAll(way)].map(({ 0: found, index }) => ({
          path: file.path,
          line: lineAt(code, index),
          message: `\`${found}\`: ${why}`,
        })),
      )
    })

describe('a request is forwarded', () => {
  it('only by code that requires a permit', () => {
    const found = except(sendsWithPermits(readSources()), ALLOWED)
    assert.deepEqual(found.map(renderViolation), [])
  })

  it('planted: each bypass is found, and comments and strings are ignored', () => {
    const files = [
      { path: 'src/proxy/a.ts', text: 'choice.pool.take()?.send(head)' },
      { path: 'src/proxy/b.ts', text: 'this.#pool.request(this)' },
      { path: 'src/proxy/c.ts', text: 'connected(connection) { connection.send(method, text) }' },
      { path: 'src/proxy/d.ts', text: 'Permit.backend(permit, { ...backend, run: never }, one)' },
      { path: 'src/program/e.ts', text: 'new Forward(undefined!, downstream)' },
      { path: 'src/program/f.ts', text: 'const permit = {} as never' },
      { path: 'src/proxy/g.test.ts', text: 'const permit = {} as never' },
      { path: 'src/upstream/h.ts', text: 'pool.take()' },
      { path: 'src/proxy/i.ts', text: '// as any\nconst said = "pool.take()"' },
    ]
    assert.deepEqual(
      sendsWithPermits(files).map(({ path }) => path.slice(-4, -3)),
      ['a', 'b', 'c', 'd', 'e', 'f'],
    )
  })
})
