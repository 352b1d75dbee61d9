import {
  type BrotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  type Gzip,
  type ZstdCompress,
} from 'node:zlib'
import type { BodyFlow, BodyTransformer } from '../../exchange/body-part.ts'
import type { Algorithm } from './schema.ts'

type Compressor = Gzip | BrotliCompress | ZstdCompress

/** Windows of 256 KiB: this bounds the memory of a response, whatever its length. */
const WINDOW = 18

const OPEN: Readonly<Record<Algorithm, () => Compressor>> = {
  gzip: () => createGzip({ level: 6 }),
  br: () =>
    createBrotliCompress({
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 4,
        [constants.BROTLI_PARAM_LGWIN]: WINDOW,
      },
    }),
  zstd: () =>
    createZstdCompress({
      params: {
        [constants.ZSTD_c_compressionLevel]: 3,
        [constants.ZSTD_c_windowLog]: WINDOW,
      },
    }),
}

const FLUSH: Readonly<Record<Algorithm, number>> = {
  gzip: constants.Z_SYNC_FLUSH,
  br: constants.BROTLI_OPERATION_FLUSH,
  zstd: constants.ZSTD_e_flush,
}

/** `flushes`: sends pending output whenever the backend pauses. */
export function compress(algorithm: Algorithm, flow: BodyFlow, flushes: boolean): BodyTransformer {
  const stream = OPEN[algorithm]()
  let isDirty = false
  stream.on('data', (bytes: Buffer) => {
    if (!flow.write(bytes)) stream.pause()
  })
  stream.on('drain', () => flow.drained())
  stream.on('end', () => flow.end())
  stream.on('error', (error) => flow.fail(error))
  return {
    write(bytes) {
      isDirty = true
      return stream.write(bytes)
    },
    end: () => void stream.end(),
    resume: () => void stream.resume(),
    flush() {
      if (!flushes || !isDirty) return
      isDirty = false
      stream.flush(FLUSH[algorithm])
    },
    abort: () => void stream.destroy(),
  }
}
