import { createHash, X509Certificate } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync, mkdirSync, renameSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { createBrotliDecompress } from 'node:zlib'
import { type Browser, chromium } from 'playwright-core'

/** The `skip` option of node:test: false, or the reason. */
export const WITHOUT_BROWSER: string | false =
  process.platform === 'linux' && process.arch === 'x64'
    ? false
    : 'Chromium comes as a package for Linux on x64 alone'

export interface BrowserOptions {
  /** Certificates in PEM form whose keys are the only trusted ones. */
  readonly trusted: readonly string[]
  /** Names that resolve to 127.0.0.1; no others resolve. */
  readonly names: readonly string[]
}

/**
 * A real Chromium without a window. It trusts the given keys as if a known authority had signed
 * their certificates; names, dates and everything else in TLS are checked as usual.
 */
export async function launchBrowser({ trusted, names }: BrowserOptions): Promise<Browser> {
  const keys = trusted.map((pem) => {
    const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' })
    return createHash('sha256').update(key).digest('base64')
  })
  const rules = names.map((name) => `MAP ${name} 127.0.0.1`)
  return chromium.launch({
    executablePath: await unpackedBrowser(),
    args: [
      // Containers have no user namespaces, and the test loads only its own pages.
      '--no-sandbox',
      '--disable-gpu',
      `--ignore-certificate-errors-spki-list=${keys.join(',')}`,
      `--host-resolver-rules=${[...rules, 'MAP * ~NOTFOUND', 'EXCLUDE 127.0.0.1'].join(',')}`,
    ],
  })
}

/** The package contains it compressed; it is unpacked once per version, into `.cache/browser`. */
async function unpackedBrowser(): Promise<string> {
  const require = createRequire(import.meta.url)
  const folder = join(require.resolve('@sparticuz/chromium'), '../..')
  const { version } = require(join(folder, 'package.json')) as { readonly version: string }
  const cache = fileURLToPath(new URL('../../.cache/browser/', import.meta.url))
  const program = join(cache, `chromium-${version}`)
  if (existsSync(program)) return program
  mkdirSync(cache, { recursive: true })
  // A process that unpacks at the same time must not start a partial program.
  const part = `${program}.${process.pid}`
  const packed = createReadStream(join(folder, 'bin/chromium.br'))
  await pipeline(packed, createBrotliDecompress(), createWriteStream(part, { mode: 0o755 }))
  renameSync(part, program)
  return program
}
