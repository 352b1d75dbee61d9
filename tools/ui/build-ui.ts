import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'vite'
import { ROOT, UI_CONFIG } from './config.ts'

/** Builds the Admin UI into a folder; returns its input files, relative to the root. */
export async function buildUi(folder: string): Promise<readonly string[]> {
  const output = await build({
    ...UI_CONFIG,
    logLevel: 'error',
    build: { ...UI_CONFIG.build, outDir: folder, emptyOutDir: true },
  })
  const outputs = [output].flat().flatMap((one) => ('output' in one ? one.output : []))
  const inputs = outputs.flatMap((one) => (one.type === 'chunk' ? one.moduleIds : []))
  compress(folder)
  return inputs
    .map((id) => id.split('?', 1)[0] as string)
    .filter((id) => id.startsWith(`${ROOT}/`))
    .map((id) => id.slice(ROOT.length + 1))
}

/** Compresses at build time, so that the gateway never has to. */
function compress(folder: string): void {
  const assets = join(folder, 'assets')
  for (const name of readdirSync(assets)) {
    const bytes = readFileSync(join(assets, name))
    writeFileSync(join(assets, `${name}.gz`), gzipSync(bytes, { level: 9 }))
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9 }
    writeFileSync(join(assets, `${name}.br`), brotliCompressSync(bytes, { params }))
  }
}
