import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type * as z from 'zod'
import * as scalars from './scalars.ts'
import { parseHost } from './target.ts'

/** Undefined: rejected. */
const TABLE: readonly [name: string, schema: z.ZodType, rows: readonly [unknown, unknown][]][] = [
  [
    'a duration',
    scalars.duration(),
    [
      ['10s', 10_000],
      ['1m30s', 90_000],
      ['500ms', 500],
      ['1.5s', 1500],
      ['0s', 0],
      ['1h', 3_600_000],
      ['10', undefined],
      ['', undefined],
      ['-1s', undefined],
      ['1 s', undefined],
      ['1d', undefined],
      [10, undefined],
      ['99999999999s', undefined],
    ],
  ],
  [
    'a size',
    scalars.byteSize(),
    [
      [0, 0],
      [1024, 1024],
      ['64Ki', 65_536],
      ['2Mi', 2_097_152],
      ['1G', 1_000_000_000],
      ['5', 5],
      [-1, undefined],
      [1.5, undefined],
      ['1.5Mi', undefined],
      ['1T', undefined],
      ['999999999999999Gi', undefined],
    ],
  ],
  [
    'a hostname',
    scalars.hostname(),
    [
      ['Example.COM', 'example.com'],
      ['example.com.', 'example.com'],
      ['*.example.com', '*.example.com'],
      ['*', '*'],
      ['localhost', 'localhost'],
      ['10.0.0.7', '10.0.0.7'],
      ['my_service', 'my_service'],
      ['a.*.com', undefined],
      ['*example.com', undefined],
      ['example.com:80', undefined],
      ['https://example.com', undefined],
      ['-a.com', undefined],
      ['a..b', undefined],
      [`${'a'.repeat(64)}.com`, undefined],
    ],
  ],
  [
    'a header name',
    scalars.headerName(),
    [
      ['X-Api-Key', 'X-Api-Key'],
      ['', undefined],
      ['a b', undefined],
      ['a:', undefined],
      [':path', undefined],
      ['ä', undefined],
    ],
  ],
  [
    'the value of a header',
    scalars.headerValue(),
    [
      ['a b\tc', 'a b\tc'],
      ['', ''],
      ['ü', 'ü'],
      [' a', undefined],
      ['a\nb', undefined],
      ['a\0b', undefined],
      ['a\x7f', undefined],
    ],
  ],
  [
    'a choice',
    scalars.choice('Strict', 'Optional'),
    [
      ['Strict', 'Strict'],
      ['strict', 'Strict'],
      ['OPTIONAL', 'Optional'],
      ['none', undefined],
      [1, undefined],
    ],
  ],
  [
    'a URL',
    scalars.url(),
    [
      ['https://a.example.com/keys', 'https://a.example.com/keys'],
      ['http://[::1]:80', 'http://[::1]:80'],
      ['ftp://a', undefined],
      // Some issuers distinguish tenants this way.
      ['https://a/keys?p=sign-in@x', 'https://a/keys?p=sign-in@x'],
      ['https://user@a', undefined],
      ['https://user@a?b', undefined],
      ['https://a/#b', undefined],
      ['a', undefined],
      ['https://', undefined],
    ],
  ],
  [
    'a regular expression',
    scalars.regex(),
    [
      ['/a/[0-9]+', '/a/[0-9]+'],
      ['(', undefined],
      ['(?!a)', undefined],
      ['(a)\\1', undefined],
    ],
  ],
  [
    'a version of TLS',
    scalars.tlsVersion(),
    [
      [1.2, '1.2'],
      ['1.3', '1.3'],
      ['TLSv1.2', '1.2'],
      ['TLS_V1_3', '1.3'],
      [1.1, undefined],
      ['1.1', undefined],
    ],
  ],
]

for (const [name, schema, rows] of TABLE) {
  describe(name, () => {
    for (const [input, output] of rows) {
      it(`${JSON.stringify(input)} is ${output === undefined ? 'none' : JSON.stringify(output)}`, () => {
        const parsed = schema.safeParse(input)
        assert.deepEqual(parsed.success ? parsed.data : undefined, output)
      })
    }
  })
}

describe('a host address', () => {
  for (const [text, target] of [
    ['api:8080', { kind: 'host', host: 'api', port: 8080 }],
    ['API.example.com:80', { kind: 'host', host: 'api.example.com', port: 80 }],
    ['10.0.0.7:80', { kind: 'host', host: '10.0.0.7', port: 80 }],
    ['[::1]:80', { kind: 'host', host: '::1', port: 80 }],
    ['http://api', { kind: 'host', host: 'api', port: 80, scheme: 'http' }],
    ['https://api/', { kind: 'host', host: 'api', port: 443, scheme: 'https' }],
    ['https://[::1]:8443', { kind: 'host', host: '::1', port: 8443, scheme: 'https' }],
    ['unix:/run/app.sock', { kind: 'unix', path: '/run/app.sock' }],
    ['unix:///run/app.sock', { kind: 'unix', path: '/run/app.sock' }],
    ['api', undefined],
    ['api:0', undefined],
    ['api:65536', undefined],
    ['api:80:80', undefined],
    ['::1:80', undefined],
    ['https://api/path', undefined],
    ['https://user@api', undefined],
    ['ftp://api:21', undefined],
    ['a b:80', undefined],
    ['unix:relative', undefined],
    ['', undefined],
  ] as const) {
    it(`${JSON.stringify(text)} is ${target === undefined ? 'none' : target.kind}`, () => {
      assert.deepEqual(parseHost(text), target)
    })
  }
})
