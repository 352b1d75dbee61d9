import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { outcomeOf, readCorpus } from './http1-llhttp.ts'

/*
 * llhttp parses the same streams. Every case has the same outcome here, except for these. The
 * `lenient` modes accept input that llhttp otherwise rejects; the gateway has no such modes.
 */
const DIFFERENCES: readonly (readonly [names: string, outcome: string, why: string])[] = [
  // Cases in which llhttp is strict
  ['connection 5', '1, then refused: bad-request-line', 'one empty line before a request, not two'],
  [
    'connection 21',
    '1, then refused: bad-method',
    'nobody is taken to a tunnel of HTTP/2.0: what follows is the next request',
  ],
  [
    'content-length 3, content-length 4',
    '0, then waits',
    'what fields mean together is judged when all are there',
  ],
  [
    'invalid 4, invalid 14',
    '1',
    'a method is any token without lower-case letters: routes and rules judge it',
  ],
  ['method 5', '0, then refused: bad-target', 'an asterisk is for OPTIONS alone (RFC 9112 §3.2.4)'],
  [
    'method 12, method 13, method 14',
    '0, then refused: bad-request-line',
    'neither ICE nor RTSP is HTTP',
  ],
  ['sample 3, sample 4', '0, then refused: bad-host', '`0.0.0.0=5000` names no host'],
  ['sample 10', '0, then refused: bad-request-line', 'HTTP/0.9 has neither version nor fields'],
  [
    'transfer-encoding 20',
    '0, then refused: unknown-transfer-coding',
    'we undo no coding but chunked, and send on none',
  ],
  [
    'transfer-encoding 21',
    '0, then refused: duplicate-transfer-encoding',
    'one line says how a body is framed',
  ],
  ['uri 10', '0, then refused: bad-host', 'an authority has no user'],

  // Cases that run llhttp in a lenient mode
  ['connection 4, connection 11', '1, then closed', 'after close nothing is read'],
  [
    'connection 13, connection 15, invalid 24, sample 11, sample 18',
    '0, then refused: obs-fold',
    'lines are not folded',
  ],
  ['connection 17, content-length 7', '0, then refused: space-before-colon', 'RFC 9112 §5.1'],
  [
    'content-length 8, transfer-encoding 14',
    '0, then refused: both-lengths',
    'one framing or none',
  ],
  [
    'content-length 17, invalid 8, lenient-headers 4, sample 14, transfer-encoding 27',
    '0, then refused: bare-cr',
    'a line ends with CR LF',
  ],
  ['invalid 22', '0, then refused: bare-lf', 'a line ends with CR LF'],
  [
    'lenient-header-value-relaxed 1, lenient-headers 1',
    '0, then refused: bad-header-value',
    'no controls in a value',
  ],
  ['lenient-headers 2', '1, then refused: bad-header-value', 'no controls in a value'],
  ['lenient-version 1', '0, then refused: unknown-version', 'there is no HTTP/5.6'],
  [
    'transfer-encoding 18',
    '0, then refused: unknown-transfer-coding',
    'chunked is the only coding',
  ],
  [
    'transfer-encoding 19',
    '0, then refused: duplicate-transfer-encoding',
    'one line says how a body is framed',
  ],
  ['transfer-encoding 29', '0, then refused: bad-chunk-end', 'a chunk ends with CR LF'],
  ['transfer-encoding 31', '0, then refused: bad-chunk-size', 'no space behind a size'],
]

describe('the request corpus of llhttp', () => {
  const cases = readCorpus()
  const differences = new Map(
    DIFFERENCES.flatMap(([names, outcome, why]) =>
      names.split(', ').map((name) => [name, { outcome, why }] as const),
    ),
  )
  for (const { name, title, mode, stream, expected } of cases) {
    const difference = differences.get(name)
    it(`${name}, ${title} (${mode}): ${difference?.why ?? expected}`, () => {
      const { outcome, word } = outcomeOf(stream)
      const ours = word === '' ? outcome : `${outcome}: ${word}`
      if (difference === undefined) assert.equal(outcome, expected, ours)
      else {
        assert.equal(ours, difference.outcome)
        assert.notEqual(outcome, expected, 'is no difference any more')
      }
    })
  }
  it('is complete, and every listed difference is one of its cases', () => {
    assert.equal(cases.length, 165)
    const names = new Set(cases.map(({ name }) => name))
    assert.deepEqual(
      [...differences.keys()].filter((name) => !names.has(name)),
      [],
    )
  })
})
