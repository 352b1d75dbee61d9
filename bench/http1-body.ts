import { BodyReader, beginBody, readBody } from '../src/wire/http1/body.ts'
import { type Contender, contender, interleave, sink } from './measure.ts'
import { nanoseconds, type Report } from './report.ts'

/** Chunked bodies: the framer alone, on data that is never read. */
export async function http1Body(): Promise<Report> {
  const rows: string[][] = []
  for (const [size, count] of [
    [50, 1],
    [50, 100],
    [4_096, 1],
    [16_384, 4],
  ] as const) {
    const chunk = `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`
    const bytes = Buffer.from(`${chunk.repeat(count)}0\r\n\r\n`, 'latin1')
    const figures = await interleave([
      reading('data', bytes, false),
      reading('as wire', bytes, true),
    ])
    const cost = (name: string) => nanoseconds(figures.get(name)?.p10 ?? Number.NaN)
    rows.push([`${count} of ${size} bytes`, cost('data'), cost('as wire')])
  }
  return {
    intro: ['CPU time for one segment with a whole chunked body, no sockets; the p10 of slices.'],
    tables: [{ title: 'Chunks', columns: ['chunks', 'data', 'as wire'], rows }],
    targets: [],
  }
}

function reading(name: string, bytes: Buffer, asWire: boolean): Contender {
  const body = new BodyReader()
  return contender(name, (times) => {
    for (let i = 0; i < times; i++) {
      beginBody(body, 'chunked', -1, asWire)
      for (let at = 0; !body.isDone; ) {
        at = readBody(body, bytes, at, bytes.length)
        sink.count += body.to - body.from
      }
    }
  })
}
