import { type Group, UNHIDDEN } from './threshold.ts'

const HTTP_1: Group = {
  name: 'http1',
  tests: [
    'test/fuzz/http1-{body,head,write}.test.ts',
    'test/fuzz/{short-writes,lent-uploads}.test.ts',
    'test/proxy/http1.test.ts',
  ],
  thresholds: [
    {
      file: 'src/wire/http1/client-connection.ts',
      tests: ['bytes.length <= SHORT_BODY'],
      switches: 'head and body in one buffer → two writes',
    },
    {
      file: 'src/wire/http1/client-connection.ts',
      tests: ['bytes.length < GATHERED'],
      switches: 'writes are gathered → written at once',
    },
    {
      file: 'src/wire/http1/field-names.ts',
      tests: ['KNOWN_TRAILERS.size < MAX_KNOWN_TRAILERS'],
      switches: 'trailers are kept → compared again',
    },
    {
      file: 'src/wire/http1/response-writer.ts',
      tests: ['bytes.length > SHORT_BODY'],
      switches: 'copied → lent to the socket',
    },
    {
      file: 'src/wire/http1/response-writer.ts',
      tests: ['bytes.length <= TEXT_BODY'],
      switches: 'head and body as one string → as one buffer',
      values: UNHIDDEN,
    },
    {
      file: 'src/wire/http1/response-writer.ts',
      tests: ['bytes.length > MAX_DEFERRED'],
      switches: 'written at the end of the turn → now',
    },
    {
      file: 'src/wire/http1/fields.ts',
      tests: [],
      constant: 'SHORT',
      switches: 'scanned by hand → indexOf',
    },
    {
      file: 'src/wire/turn-writes.ts',
      tests: ['++this.#alone < UNTIL_NEXT_LOOK'],
      switches: 'written alone → gathered',
      // Neighbors at 0 and 1 hide both sides.
      values: [0, 1, 3],
    },
    {
      file: 'src/wire/turn-writes.ts',
      tests: ['this.#inTurn < MANY'],
      switches: 'a quiet turn → a busy one',
    },
    {
      file: 'src/wire/turn-writes.ts',
      tests: ['this.#added >= MAX_WAITING'],
      switches: 'more are gathered → all are written',
      values: [1, 2, 16],
    },
  ],
}

const HTTP_2: Group = {
  name: 'http2',
  tests: [
    'test/fuzz/{hpack,http2-connections,http2-requests,http2-responses,lent-uploads-http2}.test.ts',
    'src/wire/http2/{hpack,response-fields,request-head}.test.ts',
  ],
  thresholds: [
    {
      file: 'src/wire/http2/frame-output.ts',
      tests: ['length <= SHORT'],
      switches: 'copied behind a busy socket → waits',
    },
    {
      file: 'src/wire/http2/frame-output.ts',
      tests: ['kept.length < MAX_KEPT'],
      switches: 'buffers are kept → allocated again',
    },
    {
      file: 'src/wire/http2/hpack-decoder.ts',
      tests: ['length > 64'],
      switches: 'bytes are copied one by one → Buffer.copy',
    },
    {
      file: 'src/wire/http2/hpack-encoder.ts',
      tests: ['this.length > MAX_KEPT'],
      switches: 'a block is kept → encoded again',
      values: [0, 1, 512],
    },
    {
      file: 'src/wire/http2/hpack-encoder.ts',
      tests: ['this.#oldest < 128'],
      switches: 'table with a hole → cut',
    },
    {
      file: 'src/wire/http2/hpack-encoder.ts',
      tests: ['text.length > 32'],
      switches: 'letters are copied one by one → Buffer.write',
    },
    {
      file: 'src/wire/http2/request-head.ts',
      tests: ['stop - start > 64'],
      switches: 'bytes are copied one by one → Buffer.copy',
    },
    {
      file: 'src/wire/http2/server-frames.ts',
      tests: ['length < SHORT'],
      switches: 'copied → lent',
      values: UNHIDDEN,
    },
    {
      file: 'src/wire/http2/server-frames.ts',
      tests: ['length < (reads.isScarce ? LONG : MIDDLE)'],
      constant: 'MIDDLE',
      switches: 'copied behind a slow receiver → lent',
    },
    {
      file: 'src/wire/http2/stream-output.ts',
      tests: ['sent >= 1_024'],
      switches: 'rest in another frame now → later',
    },
    {
      file: 'src/wire/http2/server.ts',
      tests: ['to - from < LITTLE'],
      switches: 'large buffer → a small one for the next read',
    },
    {
      file: 'src/wire/http2/stream-pool.ts',
      tests: ['this.#free.length + this.#ended.length < MAX_FREE'],
      switches: 'stream objects are reused → allocated',
    },
  ],
}

const LENT: Group = {
  name: 'lent',
  tests: [
    'test/fuzz/{lent-reads,lent-streams,lent-uploads}.test.ts',
    'src/wire/lent-reads.test.ts',
  ],
  except: [
    'uses two buffers if each read is written before the next one arrives',
    'reclaims buffers that are no longer needed while later ones are',
    'reports when so much is lent that more should be copied, and when no longer',
  ],
  thresholds: [
    {
      file: 'src/wire/lent-reads.ts',
      tests: ['this.#lent.length < MAX_LENT'],
      switches: 'a lent buffer is taken back → left to the collector',
    },
    {
      file: 'src/wire/lent-reads.ts',
      tests: ['resting >= MAX_RESTING'],
      switches: 'rests with a large buffer → with a small one',
    },
    {
      file: 'src/wire/lent-reads.ts',
      tests: ['kept.length < MAX_KEPT'],
      switches: 'buffers are kept → allocated again',
    },
  ],
}

export const WIRE: readonly Group[] = [HTTP_1, HTTP_2, LENT]
