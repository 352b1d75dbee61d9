import {
  type FieldLines,
  fieldLine,
  NO_LINES,
  NO_NAMES,
  nameSet,
} from '../src/wire/http1/field-lines.ts'
import { RequestHead, readRequestHead } from '../src/wire/http1/head.ts'
import { HEAD_LIMITS } from '../src/wire/http1/message.ts'
import { normalisePath } from '../src/wire/http1/path.ts'
import { ResponseHead, readResponseHead } from '../src/wire/http1/response-head.ts'
import { dateLine, renderRequestHead, renderResponseHead } from '../src/wire/http1/write.ts'
import { REQUESTS, RESPONSES } from './http1/heads.ts'
import {
  decodedOnDemand,
  nodeLlhttp,
  ours,
  patterns,
  type Reader,
  textFirst,
} from './http1/readers.ts'
import { type Contender, contender, interleave, sink } from './measure.ts'
import { nanoseconds, type Report, ratio, type Table, type Target } from './report.ts'

/** HTTP/1.1 heads: ways to read them, and the cost of forwarding them through the gateway. */
export async function http1Head(): Promise<Report> {
  const reading = await benchReading()
  const passing = await benchPassing()
  return {
    intro: [
      'CPU time of reading and writing heads, no sockets; slices of about 2 ms, contenders in turn;',
      'the p10 of the slices is shown. Every reader has looked at each byte and made strings of the',
      'path, the host and one field; ours has understood framing, connection and target besides.',
    ],
    tables: [reading.table, passing],
    targets: reading.targets,
  }
}

async function benchReading(): Promise<{ table: Table; targets: readonly Target[] }> {
  const readers: readonly (readonly [string, Reader])[] = [
    ['ours', ours],
    ['decoded on demand', decodedOnDemand],
    ['text first', textFirst],
    ['patterns', patterns],
    ['llhttp in Node', nodeLlhttp()],
  ]
  const rows: string[][] = []
  const targets: Target[] = []
  for (const [name, heads] of REQUESTS) {
    const figures = await interleave(readers.map(([title, read]) => rotating(title, heads, read)))
    const cost = (title: string) => figures.get(title)?.p10 ?? Number.NaN
    rows.push([name, ...readers.map(([title]) => nanoseconds(cost(title)))])
    const gain = cost('llhttp in Node') / cost('ours')
    targets.push({
      what: `${name}, against llhttp in Node`,
      wanted: '≥ 1.5 x',
      measured: ratio(gain),
      met: gain >= 1.5,
    })
  }
  const columns = ['head', ...readers.map(([title]) => title)]
  return { table: { title: 'Reading a request head', columns, rows }, targets }
}

async function benchPassing(): Promise<Table> {
  const request = new RequestHead()
  const response = new ResponseHead()
  const dropped = nameSet(['x-user', 'x-forwarded-for'])
  const lines = fieldLine('x-forwarded-for', '10.1.2.3') as FieldLines
  const date = dateLine(0)
  const requestAs = (edits: object) => (bytes: Buffer) => {
    readRequestHead(bytes, 0, bytes.length, HEAD_LIMITS, request)
    const { query, framing, length } = request
    const path = normalisePath(request.path)
    const same = { path: path as string, query, framing, length, host: '', expectContinue: false }
    const out = { ...same, upgrade: '', lines: NO_LINES, dropped: NO_NAMES, ...edits }
    return renderRequestHead(request, out).length
  }
  const responseAs = (bytes: Buffer) => {
    readResponseHead(bytes, 0, bytes.length, HEAD_LIMITS, 'GET', response)
    const { framing, length } = response
    const same = { framing, length, upgrade: '', connection: '', date } as const
    return renderResponseHead(response, { ...same, lines: NO_LINES, dropped: NO_NAMES }).length
  }
  const contenders = [
    ...[...REQUESTS].flatMap(([name, heads]) => [
      rotating(`request ${name}`, heads, requestAs({})),
      rotating(`request ${name}, two fields changed`, heads, requestAs({ dropped, lines })),
    ]),
    rotating(`response, ${RESPONSES[0]?.length} bytes`, RESPONSES, responseAs),
  ]
  const figures = await interleave(contenders)
  return {
    title: 'A head read, its path normalised, and written again',
    columns: ['head', 'CPU'],
    rows: [...figures].map(([name, { p10 }]) => [name, nanoseconds(p10)]),
  }
}

/** Turns before the first slice: V8 takes long to optimize functions of this size. */
const WARM = 150_000

function rotating(
  name: string,
  heads: readonly Buffer[],
  work: (bytes: Buffer) => number,
): Contender {
  const turns = (times: number) => {
    let sum = 0
    for (let i = 0; i < times; i++) sum += work(heads[i % heads.length] as Buffer)
    sink.count += sum
  }
  turns(WARM)
  return contender(name, turns)
}
