import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readSources } from './read-sources.ts'

/** Each of these calls the observer of its port. */
const RECORDERS: ReadonlySet<string> = new Set([
  'src/proxy/bound-port.ts',
  'src/proxy/request-ends.ts',
])

const isRecording = ({ path, text }: { readonly path: string; readonly text: string }) =>
  path.startsWith('src/') &&
  !/\.test\.ts$|\/fixtures\//.test(path) &&
  /\bRecorded\.\w+(?:<.*?>)?\(|\bas (?:unknown as )?Recorded\b/.test(text)

describe('a response that rejects', () => {
  // ./recorded-fixture.ts must not compile without records: `tsc` checks it with all tests.
  it('is recorded by the owners of requests and connections, and by no other code', () => {
    const found = readSources().flatMap((file) => (isRecording(file) ? [file.path] : []))
    assert.deepEqual(new Set(found), RECORDERS)
  })

  it('planted: other code that says it is recorded is found', () => {
    assert.ok(isRecording({ path: 'src/proxy/a.ts', text: 'reply(Recorded.broken(0), 403)' }))
    assert.ok(isRecording({ path: 'src/wire/a.ts', text: 'reply({} as Recorded, 403)' }))
  })
})
