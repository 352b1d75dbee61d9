import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { programOf } from '../../test/program/models.ts'
import { ipFromSocket } from '../cel/values/ip.ts'
import { Connection, Destination, Source } from '../exchange/connection.ts'
import { createLogger } from '../telemetry/log.ts'
import { logConnection } from './access-record.ts'

const address = ipFromSocket('10.0.0.7')
assert.ok(address)
const connection = new Connection(
  new Source(address, 4000),
  new Destination(address, 443, 'db.example'),
  false,
  'db.example',
  0,
)

describe('the access log of non-HTTP connections', () => {
  for (const [title, accessLog, expected] of [
    ['has all of them without a policy', undefined, ['tcp - -']],
    ['can be off', { enabled: false }, []],
    ['can be a share, as none of them', { sample: 0 }, []],
    ['reads what connections have', { add: { port: 'source.port' } }, ['tcp 4000 -']],
    [
      'has what a filter is true for',
      { filter: "destination.hostname == 'db.example'" },
      ['tcp - -'],
    ],
    ['has none that a filter of requests is asked of', { filter: "request.path != '/'" }, []],
    ['lacks what is removed', { remove: ['protocol'] }, ['- - -']],
    ['leaves out what has no value', { add: { path: 'request.path' } }, ['tcp - -']],
  ] as const) {
    it(title, () => {
      const [listener] = programOf(
        accessLog === undefined ? {} : { frontend: { accessLog } },
      ).listeners
      const lines: Record<string, unknown>[] = []
      const write = (line: string) => void lines.push(JSON.parse(line))
      const log = createLogger({ format: 'json', level: 'info', write })
      logConnection(log, listener?.accessLog, connection, { protocol: 'tcp' }, () => {})
      assert.deepEqual(
        lines.map((line) =>
          [line.protocol, line.port, line.path].map((one) => one ?? '-').join(' '),
        ),
        expected,
      )
    })
  }
})
