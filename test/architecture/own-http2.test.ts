import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { speaksOwnHttp2 } from './content-rules.ts'
import { readSources } from './read-sources.ts'
import { except, renderViolation } from './rule.ts'
import { EXCEPTIONS } from './table.ts'

const said = (files: Readonly<Record<string, string>>) =>
  speaksOwnHttp2(Object.entries(files).map(([path, text]) => ({ path, text }))).map(renderViolation)

describe('HTTP/2 is our own implementation', () => {
  it('finds imports, of types too, static or dynamic', () => {
    const found = said({
      'src/proxy/a.ts': "import { connect } from 'node:http2'",
      'src/wire/b.ts': "import type { Http2Session } from 'http2'",
      'bin/c.ts': "const c = () => import('node:http2')",
    })
    const rest = 'which only tests may: HTTP/2 is src/wire/http2'
    assert.deepEqual(found, [
      `src/proxy/a.ts:1: imports node:http2, ${rest}`,
      `src/wire/b.ts:1: imports http2, ${rest}`,
      `bin/c.ts:1: imports node:http2, ${rest}`,
    ])
  })

  it('allows tests to compare with Node', () => {
    const found = said({
      'src/wire/a.test.ts': "import { connect } from 'node:http2'",
      'test/fuzz/a.ts': "import { connect } from 'node:http2'",
    })
    assert.deepEqual(found, [])
  })

  it('holds in this repository', () => {
    const found = except(speaksOwnHttp2(readSources()), EXCEPTIONS.http2)
    assert.deepEqual(found.map(renderViolation), [])
  })
})
