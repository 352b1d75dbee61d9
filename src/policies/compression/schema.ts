import * as z from 'zod'
import { byteSize, choice, scalar } from '../scalars.ts'

const mediaType = () =>
  scalar<string>({
    what: 'a media type',
    hint: 'use a media type such as application/json, text/* or application/*+json',
    maxLength: 128,
    pattern: /^[A-Za-z0-9!#$&^_.+-]+\/(\*(\+[A-Za-z0-9!#$&^_.-]+)?|[A-Za-z0-9!#$&^_.+-]+)$/,
    parse: (text) => text.toLowerCase(),
  })

export const compression = z
  .strictObject({
    algorithms: z
      .array(choice('zstd', 'br', 'gzip'))
      .min(1)
      .max(3)
      .prefault(['zstd', 'br', 'gzip'])
      .describe(
        'Encodings to offer. If the client accepts several equally, the first one is used.',
      ),
    minBytes: byteSize()
      .prefault(1024)
      .describe('Responses with a shorter Content-Length are not compressed.'),
    contentTypes: z
      .array(mediaType())
      .min(1)
      .max(64)
      .prefault([
        'text/*',
        'application/json',
        'application/*+json',
        'application/javascript',
        'application/xml',
        'application/*+xml',
        'application/wasm',
        'image/svg+xml',
      ])
      .describe('Media types to compress.'),
  })
  .describe(
    'Compresses responses with the encoding that the client prefers in `Accept-Encoding`, and adds ' +
      '`Vary: Accept-Encoding`. Responses that are already encoded, partial (206), without a body, ' +
      'gRPC or marked `Cache-Control: no-transform` are not changed. Strong ETags become weak. ' +
      'Streams are compressed and flushed as they arrive, so server-sent events are not delayed.',
  )

export type Compression = z.output<typeof compression>
export type Algorithm = Compression['algorithms'][number]
