import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TarEntry, writeTar } from '../image/tar.ts'
import { gzip } from '../release/gzip.ts'
import { buildSite } from './build-site.ts'

/** Packs the documentation site as an archive without dates, for any static file server. */
export async function packSite(name: string): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-site-'))
  try {
    await buildSite(folder)
    const files = globSync('**/*', { cwd: folder })
      .filter((file) => statSync(join(folder, file)).isFile())
      .sort()
    const entries = files.map((file): TarEntry => {
      return { kind: 'file', path: `${name}/${file}`, bytes: readFileSync(join(folder, file)) }
    })
    return gzip(writeTar(entries))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
